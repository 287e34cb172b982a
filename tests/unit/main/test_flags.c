/* test_flags.c - the command line: what it says wins over nsd.conf. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "main/flags.h"

#define ARGS_MAX 64

/* Arguments in one text, a blank between two; "_" is the empty one. */
static enum flags_outcome
parse(const char *text, struct flags *flags)
{
	static char copy[512]; /* the flags refer to it */
	char *argv[ARGS_MAX + 1] = {(char *)(uintptr_t) "nsd"};
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *p = strtok(copy, " "); p != NULL; p = strtok(NULL, " "))
		argv[argc++] = strcmp(p, "_") == 0 ? p + 1 : p;
	optind = 1;
	return flags_parse(argc, argv, flags);
}

static struct conf *
load(const char *text)
{
	struct conf *conf = NULL;

	assert_int_equal(conf_load_text("test", text, strlen(text), false,
				 NULL, &conf),
		NSD_OK);
	return conf;
}

static void
no_flags_change_nothing(void **state)
{
	struct conf *conf = load("server: port: 5300 server-count: 3"
				 " identity: \"me\" username: \"you\"");
	struct flags flags;

	assert_int_equal(parse("", &flags), FLAGS_RUN);
	assert_string_equal(flags.config, CONFIGFILE);
	assert_int_equal(flags_apply(&flags, conf), NSD_OK);
	assert_int_equal(conf->server.port, 5300);
	assert_int_equal(conf->server.server_count, 3);
	assert_string_equal(conf->server.identity, "me");
	assert_string_equal(conf->server.username, "you");
	assert_false(conf->server.debug_mode);
	conf_destroy(conf);
	flags_fini(&flags);
}

static void
each_flag_wins_over_its_option(void **state)
{
	struct conf *conf = load("server: port: 5300 server-count: 3"
				 " identity: \"me\" username: \"you\""
				 " nsid: \"aa\" statistics: 5 tcp-count: 7"
				 " chroot: \"/c\" pidfile: \"/p\""
				 " logfile: \"/l\" verbosity: 2");
	struct flags flags;

	assert_int_equal(parse("-p 53 -N 2 -i id -u _ -I 0aFF -s 0 -n 9 -t /t"
			       " -P /q -l /m -V 0 -d -f x -c /conf",
				 &flags),
		FLAGS_RUN);
	assert_string_equal(flags.config, "/conf");
	assert_int_equal(flags_apply(&flags, conf), NSD_OK);
	assert_int_equal(conf->server.port, 53);
	assert_int_equal(conf->server.server_count, 2);
	assert_string_equal(conf->server.identity, "id");
	assert_string_equal(conf->server.username, "");
	assert_int_equal(conf->server.nsid_len, 2);
	assert_memory_equal(conf->server.nsid_data, "\x0a\xff", 2);
	assert_int_equal(conf->server.statistics, 0);
	assert_int_equal(conf->server.tcp_count, 9);
	assert_string_equal(conf->server.chroot, "/t");
	assert_string_equal(conf->server.pidfile, "/q");
	assert_string_equal(conf->server.logfile, "/m");
	assert_int_equal(conf->server.verbosity, 0);
	assert_true(conf->server.debug_mode);
	conf_destroy(conf);
	flags_fini(&flags);
}

static void
so_many_servers_may_be_had_as_by_nsd_conf(void **state)
{
	struct conf *conf = load("server: server-count: 65535");
	struct flags flags;

	assert_int_equal(conf->server.server_count, 65535);
	conf_destroy(conf);
	conf = load("server:");
	assert_int_equal(parse("-N 65535", &flags), FLAGS_RUN);
	assert_int_equal(flags_apply(&flags, conf), NSD_OK);
	assert_int_equal(conf->server.server_count, 65535);
	conf_destroy(conf);
	flags_fini(&flags);
}

