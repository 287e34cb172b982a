/* test_rdata_wire.c - RDATA cut, compressed, out of bounds, and its order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/name.h"
#include "dns/rdata.h"
#include "dns/rdata_field.h"
#include "lib/rdata_rows.h"

static void
rdata_unknown_form_is_checked(void **state)
{
	static uint8_t rdata[RDATA_MAX_LEN];
	static const struct {
		uint16_t type;
		const char *text;
		enum nsd_err err;
		size_t token;
	} cases[] = {
		{ TYPE_A, "\\# 3 C00002", NSD_E_SYNTAX, 2 },
		{ TYPE_A, "\\# 5 C000020100", NSD_E_SYNTAX, 2 },
		{ TYPE_A, "\\# 0", NSD_E_SYNTAX, 1 },
		{ TYPE_A, "\\#", NSD_E_SYNTAX, 1 },
		{ TYPE_A, "\\# 4", NSD_E_SYNTAX, 1 },
		{ TYPE_A, "\\# 4 C00002", NSD_E_SYNTAX, 1 },
		{ TYPE_A, "\\# 4 C000020", NSD_E_SYNTAX, 2 },
		{ TYPE_A, "\\# 4 C00002 01 00", NSD_E_SYNTAX, 1 },
		{ TYPE_A, "\\# 4 C0000g01", NSD_E_SYNTAX, 2 },
		{ TYPE_A, "\\# x C0000201", NSD_E_SYNTAX, 1 },
		{ TYPE_A, "\\# 65536 00", NSD_E_SYNTAX, 1 },
		{ TYPE_NS, "\\# 2 C00C", NSD_E_SYNTAX, 2 },
		{ TYPE_DS, "\\# 5 0001080100", NSD_E_ZONE, 2 },
		{ TYPE_NSEC, "\\# 4 0000 0100", NSD_E_ZONE, 2 },
		{ 65280, "\\# 1 0000", NSD_E_SYNTAX, 1 },
	};
	struct rdata_error error;
	size_t i, len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum nsd_err err = rows_parse(cases[i].type, cases[i].text,
			rdata, &len, &error);

		if (err != cases[i].err || error.token != cases[i].token)
			fail_msg("%s: %d, token %zu, %s", cases[i].text, err,
				error.token, error.text);
	}
}

/* The fixed part of open-ended types is decidable too. */
static void
rdata_check_refuses_a_cut_fixed_part(void **state)
{
	static const struct {
		uint16_t type;
		size_t min;
	} cases[] = { { TYPE_DS, 5 }, { TYPE_DNSKEY, 5 }, { TYPE_TXT, 1 },
		{ TYPE_RRSIG, 20 }, { 63, 18 }, { 62, 6 }, { 37, 6 },
		{ 256, 5 }, { 257, 4 }, { 44, 3 }, { 52, 4 }, { 49, 3 },
		{ 20, 1 }, { 61, 1 }, { 25, 4 } };
	static const uint8_t zeros[64];
	size_t i, len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (len = 0; len < cases[i].min; len++)
			assert_int_not_equal(rows_check(cases[i].type, zeros,
				len), NSD_OK);
}

/* Fault 46: lengths inside RDATA that reach behind its end, and names that
 * are cut, compressed or too long. */
