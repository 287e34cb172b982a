/*
 * test_returns.c - carriage returns (doc/decisions/0133) and quotes in master
 * files.
 */
#include "fixture.h"

#define A1 "c0000201" /* 192.0.2.1 */
#define RETURN(at) "warning " at " carriage return without a newline, taken " \
	"as the end of the line\n"

/* Fault 45 */
static void
carriage_return_without_newline_ends_a_record(void **state)
{
	expect("a 60 A 192.0.2.1\rb 60 A 192.0.2.1\r\r\nc 60 A 192.0.2.1\r"
		"\r 60 A 192.0.2.1\r\n$TTL 5\r$ORIGIN x.\rd A 192.0.2.1\r",
		"1 a.example.org. 60 A " A1 "\n1 b.example.org. 60 A " A1 "\n"
		"2 c.example.org. 60 A " A1 "\n2 c.example.org. 60 A " A1 "\n"
		"3 d.x. 5 A " A1 "\n",
		RETURN("1:17") RETURN("2:1") RETURN("3:7") RETURN("3:11"));
	expect("a 60 TXT b\rc 60 X\rd (\r60\rA\r\n192.0.2.1\r)\re 60 A x\n"
		"\rf 60 TXT g )\r",
		"1 a.example.org. 60 TXT 0162\n1 d.example.org. 60 A " A1 "\n",
		RETURN("1:11") RETURN("1:7")
		"1:6 Invalid type in RR: 'X': expected an RR type\n"
		RETURN("2:12")
		"2:8 Invalid rdata in A: 'x': expected an IPv4 address\n"
		RETURN("3:1")
		"3:12 closing parenthesis without an opening one\n");
}

static void
carriage_return_is_an_octet_of_strings_and_comments(void **state)
{
	expect("a 60 TXT \"b\rc\" d\\\re \"\r\n\"\r; f\rg 60 A 192.0.2.1\r\n"
		"h 60 A 192.0.2.1\n",
		"1 a.example.org. 60 TXT 03620d6303640d65020d0a\n"
		"3 h.example.org. 60 A " A1 "\n", RETURN("2:2"));
	/* A carriage return is no line of its own in the output of
	 * $GENERATE. */
	expect("$GENERATE 1-2 a$ 60 TXT \"b\r$ A 192.0.2.1\"\n",
		"1 a1.example.org. 60 TXT 0f620d312041203139322e302e322e31\n"
		"1 a2.example.org. 60 TXT 0f620d322041203139322e302e322e31\n",
		"");
}

#define PARAMETER ": expected a parameter: a known key or keyN up to 65534, " \
	"then =VALUE if any\n"
#define BLANK ": expected a blank behind a quoted value\n"

/* RFC 9460 appendix A: only a parameter of SVCB and HTTPS goes on in quotes. */
static void
a_quote_begins_a_word_behind_any_octet(void **state)
{
	expect("a 60 TXT p=\"y\"\na 60 TXT p=\"y\"z=\"w\" =\"\" \\=\"a b\"c\n"
		"a 60 HINFO a=\"b\"\n",
		"1 a.example.org. 60 TXT 02703d0179\n"
		"2 a.example.org. 60 TXT 02703d0179027a3d0177013d00013d03612062"
		"0163\n"
		"3 a.example.org. 60 HINFO 02613d0162\n", "");
	expect("a 60 SVCB 1 . key9=\"a;\nb\" key10=\"\"\n"
		"a 60 SVCB 1 . key9= \"a\"\na 60 SVCB 1 . key9=a\"b\"\n"
		"a 60 HTTPS 1 . key9=\"a\"b\na 60 HTTPS 1 . alpn=\"a\"port=1\n"
		"a 60 HTTPS 1 . key9=\"a\"\"\"\n",
		"1 a.example.org. 60 SVCB 00010000090004613b0a62000a0000\n",
		"3:21 Invalid rdata in SVCB: '\"a\"'" PARAMETER
		"4:21 Invalid rdata in SVCB: '\"b\"'" PARAMETER
		"5:24 Invalid rdata in HTTPS: 'b'" BLANK
		"6:24 Invalid rdata in HTTPS: 'port=1'" BLANK
		"7:24 Invalid rdata in HTTPS: '\"\"'" BLANK);
}

#define QUOTED(at, word) at " Invalid OWNER in RR: '\"" word "\"': expected " \
	"a name without quotes\n"

/* A quoted name of one label is the same for NSD and BIND. */
static void
owner_in_quotes_is_one_label_or_refused(void **state)
{
	expect("e 1 A 192.0.2.1\n\"E ;\" 1 A 192.0.2.1\n 1 A 192.0.2.1\n"
		"\"e.f\" 1 A 192.0.2.1\n\"@\" 1 A 192.0.2.1\n"
		"\"\" 1 A 192.0.2.1\n\"e\\.f\" 1 A 192.0.2.1\n"
		"$ORIGIN \"e\"\n\\e 1 A 192.0.2.1\n",
		"1 e.example.org. 1 A " A1 "\n"
		"2 e\\032\\;.example.org. 1 A " A1 "\n"
		"3 e\\032\\;.example.org. 1 A " A1 "\n"
		"9 e.example.org. 1 A " A1 "\n",
		"warning " QUOTED("2:1", "E ;") QUOTED("4:1", "e.f")
		QUOTED("5:1", "@") QUOTED("6:1", "") QUOTED("7:1", "e\\.f")
		"8:9 Invalid name in $ORIGIN: '\"e\"': expected a name "
		"without quotes\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			carriage_return_without_newline_ends_a_record),
		cmocka_unit_test(
			carriage_return_is_an_octet_of_strings_and_comments),
		cmocka_unit_test(a_quote_begins_a_word_behind_any_octet),
		cmocka_unit_test(owner_in_quotes_is_one_label_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
