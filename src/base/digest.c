/* digest.c - SHA-384 and SHA-512 by OpenSSL's EVP. */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/evp.h>

#include "base/digest.h"

struct digest {
	EVP_MD_CTX *ctx;
	bool failed;
};

static const struct {
	const EVP_MD *(*get)(void);
	size_t len;
} kinds[DIGEST_KIND_COUNT] = {
	[DIGEST_SHA384] = {EVP_sha384, 48},
	[DIGEST_SHA512] = {EVP_sha512, 64},
};

size_t
digest_len(enum digest_kind kind)
{
	assert((size_t)kind < DIGEST_KIND_COUNT);
	return kinds[kind].len;
}

static enum nsd_err
digest_create_md(const EVP_MD *md, struct digest **digest)
{
	struct digest *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NSD_E_MEMORY;
	d->ctx = EVP_MD_CTX_new();
	if (d->ctx == NULL || EVP_DigestInit_ex(d->ctx, md, NULL) != 1) {
		ERR_clear_error();
		digest_destroy(d);
		return NSD_E_MEMORY;
	}
	*digest = d;
	return NSD_OK;
}

enum nsd_err
digest_create(enum digest_kind kind, struct digest **digest)
{
	assert((size_t)kind < DIGEST_KIND_COUNT);
	return digest_create_md(kinds[kind].get(), digest);
}

enum nsd_err
digest_create_sha256(struct digest **digest)
{
	return digest_create_md(EVP_sha256(), digest);
}

void
digest_destroy(struct digest *digest)
{
	if (digest == NULL)
		return;
	EVP_MD_CTX_free(digest->ctx);
	free(digest);
}

void
digest_add(struct digest *digest, const uint8_t *octets, size_t len)
{
	if (EVP_DigestUpdate(digest->ctx, octets, len) != 1)
		digest->failed = true;
}

enum nsd_err
digest_end(struct digest *digest, uint8_t out[DIGEST_LEN_MAX])
{
	if (EVP_DigestFinal_ex(digest->ctx, out, NULL) != 1)
		digest->failed = true;
	if (!digest->failed)
		return NSD_OK;
	ERR_clear_error();
	return NSD_E_MEMORY;
}
