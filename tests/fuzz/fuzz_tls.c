/*
 * fuzz_tls.c - the server's side of TLS, over a pair of sockets as a worker has
 * it. The first octet of an input says what a client does with the rest:
 *
 *   KIND_RAW     sends it in place of a handshake
 *   KIND_ALTERED shakes hands, and sends octets that are altered:
 *                (offset, 2 octets; what is added to the octet there)...
 *   KIND_SCRIPT  shakes hands; then each octet is a deed
 *   KIND_SEALED  shakes hands; then sends records that are rightly sealed:
 *                (type, length of 2 octets, content)...
 *
 * and by other bits with which version, whether it shows a certificate and in
 * what pieces its octets come.
 */
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/octets.h"
#include "fuzz/mutate_octets.h"
#include "lib/chance.h"
#include "lib/tls_identity.h"
#include "tls/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KIND_BITS 3u
enum { KIND_RAW, KIND_ALTERED, KIND_SCRIPT, KIND_SEALED };
#define OF_1_2 4u
#define MUTUAL 8u
#define IN_PIECES 16u

/* The octets of a call of the filter (decision 0104). */
#define CALL_MAX (17 * 1024)
#define IN_MAX (64 * 1024)
#define OUT_MAX (32 * 1024)
#define DEEDS_MAX 100
#define HELLO_FLIGHTS 6
#define KEY_LEN 16
#define IV_LEN 12
#define TAG_LEN 16
#define HEADER_LEN 5

static struct tls_identity own, clients;
static struct tls_server *server;
static SSL_CTX *contexts[2]; /* of clients, by whether they show who they are */
/* The client's traffic secret, after a handshake of TLS 1.3. */
static uint8_t secret[32];
static bool has_secret;

static void
check(bool condition)
{
	if (!condition)
		abort();
}

struct report {
	const struct filter *filter;
	void *state;
	SSL *client;
	BIO *to_client, *from_client;
	int ours, theirs;
	size_t piece;     /* 0: the whole input at once */
	size_t sent;      /* octets of the client's so far */
	struct cursor in; /* the rest of the input */
	bool altered;     /* by the input, or it speaks for the client */
	bool over;
	uint64_t wrote, got; /* of what is inside */
	uint64_t sealed;
};

/* ---- the client ---------------------------------------------------------- */

/* A line "WHAT RANDOM SECRET", in hexadecimal digits. */
static void
on_secret(const SSL *ssl, const char *line)
{
	static const char what[] = "CLIENT_TRAFFIC_SECRET_0 ";
	const char *at = strrchr(line, ' ');
	long len = 0;
	uint8_t *octets;

	if (strncmp(line, what, sizeof(what) - 1) != 0)
		return;
	octets = OPENSSL_hexstr2buf(at + 1, &len);
	check(octets != NULL);
	has_secret = len == (long)sizeof(secret);
	if (has_secret)
		memcpy(secret, octets, sizeof(secret));
	OPENSSL_free(octets);
}

static void
begin(void)
{
	tls_identity_make(&own, "server.example");
	tls_identity_make(&clients, "client.example");
	server = tls_identity_make_server(&own, &clients, 1);
	for (int i = 0; i < 2; i++) {
		contexts[i] = SSL_CTX_new(TLS_client_method());
		check(contexts[i] != NULL);
		SSL_CTX_set_keylog_callback(contexts[i], on_secret);
	}
	tls_identity_use(contexts[1], &clients);
}

/* RFC 8446 section 7.1: HKDF-Expand-Label of nothing. */
static void
expand(const char *label, uint8_t *out, size_t len)
{
	static char digest[] = "SHA256";
	uint8_t info[32] = {0, (uint8_t)len};
	int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
	size_t label_len = strlen(label);
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST,
			digest, 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret,
			sizeof(secret)),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info,
			label_len + 4),
		OSSL_PARAM_construct_end(),
	};
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
	int done;

	info[2] = (uint8_t)label_len;
	memcpy(info + 3, label, label_len);
	done = EVP_KDF_derive(ctx, out, len, params);
	check(done == 1);
	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
}

