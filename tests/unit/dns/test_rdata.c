/* test_rdata.c - RDATA of every type, from the rows of data/rrtypes.txt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/rdata.h"
#include "lib/rdata_rows.h"

static const struct rdata_row *rows;
static size_t row_count;

static int
open_rows(void **state)
{
	row_count = rows_open(&rows);
	return 0;
}

static int
close_rows(void **state)
{
	rows_close();
	return 0;
}

/*
 * Rows with a "~" break rules that are doubted, as others do not enforce them:
 * RFC 1183 sections 3.1 and 3.2, RFC 4025 section 2.4, RFC 4034 sections 3.1.5
 * and 4.1.2, RFC 4255 section 3.1.2, RFC 4701 section 3.1,
 * RFC 6895 section 3.1, RFC 7553 section 4.4, RFC 8976 section 2.2.4,
 * RFC 9460 sections 7.1.1 and 14.3.2, RFC 9461 section 5, RFC 9848 section 3.
 */
static void
rdata_text_gives_the_wire_of_its_row(void **state)
{
	static uint8_t rdata[RDATA_MAX_LEN], wire[RDATA_MAX_LEN];
	struct rdata_error error = { 0, "", false };
	size_t i, len, wire_len;

	for (i = 0; i < row_count; i++) {
		const struct rdata_row *row = &rows[i];

		if (row->kind != 'k' && row->kind != '~')
			continue;
		if (rows_parse(row->type, row->text, rdata, &len, &error)
			!= (row->kind == '~' ? NSD_E_ZONE : NSD_OK))
			fail_msg("line %u, token %zu: %s", row->line,
				error.token, error.text);
		if (row->kind == '~')
			assert_true(error.is_doubt);
		wire_len = rows_hex(row->third, wire);
		if (len != wire_len || memcmp(rdata, wire, len) != 0)
			fail_msg("line %u: other wire", row->line);
	}
}

/* Text -> wire -> text -> wire: the text is that of the row, the wire the
 * same again. */
static void
rdata_prints_the_text_of_its_row(void **state)
{
	static uint8_t wire[RDATA_MAX_LEN], again[RDATA_MAX_LEN];
	struct rdata_error error;
	size_t i, wire_len, len;

	for (i = 0; i < row_count; i++) {
		const struct rdata_row *row = &rows[i];
		const char *text = strcmp(row->fourth, "=") == 0
			? row->text : row->fourth;

		if (row->kind != 'k' && row->kind != '~')
			continue;
		wire_len = rows_hex(row->third, wire);
		len = rdata_print(row->type, wire, wire_len, rows_printed,
			sizeof(rows_printed));
		assert_int_equal(strlen(rows_printed), len);
		if (strcmp(rows_printed, text) != 0)
			fail_msg("line %u: prints %s", row->line, rows_printed);
		/* The printed text may be refused only for a doubt about
		 * text. */
		if (rows_parse(row->type, rows_printed, again, &len, &error)
			!= NSD_OK)
			assert_true(row->kind == '~' && error.is_doubt);
		assert_int_equal(len, wire_len);
		assert_memory_equal(again, wire, len);
	}
}

/* Fault 45, 46 */
static void
rdata_refuses_the_malformed_rows(void **state)
{
	static uint8_t rdata[RDATA_MAX_LEN];
	struct rdata_error error;
	size_t i, len;

	for (i = 0; i < row_count; i++) {
		const struct rdata_row *row = &rows[i];
		enum nsd_err want = row->kind == '!' ? NSD_E_SYNTAX
			: NSD_E_ZONE, err;

		if (row->kind == 'k' || row->kind == '~')
			continue;
		err = rows_parse(row->type, row->text, rdata, &len, &error);
		if (err != want)
			fail_msg("line %u: %s", row->line,
				err == NSD_OK ? "accepted" : error.text);
		if (error.token != strtoul(row->third, NULL, 10)
			|| strstr(error.text, row->fourth) == NULL)
			fail_msg("line %u: token %zu, %s", row->line,
				error.token, error.text);
		if (err == NSD_E_ZONE)
			assert_false(error.is_doubt);
	}
}

/* RFC 3597 section 5: any type may be written in the unknown form, and what
 * the type's own form refuses this one does not let in. */
static void
rdata_unknown_form_gives_the_same_octets(void **state)
{
	static uint8_t wire[RDATA_MAX_LEN], again[RDATA_MAX_LEN];
	static char text[ROWS_TEXT_MAX];
	struct rdata_error error;
	size_t i, k, wire_len, len;

	for (i = 0; i < row_count; i++) {
		if (rows[i].kind != 'k')
			continue;
		wire_len = rows_hex(rows[i].third, wire);
		len = (size_t)sprintf(text, "\\# %zu ", wire_len);
		for (k = 0; k < wire_len; k++)
			len += (size_t)sprintf(text + len, "%02x%s", wire[k],
				k % 5 == 0 ? " " : "");
		assert_int_equal(rows_parse(rows[i].type, text, again, &len,
			&error), NSD_OK);
		assert_int_equal(len, wire_len);
		assert_memory_equal(again, wire, len);
	}
}

