/*
 * wire.h - a target's end of a stream, plain or with TLS, that does not block.
 * SIGPIPE is ignored.
 */
#ifndef TESTS_FUZZ_WIRE_H
#define TESTS_FUZZ_WIRE_H

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/target.h"

struct wire {
	int fd;   /* -1: there is none */
	SSL *ssl; /* NULL: plain */
};

/* Has TLS from now on; hands are not shaken yet. */
static inline void
wire_set_tls(struct wire *wire, SSL_CTX *ctx, bool accepts)
{
	wire->ssl = SSL_new(ctx);
	MUST(wire->ssl != NULL && SSL_set_fd(wire->ssl, wire->fd) == 1);
	SSL_set_mode(wire->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE
		| SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (accepts)
		SSL_set_accept_state(wire->ssl);
	else
		SSL_set_connect_state(wire->ssl);
}

/* A step of shaking hands. True: that is over. */
static inline bool
wire_greet(const struct wire *wire)
{
	int done = SSL_do_handshake(wire->ssl);

	ERR_clear_error();
	return done == 1;
}

static inline bool
wire_is_open(const struct wire *wire)
{
	return wire->fd != -1
		&& (wire->ssl == NULL || SSL_is_init_finished(wire->ssl));
}

/* Returns how many octets were taken; -1: none. */
static inline ssize_t
wire_send(const struct wire *wire, const uint8_t *octets, size_t len)
{
	ssize_t sent = -1;
	size_t took;

	if (wire->ssl == NULL)
		return send(wire->fd, octets, len,
			MSG_NOSIGNAL | MSG_DONTWAIT);
	if (SSL_write_ex(wire->ssl, octets, len, &took) == 1)
		sent = (ssize_t)took;
	ERR_clear_error();
	return sent;
}

/* As recv does. */
static inline ssize_t
wire_receive(const struct wire *wire, uint8_t *at, size_t size)
{
	ssize_t got = -1;
	size_t have;
	int error;

	if (wire->ssl == NULL)
		return recv(wire->fd, at, size, MSG_DONTWAIT);
	if (SSL_read_ex(wire->ssl, at, size, &have) == 1)
		return (ssize_t)have;
	error = SSL_get_error(wire->ssl, 0);
	if (error == SSL_ERROR_ZERO_RETURN)
		got = 0;
	errno = error == SSL_ERROR_WANT_READ ? EAGAIN : ECONNRESET;
	ERR_clear_error();
	return got;
}

static inline void
wire_close(struct wire *wire)
{
	SSL_free(wire->ssl);
	if (wire->fd != -1)
		close(wire->fd);
	*wire = (struct wire){.fd = -1};
	ERR_clear_error();
}

#endif
