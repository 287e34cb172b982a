/*
 * sha1.h - SHA-1 (FIPS 180-4 section 6.1) of many short messages at once, and
 * hashes of hashes, as NSEC3 asks for them.
 *
 * The caller pads the messages. Digests are native words, so that hashing them
 * again takes no conversion. The processor's instructions decide how many
 * messages are worked on at once. Nothing is allocated, nothing blocks.
 */
#ifndef BASE_SHA1_H
#define BASE_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define SHA1_LEN 20u
#define SHA1_WORDS 5u
#define SHA1_BLOCK 64u
#define SHA1_BLOCK_WORDS 16u
#define SHA1_SUFFIX_MAX 255u
#define SHA1_SUFFIX_BLOCKS 5u /* of a digest and the longest suffix */
#define SHA1_AT_ONCE 32u      /* messages of a call of sha1_hash */

/* Octets of a message of len octets with its padding. */
#define SHA1_PADDED_LEN(len) (((len) + 9 + 63) / 64 * 64)

struct sha1_message {
	const uint8_t *blocks;       /* padded; borrowed */
	uint32_t block_count;        /* at least 1 */
	uint32_t digest[SHA1_WORDS]; /* out */
};

/* The blocks behind a digest that is hashed again: words 5 and up of a message
 * that begins with the 20 octets of the digest. Words 0 to 4 are 0. */
struct sha1_suffix {
	uint32_t words[SHA1_SUFFIX_BLOCKS * SHA1_BLOCK_WORDS];
	uint32_t block_count;
};

/*
 * Pads a message in place: SHA1_PADDED_LEN(len) octets of room.
 * Returns the number of blocks.
 */
uint32_t sha1_pad(uint8_t *message, size_t len);

/* Makes a suffix of len octets, at most SHA1_SUFFIX_MAX. */
void sha1_suffix_init(struct sha1_suffix *suffix, const uint8_t *octets,
	size_t len);

/*
 * Hashes each message; then, `repeat` times, its digest followed by the suffix.
 * in: count 1..SHA1_AT_ONCE; suffix may be NULL if repeat is 0.
 */
void sha1_hash(struct sha1_message *messages, size_t count,
	const struct sha1_suffix *suffix, unsigned repeat);

/* Writes the digest in network order. */
void sha1_write(const struct sha1_message *message, uint8_t digest[SHA1_LEN]);

#endif