/* True if the last field of the type takes any number of octets. */
static bool
is_open_ended(uint16_t type)
{
	const uint8_t *fields = rrtype_get(type)->fields;
	int last = 0;

	while (fields[last] != FIELD_END)
		last++;
	switch (fields[last - 1]) {
	case FIELD_STRINGS:
	case FIELD_STRING_OPTIONAL:
	case FIELD_LONG_STRING:
	case FIELD_HEX:
	case FIELD_BASE64:
	case FIELD_BASE64_OPTIONAL:
	case FIELD_BASE64_DASH:
	case FIELD_BITMAP:
	case FIELD_WKS:
	case FIELD_NXT_BITMAP:
	case FIELD_NSAP:
	case FIELD_ATMA:
	case FIELD_APL:
	case FIELD_HIP:
	case FIELD_IPSECKEY:
	case FIELD_AMTRELAY:
	case FIELD_SVC_PARAMS:
	case FIELD_UNKNOWN:
		return true;
	}
	return false;
}

static void
rdata_check_refuses_each_cut_and_one_octet_more(void **state)
{
	static uint8_t wire[RDATA_MAX_LEN];
	size_t i, len, wire_len;

	for (i = 0; i < row_count; i++) {
		const struct rdata_row *row = &rows[i];

		if (row->kind != 'k')
			continue;
		wire_len = rows_hex(row->third, wire);
		assert_int_equal(rows_check(row->type, wire, wire_len),
			NSD_OK);
		for (len = 0; len < wire_len; len++) {
			enum nsd_err err = rows_check(row->type, wire, len);

			if (err == NSD_OK && !is_open_ended(row->type))
				fail_msg("line %u, cut at %zu: accepted",
					row->line, len);
		}
		wire[wire_len] = 0;
		if (rows_check(row->type, wire, wire_len + 1) == NSD_OK
			&& !is_open_ended(row->type))
			fail_msg("line %u, one more: accepted", row->line);
	}
}

static void
rdata_print_says_what_it_needs(void **state)
{
	static uint8_t wire[RDATA_MAX_LEN];
	size_t i, wire_len, need, size;

	for (i = 0; i < row_count; i++) {
		if (rows[i].kind != 'k')
			continue;
		wire_len = rows_hex(rows[i].third, wire);
		need = rdata_print(rows[i].type, wire, wire_len, NULL, 0);
		for (size = need > 3 ? need - 3 : 0; size <= need + 1;
			size++) {
			char *out = malloc(size + 1);

			out[size] = 0x55;
			assert_int_equal(rdata_print(rows[i].type, wire,
				wire_len, out, size), need);
			assert_int_equal(out[size], 0x55);
			if (size == need + 1)
				assert_int_equal(strlen(out), need);
			free(out);
		}
	}
}

static void
rdata_read_copies_each_row(void **state)
{
	static uint8_t wire[RDATA_MAX_LEN], again[RDATA_MAX_LEN];
	size_t i, k, wire_len, len;
	struct cursor c;

	for (i = 0; i < row_count; i++) {
		if (rows[i].kind != 'k')
			continue;
		wire_len = rows_hex(rows[i].third, wire);
		wire[wire_len] = 0;
		cursor_init(&c, wire, wire_len + 1);
		assert_int_equal(rdata_read(rows[i].type, &c,
			(uint16_t)wire_len, again, &len), NSD_OK);
		assert_int_equal(len, wire_len);
		assert_memory_equal(again, wire, len);
		assert_int_equal(cursor_offset(&c), wire_len);
		/* The message ends inside. */
		for (k = 0; k < wire_len; k++) {
			cursor_init(&c, wire, k);
			assert_int_equal(rdata_read(rows[i].type, &c,
				(uint16_t)wire_len, again, &len),
				NSD_E_WIRE);
			assert_true(c.failed);
		}
	}
}

static void
rdata_compare_any_two_rows(void **state)
{
	static uint8_t a[RDATA_MAX_LEN], b[RDATA_MAX_LEN];
	size_t i, k, a_len, b_len;

	for (i = 0; i < row_count; i++)
		for (k = 0; k < row_count; k++) {
			uint16_t type = rows[i].type;
			int order;

			if (rows[i].kind != 'k' || rows[k].kind != 'k'
				|| rows[k].type != type)
				continue;
			a_len = rows_hex(rows[i].third, a);
			b_len = rows_hex(rows[k].third, b);
			order = rows_sign(rdata_compare(type, a, a_len, b,
				b_len));
			assert_int_equal(order, -rows_sign(rdata_compare(type,
				b, b_len, a, a_len)));
			if (i == k)
				assert_int_equal(order, 0);
		}
}