static void
addresses_come_before_those_of_the_file(void **state)
{
	struct conf *conf = load("server: ip-address: 192.0.2.9");
	const struct conf_interfaces *list = &conf->server.ip_address;
	static const uint8_t v4[4] = {192, 0, 2, 1};
	struct flags flags;

	assert_int_equal(parse("-a 192.0.2.1@5353 -a ::1 -a eth0@54 -a lo",
				 &flags),
		FLAGS_RUN);
	assert_int_equal(flags_apply(&flags, conf), NSD_OK);
	assert_int_equal(list->count, 5);
	assert_int_equal(list->items[0].family, 4);
	assert_memory_equal(list->items[0].address, v4, 4);
	assert_int_equal(list->items[0].port, 5353);
	assert_string_equal(list->items[0].host, "192.0.2.1");
	assert_int_equal(list->items[1].family, 6);
	assert_int_equal(list->items[1].port, 0);
	assert_int_equal(list->items[2].family, 0);
	assert_string_equal(list->items[2].host, "eth0");
	assert_int_equal(list->items[2].port, 54);
	assert_string_equal(list->items[3].host, "lo");
	assert_string_equal(list->items[4].host, "192.0.2.9");
	conf_destroy(conf);
	flags_fini(&flags);
}

static void
family_flag_turns_the_other_off(void **state)
{
	struct conf *conf = load("server: do-ip4: no do-ip6: no");
	struct flags flags;

	assert_int_equal(parse("-4", &flags), FLAGS_RUN);
	assert_int_equal(flags_apply(&flags, conf), NSD_OK);
	assert_true(conf->server.do_ip4);
	assert_false(conf->server.do_ip6);
	flags_fini(&flags);
	assert_int_equal(parse("-6", &flags), FLAGS_RUN);
	assert_int_equal(flags_apply(&flags, conf), NSD_OK);
	assert_false(conf->server.do_ip4);
	assert_true(conf->server.do_ip6);
	flags_fini(&flags);
	assert_int_equal(parse("-4 -6", &flags), FLAGS_RUN);
	assert_int_equal(flags_apply(&flags, conf), NSD_E_SYNTAX);
	conf_destroy(conf);
	flags_fini(&flags);
}

static void
wrong_flags_are_failures(void **state)
{
	static const char *const wrong[] = {"-X", "-F", "-L", "-p", "-p 0",
		"-p 65536", "-p 5x", "-p x", "-p -1", "-N 0", "-N -1",
		"-N 65536", "-N 99999999999999999999", "-n 0", "-n _", "-s -1",
		"-s x", "-V -1", "-V x", "more", "-d more"};
	struct flags flags;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (parse(wrong[i], &flags) != FLAGS_EXIT_FAILURE)
			fail_msg("%s passed", wrong[i]);
	/* NSD's for debugging, which scripts may have. */
	assert_int_equal(parse("-F FFFF", &flags), FLAGS_RUN);
	assert_int_equal(parse("-L 9", &flags), FLAGS_RUN);
	assert_int_equal(parse("-h", &flags), FLAGS_EXIT_OK);
	assert_int_equal(parse("-v", &flags), FLAGS_EXIT_OK);
}

static void
wrong_nsid_is_an_error(void **state)
{
	static const char *const wrong[] = {"-I a", "-I aag0", "-I 0x", "-I +1",
		"-I abc"};
	struct conf *conf = load("server:");
	struct flags flags;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(parse(wrong[i], &flags), FLAGS_RUN);
		if (flags_apply(&flags, conf) != NSD_E_SYNTAX)
			fail_msg("%s passed", wrong[i]);
		flags_fini(&flags);
	}
	assert_int_equal(parse("-I ascii_abc", &flags), FLAGS_RUN);
	assert_int_equal(flags_apply(&flags, conf), NSD_OK);
	assert_int_equal(conf->server.nsid_len, 3);
	assert_memory_equal(conf->server.nsid_data, "abc", 3);
	conf_destroy(conf);
	flags_fini(&flags);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_flags_change_nothing),
		cmocka_unit_test(each_flag_wins_over_its_option),
		cmocka_unit_test(so_many_servers_may_be_had_as_by_nsd_conf),
		cmocka_unit_test(addresses_come_before_those_of_the_file),
		cmocka_unit_test(family_flag_turns_the_other_off),
		cmocka_unit_test(wrong_flags_are_failures),
		cmocka_unit_test(wrong_nsid_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
