/* test_scan.c - single words: numbers, times, addresses, encodings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "dns/codec.h"
#include "dns/scan.h"
#include "dns/swar.h"
#include "dns/token.h"

/* An exact copy on the heap, so that a sanitizer sees an overrun. */
static char *
copy_of(const char *text, size_t len)
{
	char *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	return copy;
}

static void
swar_finds_each_octet_exactly(void **state)
{
	unsigned c, place;

	for (place = 0; place < 8; place++)
		for (c = 0; c < 256; c++) {
			uint64_t v = (uint64_t)c << (8 * place)
				| (~(UINT64_C(0xff) << (8 * place))
					& SWAR_ONES * (uint8_t)(c ^ 0x80));
			uint64_t want = UINT64_C(0x80) << (8 * place);
			bool upper = c >= 'A' && c <= 'Z';

			assert_true(swar_equals(v, (uint8_t)c) == want);
			assert_true((swar_letters(v, 'A', 'Z') & want >> 2)
				== (upper ? want >> 2 : 0));
		}
}

static void
swar_loads_a_part_and_no_more(void **state)
{
	static const uint8_t octets[] = { 1, 2, 3, 4, 5, 6, 7 };
	size_t len;

	for (len = 0; len <= 7; len++) {
		char *copy = copy_of((const char *)octets, len);

		assert_true(swar_load_part(copy, len)
			== (UINT64_C(0x07060504030201)
				& ((UINT64_C(1) << 8 * len) - 1)));
		free(copy);
	}
}

static void
scan_number_limits(void **state)
{
	static const struct {
		const char *text;
		uint32_t max;
		long long value; /* -1: refused */
	} rows[] = {
		{ "0", 255, 0 }, { "255", 255, 255 }, { "256", 255, -1 },
		{ "007", 255, 7 }, { "", 255, -1 }, { "-1", 255, -1 },
		{ "+1", 255, -1 }, { "1 ", 255, -1 }, { "0x1", 255, -1 },
		{ "4294967295", UINT32_MAX, 4294967295 },
		{ "4294967296", UINT32_MAX, -1 },
		{ "0000000000000001", UINT32_MAX, 1 },
		{ "00000000000000001", UINT32_MAX, -1 },
		{ "18446744073709551617", UINT32_MAX, -1 },
	};
	uint32_t value;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool ok = scan_number(rows[i].text, strlen(rows[i].text),
			rows[i].max, &value);

		assert_int_equal(ok, rows[i].value >= 0);
		if (ok)
			assert_int_equal(value, rows[i].value);
	}
}

static void
period_units(void **state)
{
	static const struct {
		const char *text;
		long long value;
	} rows[] = {
		{ "0", 0 }, { "1h30", 3630 }, { "1h30m", 5400 },
		{ "1W2D3h4M5s", 788645 }, { "5s1w", 604805 },
		{ "7101w", 4294684800 }, { "7102w", -1 }, { "", -1 },
		{ "h", -1 }, { "1x", -1 }, { "1hh", -1 }, { "-1h", -1 },
		{ "4294967295", 4294967295 }, { "4294967296", -1 },
		{ "4294967295s1s", -1 }, { "99999999999999999999w", -1 },
	};
	uint32_t value;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool ok = token_parse_period(rows[i].text,
			strlen(rows[i].text),
			&value);

		assert_int_equal(ok, rows[i].value >= 0);
		if (ok)
			assert_int_equal(value, rows[i].value);
	}
}

/* RFC 4034 section 3.2: against the C library, over all 32 bits. */
static void
scan_time_is_that_of_the_calendar(void **state)
{
	uint64_t seconds;

	for (seconds = 0; seconds <= UINT32_MAX; seconds += 40009) {
		char text[16], library[16];
		time_t t = (time_t)seconds;
		struct tm tm;
		bool wraps = false;
		uint32_t back;

		scan_print_time((uint32_t)seconds, text);
		text[14] = '\0';
		gmtime_r(&t, &tm);
		strftime(library, sizeof(library), "%Y%m%d%H%M%S", &tm);
		assert_string_equal(text, library);
		assert_true(scan_time(text, 14, &back, &wraps));
		assert_int_equal(back, seconds);
		assert_false(wraps);
	}
}

