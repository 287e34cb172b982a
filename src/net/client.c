/* client.c - asks another server over TCP or UDP. */
#include "config.h"

#include "net/client.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/octets.h"
#include "net/socket.h"

/* Octets of a stream that are taken in one turn of the loop: a few messages of
 * the largest size. */
#define TURN_MAX (256u * 1024)
/* Datagrams in one turn: a flood of this port leaves others their turns. */
#define TURN_DATAGRAMS 16
#define DATAGRAM_MAX 65535u
/* Time in which a server takes a connection, and the octets sent to it. */
#define TAKE_SEC 10

struct net_client {
	struct net_client_calls calls;
	void *ctx;
	struct bufferevent *stream; /* NULL: over UDP */
	struct event *event;        /* of UDP */
	int fd;                     /* of UDP */
	struct timeval timeout;
	unsigned calling;           /* calls that have not returned */
	bool closed;                /* is freed once they have */
	bool ended;
	bool open;
	bool paused;
	bool end_waits;             /* the end came while it was paused */
	int end_error;
};

static void
client_free(struct net_client *client)
{
	if (client->stream != NULL)
		bufferevent_free(client->stream);
	if (client->event != NULL)
		event_free(client->event);
	if (client->fd != -1)
		close(client->fd);
	free(client);
}

/* A call has returned. True: the client is gone. */
static bool
client_leave(struct net_client *client)
{
	client->calling--;
	if (!client->closed || client->calling > 0)
		return false;
	client_free(client);
	return true;
}

static void
client_end(struct net_client *client, int error)
{
	if (client->ended || client->closed)
		return;
	client->ended = true;
	if (client->stream != NULL)
		bufferevent_disable(client->stream, EV_READ | EV_WRITE);
	else
		event_del(client->event);
	client->calling++;
	client->calls.on_end(client->ctx, error);
	(void)client_leave(client);
}

/* Hands on a message. True: the client is gone. */
static bool
client_take(struct net_client *client, const uint8_t *message, size_t len)
{
	client->calling++;
	client->calls.on_message(client->ctx, message, len);
	return client_leave(client);
}

/* ---- TCP ----------------------------------------------------------------- */

/* Hands on the messages that are whole, until the client is paused. True: the
 * client is gone. */
static bool
client_take_stream(struct net_client *client)
{
	struct evbuffer *in = bufferevent_get_input(client->stream);

	while (!client->ended && !client->paused
		&& evbuffer_get_length(in) >= 2) {
		const uint8_t *at = evbuffer_pullup(in, 2);
		size_t len = at != NULL ? octets_get_u16(at) : 0;

		if (at != NULL && evbuffer_get_length(in) < len + 2)
			return false;
		if (at != NULL)
			at = evbuffer_pullup(in, (ev_ssize_t)(len + 2));
		if (at == NULL) {
			client_end(client, ENOMEM);
			return true;
		}
		if (client_take(client, at + 2, len))
			return true;
		evbuffer_drain(in, len + 2);
	}
	return false;
}

static void
client_on_stream(struct bufferevent *stream, void *arg)
{
	struct net_client *client = arg;

	if (!client_take_stream(client) && client->end_waits
		&& !client->paused)
		client_end(client, client->end_error);
}

static void
client_on_stream_event(struct bufferevent *stream, short what, void *arg)
{
	struct net_client *client = arg;
	int error = EVUTIL_SOCKET_ERROR();

	/* An end and another event may come in one turn, the end first, if the
	 * loop was late. */
	if (client->ended)
		return;
	if ((what & BEV_EVENT_CONNECTED) != 0) {
		client->open = true;
		if (client->calls.on_open != NULL)
			client->calls.on_open(client->ctx);
		return;
	}
	if ((what & BEV_EVENT_TIMEOUT) != 0)
		error = ETIMEDOUT;
	else if ((what & BEV_EVENT_EOF) != 0)
		error = 0;
	else if (error == 0)
		error = ECONNRESET;
	/* Messages that came before may still be here. */
	client->end_waits = client->paused
		&& evbuffer_get_length(bufferevent_get_input(stream)) > 0;
	client->end_error = error;
	if (!client->end_waits)
		client_end(client, error);
}

static enum nsd_err
client_open_stream(struct net_client *client, struct event_base *base,
	const struct net_client_options *o)
{
	static const struct timeval take = {.tv_sec = TAKE_SEC};
	struct bufferevent *stream = o->stream != NULL
		? o->stream->open(o->stream->ctx, base, client->fd)
		: bufferevent_socket_new(base, client->fd,
			  BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);

	if (stream == NULL)
		return NSD_E_MEMORY;
	client->stream = stream;
	client->fd = -1; /* the stream's now */
	bufferevent_setcb(stream, client_on_stream, NULL,
		client_on_stream_event, client);
	bufferevent_set_timeouts(stream, &client->timeout, &take);
	if (bufferevent_set_max_single_read(stream, TURN_MAX) != 0
		|| bufferevent_enable(stream, EV_READ | EV_WRITE) != 0
		|| bufferevent_socket_connect(stream,
			   (const struct sockaddr *)o->to,
			   (int)net_address_len(o->to))
			!= 0)
		return NSD_E_SYSTEM;
	return NSD_OK;
}

