/*
 * test_parse.c - master files, rule by rule: RFC 1035 section 5, RFC 2308
 * section 4, RFC 3597 section 5.
 */
#include "fixture.h"

#define PERIOD ": expected seconds or a period such as 1h30m\n"
#define NO_META ": expected a type that can stand in a zone\n"
#define A1 "c0000201" /* 192.0.2.1 */

/* ---- owners, origin --------------------------------------------------- */

static void
owner_is_completed_and_lower_cased(void **state)
{
	expect("WWW 60 IN A 192.0.2.1\n@ 60 A 192.0.2.1\n"
		"Other.Example. 60 A 192.0.2.1\n. 60 A 192.0.2.1\n",
		"1 www.example.org. 60 A " A1 "\n"
		"2 example.org. 60 A " A1 "\n"
		"3 other.example. 60 A " A1 "\n"
		"4 . 60 A " A1 "\n", "");
}

static void
blank_owner_is_the_last_one(void **state)
{
	expect("a 60 A 192.0.2.1\n  60 A 192.0.2.1\n\t\n; x\n"
		"\t60 A 192.0.2.1\n",
		"1 a.example.org. 60 A " A1 "\n"
		"2 a.example.org. 60 A " A1 "\n"
		"5 a.example.org. 60 A " A1 "\n", "");
	expect(" 60 A 192.0.2.1\n", "",
		"1:2 Invalid OWNER in RR: no owner before this line\n");
}

static void
lines_behind_a_bad_owner_are_left_out(void **state)
{
	expect("a 60 A 192.0.2.1\na..b 60 A 192.0.2.1\n 60 A 192.0.2.1\n"
		"b 60 A 192.0.2.1\n",
		"1 a.example.org. 60 A " A1 "\n"
		"4 b.example.org. 60 A " A1 "\n",
		"2:1 Invalid OWNER in RR: 'a..b': expected a name without "
			"empty labels\n");
}

static void
origin_is_relative_to_the_one_before(void **state)
{
	expect("$ORIGIN sub\na 60 A 192.0.2.1\n$ORIGIN x.\na 60 NS B\n"
		"$origin y.z. ; lower case\n@ 60 NS @\n",
		"2 a.sub.example.org. 60 A " A1 "\n"
		"4 a.x. 60 NS 0142017800\n"
		"6 y.z. 60 NS 0179017a00\n", "");
	expect("$ORIGIN\na 60 A 192.0.2.1\n$ORIGIN a..b\n$ORIGIN x. y\n"
		"a 60 A 192.0.2.1\n",
		"2 a.example.org. 60 A " A1 "\n5 a.x. 60 A " A1 "\n",
		"1:1 Missing name in $ORIGIN\n"
		"3:9 Invalid name in $ORIGIN: 'a..b': expected a name without "
			"empty labels\n"
		"4:12 Trailing data in $ORIGIN: 'y'\n");
}

static void
escapes_in_owners_are_undone(void **state)
{
	expect("a\\.b 60 A 192.0.2.1\n\\065\\b 60 A 192.0.2.1\n"
		"a\\032\\;\\\"\\( 60 A 192.0.2.1\n\\@ 60 A 192.0.2.1\n"
		"\\$x 60 A 192.0.2.1\n",
		"1 a\\.b.example.org. 60 A " A1 "\n"
		"2 ab.example.org. 60 A " A1 "\n"
		"3 a\\032\\;\\\"\\(.example.org. 60 A " A1 "\n"
		"4 \\@.example.org. 60 A " A1 "\n"
		"5 \\$x.example.org. 60 A " A1 "\n", "");
}

/* ---- TTL and class ---------------------------------------------------- */

static void
ttl_and_class_come_in_any_order_or_not(void **state)
{
	expect("$TTL 7\na 1 IN A 192.0.2.1\na IN 2 A 192.0.2.1\n"
		"a in A 192.0.2.1\na 3 A 192.0.2.1\na A 192.0.2.1\n"
		"a CLASS1 4 TYPE1 192.0.2.1\n",
		"2 a.example.org. 1 A " A1 "\n3 a.example.org. 2 A " A1 "\n"
		"4 a.example.org. 7 A " A1 "\n5 a.example.org. 3 A " A1 "\n"
		"6 a.example.org. 7 A " A1 "\n7 a.example.org. 4 A " A1 "\n",
		"");
}