static void
scan_time_refuses_what_is_no_day(void **state)
{
	static const char *const texts[] = { "20230229000000",
		"21000229000000", "20240230000000", "20240431000000",
		"20240001000000", "20241301000000", "20240100000000",
		"20240101240000", "20240101006000", "20240101000061",
		"18991231235959", "00000101000000", "2024010100000",
		"202401010000000", "2024010100000x", "x0240101000000",
		"4294967296", "", "12345678901" };
	bool wraps = false;
	uint32_t value;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(scan_time(texts[i], strlen(texts[i]), &value,
			&wraps));
	assert_true(scan_time("20240229000000", 14, &value, &wraps));
	assert_true(scan_time("21060207062815", 14, &value, &wraps));
	assert_int_equal(value, UINT32_MAX);
	assert_false(wraps);
}

/* Dates are taken modulo 2^32, as by BIND, Knot and NSD. */
static void
scan_time_is_modulo_32_bits(void **state)
{
	static const struct {
		const char *text;
		uint32_t value;
	} rows[] = { { "21060207062816", 0 }, { "30000101000000", 0x915ecc00 },
		{ "19691231235959", UINT32_MAX },
		{ "19000101000000", 0x7c558180 } };
	uint32_t value;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool wraps = false;

		assert_true(scan_time(rows[i].text, 14, &value, &wraps));
		assert_int_equal(value, rows[i].value);
		assert_true(wraps);
	}
}

/* Every octet in every place, and each text cut or one longer. */
static void
scan_ip4_every_octet(void **state)
{
	unsigned n, place;
	uint8_t out[4];

	for (place = 0; place < 4; place++)
		for (n = 0; n < 1000; n++) {
			unsigned o[4] = { 1, 20, 255, 0 };
			char text[32], *copy;
			int len;
			bool ok;

			o[place] = n;
			len = sprintf(text, "%u.%u.%u.%u", o[0], o[1], o[2],
				o[3]);
			copy = copy_of(text, (size_t)len);
			ok = scan_ip4(copy, (size_t)len, out);
			assert_int_equal(ok, n <= 255);
			if (ok)
				assert_int_equal(out[place], n);
			/* Cut before and behind the last dot. */
			len = (int)(strrchr(text, '.') - text);
			assert_false(scan_ip4(copy, (size_t)len, out));
			assert_false(scan_ip4(copy, (size_t)len + 1, out));
			free(copy);
		}
}

static void
scan_ip4_refuses_any_other_octet(void **state)
{
	char text[] = "19.168.0.255";
	size_t i;
	unsigned c;
	uint8_t out[4];

	for (i = 0; i < sizeof(text) - 1; i++)
		for (c = 0; c < 256; c++) {
			char was = text[i];

			text[i] = (char)c;
			if (!(c >= '0' && c <= '9') && c != '.')
				assert_false(scan_ip4(text, sizeof(text) - 1,
					out));
			text[i] = was;
		}
	/* Octets of none or of four digits, in each place. */
	assert_false(scan_ip4("1.1020.2.3", 10, out));
	assert_false(scan_ip4("1.2.1020.3", 10, out));
	assert_false(scan_ip4("1.2.3.1020", 10, out));
	assert_false(scan_ip4("1020.1.2.3", 10, out));
	assert_false(scan_ip4(".11.22.3", 8, out));
	assert_false(scan_ip4("11..22.3", 8, out));
	assert_false(scan_ip4("11.22..3", 8, out));
	assert_false(scan_ip4("11.22.3.", 8, out));
	assert_false(scan_ip4("1.2.3.", 6, out));
	assert_false(scan_ip4("1.2.3.4.", 8, out));
	assert_false(scan_ip4(".1.2.3.4", 8, out));
	assert_false(scan_ip4("1.2.3.4.5.6.7.8", 15, out));
	assert_false(scan_ip4("1111.2.3.4", 10, out));
}

/* RFC 4291 section 2.2, RFC 5952 section 4: printed text reads back, and a
 * cut of it is either refused or another address, never an overrun. */
