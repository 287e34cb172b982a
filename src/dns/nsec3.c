/*
 * nsec3.c - hashes owner names (RFC 5155 section 5); prints and reads the label
 * that spells a hash (RFC 4648 section 7).
 */
#include "dns/nsec3.h"

#include <string.h>

#include "base/assert.h"
#include "base/sha1.h"
#include "dns/name.h"

#define MESSAGE_ROOM SHA1_PADDED_LEN(NAME_MAX_LEN + SHA1_SUFFIX_MAX)

/* Hashes the names of up to SHA1_AT_ONCE jobs. */
static void
hash_some(const struct nsec3_params *params, const struct sha1_suffix *suffix,
	struct nsec3_job *const *jobs, size_t count)
{
	uint8_t room[SHA1_AT_ONCE * MESSAGE_ROOM];
	struct sha1_message messages[SHA1_AT_ONCE];
	uint8_t *at = room;
	size_t i;

	ASSERT_HOT(count <= SHA1_AT_ONCE);
	for (i = 0; i < count; i++) {
		size_t len = name_len(jobs[i]->name);

		/* RFC 5155 section 5: IH(salt, x, 0) = H(x || salt) */
		memcpy(at, jobs[i]->name, len);
		if (params->salt_len > 0)
			memcpy(at + len, params->salt, params->salt_len);
		messages[i].blocks = at;
		messages[i].block_count = sha1_pad(at, len + params->salt_len);
		at += (size_t)messages[i].block_count * SHA1_BLOCK;
	}
	sha1_hash(messages, count, suffix, params->iterations);
	for (i = 0; i < count; i++)
		sha1_write(&messages[i], jobs[i]->hash);
}

void
nsec3_hash_batch(const struct nsec3_params *params,
	struct nsec3_job *const *jobs, size_t count)
{
	struct sha1_suffix suffix;
	size_t i, n;

	if (params->iterations > 0)
		sha1_suffix_init(&suffix, params->salt, params->salt_len);
	for (i = 0; i < count; i += n) {
		n = count - i < SHA1_AT_ONCE ? count - i : SHA1_AT_ONCE;
		hash_some(params, params->iterations > 0 ? &suffix : NULL,
			jobs + i, n);
	}
}

/* Reads 40 bits: 5 octets, which are 8 digits. */
static uint64_t
get_u40(const uint8_t *p)
{
	return (uint64_t)p[0] << 32 | (uint64_t)p[1] << 24
		| (uint64_t)p[2] << 16 | (uint64_t)p[3] << 8 | p[4];
}

void
nsec3_print_label(const uint8_t hash[NSEC3_HASH_LEN],
	uint8_t label[NSEC3_LABEL_LEN])
{
	static const char digits[32] = "0123456789abcdefghijklmnopqrstuv";
	unsigned group, i;

	for (group = 0; group < 4; group++) {
		uint64_t bits = get_u40(hash + (size_t)group * 5);

		for (i = 0; i < 8; i++)
			*label++ = (uint8_t)digits[bits >> (35 - 5 * i) & 31];
	}
}

/* The value of a digit in either case; 32 if it is none. */
static unsigned
digit_value(uint8_t c)
{
	c = name_lower_octet(c);
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'v')
		return c - 'a' + 10u;
	return 32;
}

bool
nsec3_parse_label(const uint8_t *name, uint8_t hash[NSEC3_HASH_LEN])
{
	uint8_t parsed[NSEC3_HASH_LEN];
	unsigned group, i;

	if (name[0] != NSEC3_LABEL_LEN)
		return false;
	name++;
	for (group = 0; group < 4; group++) {
		uint64_t bits = 0;

		for (i = 0; i < 8; i++) {
			unsigned value = digit_value(*name++);

			if (value > 31)
				return false;
			bits = bits << 5 | value;
		}
		for (i = 0; i < 5; i++)
			parsed[group * 5 + i] = (uint8_t)(bits >> (32 - 8 * i));
	}
	memcpy(hash, parsed, sizeof(parsed));
	return true;
}
