/* tls_identity.c - keys and certificates for tests of TLS. */
#include "config.h"

#include "lib/tls_identity.h"

#include <assert.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <string.h>

#include "tls/pem.h"
#include "tls/server.h"

static size_t
take_pem(BIO *bio, uint8_t out[TLS_IDENTITY_MAX])
{
	int len = BIO_read(bio, out, TLS_IDENTITY_MAX);

	assert(len > 0);
	BIO_free(bio);
	return (size_t)len;
}

void
tls_identity_make(struct tls_identity *identity, const char *name)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	X509_NAME *subject = X509_get_subject_name(cert);
	BIO *bio = BIO_new(BIO_s_mem());
	int size;

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -60);
	X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
	X509_set_pubkey(cert, key);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
		(const uint8_t *)name, -1, -1, 0);
	X509_set_issuer_name(cert, subject);
	size = X509_sign(cert, key, EVP_sha256());
	assert(size > 0);
	PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
	identity->key_len = take_pem(bio, identity->key);
	bio = BIO_new(BIO_s_mem());
	PEM_write_bio_X509(bio, cert);
	identity->cert_len = take_pem(bio, identity->cert);
	X509_free(cert);
	EVP_PKEY_free(key);
}

void
tls_identity_use(SSL_CTX *ctx, const struct tls_identity *identity)
{
	const struct tls_text chain = {identity->cert, identity->cert_len};
	const struct tls_text key = {identity->key, identity->key_len};
	bool done = tls_use_chain(ctx, chain) && tls_use_key(ctx, key, NULL);

	assert(done);
}

struct secrets *
tls_identity_make_texts(const struct tls_identity *key,
	const struct tls_identity *cert, const struct tls_identity *client,
	uint8_t secret)
{
	uint8_t tickets[TLS_TICKETS_LEN];
	const struct secrets_octets all[TLS_SERVER_TEXTS] = {
		[TLS_SERVER_KEY] = {key->key, key->key_len},
		[TLS_SERVER_CHAIN] = {cert->cert, cert->cert_len},
		[TLS_SERVER_BUNDLE] = {client->cert, client->cert_len},
		[TLS_SERVER_TICKETS] = {tickets, sizeof(tickets)},
	};
	struct secrets *texts;
	enum nsd_err err = secrets_create(TLS_SERVER_TEXTS, 20000, &texts);

	assert(err == NSD_OK);
	memset(tickets, secret, sizeof(tickets));
	for (int i = 0; i < TLS_SERVER_TEXTS; i++)
		secrets_add(texts, all[i]);
	return texts;
}

struct tls_server *
tls_identity_make_server(const struct tls_identity *own,
	const struct tls_identity *client, uint8_t secret)
{
	struct secrets *texts = tls_identity_make_texts(own, own, client,
		secret);
	struct tls_server *server;
	enum nsd_err err = tls_server_create(texts, NULL, &server);

	assert(err == NSD_OK);
	secrets_drop(texts);
	return server;
}