static void
only_class_in_is_supported(void **state)
{
	expect("a 1 CH A 192.0.2.1\nb HS 1 A 192.0.2.1\n"
		"c CLASS9 A 192.0.2.1\nd IN IN A 192.0.2.1\n",
		"", "1:5 only class IN is supported: 'CH'\n"
		"2:3 only class IN is supported: 'HS'\n"
		"3:3 only class IN is supported: 'CLASS9'\n"
		"4:6 Invalid type in RR: 'IN': expected an RR type\n");
}

/* Words that are like the ones of the line before, and are not. */
static void
ttl_and_type_of_the_line_before_are_not_mistaken(void **state)
{
	expect("a 60 A 192.0.2.1\na 60s A 192.0.2.1\na 600 A 192.0.2.1\n"
		"a 6 a 192.0.2.1\na 60 TYPE00001 192.0.2.1\n"
		"a 60 TYPE00002 x.\na 60 TYPE0001 192.0.2.1\n"
		"a 0000000060 A 192.0.2.1\na 00000000 A 192.0.2.1\n"
		"a 000000001 A 192.0.2.1\n",
		"1 a.example.org. 60 A " A1 "\n2 a.example.org. 60 A " A1 "\n"
		"3 a.example.org. 600 A " A1 "\n4 a.example.org. 6 A " A1 "\n"
		"5 a.example.org. 60 A " A1 "\n"
		"6 a.example.org. 60 NS 017800\n"
		"7 a.example.org. 60 A " A1 "\n8 a.example.org. 60 A " A1 "\n"
		"9 a.example.org. 0 A " A1 "\n10 a.example.org. 1 A " A1 "\n",
		"");
	expect("a 1 A 192.0.2.1\na \"1\" A 192.0.2.1\na 1 \"A\" 192.0.2.1\n"
		"a 1 AXFR x\na 1 AXFR x\n",
		"1 a.example.org. 1 A " A1 "\n",
		"2:3 Invalid ttl in RR: '\"1\"'" PERIOD
		"3:5 Invalid type in RR: '\"A\"': expected an RR type\n"
		"4:5 Invalid type in RR: 'AXFR'" NO_META
		"5:5 Invalid type in RR: 'AXFR'" NO_META);
}

static void
ttl_units_are_read(void **state)
{
	expect("a 1w2d3h4m5s A 192.0.2.1\na 1H A 192.0.2.1\n"
		"a 1h30 A 192.0.2.1\n$TTL 1D\na A 192.0.2.1\n"
		"a 1x A 192.0.2.1\na 4294967296 A 192.0.2.1\n"
		"a 8000w A 192.0.2.1\n$TTL x\n$TTL\n$TTL 1 2\n",
		"1 a.example.org. 788645 A " A1 "\n"
		"2 a.example.org. 3600 A " A1 "\n"
		"3 a.example.org. 3630 A " A1 "\n"
		"5 a.example.org. 86400 A " A1 "\n",
		"6:3 Invalid ttl in RR: '1x'" PERIOD
		"7:3 Invalid ttl in RR: '4294967296'" PERIOD
		"8:3 Invalid ttl in RR: '8000w'" PERIOD
		"9:6 Invalid ttl in $TTL: 'x'" PERIOD
		"10:1 Missing ttl in $TTL\n"
		"11:8 Trailing data in $TTL: '2'\n");
}

/* RFC 2181 section 8 (fault 47) */
static void
ttl_with_the_top_bit_set_is_zero(void **state)
{
	expect("a 2147483647 A 192.0.2.1\na 2147483648 A 192.0.2.1\n"
		"a 640000w A 192.0.2.1\na 640000w A 192.0.2.1\n",
		"1 a.example.org. 2147483647 A " A1 "\n"
		"2 a.example.org. 0 A " A1 "\n",
		"warning 2:3 ttl 2147483648 in RR exceeds 2147483647, "
		"taken as 0\n"
		"3:3 Invalid ttl in RR: '640000w'" PERIOD
		"4:3 Invalid ttl in RR: '640000w'" PERIOD);
	/* The warning is repeated for each record. */
	expect("a 3600w A 192.0.2.1\na 3600w A 192.0.2.1\n",
		"1 a.example.org. 0 A " A1 "\n2 a.example.org. 0 A " A1 "\n",
		"warning 1:3 ttl 3600w in RR exceeds 2147483647, taken as 0\n"
		"warning 2:3 ttl 3600w in RR exceeds 2147483647, taken as 0\n");
}

