/*
 * door.c - takes connections.
 *
 * System calls, for whoever filters them: accept4, close, and what libevent
 * needs.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"

/* Connections that are taken in one turn of the loop. */
#define TURN_CONNS 16
/* From a connection that could not be taken to the next try. */
#define AGAIN_MSEC 100

struct door {
	struct door_hooks hooks;
	struct event *event;
	struct event *again_event;
};

static void
door_rest(struct door *door)
{
	struct timeval again = {.tv_usec = AGAIN_MSEC * 1000};

	if (event_add(door->again_event, &again) == 0)
		event_del(door->event);
}

static void
door_on_again(evutil_socket_t fd, short what, void *arg)
{
	struct door *door = arg;

	if (event_add(door->event, NULL) == -1)
		door_rest(door);
}

static void
door_on_readable(evutil_socket_t listener, short what, void *arg)
{
	struct door *door = arg;
	const struct door_hooks *hooks = &door->hooks;
	struct sockaddr_storage peer;

	for (unsigned i = 0; i < TURN_CONNS; i++) {
		socklen_t len = sizeof(peer);
		int fd;

		if (hooks->has_room != NULL && !hooks->has_room(hooks->ctx)) {
			door_rest(door);
			return;
		}
		memset(&peer, 0, sizeof(peer));
		fd = accept4(listener, (struct sockaddr *)&peer, &len,
			SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd == -1 && (errno == EAGAIN || errno == EWOULDBLOCK
				|| errno == EINTR || errno == ECONNABORTED))
			return;
		if (fd == -1 || !hooks->on_conn(hooks->ctx, fd, &peer)) {
			door_rest(door);
			return;
		}
	}
}

enum nsd_err
door_open(struct event_base *base, int fd, const struct door_hooks *hooks,
	struct door **door)
{
	struct door *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return NSD_E_MEMORY;
	made->hooks = *hooks;
	made->event = event_new(base, fd, EV_READ | EV_PERSIST,
		door_on_readable, made);
	made->again_event = event_new(base, -1, 0, door_on_again, made);
	if (made->event == NULL || made->again_event == NULL
		|| event_add(made->event, NULL) == -1) {
		door_close(made);
		return NSD_E_MEMORY;
	}
	*door = made;
	return NSD_OK;
}

void
door_close(struct door *door)
{
	if (door == NULL)
		return;
	if (door->event != NULL)
		event_free(door->event);
	if (door->again_event != NULL)
		event_free(door->again_event);
	free(door);
}