static void
rdata_check_refuses_a_broken_layout(void **state)
{
	static const struct {
		uint16_t type;
		const char *hex;
	} cases[] = {
		{ TYPE_NS, "c000" }, { TYPE_NS, "0161" }, { TYPE_NS, "0000" },
		{ TYPE_NS, "4000" }, { TYPE_MX, "0001c000" },
		{ TYPE_TXT, "0261" }, { TYPE_TXT, "01610261" },
		{ 20, "013102" }, { 20, "01310131" "00" },
		{ TYPE_NSEC, "000001" }, { TYPE_NSEC, "00000240" },
		{ TYPE_NSEC3, "010000000200" }, { TYPE_NSEC3, "0100000000" },
		{ TYPE_NSEC3, "010000000002aa" },
		{ TYPE_NSEC3PARAM, "0100000001" },
		{ TYPE_NSEC3PARAM, "010000000000" },
		{ 42, "000108" }, { 42, "00010802c0" },
		{ 29, "" }, { 29, "0012161380000000800000000098968000" },
		{ 11, "c0000201" }, { 38, "81" }, { 38, "40000100020003" },
		{ 38, "0020010db8000000000000000000000001" "00" },
		{ 55, "020000" }, { 55, "0202000100aa" },
		{ 55, "0102000200aa" }, { 55, "01020001aabbc000" },
		{ 45, "0a01" }, { 45, "0a0102c00002" },
		{ 45, "0a0202" "20010db80000000000000000000000" },
		{ 45, "0a0302c000" }, { 45, "0a03020161" },
		{ 260, "00" }, { 260, "000000" }, { 260, "0001c00002" },
		{ 260, "0001c000020100" }, { 260, "0003c000" },
		{ 64, "0001" }, { 64, "0001c000" }, { 64, "000100000300" },
		{ 64, "0001000003000200" }, { 64, "00010000ffffffff" },
		{ 257, "00" }, { 257, "000261" }, { 256, "000100" },
		{ 104, "000a0014" }, { 108, "00005e0053" },
		{ 108, "00005e00532a00" }, { 109, "00005e00532a00" },
		{ 264, "00000000000000" }, { 264, "000000000000000000" },
		{ 259, "000000000000000000" }, { 37, "00010001" },
		{ 34, "" }, { 66, "003b0100350161" },
	};
	static uint8_t wire[256], again[RDATA_MAX_LEN];
	struct cursor c;
	size_t i, len, wire_len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wire_len = *cases[i].hex == '\0' ? 0
			: rows_hex(cases[i].hex, wire);
		if (rows_check(cases[i].type, wire, wire_len) != NSD_E_WIRE)
			fail_msg("type %u, %s", cases[i].type, cases[i].hex);
		/* Printed in the unknown form, whatever it is. */
		assert_int_equal(strncmp(rows_printed, "\\# ", 3), 0);
		if (cases[i].hex[0] == 'c' || strstr(cases[i].hex, "c000"))
			continue;
		cursor_init(&c, wire, wire_len);
		assert_int_equal(rdata_read(cases[i].type, &c,
			(uint16_t)wire_len, again, &len), NSD_E_WIRE);
		assert_true(c.failed);
	}
}

/* Fault 46: what breaks a rule is served, and printed so that it reads back to
 * the same octets. */
