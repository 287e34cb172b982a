/* server.c - the keys and certificates of a server of DNS over TLS. */
#include "config.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "tls/pem.h"

/* Forward secrecy and AEAD alone (RFC 9325 section 4.2). */
#define CIPHERS_OF_1_2 "ECDHE+AESGCM:ECDHE+CHACHA20"
/* The first has the cheapest hash for the many keys of a handshake. */
#define CIPHERS_OF_1_3                                                       \
	"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"                      \
	":TLS_CHACHA20_POLY1305_SHA256"
/* The groups that are offered: other groups cost so much that a few clients
 * would take all time. */
#define GROUPS "X25519:P-256:P-384"
/* The most octets of certificates that a client may send, and the most
 * certificates. */
#define CLIENT_CHAIN_MAX 16384
#define CLIENT_DEPTH_MAX 5

static enum nsd_err
server_fail(struct diag_sink *sink, const char *what)
{
	char reason[128];

	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "%s: %s", what,
		tls_print_reason(reason, sizeof(reason)));
	return NSD_E_SYNTAX;
}

/* A client that names protocols must name ours (RFC 7301 section 3.2). */
static int
server_on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
	const unsigned char *in, unsigned in_len, void *arg)
{
	for (unsigned at = 0; at < in_len; at += 1u + in[at]) {
		if (in_len - at < sizeof(tls_alpn_dot)
			|| memcmp(in + at, tls_alpn_dot, sizeof(tls_alpn_dot))
				!= 0)
			continue;
		*out = in + at + 1;
		*out_len = in[at];
		return SSL_TLSEXT_ERR_OK;
	}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* Gives a connection a copy of the OCSP response, which OpenSSL frees. */
static int
server_on_status(SSL *ssl, void *arg)
{
	const struct tls_server *server = arg;
	uint8_t *copy;

	if (server->ocsp == NULL)
		return SSL_TLSEXT_ERR_NOACK;
	copy = OPENSSL_memdup(server->ocsp, server->ocsp_len);
	if (copy == NULL)
		return SSL_TLSEXT_ERR_NOACK;
	SSL_set_tlsext_status_ocsp_resp(ssl, copy, (long)server->ocsp_len);
	return SSL_TLSEXT_ERR_OK;
}

/* ---- contexts ------------------------------------------------------------ */

static enum nsd_err
server_use_texts(SSL_CTX *ctx, const struct secrets *texts,
	struct diag_sink *sink)
{
	if (!tls_use_chain(ctx, tls_get_text(texts, TLS_SERVER_CHAIN)))
		return server_fail(sink, "tls-service-pem is no certificate"
					 " that can be used");
	if (!tls_use_key(ctx, tls_get_text(texts, TLS_SERVER_KEY), NULL))
		return server_fail(sink, "tls-service-key is no key that can"
					 " be used with tls-service-pem");
	if (SSL_CTX_check_private_key(ctx) != 1)
		return server_fail(sink, "tls-service-key and tls-service-pem"
					 " do not belong together");
	return NSD_OK;
}

static bool
server_set_options(struct tls_server *server, SSL_CTX *ctx)
{
	static const uint8_t id[] = {'n', 's', 'd'};

	/* A client that closes without a word has the same meaning: messages
	 * have their length. */
	SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE
		| SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
		| SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_app_data(ctx, server);
	SSL_CTX_set_alpn_select_cb(ctx, server_on_alpn, NULL);
	SSL_CTX_set_tlsext_status_cb(ctx, server_on_status);
	SSL_CTX_set_tlsext_status_arg(ctx, server);
	stream_watch(ctx);
	return SSL_CTX_set_cipher_list(ctx, CIPHERS_OF_1_2) == 1
		&& SSL_CTX_set_ciphersuites(ctx, CIPHERS_OF_1_3) == 1
		&& SSL_CTX_set1_groups_list(ctx, GROUPS) == 1
		&& SSL_CTX_set_session_id_context(ctx, id, sizeof(id)) == 1;
}

/* Makes the context for connections. With `mutual` it makes no tickets: a
 * session would be resumed though its client's certificate is trusted no
 * more. */
static enum nsd_err
server_make_context(struct tls_server *server, const struct secrets *texts,
	bool mutual, struct diag_sink *sink, SSL_CTX **made)
{
	SSL_CTX *ctx = tls_create_context(TLS_server_method());
	enum nsd_err err = NSD_E_MEMORY;

	if (ctx != NULL && server_set_options(server, ctx))
		err = server_use_texts(ctx, texts, sink);
	if (err == NSD_OK && mutual) {
		SSL_CTX_set_num_tickets(ctx, 0);
		SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER
			| SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
		SSL_CTX_set_verify_depth(ctx, CLIENT_DEPTH_MAX);
		SSL_CTX_set_max_cert_list(ctx, CLIENT_CHAIN_MAX);
		if (!tls_use_authorities(ctx,
			    tls_get_text(texts, TLS_SERVER_BUNDLE)))
			err = server_fail(sink, "tls-cert-bundle has no"
						" certificates that can be"
						" used");
	} else if (err == NSD_OK) {
		tickets_use(ctx);
	}
	if (err == NSD_OK)
		*made = ctx;
	else
		SSL_CTX_free(ctx);
	return err;
}

static enum nsd_err
server_read_ocsp(const struct secrets *texts, struct diag_sink *sink,
	uint8_t **out, size_t *len)
{
	struct tls_text text = tls_get_text(texts, TLS_SERVER_OCSP);
	const unsigned char *at = text.at;
	OCSP_RESPONSE *response;

	*out = NULL;
	*len = text.len;
	if (text.len == 0)
		return NSD_OK;
	ERR_clear_error();
	response = d2i_OCSP_RESPONSE(NULL, &at, (long)text.len);
	if (response == NULL)
		return server_fail(sink, "tls-service-ocsp is no OCSP"
					 " response");
	OCSP_RESPONSE_free(response);
	*out = OPENSSL_memdup(text.at, text.len);
	return *out != NULL ? NSD_OK : NSD_E_MEMORY;
}

/* ---- begin and end ------------------------------------------------------- */

enum nsd_err
tls_server_renew(struct tls_server *server, const struct secrets *texts,
	struct diag_sink *sink)
{
	bool mutual = tls_get_text(texts, TLS_SERVER_BUNDLE).len > 0;
	SSL_CTX *ctx = NULL, *mutual_ctx = NULL;
	uint8_t *ocsp = NULL;
	size_t ocsp_len = 0;
	enum nsd_err err = server_make_context(server, texts, false, sink,
		&ctx);

	if (err == NSD_OK && mutual)
		err = server_make_context(server, texts, true, sink,
			&mutual_ctx);
	if (err == NSD_OK)
		err = server_read_ocsp(texts, sink, &ocsp, &ocsp_len);
	if (err != NSD_OK) {
		SSL_CTX_free(ctx);
		SSL_CTX_free(mutual_ctx);
		return err;
	}
	/* Connections keep the contexts that they began with. */
	SSL_CTX_free(server->ctx);
	SSL_CTX_free(server->mutual);
	OPENSSL_free(server->ocsp);
	server->ctx = ctx;
	server->mutual = mutual_ctx;
	server->ocsp = ocsp;
	server->ocsp_len = ocsp_len;
	return NSD_OK;
}

enum nsd_err
tls_server_create(const struct secrets *texts, struct diag_sink *sink,
	struct tls_server **server)
{
	struct tls_text tickets = tls_get_text(texts, TLS_SERVER_TICKETS);
	struct tls_server *made = calloc(1, sizeof(*made));
	enum nsd_err err = NSD_E_MEMORY;

	if (made == NULL)
		return NSD_E_MEMORY;
	if (tickets.len == TLS_TICKETS_LEN && stream_init(made)) {
		memcpy(made->tickets.secret, tickets.at, TLS_TICKETS_LEN);
		err = tls_server_renew(made, texts, sink);
	}
	if (err != NSD_OK) {
		tls_server_destroy(made);
		return err;
	}
	*server = made;
	return NSD_OK;
}

const struct filter *
tls_server_get_filter(const struct tls_server *server, bool mutual)
{
	return &server->filters[mutual];
}

void
tls_server_destroy(struct tls_server *server)
{
	if (server == NULL)
		return;
	SSL_CTX_free(server->ctx);
	SSL_CTX_free(server->mutual);
	OPENSSL_free(server->ocsp);
	BIO_free(server->socket);
	BIO_meth_free(server->method);
	OPENSSL_cleanse(&server->tickets, sizeof(server->tickets));
	free(server);
}