#define SOA_TEXT " SOA a. b. 1 2 3 4 5\n"

/* RFC 2308 section 4 */
static void
ttl_default_wins_over_the_last_one_stated(void **state)
{
	expect("$TTL 9\na 5 A 192.0.2.1\na A 192.0.2.1\n$TTL 8\n"
		"a A 192.0.2.1\n",
		"2 a.example.org. 5 A " A1 "\n3 a.example.org. 9 A " A1 "\n"
		"5 a.example.org. 8 A " A1 "\n", "");
}

/* RFC 2308 section 4: the minimum of the SOA is no default any more. */
static void
ttl_without_default_is_the_last_one_and_never_the_minimum(void **state)
{
	expect("@" SOA_TEXT "a A 192.0.2.1\na 60 A 192.0.2.1\n"
		"a A 192.0.2.1\n",
		"1 example.org. 3600 SOA 016100016200000000010000000200000003"
		"0000000400000005\n2 a.example.org. 3600 A " A1 "\n"
		"3 a.example.org. 60 A " A1 "\n4 a.example.org. 60 A " A1 "\n",
		"");
	expect("a A 192.0.2.1\n", "1 a.example.org. 3600 A " A1 "\n", "");
}

/* ---- layout ----------------------------------------------------------- */

static void
parentheses_join_lines(void **state)
{
	expect("a 60 (\n IN ; comment (\nA\n\n) 192.0.2.1\n"
		"b ( 60 ) ( A ( 192.0.2.1 ) )\n"
		"@ SOA a. b. ( 1\n2 3 ; x\n4 5 )\nc 1 A 192.0.2.1\n",
		"1 a.example.org. 60 A " A1 "\n6 b.example.org. 60 A " A1 "\n"
		"7 example.org. 60 SOA 016100016200000000010000000200000003"
		"0000000400000005\n10 c.example.org. 1 A " A1 "\n", "");
}

static void
owner_may_stand_behind_a_parenthesis(void **state)
{
	expect("(a 60\nA 192.0.2.1)\n (60 A 192.0.2.1)\n",
		"1 a.example.org. 60 A " A1 "\n3 a.example.org. 60 A " A1 "\n",
		"");
}

static void
quotes_span_lines_and_hide_punctuation(void **state)
{
	expect("a 60 TXT \"b\n(;\" c\nb 60 TXT \"\" \"\\\"\\\\\"\n"
		"c 60 TXT \"\\065\" \\066\nd 60 X A\n",
		"1 a.example.org. 60 TXT 04620a283b0163\n"
		"3 b.example.org. 60 TXT 0002225c\n"
		"4 c.example.org. 60 TXT 01410142\n",
		"5:6 Invalid type in RR: 'X': expected an RR type\n");
}

static void
comments_end_with_the_line(void **state)
{
	expect("; a \"\n;\na 60 A 192.0.2.1;b(\n \t ;c\n\nb 60 A 192.0.2.1 ;\n",
		"3 a.example.org. 60 A " A1 "\n6 b.example.org. 60 A " A1 "\n",
		"");
}

/* Fault 45 */
static void
carriage_returns_and_byte_order_mark_are_passed_over(void **state)
{
	expect("\xef\xbb\xbf" "a 60 A 192.0.2.1\r\n\r\nb (\r\n"
		"60 A 192.0.2.1 )\r\n\r\n",
		"1 a.example.org. 60 A " A1 "\n3 b.example.org. 60 A " A1 "\n",
		"");
	expect("\xef\xbb\xbf", "", "");
	expect("a 1 A 192.0.2.1\n\xef\xbb\xbf" "b 1 A 192.0.2.1\n",
		"1 a.example.org. 1 A " A1 "\n"
		"2 \\239\\187\\191b.example.org. 1 A " A1 "\n", "");
}

