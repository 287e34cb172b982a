/* test_stream.c - the filter of a connection with TLS, against a client of
 * OpenSSL over a pair of sockets (fault 38). */
#include "config.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/exchange.h"
#include "lib/tls_identity.h"
#include "tls/server.h"

#define STREAM_LEN 200000
#define IDLE_COUNT 20
#define IDLE_MAX 13600
/* OpenSSL's octets of a connection that has begun, and the two buffers of 16
 * KiB that it begins with; and what is made once. */
#define GREETING_MAX 80000

static struct tls_identity server_identity, client_identity, other_identity;
static uint8_t octets[STREAM_LEN];

static struct tls_server *
server_make(uint8_t secret)
{
	return tls_identity_make_server(&server_identity, &client_identity,
		secret);
}

/* ---- memory -------------------------------------------------------------- */

/* OpenSSL's memory, as allocated while the server's side ran. */
static bool counting;
static size_t counted_octets, counted_blocks;

#define BLOCK_HEAD 16 /* struct block, as malloc aligns */
#define BLOCK_MALLOC 8 /* malloc's own part of a block, at least */

struct block {
	size_t size;
	bool counted;
};

static size_t
block_size(size_t size)
{
	return (size + BLOCK_MALLOC + 15) & ~(size_t)15;
}

static void
block_count(struct block *block, size_t size)
{
	block->size = size;
	block->counted = counting;
	counted_octets += counting ? block_size(size) : 0;
	counted_blocks += counting;
}

static void
block_forget(const struct block *block)
{
	counted_octets -= block->counted ? block_size(block->size) : 0;
	counted_blocks -= block->counted;
}

static void *
counted_malloc(size_t size, const char *file, int line)
{
	struct block *block = malloc(BLOCK_HEAD + size);

	if (block == NULL)
		return NULL;
	block_count(block, size);
	return (uint8_t *)block + BLOCK_HEAD;
}

static void
counted_free(void *at, const char *file, int line)
{
	struct block *block = at == NULL ? NULL
		: (void *)((uint8_t *)at - BLOCK_HEAD);

	if (block != NULL)
		block_forget(block);
	free(block);
}

static void *
counted_realloc(void *at, size_t size, const char *file, int line)
{
	struct block *block, *moved;
	bool was = counting;

	if (at == NULL)
		return counted_malloc(size, file, line);
	block = (void *)((uint8_t *)at - BLOCK_HEAD);
	if (size == 0) {
		counted_free(at, file, line);
		return NULL;
	}
	moved = realloc(block, BLOCK_HEAD + size);
	if (moved == NULL)
		return NULL;
	block_forget(moved);
	counting = moved->counted;
	block_count(moved, size);
	counting = was;
	return (uint8_t *)moved + BLOCK_HEAD;
}

static struct filter plain, watched;

static void *
watched_open(void *ctx, int fd)
{
	void *state;

	counting = true;
	state = plain.open(ctx, fd);
	counting = false;
	return state;
}

static ssize_t
watched_read(void *state, uint8_t *at, size_t size)
{
	ssize_t got;

	counting = true;
	got = plain.read(state, at, size);
	counting = false;
	return got;
}

static ssize_t
watched_write(void *state, const struct iovec *iov, size_t count)
{
	ssize_t sent;

	counting = true;
	sent = plain.write(state, iov, count);
	counting = false;
	return sent;
}

/* ---- a connection -------------------------------------------------------- */

struct pair {
	const struct filter *filter;
	void *state;
	SSL_CTX *ctx;
	SSL *ssl;
	int ours, theirs;
};

/* own: the client's; NULL: none. */
static void
pair_open(struct pair *p, const struct tls_server *server, bool mutual,
	int version, const struct tls_identity *own)
{
	int fds[2], size = 4096;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
		fds), 0);
	for (int i = 0; i < 2; i++)
		setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	p->ours = fds[0];
	p->theirs = fds[1];
	plain = watched = *tls_server_get_filter(server, mutual);
	watched.open = watched_open;
	watched.read = watched_read;
	watched.write = watched_write;
	p->filter = &watched;
	p->state = p->filter->open(p->filter->ctx, p->ours);
	assert_non_null(p->state);
	p->ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_max_proto_version(p->ctx, version);
	SSL_CTX_set_mode(p->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE
		| SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (own != NULL)
		tls_identity_use(p->ctx, own);
	p->ssl = SSL_new(p->ctx);
	SSL_set_fd(p->ssl, p->theirs);
	SSL_set_connect_state(p->ssl);
}

