/* test_message.c - headers, questions, record heads, OPT records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/edns.h"
#include "dns/message.h"
#include "dns/rrtype.h"

/* A copy in memory of just that size, so that a sanitizer sees an over-read. */
static uint8_t *
exact_copy(const void *data, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	return copy;
}

static enum nsd_err
read_question(const void *wire, size_t len, struct message_question *q)
{
	uint8_t *copy = exact_copy(wire, len);
	struct cursor c;
	enum nsd_err err;

	cursor_init(&c, copy, len);
	err = message_read_question(&c, q);
	if (err == NSD_OK)
		assert_true(c.at <= c.end);
	else
		assert_true(c.failed);
	free(copy);
	return err;
}

static void
header_fields_are_where_rfc1035_says(void **state)
{
	static const uint8_t m[12] = {0x12, 0x34, 0xa5, 0x93, 0, 1, 0, 2, 0, 3,
		0, 4};

	assert_int_equal(message_get_id(m), 0x1234);
	assert_int_equal(message_get_opcode(m), OPCODE_NOTIFY);
	assert_int_equal(message_get_rcode(m), RCODE_NXDOMAIN);
	assert_int_equal(message_get_flags(m) & MESSAGE_QR, MESSAGE_QR);
	assert_int_equal(message_get_flags(m) & MESSAGE_AA, MESSAGE_AA);
	assert_int_equal(message_get_count(m, MESSAGE_NSCOUNT), 3);
}

static void
question_is_lower_cased_and_split(void **state)
{
	static const char wire[] = "\3WwW\7eXa-Z[@\3cOm\0\0\34\0\1";
	struct message_question q;

	assert_int_equal(read_question(wire, sizeof(wire) - 1, &q), NSD_OK);
	assert_int_equal(q.type, 28);
	assert_int_equal(q.rrclass, 1);
	assert_int_equal(q.name.len, 17);
	assert_int_equal(q.name.count, 3);
	assert_memory_equal(q.name.name, "\3www\7exa-z[@\3com", 17);
	assert_int_equal(q.name.label_at[0], 0);
	assert_int_equal(q.name.label_at[1], 4);
	assert_int_equal(q.name.label_at[2], 12);
	assert_int_equal(q.name.label_at[3], 16);
}

static void
question_of_the_root(void **state)
{
	struct message_question q;

	assert_int_equal(read_question("\0\0\2\0\1", 5, &q), NSD_OK);
	assert_int_equal(q.name.len, 1);
	assert_int_equal(q.name.count, 0);
	assert_int_equal(q.name.label_at[0], 0);
}

/* Every octet value, at every place of a word, folds as RFC 4343 says. */
static void
lower_case_is_ascii_only(void **state)
{
	struct message_question q;

	for (unsigned v = 0; v < 256; v++) {
		uint8_t wire[17] = {11};

		memset(wire + 1, (int)v, 11);
		wire[16] = 1;
		assert_int_equal(read_question(wire, 17, &q), NSD_OK);
		for (unsigned i = 1; i < 12; i++)
			assert_int_equal(q.name.name[i],
				v >= 'A' && v <= 'Z' ? v + 32 : v);
	}
}

static void
question_cut_at_each_length_fails(void **state)
{
	static const char wire[] = "\3www\7example\3com\0\0\34\0\1";
	struct message_question q;

	for (size_t len = 0; len < sizeof(wire) - 1; len++)
		assert_int_equal(read_question(wire, len, &q), NSD_E_WIRE);
}

/* Fault 4: pointers and the two reserved label types. */
static void
question_with_odd_label_types_fails(void **state)
{
	struct message_question q;

	for (unsigned type = 64; type < 256; type++) {
		uint8_t wire[260] = {1, 'a'};

		wire[2] = (uint8_t)type;
		assert_int_equal(read_question(wire, sizeof(wire), &q),
			NSD_E_WIRE);
	}
}

/* Fault 5: 255 octets are a name, 256 are not. */
static void
question_name_length_limit(void **state)
{
	struct message_question q;
	uint8_t wire[300];

	for (unsigned last = 60; last <= 63; last++) {
		size_t at = 0;

		memset(wire, 0, sizeof(wire));
		for (unsigned i = 0; i < 4; i++) {
			uint8_t len = (uint8_t)(i < 3 ? 63 : last);

			wire[at] = len;
			memset(wire + at + 1, 'x', len);
			at += 1u + len;
		}
		at += 5;
		assert_int_equal(read_question(wire, at, &q),
			last <= 61 ? NSD_OK : NSD_E_WIRE);
		if (last == 61)
			assert_int_equal(q.name.len, 255);
	}
	/* 127 labels of one octet */
	memset(wire, 0, sizeof(wire));
	for (unsigned i = 0; i < 127; i++)
		wire[2 * i] = 1;
	assert_int_equal(read_question(wire, 259, &q), NSD_OK);
	assert_int_equal(q.name.count, 127);
	assert_int_equal(q.name.label_at[127], 254);
	wire[254] = 1;
	assert_int_equal(read_question(wire, 261, &q), NSD_E_WIRE);
}

