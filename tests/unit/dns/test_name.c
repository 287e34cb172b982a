/* test_name.c - names: text, wire, order, case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/name.h"

static const uint8_t origin[] = "\7example\3com";

static enum nsd_err
parse(const char *text, const uint8_t *under, uint8_t *name, size_t *size)
{
	/* An exact copy on the heap, so that a sanitizer sees an overrun. */
	size_t len = strlen(text);
	char *copy = malloc(len + 1);
	const char *why = NULL;
	enum nsd_err err;

	memcpy(copy, text, len + 1);
	copy = realloc(copy, len > 0 ? len : 1);
	err = name_parse_text(copy, len, under, name, size, &why);
	assert_true(err == NSD_OK || (err == NSD_E_SYNTAX && why != NULL));
	free(copy);
	return err;
}

static void
expect_wire(const char *text, const char *wire, size_t wire_len)
{
	uint8_t name[NAME_MAX_LEN];
	size_t size = 0;

	assert_int_equal(parse(text, origin, name, &size), NSD_OK);
	assert_int_equal(size, wire_len);
	assert_memory_equal(name, wire, wire_len);
	assert_int_equal(name_len(name), wire_len);
}

#define EXPECT_WIRE(text, wire) expect_wire(text, wire, sizeof(wire))

/* RFC 1035 section 5.1 */
static void
name_text_absolute_and_relative(void **state)
{
	EXPECT_WIRE("www.example.net.", "\3www\7example\3net");
	EXPECT_WIRE("www", "\3www\7example\3com");
	EXPECT_WIRE("a.b", "\1a\1b\7example\3com");
	EXPECT_WIRE("@", "\7example\3com");
	EXPECT_WIRE(".", "");
	EXPECT_WIRE("A.", "\1A");
	EXPECT_WIRE("averylongfirstlabel.and.some.more.labels.",
		"\23averylongfirstlabel\3and\4some\4more\6labels");
}

/* RFC 1035 section 5.1, RFC 4343 section 2.1 */
static void
name_text_escapes(void **state)
{
	EXPECT_WIRE("\\097.", "\1a");
	EXPECT_WIRE("\\000\\255.", "\2\0\377");
	EXPECT_WIRE("a\\.b.", "\3a.b");
	EXPECT_WIRE("\\@", "\1@\7example\3com");
	EXPECT_WIRE("\\\\.", "\1\\");
	EXPECT_WIRE("\\x.", "\1x");
	EXPECT_WIRE("longer.than.eight\\.octets.",
		"\6longer\4than\14eight.octets");
}

/* Fault 45; RFC 1035 section 5.1 */
static void
name_text_refuses_malformed(void **state)
{
	static const char *const texts[] = { "", "..", ".a.", "a..b.",
		"a..", "\\", "\\1", "\\12", "\\256.", "\\999.", "\\1a2.",
		"a.b.c.d.e.f\\", "abcdefg..h." };
	uint8_t name[NAME_MAX_LEN];
	size_t i, size;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(parse(texts[i], origin, name, &size),
			NSD_E_SYNTAX);
}

static void
name_text_relative_needs_an_origin(void **state)
{
	uint8_t name[NAME_MAX_LEN];
	size_t size;

	assert_int_equal(parse("www", NULL, name, &size), NSD_E_SYNTAX);
	assert_int_equal(parse("@", NULL, name, &size), NSD_E_SYNTAX);
	assert_int_equal(parse("www.", NULL, name, &size), NSD_OK);
	assert_int_equal(parse("\\www", NULL, name, &size), NSD_E_SYNTAX);
	assert_int_equal(parse("www", (const uint8_t *)"", name, &size),
		NSD_OK);
	assert_int_equal(size, 5);
}

/* Writes a label of len octets, each as \DDD if escaped. */
static char *
put_label(char *at, unsigned len, bool escaped)
{
	unsigned i;

	for (i = 0; i < len; i++)
		at += sprintf(at, escaped ? "\\%03u" : "%c", 'a' + i % 26);
	*at++ = '.';
	*at = '\0';
	return at;
}

