/* test_line.c - lines of the query log: fields as the messages have them, and
 * hostile messages that do not break a line. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tap/line.h"

#define QNAME "\3wWw\7EXample\3com\0"
#define QUERY_HEAD "\x12\x34\x01\x10\0\1\0\0\0\0\0\1"
#define REPLY_HEAD "\x12\x34\x85\x03\0\1\0\1\0\0\0\1"
#define QUESTION QNAME "\0\x1c\0\1"
/* 1232, DO, a cookie of eight octets. */
#define QUERY_OPT "\0\0\x29\x04\xd0\0\0\x80\0\0\x0c\0\x0a\0\x08" "abcdefgh"
#define ANSWER "\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4\xc0\0\2\1"
/* The upper octet of the RCODE is 1; an extended error 18. */
#define REPLY_OPT "\0\0\x29\x04\xd0\x01\0\x80\0\0\x06\0\x0f\0\x02\0\x12"

static const char query[] = QUERY_HEAD QUESTION QUERY_OPT;
static const char reply[] = REPLY_HEAD QUESTION ANSWER REPLY_OPT;

static struct tap_record
make_record(void)
{
	return (struct tap_record){
		.kind = TAP_AUTH,
		.parts = TAP_QUERY | TAP_RESPONSE,
		.protocol = TAP_TCP,
		.query_nsec = 1700000000123456789,
		.response_nsec = 1700000000123499789,
		.peer = {{192, 0, 2, 7}, 5353, 4},
		.local = {{0x20, 1, 0xd, 0xb8}, 53, 16},
		.zone_len = 13,
		.query = (const uint8_t *)query,
		.query_len = sizeof(query) - 1,
		.response = (const uint8_t *)reply,
		.response_len = sizeof(reply) - 1,
	};
}

/* The line without its end. */
static const char *
print(const struct tap_record *record, const char *fields)
{
	static char line[TAP_LINE_MAX];
	struct log_format format;
	size_t len;

	assert_int_equal(log_field_parse(fields, &format), NSD_OK);
	len = tap_line_print(record, &format, line);
	assert_in_range(len, 1, TAP_LINE_MAX);
	assert_int_equal(line[len - 1], '\n');
	line[len - 1] = '\0';
	assert_int_equal(strlen(line), len - 1);
	return line;
}

static void
fields_are_those_of_the_messages(void **state)
{
	struct tap_record r = make_record();

	assert_string_equal(print(&r, "time epoch latency"),
		"2023-11-14T22:13:20.123456Z 1700000000.123456789 43");
	assert_string_equal(print(&r, "client port local localport protocol"),
		"192.0.2.7 5353 2001:db8:: 53 tcp");
	assert_string_equal(print(&r, "id opcode zone qname qtype qclass"),
		"4660 QUERY example.com. wWw.EXample.com. AAAA IN");
	assert_string_equal(print(&r, "flags edns do cookie querysize"),
		"rd,cd 1232 yes client 56");
	assert_string_equal(print(&r, "rcode answerflags answers size ede"),
		"RCODE19 aa,rd 1 66 18");
}

static void
json_has_keys_and_types(void **state)
{
	struct tap_record r = make_record();

	assert_string_equal(print(&r, "json time epoch client port qname do"),
		"{\"time\":\"2023-11-14T22:13:20.123456Z\","
		"\"epoch\":1700000000.123456789,\"client\":\"192.0.2.7\","
		"\"port\":5353,\"qname\":\"wWw.EXample.com.\",\"do\":true}");
	assert_string_equal(print(&r, "json flags edns cookie ede rcode"),
		"{\"flags\":\"rd,cd\",\"edns\":1232,\"cookie\":\"client\","
		"\"ede\":18,\"rcode\":\"RCODE19\"}");
}

#define OF_MESSAGES "id opcode zone qname qtype qclass flags edns cookie do" \
	" rcode answerflags answers size ede"

static void
absent_fields_are_dashes_or_null(void **state)
{
	struct tap_record r = make_record();

	r.query_len = 11; /* no whole header */
	r.response = NULL;
	r.response_len = 0;
	r.query_nsec = r.response_nsec = 0;
	r.peer.len = r.local.len = 0;
	assert_string_equal(print(&r, OF_MESSAGES),
		"- - - - - - - - - - - - - - -");
	assert_string_equal(
		print(&r, "time epoch client port local localport latency"),
		"- - - - - - -");
	assert_string_equal(print(&r, "json time port qname do rcode"),
		"{\"time\":null,\"port\":null,\"qname\":null,\"do\":null,"
		"\"rcode\":null}");
}

static void
query_without_edns_or_flags(void **state)
{
	static const char plain[] = "\x12\x34\0\0\0\1\0\0\0\0\0\0" QUESTION;
	struct tap_record r = make_record();

	r.query = (const uint8_t *)plain;
	r.query_len = sizeof(plain) - 1;
	r.zone_len = 0;
	assert_string_equal(print(&r, "flags edns do cookie zone"),
		"- - no - -");
	assert_string_equal(print(&r, "json flags edns do cookie zone"),
		"{\"flags\":\"\",\"edns\":null,\"do\":false,\"cookie\":null,"
		"\"zone\":null}");
}