static void
last_line_needs_no_newline(void **state)
{
	expect("a 60 A 192.0.2.1", "1 a.example.org. 60 A " A1 "\n", "");
	expect("a 60 A 192.0.2.1 ; x", "1 a.example.org. 60 A " A1 "\n", "");
	expect("a 60 A 192.0.2.1\n ", "1 a.example.org. 60 A " A1 "\n", "");
	expect("$TTL 5", "", "");
	expect("", "", "");
	expect("a 60 TXT \"b\"", "1 a.example.org. 60 TXT 0162\n", "");
}

static void
nul_is_an_error_at_its_place(void **state)
{
	static const char text[] = "a 60 A 192.0.2.1\nb 60 A\0 192.0.2.1\n"
		"c 60 TXT \"x\ny\0\"\n; \0\nd 60 A 192.0.2.1\n"
		"e ( 60 \0\n A 192.0.2.1 )\nf 60 A 192.0.2.1\n";

	expect_len(text, sizeof(text) - 1,
		"1 a.example.org. 60 A " A1 "\n6 d.example.org. 60 A " A1 "\n"
		"9 f.example.org. 60 A " A1 "\n",
		"2:7 NUL octet in zone file\n4:2 NUL octet in zone file\n"
		"5:3 NUL octet in zone file\n7:8 NUL octet in zone file\n");
}

/* Fault 45 */
static void
what_is_open_at_the_end_is_told_where_it_was_opened(void **state)
{
	expect("a 60 A 192.0.2.1\n\nb 60 TXT ( c\n( d\n) e\n",
		"1 a.example.org. 60 A " A1 "\n",
		"3:10 parenthesis is not closed\n");
	expect("a 60 A 192.0.2.1\nb 60 TXT \"c\nd 60 A 192.0.2.1\n",
		"1 a.example.org. 60 A " A1 "\n3 d.example.org. 60 A " A1 "\n",
		"2:10 quoted string is not closed\n");
	expect("b 60 SVCB 1 . alpn=\"h2\nd 60 A 192.0.2.1\n",
		"2 d.example.org. 60 A " A1 "\n",
		"1:20 quoted string is not closed\n");
	expect("b 60 TXT (\n\"", "", "2:1 quoted string is not closed\n");
	expect("a 60 A ) 192.0.2.1\nb 60 A 192.0.2.1\n",
		"2 b.example.org. 60 A " A1 "\n",
		"1:8 closing parenthesis without an opening one\n");
}

/* The lines behind it are looked at as if it had been closed. */
static void
what_is_not_closed_hides_nothing_behind_it(void **state)
{
	expect("a 60 SOA a. b. ( 1\n 2 3 4\n 5\n NS x\nb 60 A 192.0.2.1\n"
		"c 60 A x\n",
		"5 b.example.org. 60 A " A1 "\n",
		"1:16 parenthesis is not closed\n"
		"6:8 Invalid rdata in A: 'x': expected an IPv4 address\n");
	/* A missing quote turns the others the wrong way round. */
	expect("a 60 TXT \"a\n A 192.0.2.1\nb 60 TXT \"b\"\n"
		"c 60 TXT \"c\" \"d\"\nd 60 A 192.0.2.1\ne 60 X\n",
		"3 b.example.org. 60 TXT 0162\n"
		"4 c.example.org. 60 TXT 01630164\n"
		"5 d.example.org. 60 A " A1 "\n",
		"1:10 quoted string is not closed\n"
		"6:6 Invalid type in RR: 'X': expected an RR type\n");
	/* Two too few: a record seems to go on over some lines. */
	expect("a 60 A \"a\nb 60 A 192.0.2.1\nc 60 TXT \"c\n"
		"d 60 A 192.0.2.1\n",
		"2 b.example.org. 60 A " A1 "\n4 d.example.org. 60 A " A1
		"\n",
		"1:8 Invalid rdata in A: '\"a\nb 60 A 192.0.2.1\nc 60 TXT "
			"\"': expected an IPv4 address\n"
		"3:10 quoted string is not closed\n");
	/* An owner is not taken from the record before it. */
	expect("a 60 A 192.0.2.1\nb 60 TXT (\n$TTL 5\n A 192.0.2.1\n"
		"c A 192.0.2.1\n",
		"1 a.example.org. 60 A " A1 "\n5 c.example.org. 5 A " A1 "\n",
		"2:10 parenthesis is not closed\n");
}

