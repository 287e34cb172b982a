/* worker_tls.h - what a worker's clients are shown when they begin with TLS. */
#ifndef PROC_WORKER_TLS_H
#define PROC_WORKER_TLS_H

#include "base/err.h"
#include "ipc/channel.h"
#include "role/server.h"

struct tls_server;

/* To be called before the worker is confined: what OpenSSL reads itself, it
 * reads now. *tls: NULL if there is none. The keys of the server go. */
enum nsd_err worker_tls_open(struct server *server, struct tls_server **tls)
	MUST_USE;

/* TLS_TEXTS has come. Connections that are there stay with what they have been
 * shown. tls: NULL is fine; index: of the worker. */
void worker_tls_renew(struct tls_server *tls, unsigned index,
	const struct ipc_message *m);

#endif