/* A response that is made later than its query was received has its time. */
static void
time_of_a_late_response_alone_is_its_own(void **state)
{
	struct tap_record r = make_record();

	r.query_nsec = 0;
	assert_string_equal(print(&r, "epoch latency"),
		"1700000000.123499789 -");
	r.query_nsec = r.response_nsec + 1; /* a clock that was set back */
	assert_string_equal(print(&r, "latency"), "-");
}

static void
numbers_without_a_name_are_written(void **state)
{
	static const char odd[] = "\0\0\x78\0\0\1\0\0\0\0\0\0"
		"\0" "\xff\0\xff\xfe";
	struct tap_record r = make_record();

	r.query = (const uint8_t *)odd;
	r.query_len = sizeof(odd) - 1;
	r.zone_len = 1;
	assert_string_equal(print(&r, "opcode zone qname qtype qclass"),
		"OPCODE15 . . TYPE65280 CLASS65534");
}

/* RFC 1035 section 5.1 */
static void
octets_of_names_cannot_break_a_line(void **state)
{
	static const char evil[] = "\0\0\0\0\0\1\0\0\0\0\0\0"
		"\x09\"\\\n \r\x1b[\xff,\0" "\0\1\0\1";
	struct tap_record r = make_record();

	r.query = (const uint8_t *)evil;
	r.query_len = sizeof(evil) - 1;
	assert_string_equal(print(&r, "qname qtype"),
		"\\\"\\\\\\010\\032\\013\\027[\\255,. A");
	assert_string_equal(print(&r, "json qname qtype"),
		"{\"qname\":\"\\\\\\\"\\\\\\\\\\\\010\\\\032\\\\013\\\\027["
		"\\\\255,.\",\"qtype\":\"A\"}");
}

/* A name of 255 octets of which each takes the most characters, as zone and as
 * QNAME, with every field. */
static void
longest_line_fits(void **state)
{
	uint8_t message[12 + 255 + 4] = {0x12, 0x34, 0xff, 0xff, 0, 1};
	struct tap_record r = make_record();
	char fields[512] = "json";

	for (unsigned i = 0; i < 4; i++) {
		message[12 + 64 * i] = i < 3 ? 63 : 61;
		memset(message + 13 + 64 * i, 1, i < 3 ? 63 : 61);
	}
	memset(message + sizeof(message) - 4, 0xfe, 4);
	r.query = message;
	r.query_len = sizeof(message);
	r.zone_len = 255;
	r.query_nsec = 1;
	r.response_nsec = INT64_MAX;
	memset(r.peer.octets, 0xfe, 16);
	r.peer.len = 16;
	r.local = r.peer;
	for (unsigned i = 0; i < LOG_FIELD_COUNT; i++) {
		strcat(fields, " ");
		strcat(fields, log_field_name((enum log_field)i));
	}
	assert_in_range(strlen(print(&r, fields)), 2 * 5 * 250, TAP_LINE_MAX);
}

/* Messages cut at every length; in memory of that length, so that a sanitizer
 * sees a read behind the end. */
static void
messages_cut_anywhere_make_a_line(void **state)
{
	struct tap_record r = make_record();
	uint8_t *cut;

	for (uint32_t len = 1; len < sizeof(query); len++) {
		cut = malloc(len);
		memcpy(cut, query, len);
		r.query = cut;
		r.query_len = len;
		print(&r, "json " OF_MESSAGES);
		free(cut);
	}
	r = make_record();
	for (uint32_t len = 1; len < sizeof(reply); len++) {
		cut = malloc(len);
		memcpy(cut, reply, len);
		r.response = cut;
		r.response_len = len;
		print(&r, OF_MESSAGES);
		free(cut);
	}
}

/* Counts that promise what the octets have not. */
static void
counts_of_a_header_are_not_believed(void **state)
{
	char lies[sizeof(query)];
	struct tap_record r = make_record();

	memcpy(lies, query, sizeof(query));
	memset(lies + 4, 0xff, 8);
	r.query = (const uint8_t *)lies;
	assert_string_equal(print(&r, "qname edns cookie"),
		"wWw.EXample.com. - -");
	memcpy(lies, query, sizeof(query));
	memset(lies + 10, 0xff, 2);
	assert_string_equal(print(&r, "edns cookie"), "1232 client");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_those_of_the_messages),
		cmocka_unit_test(json_has_keys_and_types),
		cmocka_unit_test(absent_fields_are_dashes_or_null),
		cmocka_unit_test(query_without_edns_or_flags),
		cmocka_unit_test(time_of_a_late_response_alone_is_its_own),
		cmocka_unit_test(numbers_without_a_name_are_written),
		cmocka_unit_test(octets_of_names_cannot_break_a_line),
		cmocka_unit_test(longest_line_fits),
		cmocka_unit_test(messages_cut_anywhere_make_a_line),
		cmocka_unit_test(counts_of_a_header_are_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
