/* test_netblocks.c - netblocks of rate limits, and time of TCP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "reader.h"

static void
lengths_keep_to_their_family(void **state)
{
	(void)state;
	reader_refuse("server: rrl-ipv4-prefix-length: 33",
		"t:1: error: rrl-ipv4-prefix-length: '33' is out of range "
		"[0..32]\n");
	reader_refuse("server: rrl-ipv6-prefix-length: 65",
		"t:1: error: rrl-ipv6-prefix-length: '65' is out of range "
		"[0..64]\n");
	reader_refuse("server: rrl-ipv4-wider: 33 2",
		"t:1: error: rrl-ipv4-wider: '33' is out of range [0..32]\n");
	reader_refuse("server: rrl-ipv6-wider: 65 2",
		"t:1: error: rrl-ipv6-wider: '65' is out of range [0..64]\n");
	reader_refuse("server: rrl-ipv6-wider: x 2",
		"t:1: error: expected a number for rrl-ipv6-wider, got 'x'\n");
}

static void
a_factor_is_at_least_one(void **state)
{
	static const char *const factors[] = {"0", "4294967296", "x", "1.5"};
	char text[64], line[128];

	(void)state;
	for (size_t i = 0; i < sizeof(factors) / sizeof(*factors); i++) {
		snprintf(text, sizeof(text), "server: rrl-ipv6-wider: 48 %s",
			factors[i]);
		snprintf(line, sizeof(line), "t:1: error: expected a factor "
			"from 1 on for rrl-ipv6-wider, got '%s'\n",
			factors[i]);
		reader_refuse(text, line);
	}
	reader_refuse("server: rrl-ipv6-wider: 48",
		"t:1: at 'rrl-ipv6-wider:': error: syntax error, expected a "
		"prefix length and a factor behind it\n");
}

static void
there_may_be_four(void **state)
{
	struct conf *conf = reader_accept("server: rrl-ipv4-wider: 0 1\n"
		"rrl-ipv4-wider: 32 4294967295\nrrl-ipv4-wider: 2 5\n"
		"rrl-ipv4-wider: 2 5\nrrl-ipv6-wider: 64 1\n");

	(void)state;
	assert_int_equal(conf->server.rrl_ipv4_wider.count, 4);
	assert_int_equal(conf->server.rrl_ipv4_wider.items[0].bits, 0);
	assert_int_equal(conf->server.rrl_ipv4_wider.items[0].factor, 1);
	assert_int_equal(conf->server.rrl_ipv4_wider.items[1].bits, 32);
	assert_int_equal(conf->server.rrl_ipv4_wider.items[1].factor,
		UINT32_MAX);
	assert_int_equal(conf->server.rrl_ipv6_wider.count, 1);
	assert_int_equal(conf->server.rrl_ipv6_wider.items[0].bits, 64);
	conf_destroy(conf);
	reader_refuse("server: rrl-ipv4-wider: 4 5\n rrl-ipv4-wider: 3 5\n"
		"rrl-ipv4-wider: 2 5\n rrl-ipv4-wider: 1 5\n"
		"rrl-ipv4-wider: 0 5",
		"t:5: error: expected at most four lines for rrl-ipv4-wider, "
		"got '0'\n");
}

static void
time_of_tcp_has_a_limit_and_a_whitelist(void **state)
{
	struct conf *conf = reader_accept("server: tcp-cpu-limit: 2147483647\n"
		"tcp-cpu-whitelist: 10.0.0.0/8 tcp-cpu-whitelist: ::1");

	assert_int_equal(conf->server.tcp_cpu_limit, INT32_MAX);
	assert_int_equal(conf->server.tcp_cpu_whitelist.count, 2);
	assert_int_equal(conf->server.tcp_cpu_whitelist.items[1].family, 6);
	conf_destroy(conf);
	conf = reader_accept("server: tcp-cpu-limit: 0");
	assert_int_equal(conf->server.tcp_cpu_limit, 0);
	conf_destroy(conf);
	reader_refuse("server: tcp-cpu-limit: 2147483648", "t:1: error: "
		"tcp-cpu-limit: '2147483648' is out of range "
		"[0..2147483647]\n");
	reader_refuse("server: tcp-cpu-limit: x", "t:1: error: expected a "
		"number for tcp-cpu-limit, got 'x'\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_keep_to_their_family),
		cmocka_unit_test(a_factor_is_at_least_one),
		cmocka_unit_test(there_may_be_four),
		cmocka_unit_test(time_of_tcp_has_a_limit_and_a_whitelist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
