/*
 * fuzz_pem.c - keys, certificates and OCSP responses as operators give them:
 * right ones, those of somebody else, cut, altered and made up. What a server,
 * a client and both sides of the control channel take of them is shown in
 * handshakes, with sessions that are resumed, too.
 *
 * What holds: a text that is refused is an error to the sink, and one that is
 * taken is none; after a failure a server has what it had; with the right texts
 * hands are shaken.
 *
 * The input: PREFIX octets (of the handshakes, enum option), then frames: which
 * text it is (enum text), what it is (enum kind), a length of 2 octets, and so
 * many octets. What no frame gives is right.
 */
#include "config.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/exchange.h"
#include "base/octets.h"
#include "ctl/tls.h"
#include "fuzz/mutate_frames.h"
#include "fuzz/mutate_tokens.h"
#include "fuzz/wire.h"
#include "lib/chance.h"
#include "lib/tls_identity.h"
#include "tls/client.h"
#include "tls/server.h"

#define PREFIX 1u

enum option {
	OPTION_ALPN = 3,    /* none, ours, another, another and ours */
	OPTION_OCSP = 4,    /* the client asks for it */
	OPTION_OF_1_2 = 8,
	OPTION_MUTUAL = 16,
	OPTION_RESUME = 32, /* shakes hands again with the first session */
	OPTION_RENEW = 64,  /* between them */
	OPTION_LOCKED = 128,/* the key of the client has a password */
};

enum text { TEXT_KEY, TEXT_CHAIN, TEXT_OCSP, TEXT_BUNDLE, TEXT_PASSWORD,
	TEXTS };

enum kind {
	KIND_OCTETS, /* as they are */
	KIND_RIGHT,
	KIND_OTHER,  /* right, of another identity */
	KIND_TWICE,  /* right, twice */
	KIND_ALTERED,/* right, with (offset, 2 octets; what is added)... */
	KIND_BEFORE, /* the octets, then what is right */
	KIND_NONE,
	KINDS,
};

#define TEXT_MAX 60000u
#define FLIGHTS 8u

struct octets {
	uint8_t *at;
	size_t len;
};

/* The valid texts of two identities. */
static struct octets right[2][TEXTS];
static struct octets locked_key;
static SSL_CTX *context; /* of clients in handshakes */

struct texts {
	struct octets all[TEXTS];
	bool are_right;
};

/* ---- texts --------------------------------------------------------------- */

static struct octets
copy_octets(const uint8_t *at, size_t len)
{
	struct octets copy = {malloc(len + 1), len};

	MUST(copy.at != NULL);
	if (len > 0)
		memcpy(copy.at, at, len);
	return copy;
}

static struct octets
take_bio(BIO *bio)
{
	char *at;
	long len = BIO_get_mem_data(bio, &at);
	struct octets taken = copy_octets((uint8_t *)at, (size_t)len);

	BIO_free(bio);
	return taken;
}

static void
lock_key(void)
{
	BIO *in = BIO_new_mem_buf(right[0][TEXT_KEY].at,
		(int)right[0][TEXT_KEY].len);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL);
	BIO *out = BIO_new(BIO_s_mem());

	/* The traditional form: a key is derived of it in no time. */
	MUST(PEM_write_bio_PrivateKey_traditional(out, key, EVP_aes_128_cbc(),
		(const unsigned char *)"secret", 6, NULL, NULL) == 1);
	locked_key = take_bio(out);
	EVP_PKEY_free(key);
	BIO_free(in);
}

static void
begin(void)
{
	static struct tls_identity identities[2];
	OCSP_RESPONSE *response = OCSP_response_create(
		OCSP_RESPONSE_STATUS_TRYLATER, NULL);
	uint8_t *der = NULL;
	int der_len = i2d_OCSP_RESPONSE(response, &der);

	MUST(der_len > 0);
	for (unsigned i = 0; i < 2; i++) {
		struct tls_identity *who = &identities[i];

		tls_identity_make(who, "server.example");
		right[i][TEXT_KEY] = copy_octets(who->key, who->key_len);
		right[i][TEXT_CHAIN] = copy_octets(who->cert, who->cert_len);
		right[i][TEXT_BUNDLE] = right[i][TEXT_CHAIN];
		right[i][TEXT_OCSP] = copy_octets(der, (size_t)der_len);
		right[i][TEXT_PASSWORD] = copy_octets(
			(const uint8_t *)"secret", 6);
	}
	OPENSSL_free(der);
	OCSP_RESPONSE_free(response);
	lock_key();
	context = SSL_CTX_new(TLS_client_method());
	MUST(context != NULL);
	tls_identity_use(context, &identities[0]);
	signal(SIGPIPE, SIG_IGN);
}

static struct octets
alter(const struct octets *text, const uint8_t *data, size_t len)
{
	struct octets altered = copy_octets(text->at, text->len);

	for (; len >= 3; data += 3, len -= 3)
		altered.at[octets_get_u16(data) % text->len] ^= data[2];
	return altered;
}

