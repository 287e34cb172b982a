/* dnstap_stream.c - a connection to a receiver of dnstap. */
#include "config.h"

#include "collector/dnstap_stream.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <fstrm.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/octets.h"
#include "tls/client.h"

/* The octets of a control frame, with the zeros and the length before it. */
#define CONTROL_HEAD 8u
#define CONTROL_MAX (CONTROL_HEAD + FSTRM_CONTROL_FRAME_LENGTH_MAX)

/* Octets that a connection writes at a time; libevent's own bound is 16 KiB. */
#define WRITE_MAX (256u * 1024)

static const char content_type[] = "protobuf:dnstap.Dnstap";

static void
count_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* ---- ends ---------------------------------------------------------------- */

static void
stream_drop(struct dnstap_stream *s)
{
	if (s->ready != NULL)
		event_free(s->ready);
	s->ready = NULL;
	if (s->bev != NULL)
		bufferevent_free(s->bev); /* closes the socket */
	else if (s->state == DNSTAP_STREAM_CONNECTING)
		close(s->fd);
	s->bev = NULL;
	event_del(s->overdue);
	count_add(s->dropped, s->given);
	s->given = 0;
	s->state = DNSTAP_STREAM_CLOSED;
}

static void
stream_tell_end(struct dnstap_stream *s, const char *why)
{
	char text[TLS_FAILURE_MAX];

	/* The text may be the connection's. */
	(void)snprintf(text, sizeof(text), "%s", why);
	stream_drop(s);
	s->on_end(s->ctx, text);
}

static bool
stream_is_sent(const struct dnstap_stream *s)
{
	return evbuffer_get_length(bufferevent_get_output(s->bev)) == 0;
}

/* True if the receiver has taken nothing for this long, or, with all sent, has
 * not finished. */
static bool
stream_has_stalled(const struct dnstap_stream *s)
{
	int64_t most = stream_is_sent(s) ? DNSTAP_STREAM_FINISH_MSEC
					 : DNSTAP_STREAM_END_MSEC;

	return clock_now_msec() - s->taken_msec >= most;
}

/* Looks again soon whether the receiver takes what is left. */
static bool
stream_look_later(struct dnstap_stream *s)
{
	static const struct timeval pause = {
		.tv_usec = DNSTAP_STREAM_FINISH_MSEC * 1000};

	return event_add(s->overdue, &pause) == 0;
}

static void
stream_on_overdue(evutil_socket_t fd, short what, void *arg)
{
	struct dnstap_stream *s = arg;

	if (s->state == DNSTAP_STREAM_CONNECTING)
		stream_tell_end(s, "Connection timed out");
	else if (s->state == DNSTAP_STREAM_GREETING)
		stream_tell_end(s, "the receiver does not answer");
	else if (stream_has_stalled(s) || !stream_look_later(s))
		stream_tell_end(s, "the receiver does not finish");
}

/* ---- control frames ------------------------------------------------------ */

/* Writes a control frame. False: no memory. */
static bool
control_send(struct dnstap_stream *s, fstrm_control_type type)
{
	struct fstrm_control *control = fstrm_control_init();
	uint8_t frame[CONTROL_MAX];
	size_t len = sizeof(frame);
	bool done = fstrm_control_set_type(control, type) == fstrm_res_success;

	if (done && type != FSTRM_CONTROL_STOP)
		done = fstrm_control_add_field_content_type(control,
			       (const uint8_t *)content_type,
			       sizeof(content_type) - 1)
			== fstrm_res_success;
	done = done
		&& fstrm_control_encode(control, frame, &len,
			   FSTRM_CONTROL_FLAG_WITH_HEADER)
			== fstrm_res_success
		&& bufferevent_write(s->bev, frame, len) == 0;
	fstrm_control_destroy(&control);
	return done;
}

/* True if this is the control frame, and allows our type of content. */
static bool
control_is(const uint8_t *frame, size_t len, fstrm_control_type type)
{
	struct fstrm_control *control = fstrm_control_init();
	fstrm_control_type found;
	bool is = fstrm_control_decode(control, frame, len, 0)
			== fstrm_res_success
		&& fstrm_control_get_type(control, &found)
			== fstrm_res_success
		&& found == type
		&& (type != FSTRM_CONTROL_ACCEPT
			|| fstrm_control_match_field_content_type(control,
				   (const uint8_t *)content_type,
				   sizeof(content_type) - 1)
				== fstrm_res_success);

	fstrm_control_destroy(&control);
	return is;
}

