/*
 * inside.h - common parts of TLS. Of a server, server.c has the keys and
 * certificates, stream.c the connections, greeting.c how they may begin,
 * tickets.c the keys of tickets; client.c is the other side.
 */
#ifndef SRC_TLS_INSIDE_H
#define SRC_TLS_INSIDE_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "tls/server.h"

/* The protocol inside TLS, as an ALPN list (RFC 7858, RFC 7301 section 3.1). */
static const uint8_t tls_alpn_dot[] = {3, 'd', 'o', 't'};

/* The most that a record carries, RFC 8446 section 5.1. */
#define TLS_RECORD_MAX 16384

/* The keys of tickets for a period of time. */
#define TICKET_NAME_LEN 16
#define TICKET_KEY_LEN 32
struct ticket_keys {
	uint64_t period;  /* 0: not made yet */
	uint8_t name[TICKET_NAME_LEN];
	uint8_t cipher[TICKET_KEY_LEN];
	uint8_t mac[TICKET_KEY_LEN];
};

struct tls_tickets {
	uint8_t secret[TLS_TICKETS_LEN];
	struct ticket_keys keys[2]; /* of this period and the last, by the
				     * lowest bit of the period */
};

/* The context of a filter. */
struct tls_side {
	struct tls_server *server;
	bool mutual;
};

struct tls_server {
	struct tls_tickets tickets;
	SSL_CTX *ctx;
	SSL_CTX *mutual;  /* with certificates of clients; NULL: no bundle */
	uint8_t *ocsp;    /* or NULL */
	size_t ocsp_len;
	BIO_METHOD *method; /* of sockets */
	BIO *socket; /* of the connection that OpenSSL is called for */
	struct tls_side sides[2];
	struct filter filters[2]; /* by mutual */
	uint8_t record[TLS_RECORD_MAX]; /* small writes are put together */
};

/* The state of looking at a client's octets in plain. Zeroed: at the begin. */
struct greeting {
	uint32_t message_left; /* octets of a message */
	uint16_t record_left;  /* and of a record */
	uint8_t record_at;     /* of its head */
	uint8_t message_at;    /* of its head */
	uint8_t record[5];
	uint8_t message[4];
	bool over;             /* the rest is encrypted */
};

/* Looks at the next octets from a client. dated: the version is known, and
 * before 1.3. False: the client begins with more octets than any needs. */
bool greeting_is_short(struct greeting *greeting, const uint8_t *in, size_t len,
	bool dated);

/* Fills in the functions of a filter, and makes the socket that all connections
 * share. False: no memory. */
bool stream_init(struct tls_server *server) MUST_USE;

/* Has a context count the messages without data of its clients. */
void stream_watch(SSL_CTX *ctx);

/* Has a context make and read tickets with the server's keys. */
void tickets_use(SSL_CTX *ctx);

#endif
