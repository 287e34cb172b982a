/* tls.c - TLS of the control channel. */
#include "config.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdlib.h>

#include "ctl/tls.h"

struct ctl_tls {
	SSL_CTX *ctx;
};

static enum nsd_err
tls_fail(struct diag_sink *sink, const char *what, const char *file)
{
	char reason[128];

	diag_emit(sink, DIAG_ERROR, file, 0, 0, "%s: %s", what,
		tls_print_reason(reason, sizeof(reason)));
	return NSD_E_SYNTAX;
}

/* Refuses keys with a passphrase: OpenSSL would ask for it at the terminal. */
static int
tls_no_passphrase(char *out, int size, int writing, void *ctx)
{
	return -1;
}

/* Sessions are short: nothing is kept for the next one. */
static enum nsd_err
tls_create(const SSL_METHOD *method, struct ctl_tls **tls)
{
	struct ctl_tls *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return NSD_E_MEMORY;
	made->ctx = tls_create_context(method);
	if (made->ctx == NULL) {
		ctl_tls_destroy(made);
		return NSD_E_MEMORY;
	}
	SSL_CTX_set_options(made->ctx, SSL_OP_NO_TICKET);
	SSL_CTX_set_num_tickets(made->ctx, 0);
	SSL_CTX_set_session_cache_mode(made->ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_default_passwd_cb(made->ctx, tls_no_passphrase);
	SSL_CTX_set_verify(made->ctx,
		SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	*tls = made;
	return NSD_OK;
}

void
ctl_tls_destroy(struct ctl_tls *tls)
{
	if (tls == NULL)
		return;
	SSL_CTX_free(tls->ctx);
	free(tls);
}

struct ssl_st *
ctl_tls_open(struct ctl_tls *tls)
{
	return SSL_new(tls->ctx);
}

static int
tls_on_hello(SSL *ssl, int *alert, void *ctx)
{
	const struct ctl_tls_gate *gate = SSL_get_app_data(ssl);

	return gate->on_hello(gate->ctx) ? SSL_CLIENT_HELLO_SUCCESS
					 : SSL_CLIENT_HELLO_ERROR;
}

struct ssl_st *
ctl_tls_accept(struct ctl_tls *tls, struct ctl_tls_gate *gate)
{
	SSL *ssl = SSL_new(tls->ctx);

	if (ssl != NULL)
		SSL_set_app_data(ssl, gate);
	return ssl;
}

/* ---- the server ---------------------------------------------------------- */

/* Uses a chain of certificates. The first also signs those of clients. */
static bool
tls_use_cert(SSL_CTX *ctx, struct tls_text pem)
{
	X509 *cert = tls_use_chain(ctx, pem) ? SSL_CTX_get0_certificate(ctx)
					     : NULL;

	return cert != NULL
		&& X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), cert) == 1
		&& SSL_CTX_add_client_CA(ctx, cert) == 1;
}

enum nsd_err
ctl_tls_create_server(struct tls_text key, struct tls_text cert,
	struct diag_sink *sink, struct ctl_tls **tls)
{
	struct ctl_tls *made;
	enum nsd_err err = tls_create(TLS_server_method(), &made);

	if (err != NSD_OK)
		return err;
	SSL_CTX_set_client_hello_cb(made->ctx, tls_on_hello, NULL);
	if (!tls_use_cert(made->ctx, cert))
		err = tls_fail(sink, "server-cert-file is no certificate that"
				     " can be used", NULL);
	else if (!tls_use_key(made->ctx, key, NULL))
		err = tls_fail(sink, "server-key-file is no key that can be"
				     " used", NULL);
	else if (SSL_CTX_check_private_key(made->ctx) != 1)
		err = tls_fail(sink, "server-key-file and server-cert-file do"
				     " not belong together", NULL);
	if (err != NSD_OK) {
		ctl_tls_destroy(made);
		return err;
	}
	*tls = made;
	return NSD_OK;
}

/* ---- the client ---------------------------------------------------------- */

enum nsd_err
ctl_tls_create_client(const struct ctl_tls_files *files,
	struct diag_sink *sink, struct ctl_tls **tls)
{
	struct ctl_tls *made;
	enum nsd_err err = tls_create(TLS_client_method(), &made);

	if (err != NSD_OK)
		return err;
	if (SSL_CTX_load_verify_locations(made->ctx, files->authority, NULL)
		!= 1)
		err = tls_fail(sink, "the server's certificate cannot be read",
			files->authority);
	else if (SSL_CTX_use_certificate_chain_file(made->ctx, files->cert)
		!= 1)
		err = tls_fail(sink, "the client's certificate cannot be read",
			files->cert);
	else if (SSL_CTX_use_PrivateKey_file(made->ctx, files->key,
			 SSL_FILETYPE_PEM)
		!= 1)
		err = tls_fail(sink, "the client's key cannot be read",
			files->key);
	if (err != NSD_OK) {
		ctl_tls_destroy(made);
		return err;
	}
	*tls = made;
	return NSD_OK;
}
