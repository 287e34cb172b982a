/* test_dnstap.c - options of dnstap and of the query log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "conf/option.h"
#include "reader.h"

static void
dnstap_chooses_queries_by_number_and_zone(void **state)
{
	struct conf *conf = reader_accept("dnstap: dnstap-sample: 100 "
		"dnstap-zones: example dnstap-zones: EXAMPLE.org. "
		"dnstap-log-update-messages: yes");

	assert_int_equal(conf->dnstap.dnstap_sample, 100);
	assert_int_equal(conf->dnstap.dnstap_zones.count, 2);
	assert_string_equal(conf->dnstap.dnstap_zones.items[1],
		"EXAMPLE.org.");
	assert_true(conf->dnstap.dnstap_log_update_messages);
	assert_false(conf->dnstap.dnstap_log_notify_messages);
	conf_destroy(conf);
	conf = reader_accept("dnstap:");
	assert_int_equal(conf->dnstap.dnstap_sample, 1);
	assert_int_equal(conf->dnstap.dnstap_zones.count, 0);
	conf_destroy(conf);
	conf = reader_accept("dnstap: dnstap-sample: 2147483647");
	assert_int_equal(conf->dnstap.dnstap_sample, 2147483647);
	conf_destroy(conf);
	reader_refuse("dnstap: dnstap-sample: 0 dnstap-sample: 2147483648 "
		"dnstap-sample: few dnstap-zones: a..b",
		"t:1: error: expected a number greater than zero for "
		"dnstap-sample, got '0'\n"
		"t:1: error: dnstap-sample: '2147483648' is out of range "
		"[1..2147483647]\n"
		"t:1: error: expected a number for dnstap-sample, got 'few'\n"
		"t:1: error: dnstap-zones: bad domain name 'a..b': expected "
		"a name without empty labels\n");
}

static void
query_log_has_fields_by_name(void **state)
{
	struct conf *conf = reader_accept("server: query-log: \"syslog:\" "
		"query-log-format: \"json time qname\"");

	assert_string_equal(conf->server.query_log, "syslog:");
	assert_string_equal(conf->server.query_log_format, "json time qname");
	conf_destroy(conf);
	conf = reader_accept("server: query-log-format: json");
	assert_null(conf->server.query_log);
	assert_string_equal(conf->server.query_log_format, "json");
	conf_destroy(conf);
	reader_refuse("server: query-log-format: \"time qname time\"",
		"t:1: error: expected fields of the query log for "
		"query-log-format, got 'time qname time'\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dnstap_chooses_queries_by_number_and_zone),
		cmocka_unit_test(query_log_has_fields_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
