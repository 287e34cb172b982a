/* xfrd_tls.h - credentials for primaries that are asked over TLS: a client for
 * each tls-auth of nsd.conf. */
#ifndef XFRD_XFRD_TLS_H
#define XFRD_XFRD_TLS_H

#include <stddef.h>

#include "base/err.h"

struct secrets;
struct tls_client;
struct xfrd_asks;

struct xfrd_tls_auth {
	char *name;
	struct tls_client *client; /* NULL: cannot be used */
};

struct xfrd_tls {
	struct xfrd_tls_auth *auths; /* NULL: none */
	size_t count;
};

/* Makes the clients of the texts that main has read (process/tls_texts.h),
 * which are borrowed; NULL: there are none. Faults are logged. Questions that
 * were sent to servers with former ones go on; no other joins them.
 * NSD_E_MEMORY: all is as it was. */
enum nsd_err xfrd_tls_take(struct xfrd_tls *tls, struct xfrd_asks *asks,
	const struct secrets *texts) MUST_USE;

/* Lends the client of a tls-auth, by its name, until others are taken; NULL: it
 * cannot be used. */
const struct tls_client *xfrd_tls_find(const struct xfrd_tls *tls,
	const char *name);

#endif