/* Takes a control frame off the input. Returns its octets; 0: it is not whole
 * yet; SIZE_MAX: there is something else. */
static size_t
control_read(struct evbuffer *in, uint8_t frame[CONTROL_MAX])
{
	uint8_t head[CONTROL_HEAD];
	uint32_t len;

	if (evbuffer_copyout(in, head, CONTROL_HEAD)
		!= (ev_ssize_t)CONTROL_HEAD)
		return 0;
	len = octets_get_u32(head + 4);
	if (octets_get_u32(head) != 0 || len == 0
		|| len > FSTRM_CONTROL_FRAME_LENGTH_MAX)
		return SIZE_MAX;
	if (evbuffer_get_length(in) < CONTROL_HEAD + len)
		return 0;
	(void)evbuffer_drain(in, CONTROL_HEAD);
	return evbuffer_remove(in, frame, len) == (int)len ? len : SIZE_MAX;
}

/* ---- an open connection -------------------------------------------------- */

/* Notes that the system has taken octets; those that wait behind none begin to
 * wait now. */
static void
stream_on_taken(struct evbuffer *out, const struct evbuffer_cb_info *info,
	void *arg)
{
	struct dnstap_stream *s = arg;

	if (info->n_deleted > 0 || info->orig_size == 0)
		s->taken_msec = clock_now_msec();
}

/* Counts the frames that have gone, and hands on others. */
static void
stream_on_written(struct bufferevent *bev, void *arg)
{
	struct dnstap_stream *s = arg;

	if (!stream_is_sent(s)
		|| (s->state != DNSTAP_STREAM_OPEN
			&& s->state != DNSTAP_STREAM_STOPPING))
		return;
	count_add(s->sent, s->given);
	s->given = 0;
	dnstap_stream_push(s);
}

void
dnstap_stream_push(struct dnstap_stream *s)
{
	if (s->state != DNSTAP_STREAM_OPEN || s->waiting == 0
		|| !stream_is_sent(s))
		return;
	if (bufferevent_write_buffer(s->bev, s->frames) != 0)
		return;
	s->given += s->waiting;
	s->waiting = 0;
}

bool
dnstap_stream_stop(struct dnstap_stream *s)
{
	if (s->state != DNSTAP_STREAM_OPEN
		|| (!stream_is_sent(s) && stream_has_stalled(s)))
		return false;
	if (s->waiting > 0
		&& bufferevent_write_buffer(s->bev, s->frames) == 0) {
		s->given += s->waiting;
		s->waiting = 0;
	}
	s->state = DNSTAP_STREAM_STOPPING;
	return control_send(s, FSTRM_CONTROL_STOP) && stream_look_later(s);
}

void
dnstap_stream_end(struct dnstap_stream *s)
{
	stream_drop(s);
	count_add(s->dropped, s->waiting);
	s->waiting = 0;
	(void)evbuffer_drain(s->frames, evbuffer_get_length(s->frames));
}

static void
stream_on_accept(struct dnstap_stream *s)
{
	if (!control_send(s, FSTRM_CONTROL_START)) {
		stream_tell_end(s, "no memory");
		return;
	}
	event_del(s->overdue);
	s->state = DNSTAP_STREAM_OPEN;
	s->on_open(s->ctx);
}

static void
stream_on_readable(struct bufferevent *bev, void *arg)
{
	struct dnstap_stream *s = arg;
	struct evbuffer *in = bufferevent_get_input(bev);
	uint8_t frame[CONTROL_MAX];
	size_t len = control_read(in, frame);

	if (len == 0)
		return;
	if (len != SIZE_MAX && s->state == DNSTAP_STREAM_GREETING
		&& control_is(frame, len, FSTRM_CONTROL_ACCEPT))
		stream_on_accept(s);
	else if (len != SIZE_MAX && s->state >= DNSTAP_STREAM_OPEN
		&& control_is(frame, len, FSTRM_CONTROL_FINISH))
		stream_tell_end(s, "the receiver has finished");
	else
		stream_tell_end(s, "the receiver does not speak Frame Streams,"
			" or refuses dnstap");
}

