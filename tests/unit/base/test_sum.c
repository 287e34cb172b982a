/* test_sum.c - the checksum is four CRC-32C, whatever computes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/sum.h"

/* The check values that iSCSI was published with, 32 octets in each lane. */
static void
check_vector(void (*add)(struct sum *, const void *, size_t), uint8_t first,
	int step, uint32_t expected)
{
	uint64_t words[4 * SUM_LANES];
	struct sum sum;

	for (unsigned i = 0; i < 32; i++) {
		unsigned word = i / 8 * SUM_LANES;
		uint8_t octet = (uint8_t)(first + (int)i * step);

		for (unsigned k = 0; k < SUM_LANES; k++)
			((uint8_t *)&words[word + k])[i % 8] = octet;
	}
	memset(&sum, 0xff, sizeof(sum));
	add(&sum, words, sizeof(words));
	for (unsigned k = 0; k < SUM_LANES; k++)
		assert_int_equal(~sum.lanes[k], expected);
}

static void
check_vectors(void (*add)(struct sum *, const void *, size_t))
{
	check_vector(add, 0x00, 0, 0x8a9136aa);
	check_vector(add, 0xff, 0, 0x62a8ab43);
	check_vector(add, 0x00, 1, 0x46dd794e);
	check_vector(add, 0x1f, -1, 0x113fdb5c);
}

static void
sum_is_crc32c(void **state)
{
	check_vectors(sum_add);
	check_vectors(sum_add_generic);
}

static void
sum_is_the_same_in_pieces(void **state)
{
	static uint64_t data[4096];
	struct sum whole = { { 0 } }, pieces = { { 0 } }, generic = { { 0 } };

	for (size_t i = 0; i < 4096; i++)
		data[i] = i * UINT64_C(0x9e3779b97f4a7c15);
	sum_add(&whole, data, sizeof(data));
	sum_add_generic(&generic, data, sizeof(data));
	for (size_t at = 0, len = 32; at < sizeof(data); at += len, len += 32) {
		if (len > sizeof(data) - at)
			len = sizeof(data) - at;
		sum_add(&pieces, (uint8_t *)data + at, len);
	}
	assert_memory_equal(&whole, &generic, sizeof(whole));
	assert_memory_equal(&whole, &pieces, sizeof(whole));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sum_is_crc32c),
		cmocka_unit_test(sum_is_the_same_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