/* Parses a file of so many lines, each of which ends a record that is scanned
 * again. */
static struct outcome
outcome_of_open_parentheses(size_t lines, unsigned threads)
{
	struct zonefile_options options = {
		.apex = fixture_apex,
		.threads = threads,
	};
	char *text = malloc(4 * lines);
	struct outcome o;

	assert_non_null(text);
	for (size_t i = 0; i < lines; i++)
		memcpy(text + 4 * i, "a (\n", 4);
	o = outcome_of_text(text, 4 * lines, &options, NULL);
	free(text);
	assert_int_equal(o.warnings, 1);
	assert_non_null(strstr(o.diags, "warning 0:0 the rest is not read\n"));
	return o;
}

/* No more often than there are errors to tell. */
static void
a_file_of_open_parentheses_takes_no_longer(void **state)
{
	struct outcome o;

	for (unsigned threads = 1; threads < 4; threads++) {
		o = outcome_of_open_parentheses(200000, threads);
		assert_int_equal(o.errors, 50);
		assert_non_null(strstr(o.diags,
			"\n50:3 parenthesis is not closed\nwarning 0:0 "));
		outcome_free(&o);
	}
}

/* Sixteen MiB at a time: four times, and not fifty. */
static void
a_large_file_of_open_parentheses_is_given_up(void **state)
{
	struct outcome o = outcome_of_open_parentheses(5000000, 0);

	assert_in_range(o.errors, 3, 5);
	outcome_free(&o);
}

static void
long_words_are_cut_in_findings(void **state)
{
	char text[100] = "a 60 A ", want[400];

	memset(text + 7, 'x', 65);
	snprintf(want, sizeof(want), "1:8 Invalid rdata in A: '%.64s...': "
		"expected an IPv4 address\n", text + 7);
	expect(text, "", want);
	text[7 + 64] = '\0';
	snprintf(want, sizeof(want), "1:8 Invalid rdata in A: '%s': "
		"expected an IPv4 address\n", text + 7);
	expect(text, "", want);
}

static void
backslash_does_not_join_lines(void **state)
{
	expect("a\\\n 60 A 192.0.2.1\nb 60 A 192.0.2.1\\\nc 60 A 192.0.2.1\n",
		"4 c.example.org. 60 A " A1 "\n",
		"1:1 Invalid OWNER in RR: 'a\\': expected an escape: \\DDD up "
			"to 255 or \\ and a character\n"
		"3:8 Invalid rdata in A: '192.0.2.1\\': expected an IPv4 "
			"address\n");
}

static void
findings_name_line_and_column_inside_a_record(void **state)
{
	expect("a 60 (\n A\n   x )\nb 60 A\nc\nd 60\n\"@\" 60 A 192.0.2.1\n",
		"", "3:4 Invalid rdata in A: 'x': expected an IPv4 address\n"
		"4:7 Missing rdata in A: expected an IPv4 address\n"
		"5:1 Missing type in RR\n6:3 Missing type in RR\n"
		"7:1 Invalid OWNER in RR: '\"@\"': expected a name without "
			"quotes\n");
}

/* ---- RFC 3597 --------------------------------------------------------- */

static void
unknown_types_and_rdata_are_read(void **state)
{
	expect("a 60 TYPE65280 \\# 3 0102 03\na 60 A \\# 4 C0000201\n"
		"a 60 CLASS1 TYPE1 192.0.2.1\na 60 TYPE65280 \\# 0\n",
		"1 a.example.org. 60 TYPE65280 010203\n"
		"2 a.example.org. 60 A " A1 "\n"
		"3 a.example.org. 60 A " A1 "\n"
		"4 a.example.org. 60 TYPE65280 \n", "");
}

