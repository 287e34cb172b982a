/* pem.c - keys and certificates in PEM. */
#include "config.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

#include "base/secrets.h"
#include "tls/pem.h"

struct tls_text
tls_get_text(const struct secrets *texts, size_t index)
{
	struct tls_text text;

	text.at = secrets_get(texts, index, &text.len);
	return text;
}

void
tls_read_settings(void)
{
	(void)OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, NULL);
	ERR_clear_error();
}

const char *
tls_print_reason(char *out, size_t size)
{
	unsigned long first = ERR_get_error();
	const char *text = first != 0 ? ERR_reason_error_string(first) : NULL;

	snprintf(out, size, "%s", text != NULL ? text : "unknown reason");
	ERR_clear_error();
	return out;
}

SSL_CTX *
tls_create_context(const SSL_METHOD *method)
{
	SSL_CTX *ctx;

	ERR_clear_error();
	ctx = SSL_CTX_new(method);
	if (ctx == NULL
		|| SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION
		| SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	return ctx;
}

/* Gives the passphrase of a key, which is ctx: OpenSSL would ask at the
 * terminal. */
static int
pem_get_password(char *out, int size, int writing, void *ctx)
{
	const char *password = ctx;
	size_t len = password != NULL ? strlen(password) : 0;

	if (password == NULL || len > (size_t)size)
		return -1;
	memcpy(out, password, len);
	return (int)len;
}

static BIO *
pem_open(struct tls_text pem)
{
	ERR_clear_error();
	return BIO_new_mem_buf(pem.at, (int)pem.len);
}

bool
tls_use_key(SSL_CTX *ctx, struct tls_text pem, const char *password)
{
	BIO *bio = pem_open(pem);
	EVP_PKEY *key = bio == NULL ? NULL
		: PEM_read_bio_PrivateKey(bio, NULL, pem_get_password,
			  (void *)(uintptr_t)password);
	bool done = key != NULL && SSL_CTX_use_PrivateKey(ctx, key) == 1;

	EVP_PKEY_free(key);
	BIO_free(bio);
	return done;
}

/* Reads the next certificate. NULL: there is none, or *failed. */
static X509 *
pem_read_certificate(BIO *bio, bool *failed)
{
	X509 *cert = PEM_read_bio_X509(bio, NULL, pem_get_password, NULL);

	*failed = cert == NULL
		&& ERR_GET_REASON(ERR_peek_last_error())
			!= PEM_R_NO_START_LINE;
	if (cert == NULL && !*failed)
		ERR_clear_error();
	return cert;
}

bool
tls_use_chain(SSL_CTX *ctx, struct tls_text pem)
{
	BIO *bio = pem_open(pem);
	X509 *cert = bio == NULL ? NULL
		: PEM_read_bio_X509_AUX(bio, NULL, pem_get_password, NULL);
	bool done = cert != NULL && SSL_CTX_use_certificate(ctx, cert) == 1;
	bool failed = !done;

	X509_free(cert);
	while (!failed && (cert = pem_read_certificate(bio, &failed)) != NULL)
		/* On success the context owns the certificate. */
		if (SSL_CTX_add0_chain_cert(ctx, cert) != 1) {
			X509_free(cert);
			failed = true;
		}
	BIO_free(bio);
	return !failed;
}

bool
tls_use_authorities(SSL_CTX *ctx, struct tls_text pem)
{
	BIO *bio = pem_open(pem);
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);
	bool failed = bio == NULL, any = false;
	X509 *cert;

	while (!failed && (cert = pem_read_certificate(bio, &failed)) != NULL) {
		failed = X509_STORE_add_cert(store, cert) != 1;
		any = true;
		X509_free(cert);
	}
	BIO_free(bio);
	return !failed && any;
}
