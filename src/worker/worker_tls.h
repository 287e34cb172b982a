/* worker_tls.h - the key and certificates that a worker shows clients over
 * TLS. */
#ifndef WORKER_WORKER_TLS_H
#define WORKER_WORKER_TLS_H

#include "base/err.h"
#include "ipc/channel.h"
#include "process/role.h"

struct tls_server;

/* Reads keys and certificates, before the worker is confined: OpenSSL reads its
 * own settings here. Reports their state to main. *tls: NULL if there are none.
 * The server's texts are dropped. */
enum nsd_err worker_tls_open(struct role *role, struct tls_server **tls)
	MUST_USE;

/* Takes TLS_TEXTS. Open connections keep their certificates. Texts that cannot
 * be used change nothing, and are reported to the asker. tls: NULL is fine;
 * index: of the worker. */
void worker_tls_renew(struct tls_server *tls, unsigned index,
	const struct ipc_message *m);

#endif
