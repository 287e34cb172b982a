/*
 * nsec3.h - hashed owner names (RFC 5155 section 5): SHA-1 over the name in
 * canonical form and a salt, repeated. Many names are hashed at once, in the
 * lanes that the processor has.
 */
#ifndef DNS_NSEC3_H
#define DNS_NSEC3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NSEC3_HASH_LEN 20u   /* SHA-1, the only algorithm there is */
#define NSEC3_LABEL_LEN 32u  /* octets of its base32hex, without length */
#define NSEC3_ALGORITHM_SHA1 1u

struct nsec3_params {
	const uint8_t *salt;  /* borrowed */
	uint8_t salt_len;
	uint16_t iterations;  /* beyond the first hash */
};

struct nsec3_job {
	const uint8_t *name;  /* wire name, lower case, with its root label */
	uint8_t hash[NSEC3_HASH_LEN]; /* out */
};

/*
 * Hashes the name of each job. Any count; many jobs in one call fill the lanes
 * better. Cost: iterations + 1 blocks of SHA-1 a name, or twice as many where
 * name or salt are long. Nothing is allocated.
 */
void nsec3_hash_batch(const struct nsec3_params *params,
	struct nsec3_job *const *jobs, size_t count);

/* Prints base32hex in lower case without padding (RFC 4648 section 7). */
void nsec3_print_label(const uint8_t hash[NSEC3_HASH_LEN],
	uint8_t label[NSEC3_LABEL_LEN]);

/* Reads the hash that the first label of a wire name spells, in either case.
 * False, and hash is untouched, if it is not base32hex of 20 octets. */
bool nsec3_parse_label(const uint8_t *name, uint8_t hash[NSEC3_HASH_LEN]);

#endif