static void
pair_close(struct pair *p)
{
	p->filter->close(p->state);
	SSL_free(p->ssl);
	SSL_CTX_free(p->ctx);
	close(p->ours);
	close(p->theirs);
}

/* Shakes hands. Returns what the last read said; EAGAIN: all is well. */
static int
pair_greet(struct pair *p)
{
	uint8_t octet;

	for (int i = 0; i < 20; i++) {
		ssize_t got;

		(void)SSL_do_handshake(p->ssl);
		got = p->filter->read(p->state, &octet, 1);
		assert_true(got < 1);
		if (got == 0 || errno != EAGAIN)
			return got == 0 ? 0 : errno;
		if (p->filter->is_open(p->state)
			&& SSL_is_init_finished(p->ssl))
			break;
	}
	return EAGAIN;
}

static void
greeting_opens_the_filter(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	struct tls_server *server = server_make(1);
	struct pair p;

	for (int i = 0; i < 2; i++) {
		pair_open(&p, server, false, versions[i], NULL);
		assert_false(p.filter->is_open(p.state));
		assert_int_equal(pair_greet(&p), EAGAIN);
		assert_true(p.filter->is_open(p.state));
		assert_int_equal(SSL_version(p.ssl), versions[i]);
		assert_int_equal(p.filter->is_dated(p.state), i == 0);
		assert_null(p.filter->identity(p.state));
		pair_close(&p);
	}
	pair_open(&p, server, false, TLS1_1_VERSION, NULL);
	assert_int_equal(pair_greet(&p), ECONNRESET);
	assert_false(p.filter->is_open(p.state));
	pair_close(&p);
	tls_server_destroy(server);
}

static void
garbage_is_a_fault(void **state)
{
	static const char garbage[] = "GET / HTTP/1.1\r\n\r\n";
	struct tls_server *server = server_make(1);
	struct pair p;
	uint8_t out[10];

	pair_open(&p, server, false, TLS1_3_VERSION, NULL);
	assert_true(write(p.theirs, garbage, sizeof(garbage)) > 0);
	assert_int_equal(p.filter->read(p.state, out, sizeof(out)), -1);
	assert_int_equal(errno, ECONNRESET);
	pair_close(&p);
	/* A client that sends nothing, and ends. */
	pair_open(&p, server, false, TLS1_3_VERSION, NULL);
	assert_int_equal(p.filter->read(p.state, out, sizeof(out)), -1);
	assert_int_equal(errno, EAGAIN);
	shutdown(p.theirs, SHUT_WR);
	assert_true(p.filter->read(p.state, out, sizeof(out)) <= 0);
	pair_close(&p);
	tls_server_destroy(server);
}

/* ---- octets -------------------------------------------------------------- */

/* A ClientHello's plain octets: the head of a record, and of a message with its
 * length. */
#define HELLO(length) {22, 3, 1, 0, 4, 1, (length) >> 16, \
	(length) >> 8 & 0xff, (length) & 0xff}

/* Returns how reading ends of what comes in pieces of so many octets. */
static int
pair_write_raw(struct pair *p, const uint8_t *in, size_t len, size_t piece)
{
	uint8_t octet;

	for (size_t at = 0; at < len; at += piece) {
		size_t part = piece < len - at ? piece : len - at;

		assert_int_equal(write(p->theirs, in + at, part), part);
		assert_int_equal(p->filter->read(p->state, &octet, 1), -1);
	}
	return errno;
}

/* A client cannot reserve memory by announcing a long ClientHello. */
static void
long_greeting_is_a_fault(void **state)
{
	static const uint8_t longs[][9] = {HELLO(16385), HELLO(65536),
		HELLO(131000)};
	static const uint8_t most[] = HELLO(16384);
	/* In records of an octet each. */
	static const uint8_t apart[] = {22, 3, 1, 0, 1, 1, 22, 3, 1, 0, 1, 1,
		22, 3, 1, 0, 1, 0, 22, 3, 1, 0, 1, 0};
	struct tls_server *server = server_make(1);
	struct pair p;

	for (size_t i = 0; i < 3; i++) {
		for (size_t piece = 1; piece < 10; piece++) {
			pair_open(&p, server, false, TLS1_3_VERSION, NULL);
			counted_octets = 0;
			assert_int_equal(pair_write_raw(&p, longs[i], 9, piece),
				ECONNRESET);
			assert_true(counted_octets < GREETING_MAX);
			pair_close(&p);
		}
	}
	pair_open(&p, server, false, TLS1_3_VERSION, NULL);
	assert_int_equal(pair_write_raw(&p, apart, sizeof(apart), 24),
		ECONNRESET);
	pair_close(&p);
	pair_open(&p, server, false, TLS1_3_VERSION, NULL);
	counted_octets = 0;
	assert_int_equal(pair_write_raw(&p, most, sizeof(most), 9), EAGAIN);
	assert_true(counted_octets < GREETING_MAX);
	pair_close(&p);
	tls_server_destroy(server);
}