static void
stream_on_event(struct bufferevent *bev, short what, void *arg)
{
	int error = EVUTIL_SOCKET_ERROR();
	struct dnstap_stream *s = arg;
	char reason[TLS_FAILURE_MAX];
	const char *tls = NULL;

	if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT)) == 0)
		return; /* the TLS handshake is over */
	if (s->tls != NULL)
		tls = tls_client_print_failure(bev, reason);
	if ((what & BEV_EVENT_TIMEOUT) != 0)
		stream_tell_end(s, "the receiver takes nothing");
	else if (tls != NULL)
		stream_tell_end(s, tls);
	else if ((what & BEV_EVENT_EOF) != 0 || error == 0 || error == EAGAIN)
		stream_tell_end(s, "the receiver has closed the connection");
	else
		stream_tell_end(s, strerror(error));
}

/* ---- a new connection ---------------------------------------------------- */

/* Begins the handshake of Frame Streams on a socket that is connected. */
static void
stream_greet(struct dnstap_stream *s)
{
	static const struct timeval stall = {.tv_sec = DNSTAP_STREAM_STALL_SEC};

	s->bev = s->tls != NULL ? tls_client_open(s->tls, s->base, s->fd)
		: bufferevent_socket_new(s->base, s->fd, BEV_OPT_CLOSE_ON_FREE);
	if (s->bev == NULL) {
		stream_tell_end(s, "no memory");
		return;
	}
	s->state = DNSTAP_STREAM_GREETING;
	bufferevent_setcb(s->bev, stream_on_readable, stream_on_written,
		stream_on_event, s);
	bufferevent_setwatermark(s->bev, EV_READ, 0, 2 * CONTROL_MAX);
	(void)bufferevent_set_max_single_write(s->bev, WRITE_MAX);
	(void)bufferevent_set_timeouts(s->bev, NULL, &stall);
	if (evbuffer_add_cb(bufferevent_get_output(s->bev), stream_on_taken, s)
			== NULL
		|| !control_send(s, FSTRM_CONTROL_READY)
		|| bufferevent_enable(s->bev, EV_READ | EV_WRITE) != 0)
		stream_tell_end(s, "no memory");
}

static void
stream_on_connected(evutil_socket_t fd, short what, void *arg)
{
	struct dnstap_stream *s = arg;
	socklen_t len = sizeof(int);
	int error = 0;

	event_free(s->ready);
	s->ready = NULL;
	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	if (error != 0)
		stream_tell_end(s, strerror(error));
	else
		stream_greet(s);
}

bool
dnstap_stream_open(struct dnstap_stream *s, int fd)
{
	static const struct timeval most = {.tv_sec = DNSTAP_STREAM_OPEN_SEC};

	assert(s->state == DNSTAP_STREAM_CLOSED && s->bev == NULL);
	s->state = DNSTAP_STREAM_CONNECTING;
	s->fd = fd;
	s->ready = event_new(s->base, fd, EV_WRITE, stream_on_connected, s);
	if (s->ready != NULL && event_add(s->ready, NULL) == 0
		&& event_add(s->overdue, &most) == 0)
		return true;
	stream_drop(s);
	return false;
}

enum nsd_err
dnstap_stream_init(struct dnstap_stream *s)
{
	s->frames = evbuffer_new();
	s->overdue = event_new(s->base, -1, 0, stream_on_overdue, s);
	return s->frames != NULL && s->overdue != NULL ? NSD_OK
						       : NSD_E_MEMORY;
}

/* ---- frames -------------------------------------------------------------- */

struct evbuffer *
dnstap_stream_room(struct dnstap_stream *s)
{
	size_t octets = evbuffer_get_length(s->frames);

	if (s->bev != NULL)
		octets += evbuffer_get_length(bufferevent_get_output(s->bev));
	return octets < DNSTAP_STREAM_WAITING_MAX ? s->frames : NULL;
}

void
dnstap_stream_add(struct dnstap_stream *s, unsigned count)
{
	s->waiting += count;
}
