/* xfrd_tls.h - what xfrd asks primaries over TLS with: a client for each
 * tls-auth of nsd.conf. */
#ifndef XFRD_XFRD_TLS_H
#define XFRD_XFRD_TLS_H

#include <stddef.h>

#include "base/err.h"
#include "conf/conf.h"

struct server;
struct tls_client;

struct xfrd_tls {
	struct tls_client **clients; /* of conf.tls_auths, in their order; NULL:
				      * it cannot be used */
	size_t count;
};

/* Makes the clients from what main has read, and drops that. What is wrong with
 * one is said in the log. NSD_E_MEMORY. */
enum nsd_err xfrd_tls_init(struct xfrd_tls *tls, struct server *server)
	MUST_USE;

/* Lends the client of a tls-auth, by its name; NULL: it cannot be used. */
const struct tls_client *xfrd_tls_find(const struct xfrd_tls *tls,
	const struct conf *conf, const char *name);

#endif