/* ---- UDP ----------------------------------------------------------------- */

static void
client_on_datagram(evutil_socket_t fd, short what, void *arg)
{
	uint8_t octets[DATAGRAM_MAX];
	struct net_client *client = arg;

	if ((what & EV_TIMEOUT) != 0) {
		client_end(client, ETIMEDOUT);
		return;
	}
	for (unsigned i = 0; i < TURN_DATAGRAMS && !client->ended; i++) {
		ssize_t n = recv(fd, octets, sizeof(octets), 0);

		if (n > 0 && client_take(client, octets, (size_t)n))
			return;
		if (n != -1)
			continue;
		if (errno != EAGAIN && errno != EINTR)
			client_end(client, errno);
		return;
	}
}

static enum nsd_err
client_open_datagrams(struct net_client *client, struct event_base *base,
	const struct net_client_options *o)
{
	client->event = event_new(base, client->fd, EV_READ | EV_PERSIST,
		client_on_datagram, client);
	if (client->event == NULL)
		return NSD_E_MEMORY;
	if (connect(client->fd, (const struct sockaddr *)o->to,
		    net_address_len(o->to))
			!= 0
		|| event_add(client->event, &client->timeout) != 0)
		return NSD_E_SYSTEM;
	return NSD_OK;
}

/* ---- both ---------------------------------------------------------------- */

static enum nsd_err
client_make_socket(struct net_client *client,
	const struct net_client_options *o)
{
	int kind = o->tcp ? SOCK_STREAM : SOCK_DGRAM, yes = 1;

	client->fd = socket(o->to->ss_family,
		kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (client->fd == -1)
		return NSD_E_SYSTEM;
	if (o->tcp && o->tcp_mss > 0)
		(void)setsockopt(client->fd, IPPROTO_TCP, TCP_MAXSEG,
			&o->tcp_mss, sizeof(o->tcp_mss));
	if (o->from == NULL)
		return NSD_OK;
	/* A port that an earlier connection had may still be lingering. */
	if (o->tcp)
		(void)setsockopt(client->fd, SOL_SOCKET, SO_REUSEADDR, &yes,
			sizeof(yes));
	return bind(client->fd, (const struct sockaddr *)o->from,
		       net_address_len(o->from))
			== 0
		? NSD_OK
		: NSD_E_SYSTEM;
}

enum nsd_err
net_client_open(struct event_base *base,
	const struct net_client_options *options,
	const struct net_client_calls *calls, void *ctx,
	struct net_client **client)
{
	struct net_client *c = calloc(1, sizeof(*c));
	enum nsd_err err;
	int error;

	if (c == NULL)
		return NSD_E_MEMORY;
	c->calls = *calls;
	c->ctx = ctx;
	c->timeout.tv_sec = (time_t)options->timeout_sec;
	err = client_make_socket(c, options);
	if (err == NSD_OK)
		err = options->tcp ? client_open_stream(c, base, options)
				   : client_open_datagrams(c, base, options);
	if (err == NSD_OK) {
		*client = c;
		return NSD_OK;
	}
	error = errno;
	client_free(c);
	errno = error;
	return err;
}

enum nsd_err
net_client_send(struct net_client *client, const uint8_t *message, size_t len)
{
	struct evbuffer *out;
	uint8_t head[2];

	if (client->stream == NULL)
		return send(client->fd, message, len, 0) == (ssize_t)len
			? NSD_OK
			: NSD_E_SYSTEM;
	out = bufferevent_get_output(client->stream);
	if (evbuffer_get_length(out) > NET_CLIENT_WAITING_MAX)
		return NSD_E_LIMIT;
	octets_put_u16(head, (uint16_t)len);
	if (evbuffer_expand(out, len + sizeof(head)) != 0)
		return NSD_E_MEMORY;
	return evbuffer_add(out, head, sizeof(head)) == 0
			&& evbuffer_add(out, message, len) == 0
		? NSD_OK
		: NSD_E_MEMORY;
}

void
net_client_pause(struct net_client *client, bool pause)
{
	if (client->stream == NULL || client->ended || client->paused == pause)
		return;
	client->paused = pause;
	if (pause) {
		bufferevent_disable(client->stream, EV_READ);
		return;
	}
	if (!client->end_waits)
		bufferevent_enable(client->stream, EV_READ);
	/* Octets that were read before are handed on by the loop. */
	bufferevent_trigger(client->stream, EV_READ,
		BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

bool
net_client_is_open(const struct net_client *client)
{
	return client->open;
}

struct bufferevent *
net_client_get_stream(const struct net_client *client)
{
	return client->stream;
}

void
net_client_close(struct net_client *client)
{
	if (client == NULL)
		return;
	if (client->calling == 0) {
		client_free(client);
		return;
	}
	client->closed = true;
	client->ended = true;
}