static void
meta_types_cannot_stand_in_a_zone(void **state)
{
	expect("a 60 OPT \\# 0\na 60 AXFR\na 60 TYPE0 \\# 0\n", "",
		"1:6 Invalid type in RR: 'OPT'" NO_META
		"2:6 Invalid type in RR: 'AXFR'" NO_META
		"3:6 Invalid type in RR: 'TYPE0'" NO_META);
}

/* Fault 46: a primary refuses it, unless it stands there as octets. A secondary
 * serves what it was sent. */
static void
values_that_break_rules_are_kept_for_a_secondary(void **state)
{
	static const char text[] = "a 60 DS 1 13 2 00\na 60 DS 1 13 2\n"
		"a 60 DS 1 13 x 00\nb 60 TYPE43 \\# 5 00010d0200\n";
	static const char why[] = "digest";
	struct zonefile_options options = { .apex = fixture_apex };
	struct outcome o = outcome_of_text(text, sizeof(text) - 1, &options,
		NULL);

	assert_int_equal(o.errors, 3);
	assert_int_equal(o.warnings, 1);
	assert_string_equal(o.text, "4 b.example.org. 60 DS 00010d0200\n");
	outcome_free(&o);
	options.secondary = true;
	o = outcome_of_text(text, sizeof(text) - 1, &options, NULL);
	assert_int_equal(o.errors, 2);
	assert_int_equal(o.warnings, 2);
	assert_non_null(strstr(o.diags, why));
	assert_string_equal(o.text, "1 a.example.org. 60 DS 00010d0200\n"
		"4 b.example.org. 60 DS 00010d0200\n");
	outcome_free(&o);
}

/* Fault 46: what others load is loaded, with a warning. */
static void
values_that_others_load_are_kept(void **state)
{
	struct zonefile_options options = { .apex = fixture_apex };
	static const char text[] = "a 60 IPSECKEY 10 0 2 .\n"
		"a 60 NSEC a TYPE0\na 60 HTTPS 1 . no-default-alpn\n"
		"a 60 TYPE45 \\# 3 0a0002\n"
		"a 60 HTTPS 1 . no-default-alpn mandatory=port\n";
	struct outcome o = outcome_of_text(text, sizeof(text) - 1, &options,
		NULL);

	assert_int_equal(o.err, NSD_E_SYNTAX); /* the last, which none loads */
	assert_string_equal(o.diags, "warning 1:23 Missing rdata in IPSECKEY:"
		" expected a key in base64, or none for algorithm 0\n"
		"warning 2:13 Invalid rdata in NSEC: 'TYPE0': expected an RR "
		"type from 1 to 65535\n"
		"warning 3:16 Invalid rdata in HTTPS: 'no-default-alpn': "
		"expected alpn beside no-default-alpn\n"
		"warning 4:18 Invalid rdata in IPSECKEY: '0a0002': expected a "
		"key in base64, or none for algorithm 0\n"
		"5:32 Invalid rdata in HTTPS: 'mandatory=port': expected each "
		"key that mandatory lists among the parameters\n");
	assert_string_equal(o.text, "1 a.example.org. 60 IPSECKEY 0a0002\n"
		"2 a.example.org. 60 NSEC 0161076578616d706c65036f726700000180"
		"\n3 a.example.org. 60 HTTPS 00010000020000\n"
		"4 a.example.org. 60 IPSECKEY 0a0002\n");
	outcome_free(&o);
}

/* Fault 45 */
static void
bad_escapes_and_lengths_are_told_at_their_place(void **state)
{
	struct zonefile_options options = { .apex = fixture_apex };
	static const char text[] = "a\\256 1 A 192.0.2.1\na 1 TXT a\\256\n"
		"a 1 TXT \"\\25\"\na 1 TYPE9999 \\# 2 00\n"
		"a 1 TYPE9999 \\# 1 0000\na 1 TYPE9999 \\# 1 0\n"
		"a 1 TYPE9999 \\# 65536 00\na 1 TYPE9999 \\# x\n"
		"a 1 TYPE9999 \\#\na 1 A \\# 3 000000\na 1 TYPE9999 x\n";
	static const char *const places[] = { "1:1 ", "2:9 ", "3:9 ", "4:17 ",
		"5:17 ", "6:19 ", "7:17 ", "8:17 ", "9:16 ", "10:12 ",
		"11:14 " };
	struct outcome o = outcome_of_text(text, sizeof(text) - 1, &options,
		NULL);
	const char *at = o.diags;
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		assert_int_equal(strncmp(at, places[i], strlen(places[i])), 0);
		assert_non_null(strstr(at, "expected "));
		at = strchr(at, '\n') + 1;
	}
	assert_string_equal(at, "");
	assert_string_equal(o.text, "");
	outcome_free(&o);
}

