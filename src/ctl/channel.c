/*
 * channel.c - takes connections of nsd-control.
 *
 * System calls, for the filter of them: those of acceptor.c, read, write,
 * sendto and shutdown.
 */
#include "config.h"

#include <event2/bufferevent.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "ctl/inside.h"

/* When all connections are taken: the time that a new one may be silent, and
 * that its command may take to come. */
#define SILENT_MSEC 20
#define SLOW_MSEC 1000
/* SLOW_MSEC for a network that is known to be an operator's. */
#define SLOW_KNOWN_MSEC 10000
/* A network may have the SHARE_PARTth part of the connections. */
#define SHARE_PART 16

/* ---- room ---------------------------------------------------------------- */

static bool
channel_is_full(const struct ctl_channel *channel)
{
	return channel->count >= channel->options.conns_max;
}

/* True if a connection has sent no command in SLOW_MSEC, or has no unread octet
 * after SILENT_MSEC, or if it only lingers. */
static bool
channel_keeps_silent(const struct ctl_call *call, int64_t now)
{
	char octet;

	if (call->stream == NULL)
		return false;
	if (call->state != CALL_COMMAND)
		return call->state == CALL_LINGERS;
	if (now - call->opened_msec >= SLOW_MSEC)
		return true;
	return now - call->opened_msec >= SILENT_MSEC
		&& recv(bufferevent_getfd(call->stream), &octet, 1,
			   MSG_PEEK | MSG_DONTWAIT)
			<= 0;
}

/* True for a newcomer from a network, other than this host, that has more than
 * its share of connections without a command: it would be in the way of others
 * before it could be known as silent. */
static bool
channel_is_in_a_crowd(const struct ctl_call *call, unsigned count)
{
	const struct ctl_channel *channel = call->channel;

	return call->stream != NULL && call->state == CALL_COMMAND
		&& count > channel->options.conns_max / SHARE_PART
		&& call->crowd.net != 0 && !crowd_is_loopback(&call->peer);
}

/* Weighs which connection is dropped for another. First those without a
 * command, of the network that has most; an operator's last, as long as its
 * network has no more than its share, and not before SLOW_KNOWN_MSEC: strangers
 * who have all just come would send it away. Then those whose client may not
 * wait for the answer. */
static unsigned
channel_weigh(const struct crowd_one *one, unsigned count, void *arg)
{
	const int64_t *now = arg;
	struct ctl_call *call = cds_list_entry(one, struct ctl_call, crowd);
	struct ctl_channel *channel = call->channel;

	if (!channel_keeps_silent(call, *now)
		&& !channel_is_in_a_crowd(call, count))
		return call_may_be_deserted(call) ? 1 : 0;
	if (count <= channel->options.conns_max / SHARE_PART
		&& throttle_knows(&channel->throttle, &call->peer, *now))
		return *now - call->opened_msec >= SLOW_KNOWN_MSEC ? 2 : 0;
	return 2 + count;
}

/* The connection that makes room for another. NULL: all wait for what they have
 * asked for, or may be about to ask. */
static struct ctl_call *
channel_find_idle(struct ctl_channel *channel)
{
	int64_t now = clock_now_msec();
	struct crowd_one *one = crowd_pick(&channel->calls, channel_weigh,
		&now);

	return one != NULL ? cds_list_entry(one, struct ctl_call, crowd)
			   : NULL;
}

/* ---- connections --------------------------------------------------------- */

static bool
channel_has_room(void *ctx)
{
	struct ctl_channel *channel = ((struct ctl_listener *)ctx)->channel;

	return !channel_is_full(channel) || channel_find_idle(channel) != NULL;
}

static bool
channel_on_conn(void *ctx, int fd, const struct sockaddr_storage *peer)
{
	struct ctl_listener *listener = ctx;

	if (channel_is_full(listener->channel)) {
		struct ctl_call *idle = channel_find_idle(listener->channel);

		/* Without an idle connection, all have sent their commands just
		 * now. */
		if (idle == NULL) {
			close(fd);
			return false;
		}
		call_drop(idle);
	}
	return call_open(listener, fd, peer);
}

enum nsd_err
ctl_channel_listen(struct ctl_channel *channel, int fd, struct ctl_tls *tls)
{
	struct ctl_listener *listener = calloc(1, sizeof(*listener));
	const struct acceptor_hooks hooks = {listener, channel_has_room,
		channel_on_conn};

	if (listener == NULL)
		return NSD_E_MEMORY;
	listener->channel = channel;
	listener->tls = tls;
	if (acceptor_open(channel->options.base, fd, &hooks,
		&listener->acceptor)
		!= NSD_OK) {
		free(listener);
		return NSD_E_MEMORY;
	}
	listener->next = channel->listeners;
	channel->listeners = listener;
	return NSD_OK;
}

/* ---- all calls ----------------------------------------------------------- */

void
ctl_channel_refuse(struct ctl_channel *channel, const char *line)
{
	struct ctl_call *call, *next;

	cds_list_for_each_entry_safe(call, next, &channel->calls, crowd.node) {
		if (call->state != CALL_COMMAND || call->stream == NULL)
			continue;
		/* A line for a connection amid its handshake would wait for
		 * that, and so would ctl_channel_is_busy. */
		if (call->greeted)
			ctl_break_off(call, line);
		else
			call_drop(call);
	}
}

void
ctl_channel_walk(struct ctl_channel *channel,
	void (*fn)(struct ctl_call *call, void *arg), void *arg)
{
	struct ctl_call *call, *next;

	cds_list_for_each_entry_safe(call, next, &channel->calls, crowd.node)
		if (call->state == CALL_RUNS || call->state == CALL_LINES)
			fn(call, arg);
}

bool
ctl_channel_is_busy(const struct ctl_channel *channel)
{
	const struct ctl_call *call;

	cds_list_for_each_entry(call, &channel->calls, crowd.node)
		if (call_is_busy(call))
			return true;
	return false;
}

/* ---- begin and end ------------------------------------------------------- */

enum nsd_err
ctl_channel_create(const struct ctl_channel_options *options,
	struct ctl_channel **channel)
{
	struct ctl_channel *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return NSD_E_MEMORY;
	made->options = *options;
	made->throttle.seed = options->seed;
	if (made->options.conns_max == 0)
		made->options.conns_max = CTL_CONNS_MAX;
	if (made->options.command_msec == 0)
		made->options.command_msec = CTL_COMMAND_MSEC;
	if (made->options.lines_msec == 0)
		made->options.lines_msec = CTL_LINES_MSEC;
	if (made->options.read_msec == 0)
		made->options.read_msec = CTL_READ_MSEC;
	CDS_INIT_LIST_HEAD(&made->calls);
	*channel = made;
	return NSD_OK;
}

void
ctl_channel_close(struct ctl_channel *channel)
{
	while (channel->listeners != NULL) {
		struct ctl_listener *listener = channel->listeners;

		channel->listeners = listener->next;
		acceptor_close(listener->acceptor);
		free(listener);
	}
}

void
ctl_channel_destroy(struct ctl_channel *channel)
{
	struct ctl_call *call, *next;

	if (channel == NULL)
		return;
	ctl_channel_close(channel);
	cds_list_for_each_entry_safe(call, next, &channel->calls, crowd.node) {
		/* No hooks: handlers are not told of the end. */
		call->hooks = (struct ctl_call_hooks){.ctx = NULL};
		if (call->state == CALL_RUNS || call->state == CALL_LINES)
			ctl_end(call);
	}
	cds_list_for_each_entry_safe(call, next, &channel->calls, crowd.node)
		call_drop(call);
	free(channel);
}
