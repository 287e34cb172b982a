/*
 * sockets.h - the listening sockets that nsd.conf asks for.
 */
#ifndef PROC_SOCKETS_H
#define PROC_SOCKETS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"
#include "conf/conf.h"

/* A socket belongs to one worker: with several workers on an address each has
 * its own, and the kernel spreads the clients (SO_REUSEPORT). Main keeps them
 * all open, so that nothing that waits in them is lost with a worker. */
struct listener {
	int fd;
	bool tcp;
	unsigned server; /* from 0 */
};

struct listeners {
	struct listener *items;
	unsigned count;
};

/*
 * Binds them all and says so in the log (doc/surface.md section 9, `listen on`), or
 * none: what is wrong is in the log. NSD_E_SYNTAX: the options contradict each
 * other; NSD_E_SYSTEM; NSD_E_MEMORY. wait_sec: how long to wait for addresses
 * that are in use, for those who had them may be ending.
 */
enum nsd_err sockets_open(const struct conf_server *options,
	unsigned wait_sec, struct listeners *listeners) MUST_USE;
void sockets_close(struct listeners *listeners);

#endif