static void
rdata_of_bad_value_survives_printing(void **state)
{
	static const struct {
		uint16_t type;
		const char *hex;
	} cases[] = {
		{ TYPE_DS, "000108010000" }, { 52, "030101" },
		{ TYPE_TXT, "-" }, { 63, "000000010101ff" },
		{ TYPE_NSEC, "00" }, { TYPE_NSEC, "00000100" },
		{ TYPE_NSEC, "00010140000140" },
		{ TYPE_NSEC3, "010000000000" }, { 257, "0000" },
		{ 257, "0001c3" }, { 256, "00010001" },
		{ TYPE_DNSKEY, "01000308" }, { 49, "0001" }, { 44, "0101ff" },
		{ TYPE_NXT, "00" }, { TYPE_NXT, "0080" }, { 19, "0161" },
		{ TYPE_NSEC, "00000140000140" }, { TYPE_NSEC, "00000180" },
		{ TYPE_NSEC, "0000020100" },
		/* APL: prefix, family, octets, trailing zero */
		{ 42, "00012101c0" }, { 42, "00030801c0" },
		{ 42, "0001080501020304ff" }, { 42, "00010802c000" },
		{ 42, "00028101c0" },
		/* LOC: version, sizes, ranges */
		{ 29, "01" }, { 29, "00a21613800000008000000000989680" },
		{ 29, "00021613800000008000000000989680" },
		{ 29, "00121613934fd9018000000000989680" },
		{ 29, "0012161380000000a69fb20100989680" },
		/* WKS, A6, NSAP, ATMA */
		{ 11, "c00002010600" }, { 38, "3dff000100020003000400" },
		{ 22, "-" }, { 34, "00" },
		{ 34, "0141" }, { 34, "0241" },
		/* HIP, IPSECKEY, AMTRELAY */
		{ 55, "0002000100" }, { 55, "0102000000" },
		{ 45, "0a0402ff" }, { 45, "0a0002" }, { 45, "0a000001" },
		{ 260, "0004ff" },
		/* SVCB: order, twice, key, values */
		{ 64, "00010000030002003500010003026832" },
		{ 64, "000100000300020035000300020035" },
		{ 64, "000100ffff0000" }, { 64, "00010000000000" },
		{ 64, "0001000000000100" }, { 64, "000100000000020000" },
		{ 64, "000100000000020001" }, { 64, "0001000002000100" },
		{ 64, "00010000020000" }, { 64, "00010000010000" },
		{ 64, "0001000001000100" }, { 64, "000100000100020361" },
		{ 64, "0001000003000100" }, { 64, "00010000040003010203" },
		{ 64, "00010000050000" }, { 64, "0001000006000100" },
		{ 64, "00010000070004" "2f646e73" }, { 64, "000100000800010a" },
		{ 64, "00010000090004001d001d" }, { 64, "000100000a000100" },
		{ 64, "00010000000002ffffffff000178" },
		{ 64, "00010000000002ffff" },
	};
	static uint8_t wire[256], again[RDATA_MAX_LEN];
	struct rdata_error error = { 0, "", false };
	struct cursor c;
	size_t i, wire_len, len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wire_len = rows_hex(cases[i].hex, wire);
		if (rows_check(cases[i].type, wire, wire_len) != NSD_E_ZONE
			|| rows_parse(cases[i].type, rows_printed, again, &len,
			&error) != NSD_E_ZONE)
			fail_msg("type %u, %s", cases[i].type, cases[i].hex);
		assert_int_equal(len, wire_len);
		assert_memory_equal(again, wire, len);
		cursor_init(&c, wire, wire_len);
		assert_int_equal(rdata_read(cases[i].type, &c,
			(uint16_t)wire_len, again, &len), NSD_OK);
		assert_memory_equal(again, wire, len);
	}
}

/* A doubt (a rule that other servers do not enforce) must not hide an error. */
static void
rule_that_refuses_is_told_before_a_doubt(void **state)
{
	static const char port[] = "00010000030001" "00";
	static const char both[] = "00010000020001" "00" "00030001" "00";
	const char *port_why = NULL, *why = NULL;
	uint8_t wire[64];
	size_t len = rows_hex(port, wire);

	assert_int_equal(rdata_check(64, wire, len, &port_why), NSD_E_ZONE);
	len = rows_hex(both, wire);
	assert_int_equal(rdata_check(64, wire, len, &why), NSD_E_ZONE);
	assert_string_equal(why, port_why);
}

