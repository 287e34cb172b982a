/*
 * tls.h - TLS of the control channel: 1.2 or later, both sides with
 * certificates. The server's certificate is the only authority: it has signed
 * the client's and itself. Names in certificates do not count.
 */
#ifndef CTL_TLS_H
#define CTL_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "tls/pem.h"

struct ctl_tls;
struct ssl_st;

/*
 * Makes the server's side from PEM texts, which are borrowed. Faults of the
 * texts are errors to the sink.
 * returns NSD_OK and gives *tls (ctl_tls_destroy); NSD_E_SYNTAX: a text is no
 * key or no certificate, or they do not belong together; NSD_E_MEMORY.
 */
enum nsd_err ctl_tls_create_server(struct tls_text key, struct tls_text cert,
	struct diag_sink *sink, struct ctl_tls **tls) MUST_USE;

/* The files of a client's side; authority: the server's certificate. */
struct ctl_tls_files {
	const char *key;
	const char *cert;
	const char *authority;
};
enum nsd_err ctl_tls_create_client(const struct ctl_tls_files *files,
	struct diag_sink *sink, struct ctl_tls **tls) MUST_USE;

void ctl_tls_destroy(struct ctl_tls *tls); /* NULL is fine */

/* Makes the TLS state of a client's connection, without a socket yet; the
 * caller frees it. NULL: no memory. */
struct ssl_st *ctl_tls_open(struct ctl_tls *tls);
/* A gate of handshakes: called for each ClientHello (there are two at most),
 * before anything costly is done. False: the handshake ends. */
struct ctl_tls_gate {
	bool (*on_hello)(void *ctx);
	void *ctx;
};
/* Makes the TLS state of an accepted connection; gate: kept as long as the
 * state is. */
struct ssl_st *ctl_tls_accept(struct ctl_tls *tls, struct ctl_tls_gate *gate);

#endif
