/* test_rcode_text.c - the names of RCODEs and of errors of TSIG, as people and
 * NSD's log have them. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dns/edns.h"
#include "dns/message.h"
#include "dns/rcode_text.h"

static void
rcode_has_its_name(void **state)
{
	static const struct {
		const char *name, *log;
		uint16_t rcode;
	} rows[] = {
		{"NOERROR", "NO ERROR", 0},
		{"FORMERR (format error)", "FORMAT ERROR", 1},
		{"SERVFAIL", "SERVFAIL", 2},
		{"NXDOMAIN", "NAME ERROR", 3},
		{"NOTIMP (not implemented)", "NOT IMPL", 4},
		{"REFUSED", "REFUSED", 5},
		{"YXDOMAIN", "YXDOMAIN", 6},
		{"YXRRSET", "YXRRSET", 7},
		{"NXRRSET", "NXRRSET", 8},
		{"NOTAUTH (server not authoritative for zone)",
			"SERVER NOT AUTHORITATIVE FOR ZONE", 9},
		{"NOTZONE", "NOTZONE", 10},
		{"rcode 11", "rcode 11", 11}, /* of DSO */
		{"BADVERS (EDNS version)", "BADVERS", 16},
		{"rcode 17", "rcode 17", 17}, /* an error of TSIG, no RCODE */
		{"BADCOOKIE", "BADCOOKIE", 23},
		{"rcode 24", "rcode 24", 24},
		{"rcode 65535", "rcode 65535", 65535},
	};
	char out[RCODE_TEXT_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_ptr_equal(rcode_text_print(rows[i].rcode, out), out);
		assert_string_equal(out, rows[i].name);
		assert_ptr_equal(rcode_text_print_log(rows[i].rcode, out),
			out);
		assert_string_equal(out, rows[i].log);
	}
}

/* RFC 8945 section 3 */
static void
error_of_tsig_has_its_name(void **state)
{
	static const struct {
		const char *name, *log;
		uint16_t error;
	} rows[] = {
		{"NOERROR", "No Error", 0},
		{"FORMERR", "Bad Signature", 1},
		{"an unknown error", "unknown error", 2},
		{"BADSIG", "Bad Signature", 16},
		{"BADKEY", "Bad Key", 17},
		{"BADTIME", "Bad Time", 18},
		{"an unknown error", "unknown error", 19},
		{"BADTRUNC", "Bad Truncation", 22},
		{"an unknown error", "unknown error", 23},
		{"an unknown error", "unknown error", 65535},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_string_equal(rcode_text_tsig(rows[i].error),
			rows[i].name);
		assert_string_equal(rcode_text_tsig_log(rows[i].error),
			rows[i].log);
	}
}

/* RFC 8914 section 4 */
static void
extended_error_has_its_name(void **state)
{
	assert_string_equal(rcode_text_ede(0), "Other Error");
	assert_string_equal(rcode_text_ede(14), "Not Ready");
	assert_string_equal(rcode_text_ede(18), "Prohibited");
	assert_string_equal(rcode_text_ede(20), "Not Authoritative");
	assert_string_equal(rcode_text_ede(24), "Invalid Data");
	assert_null(rcode_text_ede(25));
	assert_null(rcode_text_ede(EDE_NONE));
}

/* Texts of all numbers fit into RCODE_TEXT_MAX. */
static void
every_name_fits(void **state)
{
	char out[RCODE_TEXT_MAX + 1];

	for (uint32_t i = 0; i <= UINT16_MAX; i++) {
		memset(out, '#', sizeof(out));
		assert_true(strlen(rcode_text_print((uint16_t)i, out)) > 0);
		assert_int_equal(out[RCODE_TEXT_MAX], '#');
		assert_true(strlen(rcode_text_print_log((uint16_t)i, out)) > 0);
		assert_int_equal(out[RCODE_TEXT_MAX], '#');
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rcode_has_its_name),
		cmocka_unit_test(error_of_tsig_has_its_name),
		cmocka_unit_test(extended_error_has_its_name),
		cmocka_unit_test(every_name_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
