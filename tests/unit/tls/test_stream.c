/* test_stream.c - the filter of a connection with TLS, against a client of
 * OpenSSL over a pair of sockets. */
#include "config.h"

#include <errno.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/exchange.h"
#include "tls/server.h"

#define STREAM_LEN 200000

/* A key and a certificate of its own for a name, in PEM. */
struct identity {
	uint8_t key[4096], cert[4096];
	size_t key_len, cert_len;
};

static struct identity server_identity, client_identity, other_identity;
static uint8_t octets[STREAM_LEN];

static size_t
take_pem(BIO *bio, uint8_t out[4096])
{
	int len = BIO_read(bio, out, 4096);

	assert_true(len > 0);
	BIO_free(bio);
	return (size_t)len;
}

static void
identity_make(struct identity *identity, const char *name)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	X509_NAME *subject = X509_get_subject_name(cert);
	BIO *bio = BIO_new(BIO_s_mem());

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -60);
	X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
	X509_set_pubkey(cert, key);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
		(const uint8_t *)name, -1, -1, 0);
	X509_set_issuer_name(cert, subject);
	assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
	PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
	identity->key_len = take_pem(bio, identity->key);
	bio = BIO_new(BIO_s_mem());
	PEM_write_bio_X509(bio, cert);
	identity->cert_len = take_pem(bio, identity->cert);
	X509_free(cert);
	EVP_PKEY_free(key);
}

/* The texts of a server; secret: of its tickets. */
static struct secrets *
texts_make(const struct identity *key, const struct identity *cert,
	uint8_t secret)
{
	uint8_t tickets[TLS_TICKETS_LEN];
	const struct secrets_octets none = {NULL, 0};
	const struct secrets_octets all[TLS_SERVER_TEXTS] = {
		[TLS_SERVER_KEY] = {key->key, key->key_len},
		[TLS_SERVER_CHAIN] = {cert->cert, cert->cert_len},
		[TLS_SERVER_BUNDLE] = {client_identity.cert,
			client_identity.cert_len},
		[TLS_SERVER_TICKETS] = {tickets, sizeof(tickets)},
	};
	struct secrets *texts;

	memset(tickets, secret, sizeof(tickets));
	assert_int_equal(secrets_create(TLS_SERVER_TEXTS, 20000, &texts),
		NSD_OK);
	for (int i = 0; i < TLS_SERVER_TEXTS; i++)
		secrets_add(texts, none, all[i]);
	return texts;
}

static struct tls_server *
server_make(uint8_t secret)
{
	struct secrets *texts = texts_make(&server_identity, &server_identity,
		secret);
	struct tls_server *server;

	assert_int_equal(tls_server_create(texts, NULL, &server), NSD_OK);
	secrets_drop(texts);
	return server;
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
	int version, const struct identity *own)
{
	int fds[2], size = 4096;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
		fds), 0);
	for (int i = 0; i < 2; i++)
		setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	p->ours = fds[0];
	p->theirs = fds[1];
	p->filter = tls_server_get_filter(server, mutual);
	p->state = p->filter->open(p->filter->ctx, p->ours);
	assert_non_null(p->state);
	p->ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_max_proto_version(p->ctx, version);
	SSL_CTX_set_mode(p->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE
		| SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (own != NULL) {
		BIO *bio = BIO_new_mem_buf(own->cert, (int)own->cert_len);
		X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
		BIO *key_bio = BIO_new_mem_buf(own->key, (int)own->key_len);
		EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL,
			NULL);

		assert_int_equal(SSL_CTX_use_certificate(p->ctx, cert), 1);
		assert_int_equal(SSL_CTX_use_PrivateKey(p->ctx, key), 1);
		X509_free(cert);
		EVP_PKEY_free(key);
		BIO_free(bio);
		BIO_free(key_bio);
	}
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
	/* Nothing at all, then the end. */
	pair_open(&p, server, false, TLS1_3_VERSION, NULL);
	assert_int_equal(p.filter->read(p.state, out, sizeof(out)), -1);
	assert_int_equal(errno, EAGAIN);
	shutdown(p.theirs, SHUT_WR);
	assert_true(p.filter->read(p.state, out, sizeof(out)) <= 0);
	pair_close(&p);
	tls_server_destroy(server);
}

/* ---- octets -------------------------------------------------------------- */

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

/* RFC 8446 section 4.6.3: it costs the client next to nothing. */
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

/* ---- who it is ----------------------------------------------------------- */

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
	/* None, or one that nobody vouches for. */
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
	struct identity nothing = {.key_len = 0};
	struct secrets *texts = texts_make(&other_identity, &server_identity,
		1);
	struct tls_server *server;

	assert_int_equal(tls_server_create(texts, NULL, &server),
		NSD_E_SYNTAX);
	secrets_drop(texts);
	texts = texts_make(&server_identity, &nothing, 1);
	assert_int_equal(tls_server_create(texts, NULL, &server),
		NSD_E_SYNTAX);
	/* One that is there stays as it was. */
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
		cmocka_unit_test(octets_come_in_pieces_of_any_size),
		cmocka_unit_test(octets_not_taken_are_written_later),
		cmocka_unit_test(end_is_told_and_seen),
		cmocka_unit_test(updates_of_keys_without_end_are_a_fault),
		cmocka_unit_test(
			session_is_resumed_where_the_secret_is_the_same),
		cmocka_unit_test(client_is_who_its_certificate_says),
		cmocka_unit_test(texts_that_do_not_fit_are_refused),
	};

	for (size_t i = 0; i < sizeof(octets); i++)
		octets[i] = (uint8_t)(i * 7 + i / 251);
	identity_make(&server_identity, "server.example");
	identity_make(&client_identity, "client.example");
	identity_make(&other_identity, "other.example");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
