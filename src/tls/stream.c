/* stream.c - one connection of a server of TLS, as a filter (filter.h). */
#include "config.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/exchange.h"
#include "base/list.h"
#include "inside.h"

/* The most messages without data, such as updates of keys, after a connection
 * is open. Our own side needs none in 2^24 records. */
#define DISTURBANCES_MAX 32

struct stream {
	struct exchange_identity identity;
	struct tls_server *server;
	SSL *ssl;
	int fd;
	unsigned disturbances;
	struct greeting greeting;
	bool greeted; /* the handshake is over, whatever comes then */
	bool drained; /* the socket had no more than this call has read */
	bool blocked; /* reading waits for room to write */
	bool more;    /* OpenSSL may have octets to be read */
	bool failed;  /* or over: nothing is to be written any more */
	bool ended;   /* the other side was told so */
};

/* True before TLS 1.3. RFC 9103: whole zones go over 1.3 alone; before it
 * certificates, and so the names of clients, went in plain. */
static bool
stream_is_dated(const void *state)
{
	const struct stream *s = state;

	return SSL_version(s->ssl) < TLS1_3_VERSION;
}

/*
 * ---- the socket, as OpenSSL sees it --------------------------------------
 *
 * All connections share one, which takes 208 octets of OpenSSL's: it is that of
 * the connection for which OpenSSL is called.
 */

static void
socket_become(struct stream *s)
{
	BIO_set_data(s->server->socket, s);
	ERR_clear_error();
}

/* Reads once for each call of stream_read: so clients cannot decide how long
 * that takes, and no call only finds that there is nothing. */
static int
socket_read(BIO *bio, char *out, int size)
{
	struct stream *s = BIO_get_data(bio);
	ssize_t got;

	BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY
		| BIO_FLAGS_IN_EOF);
	if (s->drained) {
		BIO_set_retry_read(bio);
		errno = EAGAIN;
		return -1;
	}
	s->drained = true;
	got = recv(s->fd, out, (size_t)size, MSG_DONTWAIT);
	if (got == -1 && filter_error_passes(errno))
		BIO_set_retry_read(bio);
	else if (got == 0)
		BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
	else if (got > 0 && !s->greeted
		&& !greeting_is_short(&s->greeting, (const uint8_t *)out,
			(size_t)got, stream_is_dated(s)))
		got = -1;
	return (int)got;
}

static int
socket_write(BIO *bio, const char *in, int len)
{
	struct stream *s = BIO_get_data(bio);
	ssize_t sent = send(s->fd, in, (size_t)len,
		MSG_NOSIGNAL | MSG_DONTWAIT);

	BIO_clear_retry_flags(bio);
	if (sent == -1 && filter_error_passes(errno))
		BIO_set_retry_write(bio);
	return (int)sent;
}

static long
socket_control(BIO *bio, int what, long number, void *arg)
{
	if (what == BIO_CTRL_EOF)
		return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
	return what == BIO_CTRL_FLUSH;
}

static bool
socket_create(struct tls_server *server)
{
	server->method = BIO_meth_new(BIO_get_new_index()
		| BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "socket");
	if (server->method == NULL
		|| BIO_meth_set_read(server->method, socket_read) != 1
		|| BIO_meth_set_write(server->method, socket_write) != 1
		|| BIO_meth_set_ctrl(server->method, socket_control) != 1)
		return false;
	server->socket = BIO_new(server->method);
	if (server->socket == NULL)
		return false;
	BIO_set_init(server->socket, 1);
	return true;
}

/* ---- begin and end ------------------------------------------------------- */

static bool
stream_is_named(const struct exchange_identity *identity, const char *name)
{
	const struct stream *s = caa_container_of(identity,
		const struct stream, identity);
	X509 *cert = SSL_get0_peer_certificate(s->ssl);

	return cert != NULL
		&& X509_check_host(cert, name, 0,
			   X509_CHECK_FLAG_ALWAYS_CHECK_SUBJECT, NULL)
			== 1;
}

static void *
stream_open(void *ctx, int fd)
{
	const struct tls_side *side = ctx;
	struct tls_server *server = side->server;
	struct stream *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->ssl = SSL_new(side->mutual ? server->mutual : server->ctx);
	if (s->ssl == NULL || BIO_up_ref(server->socket) != 1)
		goto fail;
	s->identity.is_named = stream_is_named;
	s->server = server;
	s->fd = fd;
	SSL_set_bio(s->ssl, server->socket, server->socket);
	SSL_set_accept_state(s->ssl);
	SSL_set_msg_callback_arg(s->ssl, s);
	return s;
fail:
	SSL_free(s->ssl);
	free(s);
	ERR_clear_error();
	return NULL;
}

static void
tls_stream_end(void *state)
{
	struct stream *s = state;

	if (s->ended || s->failed || !SSL_is_init_finished(s->ssl))
		return;
	s->ended = true;
	socket_become(s);
	(void)SSL_shutdown(s->ssl);
	ERR_clear_error();
}

static void
stream_close(void *state)
{
	struct stream *s = state;

	tls_stream_end(s);
	socket_become(s);
	SSL_free(s->ssl);
	free(s);
}

/* ---- octets -------------------------------------------------------------- */

static void
stream_on_message(int writing, int version, int type, const void *message,
	size_t len, SSL *ssl, void *arg)
{
	struct stream *s = arg;

	if (!writing && type == SSL3_RT_HANDSHAKE && s->greeted)
		s->disturbances++;
}

void
stream_watch(SSL_CTX *ctx)
{
	SSL_CTX_set_msg_callback(ctx, stream_on_message);
}

