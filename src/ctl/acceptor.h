/* acceptor.h - a socket that listens: connections are taken a few at a time,
 * and not for a while after one that could not be taken. */
#ifndef CTL_ACCEPTOR_H
#define CTL_ACCEPTOR_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"

struct acceptor;

struct acceptor_hooks {
	void *ctx;
	/* Called before a connection is taken. False: there is no room. NULL:
	 * there always is. */
	bool (*has_room)(void *ctx);
	/* Takes a connection, which does not block; takes fd, and is lent peer.
	 * False: the connection could not be taken. */
	bool (*on_conn)(void *ctx, int fd,
		const struct sockaddr_storage *peer);
};

/* Waits for connections to fd, which stays the caller's. out: *acceptor.
 * Returns NSD_E_MEMORY without memory. */
enum nsd_err acceptor_open(struct event_base *base, int fd,
	const struct acceptor_hooks *hooks, struct acceptor **acceptor)
	MUST_USE;
/* Not within a hook. NULL does nothing. */
void acceptor_close(struct acceptor *acceptor);

#endif
