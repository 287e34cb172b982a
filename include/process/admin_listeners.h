/*
 * admin_listeners.h - listening sockets for operators, of TCP and UNIX ones: of
 * the control channel, of metrics. Main opens them while it may, and new ones
 * at a reconfig; each xfrd inherits them, other roles close them.
 */
#ifndef PROCESS_ADMIN_LISTENERS_H
#define PROCESS_ADMIN_LISTENERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "conf/conf.h"
#include "process/admin_files.h"
#include "process/privilege.h"

/* Connections that wait to be taken. */
#define ADMIN_BACKLOG 128

/* Zeroed: there is none. */
struct admin_listeners {
	int *fds;
	unsigned count;
	size_t room;
};

/* The terms of opening sockets. */
struct admin_terms {
	/* Open sockets: their addresses are not bound again, but shared. NULL:
	 * there are none. */
	const struct admin_listeners *there;
	const struct admin_files *known; /* files of these; NULL without */
	int64_t until_msec;     /* of clock.h: addresses that are in use are
				 * waited for until then; 0: not at all */
	/* Of UNIX sockets. */
	const char *chroot;     /* of this process; NULL: none */
	const struct privilege_user *user; /* gets the socket, with its group;
				 * NULL: it stays as it is made */
	struct admin_files *made; /* gets their files, also before a failure */
	struct diag_sink *sink; /* gets faults */
};

struct admin_params {
	const char *option;    /* in messages: metrics-interface */
	uint16_t port;         /* of an interface without one */
	bool ip4, ip6;         /* of 127.0.0.1 and ::1 */
	struct admin_terms terms;
};

/*
 * Opens the interfaces of metrics-interface, if metrics-enable is yes:
 * addresses, network interfaces with all their addresses, and paths of UNIX
 * sockets, for their owner and group; if it is not given, 127.0.0.1 and ::1, as
 * far as this machine has them and do-ip4 and do-ip6 say so: with neither none,
 * as in NSD.
 * returns NSD_OK; NSD_E_SYNTAX: a text is no interface; NSD_E_SYSTEM: a socket
 * cannot be had; NSD_E_MEMORY. After a failure nothing new is open.
 */
enum nsd_err admin_listeners_open_metrics(const struct conf_server *options,
	const struct admin_terms *terms, struct admin_listeners *listeners)
	MUST_USE;

/* True if an interface of the array all is one that came before it, which is
 * said in the log: it is opened once. */
bool admin_listeners_is_again(const struct admin_params *params,
	const struct conf_interfaces *all, uint32_t at);

/* Adds the sockets of one interface, or of 127.0.0.1 and ::1. returns as
 * admin_listeners_open_metrics; after a failure some may be open. */
enum nsd_err admin_listeners_open_one(const struct admin_params *params,
	const struct conf_interface *one, struct admin_listeners *listeners)
	MUST_USE;
enum nsd_err admin_listeners_open_local(const struct admin_params *params,
	struct admin_listeners *listeners) MUST_USE;

/*
 * Opens a UNIX socket, for its owner and group. One that a former server has
 * left at the path is removed, and nothing else.
 * returns as admin_listeners_open_one; NSD_E_SYNTAX: the path is too long.
 */
enum nsd_err admin_path_open(const struct admin_params *params,
	const char *path, int *fd) MUST_USE;

/* Adds a socket, which is closed if there is no memory (NSD_E_MEMORY). */
enum nsd_err admin_listeners_add(struct admin_listeners *listeners, int fd)
	MUST_USE;

/* Closes the sockets, in this process. */
void admin_listeners_leave(struct admin_listeners *listeners);

#endif