/* A client is asked for another key, and begins anew (RFC 8446 section 4.1.4).
 * That is in plain, too. */
static void
second_greeting_is_looked_at(void **state)
{
	static const uint8_t again[] = HELLO(131000);
	struct tls_server *server = server_make(1);
	uint8_t octet;

	for (int i = 0; i < 2; i++) {
		struct pair p;

		pair_open(&p, server, false, TLS1_3_VERSION, NULL);
		assert_int_equal(SSL_set1_groups_list(p.ssl,
			"P-521:X25519"), 1);
		if (i == 0) {
			assert_int_equal(pair_greet(&p), EAGAIN);
			assert_true(p.filter->is_open(p.state));
			pair_close(&p);
			continue;
		}
		(void)SSL_do_handshake(p.ssl);
		assert_int_equal(p.filter->read(p.state, &octet, 1), -1);
		assert_int_equal(errno, EAGAIN);
		assert_int_equal(pair_write_raw(&p, again, sizeof(again), 9),
			ECONNRESET);
		pair_close(&p);
	}
	tls_server_destroy(server);
}

/* Reads as net does: again when the filter says that it is ready, or the
 * socket has more. */
static void
octets_come_in_pieces_of_any_size(void **state)
{
	struct tls_server *server = server_make(1);
	struct pair p;
	uint8_t *in = malloc(STREAM_LEN);
	size_t sent = 0, have = 0, step = 0;

	pair_open(&p, server, false, TLS1_3_VERSION, NULL);
	assert_int_equal(pair_greet(&p), EAGAIN);
	while (have < STREAM_LEN) {
		size_t size = 1 + step * 37 % 5000, n;
		ssize_t got;

		if (sent < STREAM_LEN && SSL_write_ex(p.ssl, octets + sent,
				STREAM_LEN - sent < size ? STREAM_LEN - sent
							 : size, &n) == 1)
			sent += n;
		size = 1 + step++ * 91 % 700;
		do {
			got = p.filter->read(p.state, in + have,
				STREAM_LEN - have < size ? STREAM_LEN - have
							 : size);
			assert_true(got > 0 || errno == EAGAIN);
			have += got > 0 ? (size_t)got : 0;
		} while (have < STREAM_LEN && p.filter->is_ready(p.state));
	}
	assert_memory_equal(in, octets, STREAM_LEN);
	free(in);
	pair_close(&p);
	tls_server_destroy(server);
}

/* Writes in lists of small pieces; what was not taken is first next time. */
static void
octets_not_taken_are_written_later(void **state)
{
	struct tls_server *server = server_make(1);
	struct pair p;
	uint8_t *in = malloc(STREAM_LEN);
	size_t sent = 0, have = 0, blocked = 0;

	pair_open(&p, server, false, TLS1_3_VERSION, NULL);
	assert_int_equal(pair_greet(&p), EAGAIN);
	while (have < STREAM_LEN) {
		struct iovec iov[64];
		size_t count = 0, at = sent, got = 0;
		ssize_t taken;

		while (count < 64 && at < STREAM_LEN) {
			size_t len = count == 7 ? 40000 : 1 + count * 100;

			len = STREAM_LEN - at < len ? STREAM_LEN - at : len;
			iov[count].iov_base = octets + at;
			iov[count++].iov_len = len;
			at += len;
		}
		taken = count > 0 ? p.filter->write(p.state, iov, count) : 0;
		assert_true(taken >= 0 || errno == EAGAIN);
		blocked += taken < (ssize_t)(at - sent);
		sent += taken > 0 ? (size_t)taken : 0;
		if (SSL_read_ex(p.ssl, in + have, 3000 < STREAM_LEN - have
				? 3000 : STREAM_LEN - have, &got) == 1)
			have += got;
	}
	assert_true(blocked > 10);
	assert_memory_equal(in, octets, STREAM_LEN);
	free(in);
	pair_close(&p);
	tls_server_destroy(server);
}

static void
end_is_told_and_seen(void **state)
{
	struct tls_server *server = server_make(1);
	struct pair p;
	uint8_t octet;

	pair_open(&p, server, false, TLS1_3_VERSION, NULL);
	assert_int_equal(pair_greet(&p), EAGAIN);
	assert_int_equal(SSL_write(p.ssl, "x", 1), 1);
	(void)SSL_shutdown(p.ssl);
	assert_int_equal(p.filter->read(p.state, &octet, 1), 1);
	assert_int_equal(p.filter->read(p.state, &octet, 1), 0);
	p.filter->end(p.state);
	assert_int_equal(SSL_read(p.ssl, &octet, 1), 0);
	assert_int_equal(SSL_get_error(p.ssl, 0), SSL_ERROR_ZERO_RETURN);
	pair_close(&p);
	tls_server_destroy(server);
}

