/* worker_tls.h - the key and certificates that a worker shows clients over
 * TLS. */
#ifndef WORKER_WORKER_TLS_H
#define WORKER_WORKER_TLS_H

#include "base/err.h"
#include "ipc/channel.h"
#include "process/role.h"

struct tls_server;

/* To be called before the worker is confined: what OpenSSL reads itself, it
 * reads now. Tells main how the keys and certificates are. *tls: NULL if there
 * are none. Those of the server go. */
enum nsd_err worker_tls_open(struct role *role, struct tls_server **tls)
	MUST_USE;

/* TLS_TEXTS has come. Connections that are there stay with what they have been
 * shown. What cannot be used changes nothing, and is said to who has asked.
 * tls: NULL is fine; index: of the worker. */
void worker_tls_renew(struct tls_server *tls, unsigned index,
	const struct ipc_message *m);

#endif