static void
expand_follows_pointers_backwards(void **state)
{
	static const uint8_t m[] = "XX\3Com\0\3www\xc0\2\1A\xc0\7";
	struct message_name n;

	assert_int_equal(message_expand_name(m, sizeof(m) - 1, 13, &n), NSD_OK);
	assert_int_equal(n.len, 11);
	assert_memory_equal(n.name, "\1a\3www\3com", 11);
	assert_int_equal(n.count, 3);
	assert_int_equal(n.label_at[3], 10);
}

static void
expand_refuses_loops_and_ends(void **state)
{
	static const uint8_t self[] = "\xc0\0";
	static const uint8_t forward[] = "\xc0\2\0";
	static const uint8_t ping[] = "\1a\xc0\4\xc0\0";
	static const uint8_t again[] = "\1a\1b\xc0\0";
	static const uint8_t type[] = "\x40";
	struct message_name n;

	assert_int_equal(message_expand_name(self, 2, 0, &n), NSD_E_WIRE);
	assert_int_equal(message_expand_name(forward, 3, 0, &n), NSD_E_WIRE);
	assert_int_equal(message_expand_name(ping, 6, 4, &n), NSD_E_WIRE);
	assert_int_equal(message_expand_name(again, 6, 2, &n), NSD_E_WIRE);
	assert_int_equal(message_expand_name(type, 1, 0, &n), NSD_E_WIRE);
	for (size_t len = 0; len < 3; len++) {
		uint8_t *copy = exact_copy("\1a\xc0\0", len);

		assert_int_equal(message_expand_name(copy, len, 0, &n),
			NSD_E_WIRE);
		free(copy);
	}
}

/* A chain of pointers that only ever lead backwards, and a name that grows
 * beyond 255 octets on the way. */
static void
expand_is_bounded(void **state)
{
	uint8_t m[600] = {0};
	struct message_name n;
	size_t at = 64;

	memset(m + 1, 'x', 63);
	m[0] = 63;
	m[64] = 0;
	at = 65;
	for (unsigned i = 0; i < 4; i++) {
		m[at] = 63;
		memset(m + at + 1, 'y', 63);
		octets_put_u16(m + at + 64,
			(uint16_t)(0xc000 | (i == 0 ? 0 : at - 66)));
		assert_int_equal(message_expand_name(m, sizeof(m), at, &n),
			i < 2 ? NSD_OK : NSD_E_WIRE);
		at += 66;
	}
}

/* Two pointers before each label of the longest name, and before the root; then
 * one more, which leads backwards, too. */
static void
expand_takes_256_pointers_and_refuses_257(void **state)
{
	static uint8_t m[1 + 127 * 6 + 6];
	struct message_name n;
	size_t at = 1, name = 0;

	for (unsigned i = 0; i < 127; i++) {
		octets_put_u16(m + at, (uint16_t)(0xc000 | name));
		memcpy(m + at + 2, "\1x", 2);
		octets_put_u16(m + at + 4, (uint16_t)(0xc000 | at));
		name = at + 2;
		at += 6;
	}
	for (unsigned i = 0; i < 3; i++) {
		octets_put_u16(m + at, (uint16_t)(0xc000 | name));
		assert_int_equal(message_expand_name(m, sizeof(m), at, &n),
			i < 2 ? NSD_OK : NSD_E_WIRE);
		name = at;
		at += 2;
	}
	assert_int_equal(n.len, 255);
	assert_int_equal(n.count, 127);
	assert_int_equal(n.label_at[127], 254);
}

static void
rr_heads(void **state)
{
	static const uint8_t m[] =
		"\3www\xc0\0\0\1\0\1\0\0\16\20\0\4\177\0\0\1";
	struct cursor c;
	struct message_rr rr;

	cursor_init(&c, m, sizeof(m) - 1);
	assert_int_equal(message_read_rr(&c, &rr), NSD_OK);
	assert_int_equal(rr.owner_at, 0);
	assert_int_equal(rr.type, 1);
	assert_int_equal(rr.rrclass, 1);
	assert_int_equal(rr.ttl_sec, 3600);
	assert_int_equal(rr.rdlen, 4);
	assert_memory_equal(rr.rdata, "\177\0\0\1", 4);
	assert_int_equal(cursor_left(&c), 0);
	for (size_t len = 0; len < sizeof(m) - 1; len++) {
		uint8_t *copy = exact_copy(m, len);

		cursor_init(&c, copy, len);
		assert_int_equal(message_read_rr(&c, &rr), NSD_E_WIRE);
		assert_true(c.failed);
		free(copy);
	}
}

