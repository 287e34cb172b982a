/* test_cookie_text.c - secrets of cookies as text, and files of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "guard/cookie_text.h"

#define FIRST "000102030405060708090a0b0c0d0e0f"
#define SECOND "f0e1D2C3b4a5968778695A4B3c2d1e0f"

static const uint8_t first[COOKIE_SECRET_LEN] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
	10, 11, 12, 13, 14, 15};
static const uint8_t second[COOKIE_SECRET_LEN] = {0xf0, 0xe1, 0xd2, 0xc3, 0xb4,
	0xa5, 0x96, 0x87, 0x78, 0x69, 0x5a, 0x4b, 0x3c, 0x2d, 0x1e, 0x0f};

static void
a_secret_is_two_and_thirty_digits(void **state)
{
	char text[] = SECOND "00";
	uint8_t secret[COOKIE_SECRET_LEN];

	(void)state;
	assert_true(cookie_text_parse_secret(text, 32, secret));
	assert_memory_equal(secret, second, sizeof(second));
	for (size_t len = 0; len <= 34; len++)
		assert_true(cookie_text_parse_secret(text, len, secret)
			== (len == 32));
	/* Tries each octet in each place: only hexadecimal digits are
	 * accepted. */
	for (size_t at = 0; at < 32; at++) {
		char was = text[at];

		for (unsigned c = 0; c < 256; c++) {
			text[at] = (char)c;
			assert_true(cookie_text_parse_secret(text, 32, secret)
				== (c != 0 && strchr("0123456789abcdefABCDEF",
					(int)c) != NULL));
		}
		text[at] = was;
	}
}

static void
a_file_has_one_or_two(void **state)
{
	static const struct {
		const char *text;
		uint32_t count; /* 0: the text is refused */
	} rows[] = {
		{ FIRST, 1 }, { FIRST "\n", 1 }, { FIRST "\r\n", 1 },
		{ "\n\r\n" FIRST "\n\n", 1 }, { FIRST "\n" SECOND, 2 },
		{ FIRST "\r\n" SECOND "\r\n", 2 },
		{ "", 0 }, { "\n", 0 }, { FIRST SECOND, 0 },
		{ FIRST "\n" SECOND "\n" FIRST, 0 }, { FIRST " ", 0 },
		{ " " FIRST, 0 }, { FIRST "\r", 1 }, { FIRST "\r\r\n", 0 },
		{ FIRST "\nx\n", 0 }, { "x\n" FIRST "\n", 0 },
	};
	struct cookie_secrets s;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool is = cookie_text_parse(rows[i].text,
			strlen(rows[i].text), &s);

		assert_true(is == (rows[i].count > 0));
		if (!is)
			continue;
		assert_int_equal(s.count, rows[i].count);
		assert_memory_equal(s.secrets[0], first, sizeof(first));
		if (s.count > 1)
			assert_memory_equal(s.secrets[1], second,
				sizeof(second));
	}
	assert_false(cookie_text_parse(FIRST "\0", 33, &s));
}

/* Cut at any length, and read in full only. */
static void
a_file_may_end_anywhere(void **state)
{
	static const char text[] = FIRST "\n" SECOND "\n";
	struct cookie_secrets s;

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++)
		assert_true(cookie_text_parse(text, len, &s)
			== (len == 32 || len == 33 || len >= 65));
}

static void
what_is_printed_is_read(void **state)
{
	struct cookie_secrets s = {.count = 2}, again;
	char text[COOKIE_TEXT_MAX], one[COOKIE_TEXT_DIGITS + 1];

	(void)state;
	memcpy(s.secrets[0], first, sizeof(first));
	memcpy(s.secrets[1], second, sizeof(second));
	cookie_text_print_secret(first, one);
	assert_string_equal(one, FIRST);
	assert_int_equal(cookie_text_print(&s, text), 66);
	assert_string_equal(text, FIRST
		"\nf0e1d2c3b4a5968778695a4b3c2d1e0f\n");
	assert_true(cookie_text_parse(text, strlen(text), &again));
	assert_memory_equal(&s, &again, sizeof(s));
	/* No more than there is room for, whatever the count says. */
	s.count = 7;
	assert_int_equal(cookie_text_print(&s, text), 66);
	s.count = 0;
	assert_int_equal(cookie_text_print(&s, text), 0);
	assert_string_equal(text, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_is_two_and_thirty_digits),
		cmocka_unit_test(a_file_has_one_or_two),
		cmocka_unit_test(a_file_may_end_anywhere),
		cmocka_unit_test(what_is_printed_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
