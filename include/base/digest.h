/*
 * digest.h - hashes of long data (FIPS 180-4), by OpenSSL. Keyed ones: mac.h.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DIGEST_LEN_MAX 64u

enum digest_kind {
	DIGEST_SHA384,
	DIGEST_SHA512,
	DIGEST_KIND_COUNT,
};

/* Octets of a hash. */
size_t digest_len(enum digest_kind kind);

struct digest;

/* Makes a hash of no octets so far. gives *digest: digest_destroy. returns
 * NSD_OK; NSD_E_MEMORY. */
enum nsd_err digest_create(enum digest_kind kind, struct digest **digest)
	MUST_USE;
/* The same of SHA-256, of 32 octets: no kind of zone digests. */
enum nsd_err digest_create_sha256(struct digest **digest) MUST_USE;
void digest_destroy(struct digest *digest); /* NULL is fine */

/* Adds octets. Without memory it fails, which digest_end reports. Cost: linear
 * in len. */
void digest_add(struct digest *digest, const uint8_t *octets, size_t len);
/* Ends the hash; nothing can be added any more. returns NSD_OK with digest_len
 * octets in out; NSD_E_MEMORY. */
enum nsd_err digest_end(struct digest *digest, uint8_t out[DIGEST_LEN_MAX])
	MUST_USE;

#endif
