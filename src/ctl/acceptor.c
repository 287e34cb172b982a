/*
 * acceptor.c - takes connections.
 *
 * System calls, for the filter of them: accept4, close, and those of
 * libevent.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acceptor.h"

/* Connections that are taken in one turn of the loop. */
#define TURN_CONNS 16
/* From a connection that could not be taken to the next try. */
#define AGAIN_MSEC 100

struct acceptor {
	struct acceptor_hooks hooks;
	struct event *event;
	struct event *again_event;
};

static void
acceptor_rest(struct acceptor *acceptor)
{
	struct timeval again = {.tv_usec = AGAIN_MSEC * 1000};

	if (event_add(acceptor->again_event, &again) == 0)
		event_del(acceptor->event);
}

static void
acceptor_on_again(evutil_socket_t fd, short what, void *arg)
{
	struct acceptor *acceptor = arg;

	if (event_add(acceptor->event, NULL) == -1)
		acceptor_rest(acceptor);
}

static void
acceptor_on_readable(evutil_socket_t listening, short what, void *arg)
{
	struct acceptor *acceptor = arg;
	const struct acceptor_hooks *hooks = &acceptor->hooks;
	struct sockaddr_storage peer;

	for (unsigned i = 0; i < TURN_CONNS; i++) {
		socklen_t len = sizeof(peer);
		int fd;

		if (hooks->has_room != NULL && !hooks->has_room(hooks->ctx)) {
			acceptor_rest(acceptor);
			return;
		}
		memset(&peer, 0, sizeof(peer));
		fd = accept4(listening, (struct sockaddr *)&peer, &len,
			SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd == -1 && (errno == EAGAIN || errno == EWOULDBLOCK
				|| errno == EINTR || errno == ECONNABORTED))
			return;
		if (fd == -1 || !hooks->on_conn(hooks->ctx, fd, &peer)) {
			acceptor_rest(acceptor);
			return;
		}
	}
}

enum nsd_err
acceptor_open(struct event_base *base, int fd,
	const struct acceptor_hooks *hooks, struct acceptor **acceptor)
{
	struct acceptor *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return NSD_E_MEMORY;
	made->hooks = *hooks;
	made->event = event_new(base, fd, EV_READ | EV_PERSIST,
		acceptor_on_readable, made);
	made->again_event = event_new(base, -1, 0, acceptor_on_again, made);
	if (made->event == NULL || made->again_event == NULL
		|| event_add(made->event, NULL) == -1) {
		acceptor_close(made);
		return NSD_E_MEMORY;
	}
	*acceptor = made;
	return NSD_OK;
}

void
acceptor_close(struct acceptor *acceptor)
{
	if (acceptor == NULL)
		return;
	if (acceptor->event != NULL)
		event_free(acceptor->event);
	if (acceptor->again_event != NULL)
		event_free(acceptor->again_event);
	free(acceptor);
}
