/*
 * test_returns.c - carriage returns in master files (doc/decisions/0133).
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
	/* Not a line of its own in what $GENERATE makes. */
	expect("$GENERATE 1-2 a$ 60 TXT \"b\r$ A 192.0.2.1\"\n",
		"1 a1.example.org. 60 TXT 0f620d312041203139322e302e322e31\n"
		"1 a2.example.org. 60 TXT 0f620d322041203139322e302e322e31\n",
		"");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			carriage_return_without_newline_ends_a_record),
		cmocka_unit_test(
			carriage_return_is_an_octet_of_strings_and_comments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