/* RFC 1035 section 2.3.4 */
static void
name_text_label_63_ok_64_refused(void **state)
{
	uint8_t name[NAME_MAX_LEN];
	char text[NAME_TEXT_MAX], *end;
	size_t size;
	int escaped;

	for (escaped = 0; escaped < 2; escaped++) {
		put_label(text, 63, escaped);
		assert_int_equal(parse(text, NULL, name, &size), NSD_OK);
		assert_int_equal(size, 65);
		put_label(text, 64, escaped);
		assert_int_equal(parse(text, NULL, name, &size),
			NSD_E_SYNTAX);
		end = put_label(put_label(text, 1, false), 64, escaped);
		end[-1] = '\0';
		assert_int_equal(parse(text, origin, name, &size),
			NSD_E_SYNTAX);
	}
}

/* RFC 1035 section 2.3.4: every length around the limit, both ways. */
static void
name_text_255_ok_256_refused(void **state)
{
	uint8_t name[NAME_MAX_LEN + 1];
	char text[2 * NAME_TEXT_MAX], *at;
	size_t size;
	unsigned last;
	int escaped;

	for (escaped = 0; escaped < 2; escaped++) {
		for (last = 1; last <= 63; last++) {
			at = put_label(text, 63, escaped);
			at = put_label(at, 63, escaped);
			at = put_label(at, 63, escaped);
			at = put_label(at, last, escaped);
			name[NAME_MAX_LEN] = 0xee;
			assert_int_equal(parse(text, NULL, name, &size),
				last <= 61 ? NSD_OK : NSD_E_SYNTAX);
			if (last <= 61)
				assert_int_equal(size, 194 + last);
			/* The same by way of an origin of 12+1 octets. */
			at[-1] = '\0';
			assert_int_equal(parse(text, origin, name, &size),
				last <= 49 ? NSD_OK : NSD_E_SYNTAX);
			if (last <= 49)
				assert_int_equal(size, 193 + last + 13);
			assert_int_equal(name[NAME_MAX_LEN], 0xee);
		}
	}
}

static void
name_text_127_labels_ok_128_refused(void **state)
{
	uint8_t name[NAME_MAX_LEN];
	char text[NAME_TEXT_MAX] = "";
	size_t size;
	int i;

	for (i = 0; i < 127; i++)
		strcat(text, "a.");
	assert_int_equal(parse(text, NULL, name, &size), NSD_OK);
	assert_int_equal(size, 255);
	assert_int_equal(name_count_labels(name), 127);
	strcat(text, "a.");
	assert_int_equal(parse(text, NULL, name, &size), NSD_E_SYNTAX);
}

/* Fault 7; RFC 1035 section 5.1, RFC 4343 section 2.1 */
static void
name_print_escapes(void **state)
{
	char text[NAME_TEXT_MAX];

	assert_int_equal(name_print_text((const uint8_t *)"", text), 1);
	assert_string_equal(text, ".");
	name_print_text((const uint8_t *)"\12.;()\"\\@$ \177\2Ab", text);
	assert_string_equal(text,
		"\\.\\;\\(\\)\\\"\\\\\\@\\$\\032\\127.Ab.");
}

static void
name_print_longest_fits(void **state)
{
	uint8_t name[NAME_MAX_LEN], again[NAME_MAX_LEN];
	char text[NAME_TEXT_MAX];
	size_t at = 0, size, len;

	memset(name, 0xff, sizeof(name));
	for (; at < 192; at += 64)
		name[at] = 63;
	name[at] = 61;
	name[254] = 0;
	len = name_print_text(name, text);
	assert_true(len < NAME_TEXT_MAX);
	assert_int_equal(strlen(text), len);
	assert_int_equal(parse(text, NULL, again, &size), NSD_OK);
	assert_int_equal(size, 255);
	assert_memory_equal(name, again, 255);
}

static void
name_lower_leaves_all_but_letters(void **state)
{
	uint8_t name[NAME_MAX_LEN];
	unsigned i, c;

	for (c = 0; c < 256; c++)
		assert_int_equal(name_lower_octet((uint8_t)c),
			c >= 'A' && c <= 'Z' ? c + 32 : c);
	for (c = 0; c + 63 < 256; c++) {
		name[0] = 63;
		for (i = 0; i < 63; i++)
			name[1 + i] = (uint8_t)(c + i);
		name[64] = 0;
		name_lower(name);
		assert_int_equal(name[0], 63);
		assert_int_equal(name[64], 0);
		for (i = 0; i < 63; i++)
			assert_int_equal(name[1 + i],
				name_lower_table[c + i]);
	}
}