/* A single read has the end of the handshake, application data, and garbage.
 * The connection is open when its data comes. */
static void
octets_before_a_fault_come_first(void **state)
{
	static const char garbage[] = "GET / HTTP/1.1\r\n\r\n";
	struct tls_server *server = server_make(1);
	struct pair p;
	uint8_t out[10];

	pair_open(&p, server, false, TLS1_3_VERSION, NULL);
	(void)SSL_do_handshake(p.ssl);
	assert_int_equal(p.filter->read(p.state, out, sizeof(out)), -1);
	assert_false(p.filter->is_open(p.state));
	assert_int_equal(SSL_do_handshake(p.ssl), 1);
	assert_int_equal(SSL_write(p.ssl, "abc", 3), 3);
	assert_true(write(p.theirs, garbage, sizeof(garbage)) > 0);
	assert_int_equal(p.filter->read(p.state, out, sizeof(out)), 3);
	assert_true(p.filter->is_open(p.state));
	assert_true(p.filter->is_ready(p.state));
	assert_int_equal(p.filter->read(p.state, out, sizeof(out)), -1);
	assert_int_equal(errno, ECONNRESET);
	pair_close(&p);
	tls_server_destroy(server);
}

/* RFC 8446 section 4.6.3: an update costs the client next to nothing. */
static void
updates_of_keys_without_end_are_a_fault(void **state)
{
	struct tls_server *server = server_make(1);
	struct pair p;
	uint8_t octet;
	ssize_t got = -1;
	int count = 0;

	pair_open(&p, server, false, TLS1_3_VERSION, NULL);
	assert_int_equal(pair_greet(&p), EAGAIN);
	errno = EAGAIN;
	while (got == -1 && errno == EAGAIN && count++ < 1000) {
		SSL_key_update(p.ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
		assert_int_equal(SSL_do_handshake(p.ssl), 1);
		got = p.filter->read(p.state, &octet, 1);
	}
	assert_int_equal(errno, ECONNRESET);
	assert_in_range(count, 20, 50);
	pair_close(&p);
	tls_server_destroy(server);
}

/* ---- sessions ------------------------------------------------------------ */

static SSL_SESSION *kept;

static int
on_session(SSL *ssl, SSL_SESSION *session)
{
	SSL_SESSION_free(kept);
	kept = session;
	return 1;
}

/* Returns whether the session was resumed; keeps the new one. */
static bool
resumes(struct tls_server *server, int version)
{
	struct pair p;
	uint8_t octet;
	bool reused;

	pair_open(&p, server, false, version, NULL);
	SSL_CTX_set_session_cache_mode(p.ctx, SSL_SESS_CACHE_CLIENT
		| SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(p.ctx, on_session);
	if (kept != NULL)
		SSL_set_session(p.ssl, kept);
	assert_int_equal(pair_greet(&p), EAGAIN);
	(void)SSL_read(p.ssl, &octet, 1); /* the ticket */
	reused = SSL_session_reused(p.ssl) == 1;
	SSL_shutdown(p.ssl);
	pair_close(&p);
	return reused;
}

static void
session_is_resumed_where_the_secret_is_the_same(void **state)
{
	struct tls_server *one = server_make(1), *same = server_make(1);
	struct tls_server *other = server_make(2);

	assert_false(resumes(one, TLS1_3_VERSION));
	assert_true(resumes(one, TLS1_3_VERSION));
	assert_true(resumes(same, TLS1_3_VERSION));
	assert_false(resumes(other, TLS1_3_VERSION));
	SSL_SESSION_free(kept);
	kept = NULL;
	assert_false(resumes(one, TLS1_2_VERSION));
	assert_false(resumes(one, TLS1_2_VERSION));
	SSL_SESSION_free(kept);
	kept = NULL;
	tls_server_destroy(one);
	tls_server_destroy(same);
	tls_server_destroy(other);
}

/* ---- memory, at rest ----------------------------------------------------- */

/* RFC 7858 section 3.4: clients keep connections. What OpenSSL 3.0 has for one
 * is in doc/decisions/0120. */
static void
idle_connection_is_small(void **state)
{
	struct tls_server *server = server_make(1);
	struct pair pairs[IDLE_COUNT];
	uint8_t message[100] = {0};
	struct iovec iov = {message, sizeof(message)};

	for (int i = -1; i < IDLE_COUNT; i++) {
		struct pair *p = &pairs[i < 0 ? 0 : i];

		/* The first one is for what OpenSSL makes once. */
		counted_octets = i > 0 ? counted_octets : 0;
		pair_open(p, server, false, TLS1_3_VERSION, NULL);
		assert_int_equal(pair_greet(p), EAGAIN);
		assert_int_equal(SSL_write(p->ssl, message, sizeof(message)),
			sizeof(message));
		assert_int_equal(p->filter->read(p->state, message,
			sizeof(message)), sizeof(message));
		assert_int_equal(p->filter->write(p->state, &iov, 1),
			sizeof(message));
		assert_int_equal(SSL_read(p->ssl, message, sizeof(message)),
			sizeof(message));
		if (i < 0)
			pair_close(p);
	}
	print_message("an idle connection: %zu octets of OpenSSL's in %zu"
		      " blocks\n", counted_octets / IDLE_COUNT,
		counted_blocks / IDLE_COUNT);
	assert_true(counted_octets / IDLE_COUNT < IDLE_MAX);
	for (int i = 0; i < IDLE_COUNT; i++)
		pair_close(&pairs[i]);
	tls_server_destroy(server);
}

/* ---- identities ---------------------------------------------------------- */

static void
client_is_who_its_certificate_says(void **state)
{
	const struct exchange_identity *identity;
	struct tls_server *server = server_make(1);
	struct pair p;

	pair_open(&p, server, true, TLS1_3_VERSION, &client_identity);
	assert_int_equal(pair_greet(&p), EAGAIN);
	identity = p.filter->identity(p.state);
	assert_non_null(identity);
	assert_true(identity->is_named(identity, "client.example"));
	assert_false(identity->is_named(identity, "server.example"));
	assert_false(identity->is_named(identity, ""));
	pair_close(&p);
	/* A client without a certificate, or with one of an unknown CA, is
	 * refused. */
	for (int i = 0; i < 2; i++) {
		pair_open(&p, server, true, TLS1_3_VERSION,
			i == 0 ? NULL : &other_identity);
		assert_int_equal(pair_greet(&p), ECONNRESET);
		pair_close(&p);
	}
	tls_server_destroy(server);
}

static void
texts_that_do_not_fit_are_refused(void **state)
{
	struct tls_identity nothing = {.key_len = 0};
	struct secrets *texts = tls_identity_make_texts(&other_identity,
		&server_identity, &client_identity, 1);
	struct tls_server *server;

	assert_int_equal(tls_server_create(texts, NULL, &server),
		NSD_E_SYNTAX);
	secrets_drop(texts);
	texts = tls_identity_make_texts(&server_identity, &nothing,
		&client_identity, 1);
	assert_int_equal(tls_server_create(texts, NULL, &server),
		NSD_E_SYNTAX);
	/* An existing server keeps its texts. */
	server = server_make(1);
	assert_int_equal(tls_server_renew(server, texts, NULL), NSD_E_SYNTAX);
	secrets_drop(texts);
	assert_false(resumes(server, TLS1_3_VERSION));
	assert_true(resumes(server, TLS1_3_VERSION));
	SSL_SESSION_free(kept);
	kept = NULL;
	tls_server_destroy(server);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greeting_opens_the_filter),
		cmocka_unit_test(garbage_is_a_fault),
		cmocka_unit_test(long_greeting_is_a_fault),
		cmocka_unit_test(second_greeting_is_looked_at),
		cmocka_unit_test(octets_come_in_pieces_of_any_size),
		cmocka_unit_test(octets_not_taken_are_written_later),
		cmocka_unit_test(end_is_told_and_seen),
		cmocka_unit_test(octets_before_a_fault_come_first),
		cmocka_unit_test(updates_of_keys_without_end_are_a_fault),
		cmocka_unit_test(
			session_is_resumed_where_the_secret_is_the_same),
		cmocka_unit_test(idle_connection_is_small),
		cmocka_unit_test(client_is_who_its_certificate_says),
		cmocka_unit_test(texts_that_do_not_fit_are_refused),
	};

	assert_int_equal(CRYPTO_set_mem_functions(counted_malloc,
		counted_realloc, counted_free), 1);
	for (size_t i = 0; i < sizeof(octets); i++)
		octets[i] = (uint8_t)(i * 7 + i / 251);
	tls_identity_make(&server_identity, "server.example");
	tls_identity_make(&client_identity, "client.example");
	tls_identity_make(&other_identity, "other.example");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
