/* share_hash.c - hashes of contents, to find those that are equal. */
#include <string.h>

#include "base/fold.h"
#include "zonedb/share.h"

uint64_t
share_hash_seed(uint64_t value)
{
	return fold_words(value, 0x8ebc6af09c88c6e3u);
}

uint64_t
share_hash_octets(uint64_t seed, const uint8_t *p, size_t len)
{
	uint64_t h = seed ^ (len * 0x9e3779b97f4a7c15u), word;

	while (len >= 8) {
		memcpy(&word, p, 8);
		h = fold_words(h ^ word, 0xd6e8feb86659fd93u);
		p += 8;
		len -= 8;
	}
	if (len > 0) {
		word = 0;
		memcpy(&word, p, len);
		h = fold_words(h ^ word, 0xd6e8feb86659fd93u);
	}
	return fold_words(h, 0xa0761d6478bd642fu);
}

uint64_t
share_hash(const struct share *share, const struct share_key *key)
{
	uint64_t seed = share->seed
		^ ((uint64_t)key->type << 32 | key->ttl_sec);

	return share_hash_octets(seed, key->raw, key->raw_len);
}

uint32_t
share_hash_template(const struct share *share, const struct sig_template *t)
{
	uint64_t seed = share->seed ^ ((uint64_t)t->original_ttl_sec << 32
		| (uint64_t)t->key_tag << 16 | t->covered) ^ t->algorithm;

	return share_index_hash(share_hash_octets(seed, t->signer,
		t->signer_len), true);
}