/* Writes a record of TLS 1.3 whose content is sealed. Returns its length. */
static size_t
seal(struct report *t, uint8_t type, const uint8_t *at, size_t len,
	uint8_t *out)
{
	uint8_t key[KEY_LEN], iv[IV_LEN];
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	uint64_t number = t->sealed++;
	size_t inner = len + 1 + TAG_LEN;
	int part;

	expand("tls13 key", key, sizeof(key));
	expand("tls13 iv", iv, sizeof(iv));
	for (int i = 0; i < 8; i++)
		iv[IV_LEN - 1 - i] ^= (uint8_t)(number >> (8 * i));
	out[0] = SSL3_RT_APPLICATION_DATA;
	out[1] = 3;
	out[2] = 3;
	octets_put_u16(out + 3, (uint16_t)inner);
	EVP_EncryptInit_ex(ctx, EVP_aes_128_gcm(), NULL, key, iv);
	EVP_EncryptUpdate(ctx, NULL, &part, out, HEADER_LEN);
	EVP_EncryptUpdate(ctx, out + HEADER_LEN, &part, at, (int)len);
	EVP_EncryptUpdate(ctx, out + HEADER_LEN + len, &part, &type, 1);
	EVP_EncryptFinal_ex(ctx, out + HEADER_LEN + len + 1, &part);
	EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG_LEN,
		out + HEADER_LEN + len + 1);
	EVP_CIPHER_CTX_free(ctx);
	return HEADER_LEN + inner;
}

/* ---- the server, as net has it ------------------------------------------- */

static size_t
queued(const struct report *t)
{
	int count = 0;

	check(ioctl(t->ours, FIONREAD, &count) == 0);
	return (size_t)count;
}

/* Octets arrive as they were sent, unless a test altered them. */
static void
check_octets(struct report *t, const uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len && !t->altered; i++)
		check(at[i] == (uint8_t)(t->got + i));
	t->got += len;
	check(t->altered || t->got <= t->wrote);
}

static void
serve(struct report *t)
{
	static uint8_t in[4096];
	size_t turns = 0;

	while (!t->over) {
		size_t before = queued(t);
		size_t size = turns < 64 && turns % 2 != 0 ? 1 : sizeof(in);
		ssize_t got = t->filter->read(t->state, in, size);

		check(got <= (ssize_t)size);
		check(before - queued(t) <= CALL_MAX);
		check(turns++ <= IN_MAX + OUT_MAX);
		if (got > 0) {
			check(t->filter->is_open(t->state));
			check_octets(t, in, (size_t)got);
			continue;
		}
		t->over = got == 0 || errno != EAGAIN;
		if (!t->filter->is_ready(t->state) && queued(t) == 0)
			break;
	}
	if (!t->over)
		return;
	/* An ended connection stays ended, and a write to it does no harm. */
	check(t->filter->read(t->state, in, sizeof(in)) <= 0);
	(void)t->filter->write(t->state, &(struct iovec){in, 10}, 1);
}