/* ---- limits ----------------------------------------------------------- */

static void
errors_stop_at_the_limit(void **state)
{
	struct zonefile_options options = { .apex = fixture_apex,
		.errors_max = 2 };
	static const char text[] = "a 1 A 192.0.2.1\nx X\nx X\nx X\n"
		"b 1 A 192.0.2.1\n";
	struct outcome o = outcome_of_text(text, sizeof(text) - 1, &options,
		NULL);

	assert_int_equal(o.errors, 2);
	assert_int_equal(o.err, NSD_E_SYNTAX);
	assert_int_equal(o.rr_count, 1);
	assert_string_equal(o.diags,
		"2:3 Invalid type in RR: 'X': expected an RR type\n"
		"3:3 Invalid type in RR: 'X': expected an RR type\n"
		"warning 0:0 the rest is not read\n");
	outcome_free(&o);
}

static void
thousand_warnings_are_told_and_all_counted(void **state)
{
	struct zonefile_options options = { .apex = fixture_apex };
	struct parse_tuning tuning = parse_tuning_default;
	char *text = malloc(2000 * 32);
	size_t i, len = 0;
	struct outcome o;

	assert_non_null(text);
	for (i = 0; i < 2000; i++)
		len += (size_t)sprintf(text + len, "a 4000000000 TXT %zu\n", i);
	tuning.parallel_size = 0;
	tuning.chunk_size = tuning.head_size = 7000;
	for (options.threads = 1; options.threads < 4; options.threads++) {
		o = outcome_of_text(text, len, &options, &tuning);
		assert_int_equal(o.err, NSD_OK);
		assert_int_equal(o.rr_count, 2000);
		assert_int_equal(o.warnings, 2000);
		assert_non_null(strstr(o.diags, "\nwarning 1000:3 "));
		assert_non_null(strstr(o.diags, "as 0\nwarning 0:0 1000 more "
			"warnings are not shown\n"));
		outcome_free(&o);
	}
	free(text);
}

/* Fault 45 */
static void
a_word_of_a_megabyte_is_an_error(void **state)
{
	size_t i, size = 1 << 20;
	char *text = malloc(size + 64);
	struct zonefile_options options = { .apex = fixture_apex };
	struct outcome o;

	assert_non_null(text);
	for (i = 0; i < 3; i++) {
		static const char *const before[] = { "a 60 TXT ", "",
			"a 60 TXT \"" };
		size_t len = strlen(before[i]);

		memcpy(text, before[i], len);
		memset(text + len, 'x', size);
		strcpy(text + len + size, i == 2 ? "\"\nb 60 A 192.0.2.1\n"
			: "\nb 60 A 192.0.2.1\n");
		o = outcome_of_text(text, strlen(text), &options, NULL);
		assert_int_equal(o.errors, 1);
		assert_string_equal(o.text, "2 b.example.org. 60 A " A1 "\n");
		outcome_free(&o);
	}
	free(text);
}

static const char every_kind[] = "\xef\xbb\xbf$ORIGIN example.org.\n$TTL 1h\n"
	"@ SOA ns. host\\.master.x. ( 1 2 ; c\n 3 4 5 )\n NS \\110s\r\n"
	"a 1d IN MX 10 b\n  IN 5 TXT \"x\\\"y\n;z\" v ; w\n"
	"$GENERATE 1-3/2 h${0,2,x} A 192.0.2.$ ; t\n"
	"b TYPE65280 \\# 2 ( 01\n02 )\nc SVCB 1 . alpn=\"h2,h3\" port=1\n"
	"d AAAA 2001:db8::1\ne RRSIG A 13 2 60 20300101000000 20200101000000 "
	"1 example.org. AAAA\n$INCLUDE x\n";

