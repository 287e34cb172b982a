/*
 * tls_identity.h - keys and certificates for tests of TLS, and what a server is
 * made of. Whatever fails ends the program.
 */
#ifndef TESTS_LIB_TLS_IDENTITY_H
#define TESTS_LIB_TLS_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/secrets.h"

#define TLS_IDENTITY_MAX 4096

/* A key of P-256 and a certificate that it has signed itself, in PEM. */
struct tls_identity {
	uint8_t key[TLS_IDENTITY_MAX], cert[TLS_IDENTITY_MAX];
	size_t key_len, cert_len;
};

/* Makes one for a name. */
void tls_identity_make(struct tls_identity *identity, const char *name);

/* The context of OpenSSL shows the certificate, and has its key. */
struct ssl_ctx_st;
void tls_identity_use(struct ssl_ctx_st *ctx,
	const struct tls_identity *identity);

/* Gives the texts of a server (secrets_drop) that trusts the certificates of
 * clients in PEM. secret: all octets of that of its tickets. */
struct secrets *tls_identity_make_texts(const struct tls_identity *key,
	const struct tls_identity *cert, const struct tls_identity *client,
	uint8_t secret);

/* Gives a server (tls_server_destroy). */
struct tls_server;
struct tls_server *tls_identity_make_server(const struct tls_identity *own,
	const struct tls_identity *client, uint8_t secret);

#endif