/* RFC 3597 section 4, RFC 1035 section 4.1.4 */
static void
rdata_read_expands_compressed_names(void **state)
{
	static uint8_t rdata[RDATA_MAX_LEN];
	static const struct {
		uint16_t type;
		const char *message; /* the RDATA follows the first 13 */
		size_t len;
		const char *hex; /* NULL: refused */
	} cases[] = {
		{ TYPE_NS, "\xc0\x00", 2, "076578616d706c6503636f6d00" },
		{ TYPE_MX, "\x00\x05\x01m\xc0\x00", 6,
			"0005016d076578616d706c6503636f6d00" },
		{ TYPE_SOA, "\xc0\x08\xc0\x0c" "aaaabbbbccccddddeeee", 24,
			"03636f6d0000" "61616161626262626363636364646464"
			"65656565" },
		{ TYPE_SRV, "\0\1\0\2\0\3\xc0\x0c", 8, "00010002000300" },
		{ TYPE_RP, "\xc0\x0c\xc0\x0c", 4, "0000" },
		{ TYPE_NAPTR, "\0\1\0\1\1S\0\0\xc0\x0c", 10,
			"0001000101530000" "00" },
		/* Later types: no sender may, some do. */
		{ TYPE_DNAME, "\xc0\x00", 2, "076578616d706c6503636f6d00" },
		{ TYPE_NSEC, "\xc0\x08\x00\x01\x40", 5,
			"03636f6d00" "000140" },
		{ TYPE_RRSIG, "\0\1\1\1aaaabbbbcccc\0\1\xc0\x0c" "x", 21,
			"0001" "0101" "61616161" "62626262" "63636363" "0001"
			"00" "78" },
		/* SVCB, HTTPS, KX, LP, NSAP-PTR, TALINK, DSYNC */
		{ 64, "\0\1\xc0\x0c", 4, "000100" },
		{ 65, "\0\1\1a\xc0\x08\0\3\0\2\1\2", 12,
			"0001" "016103636f6d00" "000300020102" },
		{ 36, "\0\1\xc0\x08", 4, "000103636f6d00" },
		{ 107, "\0\1\xc0\x08", 4, "000103636f6d00" },
		{ 23, "\xc0\x08", 2, "03636f6d00" },
		{ 58, "\xc0\x08\xc0\x0c", 4, "03636f6d0000" },
		{ 66, "\0\1\1\0\65\xc0\x08", 7, "0001010035" "03636f6d00" },
		/* Names within a field: IPSECKEY, AMTRELAY, A6, HIP */
		{ 45, "\1\3\2\xc0\x08" "key", 8, "010302" "03636f6d00"
			"6b6579" },
		{ 260, "\1\3\xc0\x08", 4, "0103" "03636f6d00" },
		{ 38, "\x78\1\xc0\x08", 4, "7801" "03636f6d00" },
		{ 55, "\1\2\0\1hk\xc0\x08\xc0\x0c\1a\0", 13,
			"01020001" "686b" "03636f6d00" "00" "016100" },
		{ 45, "\1\3\2\xc0", 4, NULL },
		{ 55, "\1\2\0\1hk\xc0\x08\xc0", 9, NULL },
		/* To itself, and forwards. */
		{ TYPE_DNAME, "\xc0\x0d", 2, NULL },
		{ 55, "\1\2\0\1hk\xc0\x15\0", 9, NULL },
		/* Octets left, a name that goes on behind the RDATA. */
		{ TYPE_NS, "\xc0\x00\x00", 3, NULL },
		{ TYPE_NS, "\1a", 2, NULL },
		{ TYPE_NS, "", 0, NULL },
		{ TYPE_MX, "\0", 1, NULL },
		{ TYPE_SOA, "\xc0\x00\xc0\x00" "aaaabbbbccccddddeee", 23,
			NULL },
		{ TYPE_NS, "\xc0\x0d", 2, NULL },
	};
	size_t i, len, want_len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t message[64] = "\7example\3com", want[64];
		struct cursor c;
		enum nsd_err err;

		memcpy(message + 13, cases[i].message, cases[i].len);
		cursor_init(&c, message, sizeof(message));
		c.at += 13;
		err = rdata_read(cases[i].type, &c, (uint16_t)cases[i].len,
			rdata, &len);
		if (cases[i].hex == NULL) {
			assert_int_equal(err, NSD_E_WIRE);
			assert_true(c.failed);
			continue;
		}
		assert_int_equal(err, NSD_OK);
		want_len = rows_hex(cases[i].hex, want);
		assert_int_equal(len, want_len);
		assert_memory_equal(rdata, want, len);
		assert_int_equal(cursor_offset(&c), 13 + cases[i].len);
	}
}