static struct octets
join(const uint8_t *one, size_t one_len, const struct octets *two)
{
	struct octets all = copy_octets(one, one_len);

	all.at = realloc(all.at, one_len + two->len + 1);
	MUST(all.at != NULL);
	memcpy(all.at + one_len, two->at, two->len);
	all.len += two->len;
	return all;
}

static void
set_text(void *ctx, const uint8_t *head, const uint8_t *data, size_t len)
{
	struct texts *texts = ctx;
	unsigned which = head[0] % TEXTS, kind = head[1] % KINDS;
	struct octets *text = &texts->all[which];
	const struct octets *own = &right[0][which];

	if (len > TEXT_MAX / 2)
		len = TEXT_MAX / 2;
	texts->are_right = false;
	free(text->at);
	switch (kind) {
	case KIND_RIGHT:
		*text = copy_octets(own->at, own->len);
		break;
	case KIND_OTHER:
		*text = copy_octets(right[1][which].at, right[1][which].len);
		break;
	case KIND_TWICE:
		*text = join(own->at, own->len, own);
		break;
	case KIND_ALTERED:
		*text = alter(own, data, len);
		break;
	case KIND_BEFORE:
		*text = join(data, len, own);
		break;
	default:
		*text = copy_octets(data, kind == KIND_NONE ? 0 : len);
	}
}

static struct tls_text
lend(const struct octets *text)
{
	return (struct tls_text){text->at, text->len};
}

/* ---- use of the texts ---------------------------------------------------- */

static void
on_diag(struct diag_sink *sink, const struct diag *diag)
{
	MUST(strlen(diag->text) > 0);
}

/* A text was refused, and that was said; or not. */
static bool
is_taken(enum nsd_err err, const struct diag_sink *sink)
{
	MUST(err == NSD_OK || err == NSD_E_SYNTAX);
	MUST((err == NSD_OK) == (sink->errors == 0));
	return err == NSD_OK;
}

static struct secrets *
make_secrets(const struct texts *texts)
{
	static const uint8_t tickets[TLS_TICKETS_LEN];
	const struct octets *all = texts->all;
	const struct secrets_octets list[TLS_SERVER_TEXTS] = {
		[TLS_SERVER_KEY] = {all[TEXT_KEY].at, all[TEXT_KEY].len},
		[TLS_SERVER_CHAIN] = {all[TEXT_CHAIN].at,
			all[TEXT_CHAIN].len},
		[TLS_SERVER_OCSP] = {all[TEXT_OCSP].at, all[TEXT_OCSP].len},
		[TLS_SERVER_BUNDLE] = {all[TEXT_BUNDLE].at,
			all[TEXT_BUNDLE].len},
		[TLS_SERVER_TICKETS] = {tickets, sizeof(tickets)},
	};
	struct secrets *secrets;

	MUST(secrets_create(TLS_SERVER_TEXTS, 4 * TEXT_MAX, &secrets)
		== NSD_OK);
	for (unsigned i = 0; i < TLS_SERVER_TEXTS; i++)
		secrets_add(secrets, list[i]);
	return secrets;
}

static void
make_client(const struct texts *texts, bool locked)
{
	struct diag_sink sink = {on_diag, 0, 0};
	char password[TEXT_MAX + 1];
	const struct octets *given = &texts->all[TEXT_PASSWORD];
	struct tls_client_options o = {
		.name = "fuzz",
		.domain = "server.example",
		.bundle = lend(&texts->all[TEXT_BUNDLE]),
		.chain = lend(&texts->all[TEXT_CHAIN]),
		.key = lend(locked ? &locked_key : &texts->all[TEXT_KEY]),
	};
	struct tls_client *client = NULL;

	memcpy(password, given->at, given->len);
	password[given->len] = '\0';
	if (locked)
		o.password = password;
	if (is_taken(tls_client_create(&o, &sink, &client), &sink))
		tls_client_destroy(client);
	else
		MUST(!texts->are_right);
	tls_client_destroy(NULL);
}

static int
open_file(const struct octets *text, char path[32])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	MUST(fd != -1 && write(fd, text->at, text->len) == (ssize_t)text->len);
	sprintf(path, "/proc/self/fd/%d", fd);
	return fd;
}

static void
make_control(const struct texts *texts)
{
	struct diag_sink sink = {on_diag, 0, 0};
	char key[32], cert[32], authority[32];
	const struct ctl_tls_files files = {key, cert, authority};
	int fds[3] = {open_file(&texts->all[TEXT_KEY], key),
		open_file(&texts->all[TEXT_CHAIN], cert),
		open_file(&texts->all[TEXT_BUNDLE], authority)};
	struct ctl_tls *made = NULL;

	if (is_taken(ctl_tls_create_server(lend(&texts->all[TEXT_KEY]),
		lend(&texts->all[TEXT_CHAIN]), &sink, &made), &sink))
		ctl_tls_destroy(made);
	else
		MUST(!texts->are_right);
	sink.errors = 0;
	if (is_taken(ctl_tls_create_client(&files, &sink, &made), &sink)) {
		SSL_free(ctl_tls_open(made));
		ctl_tls_destroy(made);
	}
	ctl_tls_destroy(NULL);
	for (unsigned i = 0; i < 3; i++)
		close(fds[i]);
}

