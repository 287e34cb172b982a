/* client.c - connections to servers over TLS. */
#include "config.h"

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "tls/client.h"

/* The octets of certificates that a server may send, and how many of them. */
#define SERVER_CHAIN_MAX 65536
#define SERVER_DEPTH_MAX 5

struct tls_client {
	SSL_CTX *ctx;
	char *domain;
};

static enum nsd_err
client_fail(const struct tls_client_options *o, const char *what,
	struct diag_sink *sink)
{
	char reason[128];

	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "%s%s: %s: %s",
		o->not_dns ? "" : "tls-auth ", o->name, what,
		tls_print_reason(reason, sizeof(reason)));
	return NSD_E_SYNTAX;
}

static enum nsd_err
client_use_texts(SSL_CTX *ctx, const struct tls_client_options *o,
	struct diag_sink *sink)
{
	if (o->not_dns && o->bundle.len == 0)
		SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
	else if (!tls_use_authorities(ctx, o->bundle))
		return client_fail(o, "tls-cert-bundle has no certificates"
				      " that can be used", sink);
	if (o->chain.len == 0)
		return NSD_OK;
	if (!tls_use_chain(ctx, o->chain))
		return client_fail(o, "client-cert is no certificate that can"
				      " be used", sink);
	if (!tls_use_key(ctx, o->key, o->password))
		return client_fail(o, "client-key is no key that can be used"
				      " with client-cert and client-key-pw",
			sink);
	return NSD_OK;
}

static bool
client_set_options(SSL_CTX *ctx, bool not_dns)
{
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_verify_depth(ctx, SERVER_DEPTH_MAX);
	SSL_CTX_set_max_cert_list(ctx, SERVER_CHAIN_MAX);
	if (not_dns)
		return true;
	return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1
		&& SSL_CTX_set_alpn_protos(ctx, tls_alpn_dot,
			   sizeof(tls_alpn_dot))
			== 0;
}

enum nsd_err
tls_client_create(const struct tls_client_options *o, struct diag_sink *sink,
	struct tls_client **client)
{
	struct tls_client *made = calloc(1, sizeof(*made));
	enum nsd_err err = NSD_E_MEMORY;

	if (made == NULL)
		return NSD_E_MEMORY;
	if (o->domain != NULL)
		made->domain = strdup(o->domain);
	made->ctx = tls_create_context(TLS_client_method());
	if ((made->domain != NULL || o->domain == NULL) && made->ctx != NULL
		&& client_set_options(made->ctx, o->not_dns))
		err = client_use_texts(made->ctx, o, sink);
	if (err != NSD_OK) {
		tls_client_destroy(made);
		return err;
	}
	*client = made;
	return NSD_OK;
}

void
tls_client_destroy(struct tls_client *client)
{
	if (client == NULL)
		return;
	SSL_CTX_free(client->ctx);
	free(client->domain);
	free(client);
}

static bool
client_name_server(const struct tls_client *client, SSL *ssl)
{
	return client->domain == NULL
		|| (SSL_set1_host(ssl, client->domain) == 1
			&& SSL_set_tlsext_host_name(ssl, client->domain) == 1);
}

struct bufferevent *
tls_client_open(const struct tls_client *client, struct event_base *base,
	int fd)
{
	SSL *ssl;

	/* An end without close_notify is an end (client_set_options); what
	 * libevent calls a dirty shutdown is a reset, too, so none is allowed:
	 * that is an error, with its errno. */
	ERR_clear_error();
	ssl = SSL_new(client->ctx);
	if (ssl == NULL)
		return NULL;
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_ALWAYS_CHECK_SUBJECT);
	if (!client_name_server(client, ssl)) {
		SSL_free(ssl);
		return NULL;
	}
	/* With BEV_OPT_CLOSE_ON_FREE libevent frees ssl also if it fails. */
	return bufferevent_openssl_socket_new(base, fd, ssl,
		BUFFEREVENT_SSL_CONNECTING,
		BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
}

const char *
tls_client_print_failure(struct bufferevent *stream, char out[TLS_FAILURE_MAX])
{
	unsigned long error = bufferevent_get_openssl_error(stream);
	SSL *ssl = bufferevent_openssl_get_ssl(stream);
	long verified = ssl != NULL ? SSL_get_verify_result(ssl) : X509_V_OK;
	const char *text = error != 0 ? ERR_reason_error_string(error) : NULL;

	if (verified != X509_V_OK)
		snprintf(out, TLS_FAILURE_MAX, "TLS: certificate: %s",
			X509_verify_cert_error_string(verified));
	else if (ERR_GET_LIB(error) == 0) /* none, or an SSL_ERROR_* */
		return NULL;
	else if (ERR_SYSTEM_ERROR(error))
		snprintf(out, TLS_FAILURE_MAX, "%s",
			strerror(ERR_GET_REASON(error)));
	else if (text != NULL)
		snprintf(out, TLS_FAILURE_MAX, "TLS: %s", text);
	else
		snprintf(out, TLS_FAILURE_MAX, "TLS: error %08lX", error);
	return out;
}
