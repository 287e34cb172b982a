/*
 * control_listeners.h - the sockets of the control channel and its keys, which
 * main opens and reads while it may, and again at a reconfig. Each xfrd
 * inherits them; other roles close the sockets and drop the keys.
 */
#ifndef PROCESS_CONTROL_LISTENERS_H
#define PROCESS_CONTROL_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/secrets.h"
#include "process/admin_listeners.h"

struct server;

struct control_listener {
	int fd;
	bool plain; /* without TLS */
};

/* Zeroed: there is no control channel. */
struct control_listeners {
	struct control_listener *items;
	unsigned count;
	struct secrets *pem; /* the server's key, then its certificate, in PEM;
			      * NULL: no listener has TLS */
	uint64_t look;       /* control_listeners_look before they were read */
};

/* Of pem. */
enum control_pem { CONTROL_PEM_KEY, CONTROL_PEM_CERT, CONTROL_PEM_COUNT };

/*
 * Opens the interfaces of control-interface (doc/surface.md 1.3), if
 * control-enable is yes, except those that are open already (struct
 * admin_terms). Faults are errors to the sink.
 * returns NSD_OK with *listeners, which have no keys yet; NSD_E_SYSTEM: a
 * socket cannot be had; NSD_E_SYNTAX: a text is no interface; NSD_E_MEMORY.
 * After a failure nothing new is open.
 */
enum nsd_err control_listeners_open(const struct conf *conf,
	const struct admin_terms *terms, struct control_listeners *listeners)
	MUST_USE;

/* True if a socket has TLS: then keys are needed. */
bool control_listeners_have_tls(const struct control_listeners *listeners);

/* Looks at server-key-file and server-cert-file without reading them. Returns a
 * sum that differs when one of them has changed. */
uint64_t control_listeners_look(const struct server *server,
	const struct conf_remote_control *options);

/* True if this process may not read one of them. */
bool control_listeners_are_denied(const struct server *server,
	const struct conf_remote_control *options) MUST_USE;

/*
 * Reads server-key-file and server-cert-file. Faults are errors to the sink.
 * returns NSD_OK with *pem (secrets_drop), NULL: they are the same as in
 * server->control; NSD_E_SYSTEM: a file cannot be read; NSD_E_MEMORY.
 */
enum nsd_err control_listeners_read_pem(const struct server *server,
	const struct conf_remote_control *options, struct diag_sink *sink,
	struct secrets **pem) MUST_USE;

/* Says in the log that there is no control channel; the reason was said
 * before. */
void control_listeners_refuse(void);

/* Closes the sockets and drops the keys, in this process. */
void control_listeners_leave(struct control_listeners *listeners);

#endif