/* ---- handshakes ---------------------------------------------------------- */

static void
set_client(SSL *ssl, uint8_t options)
{
	static const struct {
		const char *octets;
		unsigned len;
	} protocols[4] = {{"", 0}, {"\3dot", 4}, {"\2h2", 3}, {"\2h2\3dot", 7}};
	unsigned which = options & OPTION_ALPN;

	if (which > 0)
		MUST(SSL_set_alpn_protos(ssl,
			(const uint8_t *)protocols[which].octets,
			protocols[which].len) == 0);
	if ((options & OPTION_OCSP) != 0)
		SSL_set_tlsext_status_type(ssl, TLSEXT_STATUSTYPE_ocsp);
	if ((options & OPTION_OF_1_2) != 0)
		SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
}

/* Shakes hands. Returns the session; NULL: there is none. */
static SSL_SESSION *
shake_hands(const struct tls_server *server, uint8_t options,
	SSL_SESSION *session)
{
	const struct filter *filter = tls_server_get_filter(server,
		(options & OPTION_MUTUAL) != 0);
	const struct exchange_identity *identity;
	struct wire wire;
	uint8_t octets[64] = {0};
	SSL_SESSION *kept = NULL;
	void *state;
	int fds[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
	wire.fd = fds[0];
	wire_set_tls(&wire, context, false);
	set_client(wire.ssl, options);
	if (session != NULL)
		MUST(SSL_set_session(wire.ssl, session) == 1);
	state = filter->open(filter->ctx, fds[1]);
	MUST(state != NULL);
	for (unsigned i = 0; i < FLIGHTS; i++) {
		(void)wire_greet(&wire);
		(void)filter->read(state, octets, sizeof(octets));
	}
	if (filter->is_open(state)) {
		identity = filter->identity(state);
		if (identity != NULL)
			(void)identity->is_named(identity, "server.example");
		(void)filter->write(state, &(struct iovec){octets, 5}, 1);
		(void)wire_receive(&wire, octets, sizeof(octets));
		kept = SSL_get1_session(wire.ssl);
	}
	filter->end(state);
	filter->close(state);
	/* Without a clean shutdown OpenSSL does not resume the session. */
	SSL_set_shutdown(wire.ssl, SSL_SENT_SHUTDOWN);
	wire_close(&wire);
	close(fds[1]);
	return kept;
}

static void
make_server(const struct texts *texts, uint8_t options)
{
	struct secrets *secrets = make_secrets(texts);
	struct diag_sink sink = {on_diag, 0, 0};
	struct tls_server *server = NULL;
	SSL_SESSION *session, *next = NULL;

	/* Without a bundle clients show no certificate. */
	if (texts->all[TEXT_BUNDLE].len == 0)
		options &= (uint8_t)~OPTION_MUTUAL;
	if (!is_taken(tls_server_create(secrets, &sink, &server), &sink)) {
		MUST(!texts->are_right);
		goto done;
	}
	session = shake_hands(server, options, NULL);
	MUST(session != NULL || !texts->are_right
		|| (options & OPTION_ALPN) == 2);
	if ((options & OPTION_RENEW) != 0)
		MUST(tls_server_renew(server, secrets, &sink) == NSD_OK);
	if ((options & OPTION_RESUME) != 0)
		next = shake_hands(server, options, session);
	SSL_SESSION_free(session);
	SSL_SESSION_free(next);
	tls_server_destroy(server);
done:
	tls_server_destroy(NULL);
	secrets_drop(secrets);
}

/* ---- inputs -------------------------------------------------------------- */

static void
put_word(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const words[] = {"-----BEGIN", "-----END",
		"CERTIFICATE-----", "PRIVATE", "KEY-----", "EC", "TRUSTED",
		"-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----",
		"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
		"-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type:",
		"4,ENCRYPTED", "DEK-Info:", "AES-128-CBC,00", "MIIB", "AAAA",
		"==", "Subject:"};

	mutate_pick(out, words, sizeof(words) / sizeof(*words), chance);
}

static void
make_head(uint8_t *head, uint64_t *chance)
{
	head[0] = (uint8_t)chance_below(chance, TEXTS);
	head[1] = (uint8_t)chance_below(chance, KINDS);
}

static const struct mutate_text text = {.put_word = put_word};
static const struct mutate_frames frames = {
	.prefix = PREFIX,
	.head = 4,
	.make_head = make_head,
	.text = &text,
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct texts texts = {.are_right = true};

	if (context == NULL)
		begin();
	if (size < PREFIX)
		return 0;
	for (unsigned i = 0; i < TEXTS; i++)
		texts.all[i] = copy_octets(right[0][i].at, right[0][i].len);
	frames_walk(&frames, data, size, set_text, &texts);
	make_server(&texts, data[0]);
	make_client(&texts, (data[0] & OPTION_LOCKED) != 0);
	make_control(&texts);
	for (unsigned i = 0; i < TEXTS; i++)
		free(texts.all[i].at);
	ERR_clear_error();
	return 0;
}

FRAMES_FOR_FUZZER(&frames)
