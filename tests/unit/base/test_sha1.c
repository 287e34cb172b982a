/*
 * test_sha1.c - each kernel that this machine can run gives what OpenSSL's
 * digests give, whatever the number of messages, blocks and repetitions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "base/octets.h"
#include "base/sha1_kernel.h"

#define COUNT_MAX 32u
#define LEN_MAX 600u

static uint64_t seed = 1804;

static uint32_t
draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % below);
}

static void
fill(uint8_t *to, size_t len)
{
	while (len-- > 0)
		*to++ = (uint8_t)draw(256);
}

static void
digest(const uint8_t *message, size_t len, uint8_t out[SHA1_LEN])
{
	assert_int_equal(EVP_Digest(message, len, out, NULL, EVP_sha1(), NULL),
		1);
}

/* The digest, and again with the suffix behind it. */
static void
hash_plainly(const uint8_t *message, size_t len, const uint8_t *suffix,
	size_t suffix_len, unsigned repeat, uint8_t out[SHA1_LEN])
{
	uint8_t again[SHA1_LEN + SHA1_SUFFIX_MAX];

	digest(message, len, out);
	for (; repeat > 0; repeat--) {
		memcpy(again, out, SHA1_LEN);
		memcpy(again + SHA1_LEN, suffix, suffix_len);
		digest(again, SHA1_LEN + suffix_len, out);
	}
}

struct trial {
	uint8_t *octets[COUNT_MAX]; /* ends where the allocation ends */
	uint8_t expected[COUNT_MAX][SHA1_LEN];
	struct sha1_message messages[COUNT_MAX + 1];
};

static void
trial_run(sha1_hash_fn *hash, size_t count, size_t len_below,
	size_t suffix_len, unsigned repeat)
{
	struct sha1_suffix suffix;
	uint8_t octets[SHA1_SUFFIX_MAX];
	struct trial t;
	size_t i;

	fill(octets, suffix_len);
	sha1_suffix_init(&suffix, octets, suffix_len);
	for (i = 0; i < count; i++) {
		size_t len = draw((uint32_t)len_below);

		t.octets[i] = malloc(SHA1_PADDED_LEN(len));
		fill(t.octets[i], len);
		hash_plainly(t.octets[i], len, octets, suffix_len, repeat,
			t.expected[i]);
		t.messages[i].blocks = t.octets[i];
		t.messages[i].block_count = sha1_pad(t.octets[i], len);
		assert_int_equal(t.messages[i].block_count,
			SHA1_PADDED_LEN(len) / SHA1_BLOCK);
	}
	/* The message behind the last must stay as it is. */
	memset(&t.messages[count], 0x55, sizeof(t.messages[count]));
	hash(t.messages, count, repeat > 0 ? &suffix : NULL, repeat);
	for (i = 0; i < count; i++) {
		uint8_t got[SHA1_LEN];

		sha1_write(&t.messages[i], got);
		assert_memory_equal(got, t.expected[i], SHA1_LEN);
		free(t.octets[i]);
	}
	assert_int_equal(t.messages[count].digest[0], 0x55555555);
}

static void
sha1_kernels_agree_for_every_count(void **state)
{
	static const unsigned repeats[] = { 0, 1, 2, 3, 150 };
	static const size_t lens[] = { 1, 56, 57, 65, 130, LEN_MAX };
	const struct sha1_kernel *kernel;
	unsigned n, r, k;
	size_t count;

	for (n = 0; (kernel = sha1_kernel_at(n)) != NULL; n++) {
		print_message("%s, %u lanes\n", kernel->name, kernel->lanes);
		for (count = 1; count <= kernel->lanes; count++)
			for (r = 0; r < 5; r++)
				for (k = 0; k < 6; k++)
					trial_run(kernel->hash, count,
						lens[k], draw(60), repeats[r]);
	}
	assert_true(n > 0);
}

static void
sha1_kernels_agree_for_every_suffix(void **state)
{
	const struct sha1_kernel *kernel;
	size_t len;
	unsigned n;

	for (n = 0; (kernel = sha1_kernel_at(n)) != NULL; n++)
		for (len = 0; len <= SHA1_SUFFIX_MAX; len++)
			trial_run(kernel->hash, kernel->lanes, 130, len, 3);
}

/* Through the choice among them. */
static void
sha1_hash_takes_every_count(void **state)
{
	size_t count;
	unsigned repeat;

	for (count = 1; count <= COUNT_MAX; count++)
		for (repeat = 0; repeat < 3; repeat++)
			trial_run(sha1_hash, count, LEN_MAX, draw(60), repeat);
}

/* The last kernel runs on every machine. */
static void
sha1_kernels_end_with_the_generic_one(void **state)
{
	const struct sha1_kernel *last = NULL, *kernel;
	unsigned n;

	for (n = 0; (kernel = sha1_kernel_at(n)) != NULL; n++) {
		assert_in_range(kernel->lanes, 1, SHA1_AT_ONCE);
		last = kernel;
	}
	assert_non_null(last);
	assert_ptr_equal(last->hash, sha1_hash_generic);
	for (n = 1; n <= SHA1_AT_ONCE; n++) {
		assert_non_null(sha1_kernel_for(n, true));
		assert_non_null(sha1_kernel_for(n, false));
	}
}

/* FIPS 180-4 section 5.1.1: the length is the last of the padding, in bits */
static void
sha1_pad_ends_with_the_length(void **state)
{
	size_t len;

	for (len = 0; len <= LEN_MAX; len++) {
		uint8_t *octets = malloc(SHA1_PADDED_LEN(len));
		size_t padded, i;

		memset(octets, 0xaa, SHA1_PADDED_LEN(len));
		padded = (size_t)sha1_pad(octets, len) * SHA1_BLOCK;
		assert_int_equal(padded, SHA1_PADDED_LEN(len));
		assert_true(padded >= len + 9 && padded < len + 9 + 64);
		assert_int_equal(octets[len], 0x80);
		for (i = len + 1; i < padded - 4; i++)
			assert_int_equal(octets[i], 0);
		assert_int_equal(octets_get_u32(octets + padded - 4), len * 8);
		free(octets);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sha1_kernels_agree_for_every_count),
		cmocka_unit_test(sha1_kernels_agree_for_every_suffix),
		cmocka_unit_test(sha1_hash_takes_every_count),
		cmocka_unit_test(sha1_kernels_end_with_the_generic_one),
		cmocka_unit_test(sha1_pad_ends_with_the_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
