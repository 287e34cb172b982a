/*
 * channel.c - takes connections of nsd-control.
 *
 * System calls, for whoever filters them: accept4, read, write, sendto,
 * shutdown, close, and what libevent needs.
 */
#include "config.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "ctl/inside.h"

/* Connections that are taken in one turn of the loop. */
#define TURN_CONNS 16
/* From a connection that could not be taken to the next try. */
#define AGAIN_MSEC 100
/* Where there is no room: how long one may be silent that has just come, and
 * how long its command may take to come. */
#define SILENT_MSEC 20
#define SLOW_MSEC 1000

/* ---- room ---------------------------------------------------------------- */

static void
channel_rest(struct ctl_channel *channel)
{
	struct timeval wait = {.tv_usec = AGAIN_MSEC * 1000};

	for (struct ctl_door *door = channel->doors; door != NULL;
		door = door->next)
		event_del(door->event);
	event_add(channel->again_event, &wait);
}

static void
channel_on_again(evutil_socket_t fd, short what, void *arg)
{
	struct ctl_channel *channel = arg;

	if (channel->closed)
		return;
	for (struct ctl_door *door = channel->doors; door != NULL;
		door = door->next)
		if (event_add(door->event, NULL) == -1)
			channel_rest(channel);
}

static bool
channel_is_full(const struct ctl_channel *channel)
{
	return channel->count >= channel->options.conns_max;
}

/* True if a connection has sent nothing that is still to be read, though it
 * had the time; or it had plenty. */
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

/* The oldest connection that sends no command, or else that may wait for
 * nothing: it makes room for another. NULL: all wait for what they have asked
 * for, or may be about to ask. */
static struct ctl_call *
channel_find_idle(struct ctl_channel *channel)
{
	int64_t now = clock_now_msec();
	struct ctl_call *call;

	cds_list_for_each_entry(call, &channel->calls, node)
		if (channel_keeps_silent(call, now))
			return call;
	cds_list_for_each_entry(call, &channel->calls, node)
		if (call_may_be_deserted(call))
			return call;
	return NULL;
}

/* ---- connections --------------------------------------------------------- */

static void
channel_on_door(evutil_socket_t listener, short what, void *arg)
{
	struct ctl_door *door = arg;
	struct ctl_channel *channel = door->channel;

	for (unsigned i = 0; i < TURN_CONNS; i++) {
		int fd;

		struct ctl_call *idle = channel_is_full(channel)
			? channel_find_idle(channel) : NULL;

		if (idle == NULL && channel_is_full(channel)) {
			channel_rest(channel);
			return;
		}
		fd = accept4(listener, NULL, NULL,
			SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd == -1 && (errno == EAGAIN || errno == EWOULDBLOCK
				|| errno == EINTR || errno == ECONNABORTED))
			return;
		if (fd != -1 && idle != NULL)
			call_drop(idle);
		if (fd == -1 || !call_open(door, fd)) {
			channel_rest(channel);
			return;
		}
	}
}

enum nsd_err
ctl_channel_listen(struct ctl_channel *channel, int fd, struct ctl_tls *tls)
{
	struct ctl_door *door = calloc(1, sizeof(*door));

	if (door == NULL)
		return NSD_E_MEMORY;
	door->channel = channel;
	door->fd = fd;
	door->tls = tls;
	door->event = event_new(channel->options.base, fd,
		EV_READ | EV_PERSIST, channel_on_door, door);
	if (door->event == NULL || event_add(door->event, NULL) == -1) {
		if (door->event != NULL)
			event_free(door->event);
		free(door);
		return NSD_E_MEMORY;
	}
	door->next = channel->doors;
	channel->doors = door;
	return NSD_OK;
}

/* ---- all of them --------------------------------------------------------- */

void
ctl_channel_walk(struct ctl_channel *channel,
	void (*fn)(struct ctl_call *call, void *arg), void *arg)
{
	struct ctl_call *call, *next;

	cds_list_for_each_entry_safe(call, next, &channel->calls, node)
		if (call->state == CALL_RUNS || call->state == CALL_LINES)
			fn(call, arg);
}

bool
ctl_channel_is_busy(const struct ctl_channel *channel)
{
	const struct ctl_call *call;

	cds_list_for_each_entry(call, &channel->calls, node)
		if (call_is_busy(call))
			return true;
	return false;
}

/* ---- its life ------------------------------------------------------------ */

enum nsd_err
ctl_channel_create(const struct ctl_channel_options *options,
	struct ctl_channel **channel)
{
	struct ctl_channel *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return NSD_E_MEMORY;
	made->options = *options;
	if (made->options.conns_max == 0)
		made->options.conns_max = CTL_CONNS_MAX;
	if (made->options.command_msec == 0)
		made->options.command_msec = CTL_COMMAND_MSEC;
	if (made->options.lines_msec == 0)
		made->options.lines_msec = CTL_LINES_MSEC;
	if (made->options.read_msec == 0)
		made->options.read_msec = CTL_READ_MSEC;
	CDS_INIT_LIST_HEAD(&made->calls);
	made->again_event = event_new(options->base, -1, 0, channel_on_again,
		made);
	if (made->again_event == NULL) {
		free(made);
		return NSD_E_MEMORY;
	}
	*channel = made;
	return NSD_OK;
}

void
ctl_channel_close(struct ctl_channel *channel)
{
	channel->closed = true;
	event_del(channel->again_event);
	while (channel->doors != NULL) {
		struct ctl_door *door = channel->doors;

		channel->doors = door->next;
		event_free(door->event);
		free(door);
	}
}

void
ctl_channel_destroy(struct ctl_channel *channel)
{
	struct ctl_call *call, *next;

	if (channel == NULL)
		return;
	ctl_channel_close(channel);
	cds_list_for_each_entry_safe(call, next, &channel->calls, node) {
		/* Nobody is told any more. */
		call->hooks = (struct ctl_call_hooks){.ctx = NULL};
		if (call->state == CALL_RUNS || call->state == CALL_LINES)
			ctl_end(call);
	}
	cds_list_for_each_entry_safe(call, next, &channel->calls, node)
		call_drop(call);
	event_free(channel->again_event);
	free(channel);
}
