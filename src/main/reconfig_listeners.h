/*
 * reconfig_listeners.h - the sockets of operators, and the key of the control
 * channel, of another configuration: opened and read before anything has
 * changed, so that what cannot be had refuses it; taken with it, and handed to
 * xfrd. Connections that there are stay. An address that both configurations
 * have is one socket.
 */
#ifndef MAIN_RECONFIG_LISTENERS_H
#define MAIN_RECONFIG_LISTENERS_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/err.h"
#include "conf/conf.h"
#include "process/server.h"

struct child;

/* Sockets that a reconfig opens. Zeroed: no change. */
struct reconfig_listeners {
	bool metrics_differ; /* if so, metrics has the new sockets */
	struct admin_listeners metrics;
	bool control_differ;
	struct control_listeners control; /* without its key */
	struct secrets *pem; /* another key; NULL: no change */
	uint64_t look;       /* control_listeners_look before it was read */
	struct admin_files files; /* files of the new sockets */
};

/* Opens the sockets that the running configuration does not have. returns
 * NSD_OK; NSD_E_SYSTEM, NSD_E_SYNTAX, NSD_E_MEMORY, with an error to the
 * sink. */
enum nsd_err reconfig_listeners_open(const struct server *server,
	const struct conf *conf, struct diag_sink *sink,
	struct reconfig_listeners *listeners) MUST_USE;

/* Reads the key of the control channel, if it has TLS then. returns as
 * control_listeners_read_pem. */
enum nsd_err reconfig_listeners_read_pem(const struct server *server,
	const struct conf *conf, struct diag_sink *sink,
	struct reconfig_listeners *listeners) MUST_USE;

/* Gives the sockets and the key to main, and closes others. True: the key of
 * the control channel is another one. */
bool reconfig_listeners_take(struct server *server,
	struct reconfig_listeners *listeners);

/* Sends xfrd the sockets that main has, and a configuration (conf/image.h),
 * which is borrowed: CONFIGURE. */
void reconfig_listeners_send(const struct server *server, struct child *xfrd,
	int image);

/* Releases sockets and key that were not taken, and removes the files that were
 * made for these. */
void reconfig_listeners_drop(struct reconfig_listeners *listeners);

#endif
