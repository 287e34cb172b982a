/*
 * control_doors.h - the sockets of the control channel and its keys, which main
 * opens and reads while it may. Each xfrd inherits them; other roles close the
 * sockets and drop the keys.
 */
#ifndef ROLE_CONTROL_DOORS_H
#define ROLE_CONTROL_DOORS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/secrets.h"
#include "role/privilege.h"

struct server;

struct control_door {
	int fd;
	bool plain; /* without TLS */
};

/* Zeroed: there is no control channel. */
struct control_doors {
	struct control_door *items;
	unsigned count;
	struct secrets *pem; /* the server's key, then its certificate, in PEM;
			      * NULL: no door has TLS */
};

/* Of pem. */
enum control_pem { CONTROL_PEM_KEY, CONTROL_PEM_CERT, CONTROL_PEM_COUNT };

/*
 * Opens what control-interface names (doc/surface.md 1.3), if control-enable is
 * yes. user: who gets the UNIX sockets. The keys are tried (pem_trial.h). What
 * is wrong is said in the log.
 * returns NSD_OK; NSD_E_SYSTEM: a socket or file cannot be had; NSD_E_SYNTAX:
 * an interface, a key or a certificate is none; NSD_E_MEMORY. After a failure
 * nothing is open.
 */
enum nsd_err control_doors_open(const struct server *server,
	const struct privilege_user *user, struct control_doors *doors)
	MUST_USE;

/* Closes the sockets and drops the keys, in this process. */
void control_doors_leave(struct control_doors *doors);

#endif
