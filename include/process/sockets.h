/*
 * sockets.h - the listening sockets that nsd.conf asks for.
 */
#ifndef PROCESS_SOCKETS_H
#define PROCESS_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "conf/conf.h"

/* A socket belongs to one worker. Several workers on an address have a socket
 * each, and the kernel spreads the clients (SO_REUSEPORT). Main keeps all of
 * them open, so that requests which wait in them are not lost with a worker. */
struct listener {
	int fd;
	bool tcp;
	bool tls;        /* of TCP: connections begin with TLS, */
	bool mutual;     /* and clients show a certificate */
	unsigned server; /* from 0 */
};

struct listeners {
	struct listener *items;
	unsigned count;
};

/*
 * Binds all sockets and logs each (doc/surface.md section 9, `listen on`), or
 * binds none and logs why. until_msec (clock.h): addresses that are in use are
 * waited for until then: their owners may be ending. 0: not at all.
 * returns NSD_OK; NSD_E_SYNTAX: the options contradict each other;
 * NSD_E_SYSTEM: a socket cannot be made or bound; NSD_E_MEMORY.
 */
enum nsd_err sockets_open(const struct conf_server *options,
	int64_t until_msec, struct listeners *listeners) MUST_USE;
void sockets_close(struct listeners *listeners);

/* Sets changed options on the sockets: send-buffer-size, receive-buffer-size,
 * tcp-mss and tcp-listen-queue. The log says which the system refuses. */
void sockets_follow(const struct listeners *listeners,
	const struct conf_server *before, const struct conf_server *options);

/* True if the system gives buffers of other sizes than before. */
bool sockets_buffers_fit(const struct conf_server *before,
	const struct conf_server *options);

/* In a worker: closes all descriptors but those of its sockets, the log and
 * `others`, count of them. Without memory none is closed. */
void sockets_keep(const struct listeners *listeners, unsigned server,
	const int *others, unsigned count);

#endif