/* Every type that has a format of its own has rows that show it. */
/* As many parameters as RDATA has room for. */
#define PARAMS 16000u

/* Writes "1 . mandatory=... keyN keyN ..." in an order that comes from step,
 * which has no divisor in common with the count. */
static void
write_params(char *text, unsigned step, bool mandatory)
{
	unsigned count = mandatory ? PARAMS / 2 : PARAMS;

	text += sprintf(text, "1 .");
	for (unsigned i = 0; mandatory && i < count; i++)
		text += sprintf(text, "%skey%u", i == 0 ? " mandatory=" : ",",
			100 + i * step % count);
	for (unsigned i = 0; i < count; i++)
		text += sprintf(text, " key%u", 100 + i * step % count);
}

/* RFC 9460 section 2.2: ascending on the wire, in any order in text. */
static void
svcb_keys_in_any_order_give_the_same_octets(void **state)
{
	static char text[400000];
	static uint8_t wire[RDATA_MAX_LEN], rdata[RDATA_MAX_LEN];
	struct rdata_error error = { 0, "", false };
	size_t len, wire_len;

	for (unsigned mandatory = 0; mandatory < 2; mandatory++) {
		unsigned count = mandatory ? PARAMS / 2 : PARAMS;
		unsigned steps[] = { 7, 3333, count - 1 };

		write_params(text, 1, mandatory);
		assert_int_equal(rows_parse(64, text, wire, &wire_len, &error),
			NSD_OK);
		assert_int_equal(wire_len, 3 + count * 4u
			+ mandatory * (4 + count * 2u));
		for (unsigned i = 0; i < 3; i++) {
			write_params(text, steps[i], mandatory);
			assert_int_equal(rows_parse(64, text, rdata, &len,
				&error), NSD_OK);
			assert_int_equal(len, wire_len);
			assert_memory_equal(rdata, wire, len);
		}
	}
}

/* IANA "DNS Security Algorithm Numbers", and the names of RFC 2535 and of those
 * that had others once. */
static void
algorithms_have_the_names_of_the_registry(void **state)
{
	static const struct {
		const char *name;
		uint8_t number;
	} algorithms[] = {
		{"DELETE", 0}, {"RSAMD5", 1}, {"DH", 2}, {"DSA", 3},
		{"ECC", 4}, {"RSASHA1", 5}, {"DSA-NSEC3-SHA1", 6},
		{"RSASHA1-NSEC3-SHA1", 7}, {"RSASHA256", 8},
		{"RSASHA512", 10}, {"ECC-GOST", 12}, {"ECDSAP256SHA256", 13},
		{"ECDSAP384SHA384", 14}, {"ED25519", 15}, {"ED448", 16},
		{"SM2SM3", 17}, {"mldsa44", 18}, {"ECC-GOST12", 23},
		{"INDIRECT", 252}, {"PRIVATEDNS", 253}, {"PRIVATEOID", 254},
	};
	static uint8_t wire[RDATA_MAX_LEN];
	struct rdata_error error = { 0, "", false };
	char text[128];
	size_t len;

	for (size_t i = 0; i < sizeof(algorithms) / sizeof(*algorithms); i++) {
		snprintf(text, sizeof(text), "PKIX 1 %s AAAA",
			algorithms[i].name);
		assert_int_equal(rows_parse(37, text, wire, &len, &error),
			NSD_OK);
		assert_int_equal(wire[4], algorithms[i].number);
	}
}

static void
rdata_rows_cover_the_table(void **state)
{
	const struct rrtype *type;
	size_t n, i;

	for (n = 0; (type = rrtype_at(n)) != NULL; n++) {
		unsigned fine = 0, refused = 0;

		if (type->flags & RR_META)
			continue;
		for (i = 0; i < row_count; i++)
			if (rows[i].type == type->number)
				*(rows[i].kind == 'k' ? &fine : &refused)
					+= 1;
		if (fine == 0 || refused == 0)
			fail_msg("%s has %u rows and %u malformed ones",
				type->name, fine, refused);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rdata_text_gives_the_wire_of_its_row),
		cmocka_unit_test(rdata_prints_the_text_of_its_row),
		cmocka_unit_test(rdata_refuses_the_malformed_rows),
		cmocka_unit_test(rdata_unknown_form_gives_the_same_octets),
		cmocka_unit_test(
			rdata_check_refuses_each_cut_and_one_octet_more),
		cmocka_unit_test(rdata_print_says_what_it_needs),
		cmocka_unit_test(rdata_read_copies_each_row),
		cmocka_unit_test(rdata_compare_any_two_rows),
		cmocka_unit_test(svcb_keys_in_any_order_give_the_same_octets),
		cmocka_unit_test(algorithms_have_the_names_of_the_registry),
		cmocka_unit_test(rdata_rows_cover_the_table),
	};

	return cmocka_run_group_tests(tests, open_rows, close_rows);
}
