/*
 * siphash.h - SipHash (Aumasson and Bernstein, 2012): a short keyed hash whose
 * values cannot be foreseen without the key.
 *
 * SipHash-2-4 is for cookies (RFC 9018 section 4.4). SipHash-1-3 takes half as
 * long, and is for tables.
 */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIPHASH_KEY_LEN 16u

struct siphash {
	uint64_t v0, v1, v2, v3;
};

static inline __attribute__((always_inline)) uint64_t
siphash_word(const uint8_t *octets)
{
	uint64_t word;

	memcpy(&word, octets, sizeof(word));
	return le64toh(word);
}

static inline __attribute__((always_inline)) uint64_t
siphash_turn(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static inline __attribute__((always_inline)) void
siphash_rounds(struct siphash *s, unsigned count)
{
#pragma GCC unroll 4
	for (unsigned i = 0; i < count; i++) {
		s->v0 += s->v1;
		s->v2 += s->v3;
		s->v1 = siphash_turn(s->v1, 13) ^ s->v0;
		s->v3 = siphash_turn(s->v3, 16) ^ s->v2;
		s->v0 = siphash_turn(s->v0, 32);
		s->v2 += s->v1;
		s->v0 += s->v3;
		s->v1 = siphash_turn(s->v1, 17) ^ s->v2;
		s->v3 = siphash_turn(s->v3, 21) ^ s->v0;
		s->v2 = siphash_turn(s->v2, 32);
	}
}

static inline __attribute__((always_inline)) void
siphash_add(struct siphash *s, uint64_t word, unsigned rounds)
{
	s->v3 ^= word;
	siphash_rounds(s, rounds);
	s->v0 ^= word;
}

static inline __attribute__((always_inline)) void
siphash_begin(struct siphash *s, const uint8_t key[SIPHASH_KEY_LEN])
{
	uint64_t k0 = siphash_word(key), k1 = siphash_word(key + 8);

	s->v0 = k0 ^ UINT64_C(0x736f6d6570736575);
	s->v1 = k1 ^ UINT64_C(0x646f72616e646f6d);
	s->v2 = k0 ^ UINT64_C(0x6c7967656e657261);
	s->v3 = k1 ^ UINT64_C(0x7465646279746573);
}

static inline __attribute__((always_inline)) uint64_t
siphash_end(struct siphash *s, unsigned rounds)
{
	s->v2 ^= 0xff;
	siphash_rounds(s, rounds);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* Hashes len octets, with `each` rounds for 8 octets and `last` rounds at the
 * end. Both are constants where it is called. Cost: linear in len. */
static inline __attribute__((always_inline)) uint64_t
siphash(const uint8_t key[SIPHASH_KEY_LEN], const uint8_t *octets, size_t len,
	unsigned each, unsigned last)
{
	struct siphash s;
	uint8_t rest[8] = {0};
	size_t whole = len & ~(size_t)7;

	siphash_begin(&s, key);
	for (size_t i = 0; i < whole; i += 8)
		siphash_add(&s, siphash_word(octets + i), each);
	memcpy(rest, octets + whole, len - whole);
	rest[7] = (uint8_t)len;
	siphash_add(&s, siphash_word(rest), each);
	return siphash_end(&s, last);
}

#endif
