/*
 * nsec3.c - hashes owner names (RFC 5155 section 5); prints and reads the label
 * that spells a hash (RFC 4648 section 7).
 */
#include "dns/nsec3.h"

#include <endian.h>
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

/* Makes the octets of 8 digits of 5 bits each, all at once. */
static uint64_t
make_digits(uint64_t bits)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t letters;

	/* 20 bits in each half, 10 in each quarter, 5 in each octet */
	bits = (bits & 0xfffff00000) << 12 | (bits & 0xfffff);
	bits = (bits & 0x000ffc00000ffc00) << 6 | (bits & 0x000003ff000003ff);
	bits = (bits & 0x03e003e003e003e0) << 3 | (bits & 0x001f001f001f001f);
	/* 1 in each octet that is 10 or more: its digit is a letter. */
	letters = (bits + ones * (128 - 10)) >> 7 & ones;
	return bits + ones * '0' + letters * ('a' - 10 - '0');
}

void
nsec3_print_label(const uint8_t hash[NSEC3_HASH_LEN],
	uint8_t label[NSEC3_LABEL_LEN])
{
	for (unsigned group = 0; group < 4; group++) {
		uint64_t digits = htobe64(make_digits(get_u40(hash
			+ (size_t)group * 5)));

		memcpy(label + (size_t)group * 8, &digits, sizeof(digits));
	}
}

/* The value of a digit plus one, in either case; 0: no digit. */
static const uint8_t digit_values[256] = {
	['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6,
	['6'] = 7, ['7'] = 8, ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['g'] = 17,
	['h'] = 18, ['i'] = 19, ['j'] = 20, ['k'] = 21, ['l'] = 22,
	['m'] = 23, ['n'] = 24, ['o'] = 25, ['p'] = 26, ['q'] = 27,
	['r'] = 28, ['s'] = 29, ['t'] = 30, ['u'] = 31, ['v'] = 32,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15,
	['F'] = 16, ['G'] = 17, ['H'] = 18, ['I'] = 19, ['J'] = 20,
	['K'] = 21, ['L'] = 22, ['M'] = 23, ['N'] = 24, ['O'] = 25,
	['P'] = 26, ['Q'] = 27, ['R'] = 28, ['S'] = 29, ['T'] = 30,
	['U'] = 31, ['V'] = 32,
};

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
			unsigned value = digit_values[*name++];

			if (value == 0)
				return false;
			bits = bits << 5 | (value - 1);
		}
		for (i = 0; i < 5; i++)
			parsed[group * 5 + i] = (uint8_t)(bits >> (32 - 8 * i));
	}
	memcpy(hash, parsed, sizeof(parsed));
	return true;
}