/* Every length gives records or findings, and never anything worse; a parse
 * under the sanitizers is the other half of this test. */
static void
a_file_cut_at_each_length_is_read_or_refused(void **state)
{
	struct zonefile_options options = { .apex = fixture_apex };
	size_t len;

	for (len = 0; len < sizeof(every_kind); len++) {
		char *copy = malloc(len + 1);
		struct outcome o;

		assert_non_null(copy);
		memcpy(copy, every_kind, len);
		o = outcome_of_text(copy, len, &options, NULL);
		assert_true(o.err == NSD_OK || o.err == NSD_E_SYNTAX);
		assert_int_equal(o.err == NSD_OK, o.errors == 0);
		outcome_free(&o);
		free(copy);
	}
}

static void
each_octet_of_a_file_changed_is_read_or_refused(void **state)
{
	struct zonefile_options options = { .apex = fixture_apex };
	static const char octets[] = "\0\n\t \"();\\$@.x0\xff";
	size_t i, k;

	for (i = 0; i < sizeof(every_kind) - 1; i++) {
		for (k = 0; k < sizeof(octets) - 1; k++) {
			char copy[sizeof(every_kind)];
			struct outcome o;

			memcpy(copy, every_kind, sizeof(copy));
			copy[i] = octets[k];
			o = outcome_of_text(copy, sizeof(copy) - 1, &options,
				NULL);
			assert_int_equal(o.err == NSD_OK, o.errors == 0);
			outcome_free(&o);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_is_completed_and_lower_cased),
		cmocka_unit_test(blank_owner_is_the_last_one),
		cmocka_unit_test(lines_behind_a_bad_owner_are_left_out),
		cmocka_unit_test(origin_is_relative_to_the_one_before),
		cmocka_unit_test(escapes_in_owners_are_undone),
		cmocka_unit_test(ttl_and_class_come_in_any_order_or_not),
		cmocka_unit_test(only_class_in_is_supported),
		cmocka_unit_test(
			ttl_and_type_of_the_line_before_are_not_mistaken),
		cmocka_unit_test(ttl_units_are_read),
		cmocka_unit_test(ttl_with_the_top_bit_set_is_zero),
		cmocka_unit_test(ttl_default_wins_over_the_last_one_stated),
		cmocka_unit_test(
			ttl_without_default_is_the_last_one_and_never_the_minimum),
		cmocka_unit_test(parentheses_join_lines),
		cmocka_unit_test(owner_may_stand_behind_a_parenthesis),
		cmocka_unit_test(quotes_span_lines_and_hide_punctuation),
		cmocka_unit_test(comments_end_with_the_line),
		cmocka_unit_test(
			carriage_returns_and_byte_order_mark_are_passed_over),
		cmocka_unit_test(last_line_needs_no_newline),
		cmocka_unit_test(nul_is_an_error_at_its_place),
		cmocka_unit_test(
			what_is_open_at_the_end_is_told_where_it_was_opened),
		cmocka_unit_test(what_is_not_closed_hides_nothing_behind_it),
		cmocka_unit_test(a_file_of_open_parentheses_takes_no_longer),
		cmocka_unit_test(a_large_file_of_open_parentheses_is_given_up),
		cmocka_unit_test(long_words_are_cut_in_findings),
		cmocka_unit_test(backslash_does_not_join_lines),
		cmocka_unit_test(findings_name_line_and_column_inside_a_record),
		cmocka_unit_test(unknown_types_and_rdata_are_read),
		cmocka_unit_test(meta_types_cannot_stand_in_a_zone),
		cmocka_unit_test(
			values_that_break_rules_are_kept_for_a_secondary),
		cmocka_unit_test(
			values_that_others_load_are_kept),
		cmocka_unit_test(
			bad_escapes_and_lengths_are_told_at_their_place),
		cmocka_unit_test(errors_stop_at_the_limit),
		cmocka_unit_test(thousand_warnings_are_told_and_all_counted),
		cmocka_unit_test(a_word_of_a_megabyte_is_an_error),
		cmocka_unit_test(a_file_cut_at_each_length_is_read_or_refused),
		cmocka_unit_test(
			each_octet_of_a_file_changed_is_read_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
