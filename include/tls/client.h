/*
 * client.h - the client's side of DNS over TLS: connections to a server whose
 * certificate must have a name (RFC 9103 section 9.3.2). TLS 1.3, ALPN "dot".
 */
#ifndef TLS_CLIENT_H
#define TLS_CLIENT_H

#include "base/diag.h"
#include "base/err.h"
#include "tls/pem.h"

struct bufferevent;
struct event_base;

/* Borrowed. */
struct tls_client_options {
	const char *name;         /* of nsd.conf, for messages */
	const char *domain;       /* name in the server's certificate */
	struct tls_text bundle;   /* trusted certificates */
	/* Another protocol than DNS: TLS 1.2 or later, without ALPN. Then
	 * domain may be NULL: any name will do; and bundle empty: any
	 * certificate will. */
	bool not_dns;
	struct tls_text chain;    /* own certificate; empty: none */
	struct tls_text key;
	const char *password;     /* of the key; NULL: none */
};

struct tls_client;

/*
 * Makes the client's side. returns NSD_OK with *client; NSD_E_SYNTAX: an error
 * went to the sink; NSD_E_MEMORY.
 */
enum nsd_err tls_client_create(const struct tls_client_options *options,
	struct diag_sink *sink, struct tls_client **client) MUST_USE;

/* Destroys the client, once no connection uses it. NULL is fine. */
void tls_client_destroy(struct tls_client *client);

/* Makes a stream over a socket, which is to be connected (the caller of
 * bufferevent_socket_connect) and is the stream's from then on. NULL: no
 * memory, or a domain that OpenSSL refuses; the socket is the caller's then. */
struct bufferevent *tls_client_open(const struct tls_client *client,
	struct event_base *base, int fd) MUST_USE;

#define TLS_FAILURE_MAX 200
/* Writes why a stream has failed, for people: the reason of TLS, or the error
 * of the connection below it that OpenSSL has kept. Returns out; NULL: there is
 * neither, and the reason is errno at the stream's event, if it was not the
 * end. */
const char *tls_client_print_failure(struct bufferevent *stream,
	char out[TLS_FAILURE_MAX]);

#endif