/* Fault 46; RFC 1035 section 3.3.14: RDATA of 65535 octets and not one more,
 * of strings, hexadecimal, base64, an SVCB value and a HIP's servers. */
static void
rdata_text_65535_ok_65536_refused(void **state)
{
	static uint8_t rdata[RDATA_MAX_LEN + 8];
	static char text[ROWS_TEXT_MAX];
	static const struct {
		const char *type, *front, *unit;
		size_t front_len, unit_len, last; /* of octets on the wire */
		const char *end, *more;
	} cases[] = {
		{ "16", "", "0123456789abcde ", 0, 16, 65520,
			" 0123456789abcd", " 0123456789abcde" },
		{ "65280", "\\# 65535 ", "00", 0, 1, 65534, "00", "0000" },
		{ "61", "", "AAAA", 0, 3, 65535, "", "AA==" },
		{ "64", "1 . key9999=", "x", 7, 1, 65534, "x", "xx" },
		{ "64", "1 . key9999=", "\\x", 7, 1, 65534, "x", "\\120x" },
		{ "55", "1 00 AA== ", "a. ", 6, 3, 65535, "", "." },
		{ "256", "1 1 ", "x", 4, 1, 65534, "x", "xx" },
	};
	size_t i, k;
	int more;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (more = 0; more < 2; more++) {
			struct rdata_error error;
			size_t at, len = 0;
			enum nsd_err err;

			at = (size_t)sprintf(text, "%s", cases[i].front);
			for (k = cases[i].front_len; k < cases[i].last;
				k += cases[i].unit_len)
				at += (size_t)sprintf(text + at, "%s",
					cases[i].unit);
			strcpy(text + at, more ? cases[i].more
				: cases[i].end);
			memset(rdata + RDATA_MAX_LEN, 0x55, 8);
			err = rows_parse((uint16_t)atoi(cases[i].type), text,
				rdata, &len, &error);
			if (err != (more ? NSD_E_SYNTAX : NSD_OK)
				|| (!more && len != RDATA_MAX_LEN))
				fail_msg("case %zu: %zu, token %zu, %s", i,
					len, error.token, error.text);
			for (k = 0; k < 8; k++)
				assert_int_equal(rdata[RDATA_MAX_LEN + k],
					0x55);
		}
}

/* Prints what a transfer would bring, and reads it as a primary's file. */
static void
read_again(uint16_t type, const uint8_t *octets, size_t size)
{
	static uint8_t wire[RDATA_MAX_LEN], again[RDATA_MAX_LEN];
	struct rdata_error error = { 0, "", false };
	size_t len, again_len;
	struct cursor c;
	enum nsd_err err;

	cursor_init(&c, octets, size);
	if (rdata_read(type, &c, (uint16_t)size, wire, &len) != NSD_OK)
		return;
	assert_in_range(rdata_print(type, wire, len, rows_printed,
		sizeof(rows_printed)), 0, sizeof(rows_printed) - 1);
	err = rows_parse(type, rows_printed, again, &again_len, &error);
	if (err != NSD_OK && (err != NSD_E_ZONE || !error.is_doubt))
		fail_msg("type %u: %s: %s", type, rows_printed, error.text);
	assert_int_equal(again_len, len);
	assert_memory_equal(again, wire, len);
}

/* A secondary writes the zone file from a transfer: nsd-checkzone and a primary
 * must be able to read it. Covers each row cut at each length, and with each
 * octet changed. */
static void
rdata_that_a_transfer_takes_is_read_from_its_text(void **state)
{
	static uint8_t wire[RDATA_MAX_LEN];
	const struct rdata_row *rows;
	size_t count = rows_open(&rows), i, k, len;

	for (i = 0; i < count; i++) {
		if (rows[i].kind != 'k' && rows[i].kind != '~')
			continue;
		len = rows_hex(rows[i].third, wire);
		for (k = 0; k <= len && k < 300; k++) {
			static const uint8_t with[] = { 1, 3, 0x80, 0xff };

			read_again(rows[i].type, wire, k);
			for (unsigned x = 0; k < len && x < 4; x++) {
				wire[k] ^= with[x];
				read_again(rows[i].type, wire, len);
				wire[k] ^= with[x];
			}
		}
	}
	rows_close();
}

