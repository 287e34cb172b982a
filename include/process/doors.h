/*
 * doors.h - listening TCP sockets for operators: of the control channel, of
 * metrics. Main opens them while it may, and new ones at a reconfig; each xfrd
 * inherits them, other roles close them.
 */
#ifndef PROCESS_DOORS_H
#define PROCESS_DOORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "conf/conf.h"

/* Zeroed: there is none. */
struct doors {
	int *fds;
	unsigned count;
	size_t room;
};

/* The terms of opening sockets. */
struct doors_terms {
	const struct doors *there; /* open sockets: their addresses are not
				    * bound again, but shared; NULL: none */
	int64_t until_msec;    /* of clock.h: addresses that are in use are
				* waited for until then; 0: not at all */
	struct diag_sink *sink; /* gets faults */
};

struct doors_wish {
	const char *option;    /* in messages: metrics-interface */
	bool or_path;          /* in messages: the option takes paths, too */
	uint16_t port;         /* of an interface without one */
	bool ip4, ip6;         /* of 127.0.0.1 and ::1 */
	struct doors_terms terms;
};

/*
 * Opens the interfaces of metrics-interface, if metrics-enable is yes:
 * addresses, and network interfaces with all their addresses; if it is not
 * given, 127.0.0.1 and ::1, as far as this machine has them.
 * returns NSD_OK; NSD_E_SYNTAX: a text is no interface; NSD_E_SYSTEM: a socket
 * cannot be had; NSD_E_MEMORY. After a failure nothing new is open.
 */
enum nsd_err doors_open_metrics(const struct conf_server *options,
	const struct doors_terms *terms, struct doors *doors) MUST_USE;

/* Adds the sockets of one interface, or of 127.0.0.1 and ::1. returns as
 * doors_open_metrics; after a failure some may be open. */
enum nsd_err doors_open_one(const struct doors_wish *wish,
	const struct conf_interface *one, struct doors *doors) MUST_USE;
enum nsd_err doors_open_local(const struct doors_wish *wish,
	struct doors *doors) MUST_USE;

/* Adds a socket, which is closed if there is no memory (NSD_E_MEMORY). */
enum nsd_err doors_add(struct doors *doors, int fd) MUST_USE;

/* Closes the sockets, in this process. */
void doors_leave(struct doors *doors);

#endif
