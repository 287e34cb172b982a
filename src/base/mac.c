/* mac.c - HMAC by OpenSSL's EVP_MAC. */
#include <assert.h>
#include <stdlib.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "base/mac.h"

struct mac {
	EVP_MAC_CTX *ctx;
	bool failed; /* since the last mac_begin */
};

static const struct {
	const char *digest;
	size_t len;
} kinds[MAC_KIND_COUNT] = {
	[MAC_HMAC_MD5] = {"MD5", 16},
	[MAC_HMAC_SHA1] = {"SHA1", 20},
	[MAC_HMAC_SHA224] = {"SHA224", 28},
	[MAC_HMAC_SHA256] = {"SHA256", 32},
	[MAC_HMAC_SHA384] = {"SHA384", 48},
	[MAC_HMAC_SHA512] = {"SHA512", 64},
};

size_t
mac_len(enum mac_kind kind)
{
	assert((size_t)kind < MAC_KIND_COUNT);
	return kinds[kind].len;
}

static EVP_MAC_CTX *
ctx_create(void)
{
	EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	EVP_MAC_CTX *ctx = hmac != NULL ? EVP_MAC_CTX_new(hmac) : NULL;

	EVP_MAC_free(hmac);
	return ctx;
}

enum nsd_err
mac_create(enum mac_kind kind, const uint8_t *secret, size_t len,
	struct mac **mac)
{
	static const uint8_t none;
	struct mac *m = calloc(1, sizeof(*m));
	enum nsd_err err = NSD_E_MEMORY;

	assert((size_t)kind < MAC_KIND_COUNT);
	if (m == NULL)
		return NSD_E_MEMORY;
	m->ctx = ctx_create();
	if (m->ctx != NULL) {
		OSSL_PARAM params[] = {
			OSSL_PARAM_construct_utf8_string(
				OSSL_MAC_PARAM_DIGEST,
				(char *)(uintptr_t)kinds[kind].digest, 0),
			OSSL_PARAM_construct_end(),
		};

		/* With NULL, OpenSSL would keep its former key. */
		err = EVP_MAC_init(m->ctx, len > 0 ? secret : &none, len,
				params) == 1 ? NSD_OK : NSD_E_NOT_FOUND;
	}
	ERR_clear_error();
	if (err != NSD_OK) {
		mac_destroy(m);
		return err;
	}
	*mac = m;
	return NSD_OK;
}

void
mac_destroy(struct mac *mac)
{
	if (mac == NULL)
		return;
	EVP_MAC_CTX_free(mac->ctx);
	free(mac);
}

void
mac_begin(struct mac *mac)
{
	mac->failed = EVP_MAC_init(mac->ctx, NULL, 0, NULL) != 1;
}

void
mac_add(struct mac *mac, const uint8_t *octets, size_t len)
{
	if (EVP_MAC_update(mac->ctx, octets, len) != 1)
		mac->failed = true;
}

enum nsd_err
mac_end(struct mac *mac, uint8_t out[MAC_LEN_MAX])
{
	size_t len;

	if (EVP_MAC_final(mac->ctx, out, &len, MAC_LEN_MAX) != 1)
		mac->failed = true;
	if (!mac->failed)
		return NSD_OK;
	ERR_clear_error();
	return NSD_E_MEMORY;
}

bool
mac_is_equal(const uint8_t *a, const uint8_t *b, size_t len)
{
	return CRYPTO_memcmp(a, b, len) == 0;
}