static void
scan_ip6_any_pattern_of_zeros(void **state)
{
	unsigned pattern, i;
	size_t len, cut;

	for (pattern = 0; pattern < 256; pattern++) {
		uint8_t octets[16] = { 0 }, out[16];
		char text[SCAN_IP6_MAX];

		for (i = 0; i < 8; i++)
			if (pattern & 1u << i)
				octets[2 * i + i % 2] = (uint8_t)(i * 31 + 1);
		len = scan_print_ip6(octets, text);
		assert_int_equal(len, strlen(text));
		assert_true(scan_ip6(text, len, out));
		assert_memory_equal(out, octets, 16);
		for (cut = 0; cut < len; cut++) {
			char *copy = copy_of(text, cut);

			scan_ip6(copy, cut, out);
			free(copy);
		}
		assert_false(scan_ip6(strcat(text, ":"), len + 1, out));
	}
}

static void
scan_ip6_print_follows_rfc5952(void **state)
{
	static const char *const rows[][2] = {
		{ "2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
		{ "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1" },
		{ "2001:0:0:1:0:0:0:1", "2001:0:0:1::1" },
		{ "0:0:0:0:0:0:0:0", "::" }, { "1::", "1::" },
		{ "::ffff:1.2.3.4", "::ffff:1.2.3.4" },
		{ "::1.2.3.4", "::1.2.3.4" },
		{ "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304" },
		{ "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0" },
	};
	char text[SCAN_IP6_MAX];
	uint8_t out[16];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(scan_ip6(rows[i][0], strlen(rows[i][0]), out));
		scan_print_ip6(out, text);
		assert_string_equal(text, rows[i][1]);
	}
}

static void
scan_unescape_cut_anywhere(void **state)
{
	static const char text[] = "a\\\\b\\.c\\000\\255d";
	uint8_t out[16];
	size_t len;

	for (len = 0; len < sizeof(text); len++) {
		char *copy = copy_of(text, len);
		ptrdiff_t got = scan_unescape(copy, len, out, sizeof(out));
		/* Cut within an escape: behind its \, \D or \DD. */
		bool within = len == 2 || len == 5 || (len >= 8 && len <= 10)
			|| (len >= 12 && len <= 14);

		assert_int_equal(got < 0, within);
		free(copy);
	}
	assert_int_equal(scan_unescape(text, sizeof(text) - 1, out, 8), 8);
	assert_memory_equal(out, "a\\b.c\0\377d", 8);
	assert_int_equal(scan_unescape(text, sizeof(text) - 1, out, 7), -1);
	assert_int_equal(scan_unescape("\\256", 4, out, 8), -1);
	assert_int_equal(scan_unescape("\\2x5", 4, out, 8), -1);
}

/* Octets of any length up to 40, in one word and cut in two anywhere. */
static void
codec_reads_back_what_it_prints(void **state)
{
	static const struct {
		bool (*read)(struct codec *c, const char *text, size_t len);
		size_t (*print)(const uint8_t *octets, size_t len, char *out);
	} kinds[] = { { codec_read_hex, codec_print_hex },
		{ codec_read_base64, codec_print_base64 } };
	uint8_t octets[40], out[40];
	char text[100];
	size_t k, len, cut, text_len, i;

	for (i = 0; i < sizeof(octets); i++)
		octets[i] = (uint8_t)(i * 89 + 7);
	for (k = 0; k < 2; k++)
		for (len = 0; len <= sizeof(octets); len++) {
			text_len = kinds[k].print(octets, len, text);
			for (cut = 0; cut <= text_len; cut++) {
				char *a = copy_of(text, cut);
				char *b = copy_of(text + cut, text_len - cut);
				struct codec c;

				codec_init(&c, out, len);
				assert_true(kinds[k].read(&c, a, cut));
				assert_true(kinds[k].read(&c, b,
					text_len - cut));
				assert_true(codec_is_whole(&c));
				assert_int_equal(c.out - out, len);
				assert_memory_equal(out, octets, len);
				/* With one octet of room less, decoding
				 * fails. */
				if (len > 0) {
					codec_init(&c, out, len - 1);
					assert_false(kinds[k].read(&c, a, cut)
						&& kinds[k].read(&c, b,
							text_len - cut));
				}
				free(a);
				free(b);
			}
		}
}

