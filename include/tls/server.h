/*
 * server.h - the server's side of DNS over TLS (RFC 7858, RFC 9103, RFC 8310),
 * as a filter of TCP connections. It knows nothing of DNS.
 *
 * TLS 1.2 or later, 1.3 first, with forward secrecy and AEAD alone. ALPN "dot",
 * if the client names protocols. Sessions of TLS 1.3 are resumed with tickets;
 * there is no early data. See doc/decisions/0104.
 */
#ifndef TLS_SERVER_H
#define TLS_SERVER_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/err.h"
#include "base/filter.h"
#include "base/secrets.h"

/* The parts of a server, in the order of struct secrets. A part may be empty:
 * then there is none. */
enum tls_server_text {
	TLS_SERVER_KEY,     /* private key, PEM */
	TLS_SERVER_CHAIN,   /* certificates, PEM, its own first */
	TLS_SERVER_OCSP,    /* an OCSP response to show, DER; or empty */
	TLS_SERVER_BUNDLE,  /* CA certificates for clients' certificates, PEM;
			     * or empty */
	TLS_SERVER_TICKETS, /* TLS_TICKETS_LEN random octets */
	TLS_SERVER_TEXTS,
};
#define TLS_TICKETS_LEN 32

struct tls_server;

/*
 * Makes a server. Copies the parts of the texts that it needs. Faults of the
 * texts are errors to the sink, which name the option of nsd.conf that has the
 * file.
 * returns NSD_OK with *server; NSD_E_SYNTAX; NSD_E_MEMORY.
 */
enum nsd_err tls_server_create(const struct secrets *texts,
	struct diag_sink *sink, struct tls_server **server) MUST_USE;

/* Changes the certificates for later connections. After a failure, as above,
 * all is as it was. */
enum nsd_err tls_server_renew(struct tls_server *server,
	const struct secrets *texts, struct diag_sink *sink) MUST_USE;

/* Lends the filter of the server's connections. mutual: a client must show a
 * certificate that the bundle leads to. */
const struct filter *tls_server_get_filter(const struct tls_server *server,
	bool mutual);

/* Destroys the server, once no connection has its filter. NULL is fine. */
void tls_server_destroy(struct tls_server *server);

#endif
