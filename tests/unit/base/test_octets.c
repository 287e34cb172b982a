/* test_octets.c - integers in network order, and the cursor over octets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/octets.h"

/* At an odd address, and the same on every machine. */
static const uint8_t octets[] = {0x00, 0x01, 0x02, 0x83, 0xf4, 0xff};

static void
most_significant_octet_comes_first(void **state)
{
	assert_int_equal(octets_get_u16(octets + 1), 0x0102);
	assert_int_equal(octets_get_u16(octets + 3), 0x83f4);
	assert_int_equal(octets_get_u32(octets + 1), 0x010283f4);
	assert_int_equal(octets_get_u32(octets + 2), 0x0283f4ff);
}

static void
what_is_put_is_octet_by_octet(void **state)
{
	uint8_t out[6];

	memset(out, 0xee, sizeof(out));
	octets_put_u32(out + 1, 0x010283f4);
	assert_memory_equal(out, "\xee\x01\x02\x83\xf4\xee", 6);
	memset(out, 0xee, sizeof(out));
	octets_put_u16(out + 3, 0x83f4);
	assert_memory_equal(out, "\xee\xee\xee\x83\xf4\xee", 6);
}

static void
cursor_reads_to_its_end_and_no_octet_further(void **state)
{
	struct cursor c;

	cursor_init(&c, octets, sizeof(octets));
	assert_int_equal(cursor_read_u8(&c), 0x00);
	assert_int_equal(cursor_read_u32(&c), 0x010283f4);
	assert_int_equal(cursor_offset(&c), 5);
	assert_int_equal(cursor_left(&c), 1);
	assert_false(c.failed);
	assert_int_equal(cursor_read_u16(&c), 0);
	assert_true(c.failed);
	/* Reads that would fit fail too, from then on. */
	assert_int_equal(cursor_read_u8(&c), 0);
	assert_int_equal(cursor_left(&c), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_significant_octet_comes_first),
		cmocka_unit_test(what_is_put_is_octet_by_octet),
		cmocka_unit_test(cursor_reads_to_its_end_and_no_octet_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