/* RFC 4648 sections 3.3, 4 and 8: no other character, in any place. */
static void
codec_refuses_other_characters(void **state)
{
	char text[] = "0123456789abcdef";
	uint8_t out[16];
	struct codec c;
	unsigned i, ch;

	for (i = 0; i < 16; i++)
		for (ch = 0; ch < 256; ch++) {
			bool digit = ch >= '0' && ch <= '9';
			char was = text[i], low = (char)(ch | 0x20);
			bool hex = digit || (ch < 128 && low >= 'a'
				&& low <= 'f');
			bool base64 = digit || ch == '+' || ch == '/'
				|| (ch < 128 && low >= 'a' && low <= 'z'
					&& ch > 64);

			text[i] = (char)ch;
			codec_init(&c, out, sizeof(out));
			assert_int_equal(codec_read_hex(&c, text, 16), hex);
			codec_init(&c, out, sizeof(out));
			assert_int_equal(codec_read_base64(&c, text, 16),
				base64);
			text[i] = was;
		}
}

static void
codec_base64_padding(void **state)
{
	static const struct {
		const char *text;
		int len; /* -1: refused, -2: not whole */
	} rows[] = { { "", 0 }, { "AA==", 1 }, { "AAA=", 2 }, { "AAAA", 3 },
		{ "A", -2 }, { "AA", -2 }, { "AAA", -2 }, { "AA=", -2 },
		{ "=", -1 }, { "A=", -1 }, { "AAAA=", -1 }, { "AB==", -1 },
		{ "AI==", -1 }, { "AAC=", -1 },
		{ "AAB=", -1 }, { "AA=A", -1 }, { "AA==A", -1 },
		{ "AA===", -1 }, { "AA==AAAA", -1 }, { "AAA==", -1 } };
	uint8_t out[16];
	struct codec c;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool ok;

		codec_init(&c, out, sizeof(out));
		ok = codec_read_base64(&c, rows[i].text,
			strlen(rows[i].text));
		assert_int_equal(ok, rows[i].len != -1);
		if (ok)
			assert_int_equal(codec_is_whole(&c),
				rows[i].len >= 0);
		if (rows[i].len >= 0)
			assert_int_equal(c.out - out, rows[i].len);
	}
}

/* RFC 4648 section 7 */
static void
codec_base32hex_any_length(void **state)
{
	uint8_t octets[40], out[40];
	char text[100], *copy;
	size_t i, len, text_len;

	for (i = 0; i < sizeof(octets); i++)
		octets[i] = (uint8_t)(i * 89 + 7);
	for (len = 1; len <= sizeof(octets); len++) {
		text_len = codec_print_base32hex(octets, len, text);
		assert_int_equal(text_len, (len * 8 + 4) / 5);
		copy = copy_of(text, text_len);
		assert_int_equal(codec_decode_base32hex(copy, text_len, out,
			len), len);
		assert_memory_equal(out, octets, len);
		assert_int_equal(codec_decode_base32hex(copy, text_len, out,
			len - 1), 0);
		copy[0] = 'w';
		assert_int_equal(codec_decode_base32hex(copy, text_len, out,
			len), 0);
		free(copy);
	}
	assert_int_equal(codec_decode_base32hex("", 0, out, 40), 0);
	assert_int_equal(codec_decode_base32hex("00", 2, out, 40), 1);
	assert_int_equal(codec_decode_base32hex("01", 2, out, 40), 0);
	assert_int_equal(codec_decode_base32hex("0", 1, out, 40), 0);
	assert_int_equal(codec_decode_base32hex("000", 3, out, 40), 0);
	assert_int_equal(codec_decode_base32hex("000000", 6, out, 40), 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(swar_finds_each_octet_exactly),
		cmocka_unit_test(swar_loads_a_part_and_no_more),
		cmocka_unit_test(scan_number_limits),
		cmocka_unit_test(period_units),
		cmocka_unit_test(scan_time_is_that_of_the_calendar),
		cmocka_unit_test(scan_time_refuses_what_is_no_day),
		cmocka_unit_test(scan_time_is_modulo_32_bits),
		cmocka_unit_test(scan_ip4_every_octet),
		cmocka_unit_test(scan_ip4_refuses_any_other_octet),
		cmocka_unit_test(scan_ip6_any_pattern_of_zeros),
		cmocka_unit_test(scan_ip6_print_follows_rfc5952),
		cmocka_unit_test(scan_unescape_cut_anywhere),
		cmocka_unit_test(codec_reads_back_what_it_prints),
		cmocka_unit_test(codec_refuses_other_characters),
		cmocka_unit_test(codec_base64_padding),
		cmocka_unit_test(codec_base32hex_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