/* The octets that a field takes, by its row in the table of kinds. SIZE_MAX:
 * the row does not say. */
static size_t
size_of_row(uint8_t field, const uint8_t *at)
{
	uint8_t size = rdata_field_ops[field].size;

	if (size == FIELD_SIZE_REST)
		return SIZE_MAX;
	if (size == FIELD_SIZE_NAME)
		return name_len(at);
	return size == FIELD_SIZE_COUNTED ? 1u + *at : size;
}

/* The check of a field advances by the size that the table gives for its
 * kind. */
static void
sizes_of_fields_are_those_of_their_checks(void **state)
{
	static uint8_t wire[RDATA_MAX_LEN];
	const struct rdata_row *rows;
	size_t count = rows_open(&rows), known = 0;

	for (size_t i = 0; i < count; i++) {
		const uint8_t *fields = rrtype_get(rows[i].type)->fields;
		struct rdata_walk w = {.at = wire};

		if (rows[i].kind != 'k' && rows[i].kind != '~')
			continue;
		w.end = wire + rows_hex(rows[i].third, wire);
		for (; *fields != FIELD_END; fields++) {
			const uint8_t *at = w.at;
			size_t size = size_of_row(*fields, at);

			assert_true(rdata_field_ops[*fields].check(&w));
			if (size == SIZE_MAX)
				continue;
			assert_int_equal(w.at - at, size);
			known++;
		}
	}
	assert_true(known > 100);
	rows_close();
}

/* RFC 4034 sections 6.2 and 6.3, RFC 6840 section 5.1 */
static void
rdata_compare_canonical_order(void **state)
{
	static const struct {
		uint16_t type;
		const char *a, *b;
		int order;
	} cases[] = {
		{ TYPE_A, "192.0.2.1", "192.0.2.2", -1 },
		{ TYPE_A, "192.0.2.1", "192.0.2.1", 0 },
		{ TYPE_TXT, "a", "b", -1 },
		{ TYPE_TXT, "b", "aa", -1 }, /* the length octet is first */
		{ TYPE_TXT, "a", "A", 1 },
		{ TYPE_NS, "A.EXAMPLE.", "a.example.", 0 },
		{ TYPE_NS, "b.example.", "A.EXAMPLE.", 1 },
		{ TYPE_NS, "z.", "aa.", -1 },
		{ TYPE_NS, ".", "a.", -1 },
		{ TYPE_MX, "2 a.", "10 a.", -1 },
		{ TYPE_MX, "10 B.", "10 a.", 1 },
		{ TYPE_MX, "10 a.B.", "10 A.b.", 0 },
		{ TYPE_SOA, "A. B. 1 2 3 4 5", "a. b. 1 2 3 4 5", 0 },
		{ TYPE_SOA, "A. B. 1 2 3 4 5", "a. b. 1 2 3 4 6", -1 },
		{ TYPE_SOA, "a. c. 1 2 3 4 5", "A. B. 1 2 3 4 5", 1 },
		{ TYPE_NAPTR, "1 1 \"S\" \"\" \"\" A.",
			"1 1 \"S\" \"\" \"\" a.", 0 },
		{ TYPE_NAPTR, "1 1 \"S\" \"\" \"\" a.",
			"1 1 \"s\" \"\" \"\" a.", -1 },
		{ TYPE_NSEC, "A. NS", "a. NS", -1 }, /* RFC 6840 */
		{ TYPE_RRSIG, "A 1 1 1 1 1 1 A. AAAA",
			"A 1 1 1 1 1 1 a. AAAA", 0 },
		{ TYPE_RRSIG, "A 1 1 1 1 1 1 A. AAAA",
			"A 1 1 1 1 1 1 a. AAAB", -1 },
		{ TYPE_RRSIG, "A 1 1 1 1 1 1 A. AAAA",
			"A 1 1 1 1 1 1 a. AA==", 1 },
		{ TYPE_DNAME, "A.", "a.", 0 },
		{ TYPE_DS, "1 1 9 00", "1 1 9 0000", -1 },
		{ 65280, "\\# 0", "\\# 1 00", -1 },
	};
	static uint8_t a[RDATA_MAX_LEN], b[RDATA_MAX_LEN];
	struct rdata_error error;
	size_t i, a_len, b_len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(rows_parse(cases[i].type, cases[i].a, a,
			&a_len, &error), NSD_OK);
		assert_int_equal(rows_parse(cases[i].type, cases[i].b, b,
			&b_len, &error), NSD_OK);
		if (rows_sign(rdata_compare(cases[i].type, a, a_len, b, b_len))
			!= cases[i].order
			|| rows_sign(rdata_compare(cases[i].type, b, b_len, a,
			a_len)) != -cases[i].order)
			fail_msg("%s and %s", cases[i].a, cases[i].b);
	}
}