/* RFC 4343 section 3 */
static void
name_equal_ignores_case(void **state)
{
	const uint8_t *a = (const uint8_t *)"\3wWw\7eXample\3COM";
	const uint8_t *b = (const uint8_t *)"\3WwW\7ExAMPLE\3com";

	assert_true(name_equal(a, b));
	assert_true(name_equal((const uint8_t *)"", (const uint8_t *)""));
	assert_false(name_equal(a, a + 4));
	assert_false(name_equal(a, (const uint8_t *)"\3www\7example\3con"));
	assert_false(name_equal((const uint8_t *)"\1[",
		(const uint8_t *)"\1{"));
	assert_false(name_equal((const uint8_t *)"\3a\1b",
		(const uint8_t *)"\1a\1b"));
}

/* RFC 4034 section 6.1, its own example */
static void
name_compare_canonical_order(void **state)
{
	static const char *const names[] = { "", "\7example",
		"\1a\7example", "\10yljkjljk\1a\7example",
		"\1Z\1a\7example", "\4zABC\1a\7EXAMPLE", "\1z\7example",
		"\1\1\1z\7example", "\1*\1z\7example", "\1\310\1z\7example" };
	size_t i, j, count = sizeof(names) / sizeof(names[0]);

	for (i = 0; i < count; i++)
		for (j = 0; j < count; j++) {
			int order = name_compare((const uint8_t *)names[i],
				(const uint8_t *)names[j]);

			assert_int_equal((order > 0) - (order < 0),
				(i > j) - (i < j));
		}
	assert_true(name_compare((const uint8_t *)"\2ab",
		(const uint8_t *)"\3abc") < 0);
	assert_int_equal(name_compare((const uint8_t *)"\2AB",
		(const uint8_t *)"\2ab"), 0);
}

static void
name_is_within_parent(void **state)
{
	const uint8_t *www = (const uint8_t *)"\3www\7Example\3com";

	assert_true(name_is_within(www, www));
	assert_true(name_is_within(www, origin));
	assert_true(name_is_within(www, (const uint8_t *)""));
	assert_false(name_is_within(origin, www));
	assert_false(name_is_within((const uint8_t *)"\10xexample\3com",
		origin));
	/* The octets of the parent, but not at a label's start. */
	assert_false(name_is_within(
		(const uint8_t *)"\15x\7example\3com", origin));
	assert_ptr_equal(name_skip_labels(www, 1), www + 4);
	assert_true(name_is_root(name_skip_labels(www, 9)));
	assert_true(name_is_wildcard((const uint8_t *)"\1*\3com"));
	assert_false(name_is_wildcard((const uint8_t *)"\2*a\3com"));
}

/* Reads the name at offset `at` of an exact copy of the octets. */
static enum nsd_err
read_at(const void *octets, size_t len, size_t at, uint8_t *name,
	size_t *size, size_t *behind, bool compressed)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	struct cursor c;
	enum nsd_err err;

	if (len > 0)
		memcpy(copy, octets, len);
	cursor_init(&c, copy, len);
	c.at = copy + at;
	err = compressed ? name_read(&c, name, size)
		: name_read_uncompressed(&c, name, size);
	assert_int_equal(c.failed, err != NSD_OK);
	*behind = cursor_offset(&c);
	free(copy);
	return err;
}

/* RFC 1035 section 4.1.4 */
static void
name_read_follows_pointers_backwards(void **state)
{
	static const char message[] =
		"\1f\3isi\4arpa\0\3foo\xc0\0\xc0\2\xc0\20\xc0\xff";
	uint8_t name[NAME_MAX_LEN];
	size_t size, behind;

	assert_int_equal(read_at(message, 22, 12, name, &size, &behind,
		true), NSD_OK);
	assert_int_equal(size, 16);
	assert_memory_equal(name, "\3foo\1f\3isi\4arpa", 16);
	assert_int_equal(behind, 18);
	assert_int_equal(read_at(message, 22, 18, name, &size, &behind,
		true), NSD_OK);
	assert_int_equal(size, 10);
	assert_int_equal(behind, 20);
	/* A pointer to a pointer. */
	assert_int_equal(read_at(message, 22, 20, name, &size, &behind,
		true), NSD_OK);
	assert_int_equal(size, 12);
	assert_int_equal(read_at(message, 22, 12, name, &size, &behind,
		false), NSD_E_WIRE);
}

