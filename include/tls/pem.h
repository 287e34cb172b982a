/*
 * pem.h - reads keys and certificates in PEM from memory into a context of
 * OpenSSL, and prints why OpenSSL failed.
 */
#ifndef TLS_PEM_H
#define TLS_PEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct secrets;
struct ssl_ctx_st;
struct ssl_method_st;

/* A text that is lent. */
struct tls_text {
	const uint8_t *at;
	size_t len; /* octets; below 2^31 */
};

/* Lends one of several texts, as secrets_get does. */
struct tls_text tls_get_text(const struct secrets *texts, size_t index);

/* Has OpenSSL read its own settings now: for a process that will not be able to
 * open files. */
void tls_read_settings(void);

/* Makes a context of TLS 1.2 or later, without compression and renegotiation.
 * NULL: no memory. The caller frees it. */
struct ssl_ctx_st *tls_create_context(const struct ssl_method_st *method)
	MUST_USE;

/* Writes the reason of the last failure of OpenSSL in this thread, for people,
 * and forgets all reasons. Returns out. */
const char *tls_print_reason(char *out, size_t size);

/* Gives the context a private key. password: of the key; NULL: it has none.
 * False: the text is no key, or not that of the context's certificate. */
bool tls_use_key(struct ssl_ctx_st *ctx, struct tls_text pem,
	const char *password) MUST_USE;

/* Gives the context its own certificate, which comes first in the text, and the
 * certificates from it to an authority. False: one of them is no
 * certificate. */
bool tls_use_chain(struct ssl_ctx_st *ctx, struct tls_text pem) MUST_USE;

/* Has the context trust all certificates of the text. False: one of them is no
 * certificate, or there is none. */
bool tls_use_authorities(struct ssl_ctx_st *ctx, struct tls_text pem)
	MUST_USE;

#endif