static enum nsd_err
read_opt(const void *rdata, size_t len, uint32_t ttl, struct edns *edns)
{
	uint8_t *copy = exact_copy(rdata, len);
	struct message_rr rr = {
		.type = TYPE_OPT,
		.rrclass = 1232,
		.ttl_sec = ttl,
		.rdlen = (uint16_t)len,
		.rdata = copy,
	};
	enum nsd_err err = edns_read(&rr, edns);

	assert_true(edns->present);
	assert_int_equal(edns->udp_size, 1232);
	free(copy);
	return err;
}

static void
edns_flags_and_options(void **state)
{
	static const char options[] =
		"\0\3\0\0"                   /* NSID */
		"\xff\xfe\0\3abc"            /* unknown */
		"\0\23\0\0"                  /* ZONEVERSION */
		"\0\12\0\10cookiexx"
		"\0\14\0\2\0\0";             /* PADDING */
	struct edns edns;

	assert_int_equal(read_opt("", 0, 0, &edns), NSD_OK);
	assert_false(edns.dnssec_ok);
	assert_false(edns.nsid);
	assert_int_equal(read_opt(options, sizeof(options) - 1, 0x8000, &edns),
		NSD_OK);
	assert_true(edns.dnssec_ok);
	assert_true(edns.nsid);
	assert_true(edns.zoneversion);
	assert_true(edns.padding);
	assert_int_equal(edns.cookie_len, 8);
}

/* Fault 12: the options of another version are not ours to judge. */
static void
edns_other_version_is_not_looked_into(void **state)
{
	struct edns edns;

	assert_int_equal(read_opt("\0\3\xff\xff", 4, 0x00018000, &edns),
		NSD_OK);
	assert_int_equal(edns.version, 1);
	assert_false(edns.nsid);
}

/* Fault 13: options cut short. */
static void
edns_options_cut_at_each_length(void **state)
{
	static const char options[] = "\0\3\0\0\xff\xfe\0\3abc";
	struct edns edns;

	for (size_t len = 0; len < sizeof(options); len++)
		assert_int_equal(read_opt(options, len, 0, &edns),
			len == 0 || len == 4 || len == sizeof(options) - 1
			? NSD_OK : NSD_E_WIRE);
	assert_int_equal(read_opt("\0\3\0\1", 4, 0, &edns), NSD_E_WIRE);
}

/* Fault 13: as many as fit, and one octet more. */
static void
edns_thousands_of_options(void **state)
{
	static uint8_t options[64001];
	struct edns edns;

	for (size_t at = 0; at + 4 < sizeof(options); at += 4)
		options[at + 1] = EDNS_NSID;
	assert_int_equal(read_opt(options, 64000, 0, &edns), NSD_OK);
	assert_true(edns.nsid);
	assert_int_equal(read_opt(options, 64001, 0, &edns), NSD_E_WIRE);
}

/* Fault 14 and RFC 7873 section 5.2.2. */
static void
edns_cookie_lengths(void **state)
{
	uint8_t option[4 + 64] = {0, EDNS_COOKIE};
	struct edns edns;

	for (unsigned len = 0; len <= 64; len++) {
		bool good = len == 8 || (len >= 16 && len <= 40);

		option[3] = (uint8_t)len;
		assert_int_equal(read_opt(option, 4 + len, 0, &edns),
			good ? NSD_OK : NSD_E_WIRE);
		assert_int_equal(edns.cookie_len, good ? len : 0);
	}
}

/* RFC 9660: a request's ZONEVERSION is empty. */
static void
edns_zoneversion_must_be_empty(void **state)
{
	struct edns edns;

	assert_int_equal(read_opt("\0\23\0\1x", 5, 0, &edns), NSD_E_WIRE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_fields_are_where_rfc1035_says),
		cmocka_unit_test(question_is_lower_cased_and_split),
		cmocka_unit_test(question_of_the_root),
		cmocka_unit_test(lower_case_is_ascii_only),
		cmocka_unit_test(question_cut_at_each_length_fails),
		cmocka_unit_test(question_with_odd_label_types_fails),
		cmocka_unit_test(question_name_length_limit),
		cmocka_unit_test(expand_follows_pointers_backwards),
		cmocka_unit_test(expand_refuses_loops_and_ends),
		cmocka_unit_test(expand_is_bounded),
		cmocka_unit_test(expand_takes_256_pointers_and_refuses_257),
		cmocka_unit_test(rr_heads),
		cmocka_unit_test(edns_flags_and_options),
		cmocka_unit_test(edns_other_version_is_not_looked_into),
		cmocka_unit_test(edns_options_cut_at_each_length),
		cmocka_unit_test(edns_thousands_of_options),
		cmocka_unit_test(edns_cookie_lengths),
		cmocka_unit_test(edns_zoneversion_must_be_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