/* The result of a call in which OpenSSL has neither read nor written: 0, or -1
 * with errno. */
static ssize_t
stream_stop(struct stream *s)
{
	switch (SSL_get_error(s->ssl, 0)) {
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_WANT_WRITE:
		s->blocked = true;
		errno = EAGAIN;
		return -1;
	case SSL_ERROR_WANT_READ:
		errno = EAGAIN;
		return -1;
	default:
		s->failed = true;
		ERR_clear_error();
		errno = ECONNRESET;
		return -1;
	}
}

/* Forgets the keys of the key exchange, all but those derived from it: an
 * attacker who takes this process over later cannot read earlier traffic.
 * OpenSSL would keep both keys, and 432 octets, until the connection ends. */
static void
stream_forget_keys(struct stream *s)
{
	EVP_PKEY *keys[2] = {NULL, NULL};

	(void)SSL_get_tmp_key(s->ssl, &keys[0]);
	(void)SSL_get_peer_tmp_key(s->ssl, &keys[1]);
	for (int i = 0; i < 2; i++) {
		if (keys[i] != NULL)
			(void)EVP_PKEY_set_type(keys[i], EVP_PKEY_X25519);
		EVP_PKEY_free(keys[i]);
	}
	ERR_clear_error();
}

static ssize_t
stream_read(void *state, uint8_t *at, size_t size)
{
	struct stream *s = state;
	size_t have = 0, got;
	ssize_t stopped;

	s->drained = false;
	s->blocked = false;
	s->more = false;
	socket_become(s);
	while (have < size && SSL_read_ex(s->ssl, at + have, size - have, &got)
			== 1)
		have += got;
	/* Octets may have come before a fault, after which OpenSSL says that
	 * the handshake is not over. */
	if (!s->greeted && (have > 0 || SSL_is_init_finished(s->ssl))) {
		s->greeted = true;
		stream_forget_keys(s);
	}
	if (s->disturbances > DISTURBANCES_MAX) {
		s->failed = true;
		errno = ECONNRESET;
		return -1;
	}
	if (have == size) {
		s->more = SSL_has_pending(s->ssl) == 1;
		return (ssize_t)have;
	}
	stopped = stream_stop(s);
	/* An end, or a fault, is told next time: it stays. */
	if (have > 0 && (stopped == 0 || errno != EAGAIN))
		s->more = true;
	return have > 0 ? (ssize_t)have : stopped;
}

/* The part of a list of octets that is not written yet. */
struct octets_left {
	const struct iovec *iov;
	size_t count;
	size_t at; /* in the first iovec */
};

static void
left_skip(struct octets_left *left, size_t len)
{
	left->at += len;
	while (left->count > 0 && left->at >= left->iov->iov_len) {
		left->at -= left->iov->iov_len;
		left->iov++;
		left->count--;
	}
}

/* Returns the octets of the next record. Small pieces are put together. */
static const uint8_t *
left_get(const struct octets_left *left, uint8_t record[TLS_RECORD_MAX],
	size_t *len)
{
	size_t at = left->at;

	*len = left->iov->iov_len - at;
	if (left->count == 1 || *len >= TLS_RECORD_MAX) {
		if (*len > TLS_RECORD_MAX)
			*len = TLS_RECORD_MAX;
		return (const uint8_t *)left->iov->iov_base + at;
	}
	*len = 0;
	for (size_t i = 0; i < left->count && *len < TLS_RECORD_MAX; i++) {
		size_t part = left->iov[i].iov_len - at;

		if (part > TLS_RECORD_MAX - *len)
			part = TLS_RECORD_MAX - *len;
		memcpy(record + *len,
			(const uint8_t *)left->iov[i].iov_base + at, part);
		*len += part;
		at = 0;
	}
	return record;
}

static ssize_t
tls_stream_write(void *state, const struct iovec *iov, size_t count)
{
	struct stream *s = state;
	struct octets_left left = {iov, count, 0};
	size_t total = 0;

	if (s->failed) {
		errno = EPIPE;
		return -1;
	}
	socket_become(s);
	left_skip(&left, 0);
	while (left.count > 0) {
		size_t len, sent;
		const uint8_t *at = left_get(&left, s->server->record, &len);

		if (SSL_write_ex(s->ssl, at, len, &sent) != 1) {
			ssize_t stopped = stream_stop(s);

			if (stopped == 0)
				errno = EPIPE;
			return total > 0 ? (ssize_t)total : -1;
		}
		total += sent;
		left_skip(&left, sent);
	}
	return (ssize_t)total;
}

static bool
stream_is_ready(const void *state)
{
	const struct stream *s = state;

	return s->more || (s->blocked && !s->failed);
}

static bool
stream_is_open(const void *state)
{
	const struct stream *s = state;

	return s->greeted;
}

static const struct exchange_identity *
stream_get_identity(const void *state)
{
	const struct stream *s = state;

	return SSL_get0_peer_certificate(s->ssl) != NULL
			&& SSL_get_verify_result(s->ssl) == X509_V_OK
		? &s->identity
		: NULL;
}

bool
stream_init(struct tls_server *server)
{
	for (int i = 0; i < 2; i++) {
		server->sides[i].server = server;
		server->sides[i].mutual = i == 1;
		server->filters[i] = (struct filter){
			.open = stream_open,
			.ctx = &server->sides[i],
			.read = stream_read,
			.write = tls_stream_write,
			.is_ready = stream_is_ready,
			.is_open = stream_is_open,
			.is_dated = stream_is_dated,
			.identity = stream_get_identity,
			.end = tls_stream_end,
			.close = stream_close,
		};
	}
	return socket_create(server);
}
