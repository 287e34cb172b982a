/*
 * sha1_generic.c - SHA-1 by OpenSSL, one message after another. Only its block
 * function is used: that costs a fraction of a whole EVP digest.
 */
#define OPENSSL_SUPPRESS_DEPRECATED 1 /* EVP has no block function */

#include "base/sha1_kernel.h"

#include <openssl/sha.h>
#include <string.h>

#include "base/octets.h"

static void
sha_reset(SHA_CTX *c)
{
	c->h0 = SHA1_H0;
	c->h1 = SHA1_H1;
	c->h2 = SHA1_H2;
	c->h3 = SHA1_H3;
	c->h4 = SHA1_H4;
}

static void
write_state(const SHA_CTX *c, uint8_t *out)
{
	octets_put_u32(out, c->h0);
	octets_put_u32(out + 4, c->h1);
	octets_put_u32(out + 8, c->h2);
	octets_put_u32(out + 12, c->h3);
	octets_put_u32(out + 16, c->h4);
}

static void
sha_transform(SHA_CTX *c, const uint8_t *blocks, uint32_t count)
{
	uint32_t i;

	sha_reset(c);
	for (i = 0; i < count; i++)
		SHA1_Transform(c, blocks + (size_t)i * SHA1_BLOCK);
}

static void
hash_one(struct sha1_message *m, const struct sha1_suffix *suffix,
	unsigned repeat)
{
	uint8_t again[SHA1_SUFFIX_BLOCKS * SHA1_BLOCK];
	SHA_CTX c;
	uint32_t i;

	/* The other fields only matter for data that comes in pieces. */
	memset(&c, 0, sizeof(c));
	sha_transform(&c, m->blocks, m->block_count);
	for (i = 0; repeat > 0 && i < suffix->block_count * SHA1_BLOCK_WORDS;
			i++)
		octets_put_u32(again + (size_t)4 * i, suffix->words[i]);
	for (; repeat > 0; repeat--) {
		write_state(&c, again);
		sha_transform(&c, again, suffix->block_count);
	}
	m->digest[0] = c.h0;
	m->digest[1] = c.h1;
	m->digest[2] = c.h2;
	m->digest[3] = c.h3;
	m->digest[4] = c.h4;
}

void
sha1_hash_generic(struct sha1_message *messages, size_t count,
	const struct sha1_suffix *suffix, unsigned repeat)
{
	size_t i;

	for (i = 0; i < count; i++)
		hash_one(&messages[i], suffix, repeat);
}
