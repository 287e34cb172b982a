/* fold.h - a multiplication that mixes all bits of two words: the step of
 * hashes that are not meant for secrets; and such a hash of octets. */
#ifndef BASE_FOLD_H
#define BASE_FOLD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Multiplies to 128 bits and folds these to 64: all bits of both are mixed. */
static inline uint64_t
fold_words(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Hashes octets. seed: random, so that who chooses the octets cannot choose
 * hashes. */
static inline uint64_t
fold_octets(uint64_t seed, const uint8_t *octets, size_t len)
{
	uint64_t hash = seed ^ len, word;

	for (; len >= 8; octets += 8, len -= 8) {
		memcpy(&word, octets, 8);
		hash = fold_words(hash ^ word, UINT64_C(0x9e3779b97f4a7c15));
	}
	word = 0;
	memcpy(&word, octets, len);
	return fold_words(hash ^ word, UINT64_C(0xbf58476d1ce4e5b9));
}

#endif