/* Sends octets of the client, and has them read. */
static void
send_octets(struct report *t, const uint8_t *at, size_t len)
{
	while (len > 0 && !t->over) {
		size_t piece = t->piece != 0 && t->piece < len ? t->piece : len;
		ssize_t sent = send(t->theirs, at, piece,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		check(sent > 0);
		at += sent;
		len -= (size_t)sent;
		t->sent += (size_t)sent;
		serve(t);
	}
}

/* Takes what the server has sent to where the client reads. */
static void
fetch(struct report *t)
{
	static uint8_t out[OUT_MAX];
	ssize_t got;

	while ((got = recv(t->theirs, out, sizeof(out), MSG_DONTWAIT)) > 0)
		BIO_write(t->to_client, out, (int)got);
}

/* Sends what the client has made. */
static void
forward(struct report *t)
{
	static uint8_t out[IN_MAX];
	int len = BIO_read(t->from_client, out, sizeof(out));

	if (len <= 0)
		return;
	while (t->altered && cursor_left(&t->in) >= 3) {
		const uint8_t *next = cursor_read_octets(&t->in, 3);
		size_t at = octets_get_u16(next);

		if (at < t->sent || at - t->sent >= (size_t)len)
			continue;
		out[at - t->sent] ^= next[2];
	}
	send_octets(t, out, (size_t)len);
}

static void
greet(struct report *t)
{
	for (int i = 0; i < HELLO_FLIGHTS && !t->over; i++) {
		(void)SSL_do_handshake(t->client);
		forward(t);
		fetch(t);
	}
	check(t->altered || t->filter->is_open(t->state));
}

/* ---- deeds --------------------------------------------------------------- */

static void
do_write(struct report *t, size_t len)
{
	static uint8_t octets[OUT_MAX];
	size_t sent = 0;

	for (size_t i = 0; i < len; i++)
		octets[i] = (uint8_t)(t->wrote + i);
	if (len > 0 && SSL_write_ex(t->client, octets, len, &sent) == 1)
		t->wrote += sent;
	forward(t);
}

static void
do_answer(struct report *t, size_t len)
{
	static uint8_t octets[OUT_MAX];
	struct iovec iov[3] = {
		{octets, 1 + len}, {octets, len / 2 + 1}, {octets, 2},
	};

	if (!t->over)
		(void)t->filter->write(t->state, iov, 3);
	fetch(t);
	while (SSL_read(t->client, octets, sizeof(octets)) > 0)
		;
	forward(t);
}

static void
play(struct report *t)
{
	for (int i = 0; i < DEEDS_MAX && t->sent < OUT_MAX
		&& cursor_left(&t->in) > 0; i++) {
		uint8_t deed = cursor_read_u8(&t->in);
		size_t len = deed >> 3;
		const uint8_t *at;

		switch (deed & 7) {
		case 0:
			len = len < cursor_left(&t->in) ? len
				: cursor_left(&t->in);
			at = cursor_read_octets(&t->in, len);
			t->altered = true;
			send_octets(t, at, len);
			break;
		case 1:
			do_write(t, len);
			break;
		case 2:
			do_write(t, len * 1000);
			break;
		case 3:
			(void)SSL_key_update(t->client, (int)(len & 1));
			do_write(t, len >> 1);
			break;
		case 4:
			do_answer(t, len * 500);
			break;
		case 5:
			(void)SSL_renegotiate(t->client);
			(void)SSL_do_handshake(t->client);
			forward(t);
			break;
		case 6:
			(void)SSL_shutdown(t->client);
			forward(t);
			break;
		default:
			if (!t->over)
				t->filter->end(t->state);
		}
	}
}

static void
send_sealed(struct report *t)
{
	static uint8_t out[HEADER_LEN + 65536];

	t->altered = true;
	while (has_secret && cursor_left(&t->in) >= 3 && !t->over) {
		uint8_t type = cursor_read_u8(&t->in);
		size_t len = cursor_read_u16(&t->in);

		if (len > cursor_left(&t->in))
			len = cursor_left(&t->in);
		if (len > UINT16_MAX - 1 - TAG_LEN)
			return;
		send_octets(t, out, seal(t, type,
			cursor_read_octets(&t->in, len), len, out));
		fetch(t);
	}
}

/* ---- an input ------------------------------------------------------------ */

static void
talk_begin(struct report *t, uint8_t what)
{
	bool mutual = (what & MUTUAL) != 0;
	int fds[2];

	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
	t->ours = fds[0];
	t->theirs = fds[1];
	t->filter = tls_server_get_filter(server, mutual);
	t->state = t->filter->open(t->filter->ctx, t->ours);
	check(t->state != NULL);
	t->client = SSL_new(contexts[mutual]);
	t->to_client = BIO_new(BIO_s_mem());
	t->from_client = BIO_new(BIO_s_mem());
	check(t->client != NULL && t->to_client != NULL
		&& t->from_client != NULL);
	BIO_set_mem_eof_return(t->to_client, -1);
	SSL_set_bio(t->client, t->to_client, t->from_client);
	SSL_set_connect_state(t->client);
	if ((what & OF_1_2) != 0)
		SSL_set_max_proto_version(t->client, TLS1_2_VERSION);
	has_secret = false;
}

static void
talk_end(struct report *t)
{
	if (!t->over) {
		shutdown(t->theirs, SHUT_WR);
		serve(t);
	}
	t->filter->close(t->state);
	SSL_free(t->client);
	close(t->ours);
	close(t->theirs);
	ERR_clear_error();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report t = {.got = 0};
	uint8_t what;

	if (server == NULL)
		begin();
	if (size == 0 || size > IN_MAX)
		return 0;
	cursor_init(&t.in, data, size);
	what = cursor_read_u8(&t.in);
	t.altered = (what & KIND_BITS) <= KIND_ALTERED;
	t.piece = (what & IN_PIECES) != 0 ? 1 + (what >> 5) * 7 : 0;
	talk_begin(&t, what);
	if ((what & KIND_BITS) == KIND_RAW) {
		size_t len = cursor_left(&t.in);

		send_octets(&t, cursor_read_octets(&t.in, len), len);
		check(!t.filter->is_open(t.state));
	} else {
		greet(&t);
	}
	if ((what & KIND_BITS) == KIND_SCRIPT)
		play(&t);
	if ((what & KIND_BITS) == KIND_SEALED)
		send_sealed(&t);
	talk_end(&t);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

/* Writes a message of a handshake, or another record's content, that is well
 * formed at least on its outside. Returns its length. */
static size_t
make_content(uint8_t *out, uint8_t type, uint64_t *chance)
{
	static const uint8_t kinds[] = {0, 1, 2, 4, 8, 11, 13, 15, 20, 24, 254};
	size_t len = chance_below(chance, 40);

	for (size_t i = 0; i < 4 + len; i++)
		out[i] = (uint8_t)chance_next(chance);
	switch (type) {
	case SSL3_RT_ALERT:
		out[0] = (uint8_t)(1 + chance_below(chance, 2));
		out[1] = (uint8_t)chance_below(chance, 121);
		return 2;
	case SSL3_RT_HANDSHAKE:
		out[0] = kinds[chance_below(chance, sizeof(kinds))];
		if (out[0] == SSL3_MT_KEY_UPDATE)
			len = 1;
		out[1] = 0;
		octets_put_u16(out + 2, (uint16_t)len);
		out[4] &= 1;
		return 4 + len;
	default:
		return len;
	}
}

/* A record for the end of an input of KIND_SEALED. */
static size_t
add_sealed(uint8_t *data, size_t size, size_t max, uint64_t *chance)
{
	static const uint8_t kinds[] = {SSL3_RT_CHANGE_CIPHER_SPEC,
		SSL3_RT_ALERT, SSL3_RT_HANDSHAKE, SSL3_RT_HANDSHAKE,
		SSL3_RT_APPLICATION_DATA, 24, 0};
	uint8_t record[3 + 64];
	size_t len;

	record[0] = kinds[chance_below(chance, sizeof(kinds))];
	len = make_content(record + 3, record[0], chance);
	octets_put_u16(record + 1, (uint16_t)len);
	if (size + 3 + len > max)
		return size;
	memcpy(data + size, record, 3 + len);
	return size + 3 + len;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint64_t chance = seed;

	if (size == 0 || chance_below(&chance, 3) != 0)
		return mutate_octets(&chance, data, size, max);
	if (chance_below(&chance, 4) == 0)
		data[0] = (uint8_t)chance_next(&chance);
	if ((data[0] & KIND_BITS) == KIND_SEALED)
		return add_sealed(data, size, max, &chance);
	if ((data[0] & KIND_BITS) == KIND_SCRIPT && size < max)
		data[size++] = (uint8_t)chance_next(&chance);
	return size;
}