static void
rdata_lists_names(void **state)
{
	static const struct {
		uint16_t type;
		const char *text;
		unsigned count;
		int offsets[2], compressible, additional;
	} cases[] = {
		{ TYPE_NS, "a.", 1, { 0, 0 }, 1, 0 },
		{ TYPE_MX, "1 a.", 1, { 2, 0 }, 1, 2 },
		{ TYPE_SRV, "1 2 3 a.", 1, { 6, 0 }, 0, 6 },
		{ TYPE_SOA, "a. b. 1 2 3 4 5", 2, { 0, 3 }, 1, -1 },
		{ TYPE_MINFO, "a. .", 2, { 0, 3 }, 1, -1 },
		{ TYPE_CNAME, "a.", 1, { 0, 0 }, 1, -1 },
		{ TYPE_NSEC, "a. A", 0, { 0, 0 }, 0, -1 },
		{ TYPE_NAPTR, "1 1 s \"\" \"\" a.", 0, { 0, 0 }, 0, -1 },
		{ TYPE_TXT, "a", 0, { 0, 0 }, 0, -1 },
		{ TYPE_KX, "1 a.", 1, { 2, 0 }, 0, 2 },
		{ 65280, "\\# 0", 0, { 0, 0 }, 0, -1 },
	};
	static uint8_t rdata[RDATA_MAX_LEN];
	struct rdata_name names[RDATA_NAMES_MAX];
	struct rdata_error error;
	unsigned i, k;
	size_t len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(rows_parse(cases[i].type, cases[i].text,
			rdata, &len, &error), NSD_OK);
		assert_int_equal(rdata_list_names(cases[i].type, rdata, len,
			names), cases[i].count);
		for (k = 0; k < cases[i].count; k++) {
			assert_int_equal(names[k].offset,
				cases[i].offsets[k]);
			assert_int_equal(names[k].compressible,
				cases[i].compressible);
		}
		assert_int_equal(rdata_additional_offset(cases[i].type,
			rdata, len), cases[i].additional);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rdata_unknown_form_is_checked),
		cmocka_unit_test(rdata_check_refuses_a_cut_fixed_part),
		cmocka_unit_test(rdata_check_refuses_a_broken_layout),
		cmocka_unit_test(rdata_of_bad_value_survives_printing),
		cmocka_unit_test(rdata_read_expands_compressed_names),
		cmocka_unit_test(rdata_text_65535_ok_65536_refused),
		cmocka_unit_test(
			rdata_that_a_transfer_takes_is_read_from_its_text),
		cmocka_unit_test(sizes_of_fields_are_those_of_their_checks),
		cmocka_unit_test(rdata_compare_canonical_order),
		cmocka_unit_test(rdata_lists_names),
		cmocka_unit_test(rule_that_refuses_is_told_before_a_doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