/* Fault 4: loops, forward and self pointers, pointers past the end. */
static void
name_read_refuses_bad_pointers(void **state)
{
	static const struct {
		const char *octets;
		size_t len, at;
	} rows[] = {
		{ "\xc0\0", 2, 0 },            /* to itself */
		{ "\1a\xc0\0", 4, 0 },         /* into its own labels */
		{ "\xc0\2\1a\0", 5, 0 },       /* forward */
		{ "\xc0\2\xc0\0", 4, 2 },      /* two in a circle */
		{ "\xff\xff", 2, 0 },          /* past the end */
		{ "\1a\0\xc0", 4, 3 },         /* half a pointer */
		{ "\x40\0", 2, 0 },            /* label type 01 */
		{ "\x80\0", 2, 0 },            /* label type 10 */
		{ "\1a\0\1b\xc0\4", 7, 3 },    /* into its own run */
	};
	uint8_t name[NAME_MAX_LEN];
	size_t i, size, behind;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(read_at(rows[i].octets, rows[i].len,
			rows[i].at, name, &size, &behind, true), NSD_E_WIRE);
}

static void
name_read_bounds_a_chain_of_pointers(void **state)
{
	uint8_t message[1 + 2 * 257], name[NAME_MAX_LEN];
	size_t i, size, behind, len = 1;

	message[0] = 0;
	for (i = 0; i < 257; i++, len += 2) {
		size_t to = i == 0 ? 0 : len - 2;

		message[len] = (uint8_t)(0xc0 | to >> 8);
		message[len + 1] = (uint8_t)to;
	}
	assert_int_equal(read_at(message, len, len - 4, name, &size,
		&behind, true), NSD_OK);
	assert_int_equal(read_at(message, len, len - 2, name, &size,
		&behind, true), NSD_E_WIRE);
}

static void
name_read_refuses_input_cut_anywhere(void **state)
{
	static const char message[] = "\3com\0\3www\7example\xc0";
	uint8_t name[NAME_MAX_LEN];
	size_t len, size, behind;

	for (len = 5; len < sizeof(message); len++)
		assert_int_equal(read_at(message, len, 5, name, &size,
			&behind, true), NSD_E_WIRE);
	assert_int_equal(read_at(message, sizeof(message), 5, name, &size,
		&behind, true), NSD_OK);
	assert_int_equal(read_at("", 0, 0, name, &size, &behind, false),
		NSD_E_WIRE);
}

/* Fault 5; RFC 1035 section 2.3.4 */
static void
name_read_255_ok_256_refused(void **state)
{
	uint8_t wire[300], name[NAME_MAX_LEN + 1];
	size_t last, size, behind;
	int compressed;

	name[NAME_MAX_LEN] = 0xee;
	for (compressed = 0; compressed < 2; compressed++)
		for (last = 1; last <= 64; last++) {
			memset(wire, 'x', sizeof(wire));
			wire[0] = wire[64] = wire[128] = 63;
			wire[192] = (uint8_t)last;
			wire[193 + last] = 0;
			assert_int_equal(read_at(wire, 194 + last, 0, name,
				&size, &behind, compressed),
				last <= 61 ? NSD_OK : NSD_E_WIRE);
			if (last <= 61)
				assert_int_equal(size, 194 + last);
		}
	assert_int_equal(name[NAME_MAX_LEN], 0xee);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_text_absolute_and_relative),
		cmocka_unit_test(name_text_escapes),
		cmocka_unit_test(name_text_refuses_malformed),
		cmocka_unit_test(name_text_relative_needs_an_origin),
		cmocka_unit_test(name_text_label_63_ok_64_refused),
		cmocka_unit_test(name_text_255_ok_256_refused),
		cmocka_unit_test(name_text_127_labels_ok_128_refused),
		cmocka_unit_test(name_print_escapes),
		cmocka_unit_test(name_print_longest_fits),
		cmocka_unit_test(name_lower_leaves_all_but_letters),
		cmocka_unit_test(name_equal_ignores_case),
		cmocka_unit_test(name_compare_canonical_order),
		cmocka_unit_test(name_is_within_parent),
		cmocka_unit_test(name_read_follows_pointers_backwards),
		cmocka_unit_test(name_read_refuses_bad_pointers),
		cmocka_unit_test(name_read_bounds_a_chain_of_pointers),
		cmocka_unit_test(name_read_refuses_input_cut_anywhere),
		cmocka_unit_test(name_read_255_ok_256_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
