/* test_conf_zones.c - main forgets its zones, and who needs them finds them. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/image.h"
#include "loader/conf_zones.h"

#define KEYS "key: name: k secret: AAAA\n key: name: n secret: BBBB\n"
#define P "pattern: name: p zonefile: %s provide-xfr: 192.0.2.1 k\n"
#define ZONE "zone: name: own zonefile: o provide-xfr: 192.0.2.1 k\n"
#define HEAD "# NSD zone list\n# name pattern\n"

static struct server server;
static char list[] = "/tmp/nsd-test-zones-XXXXXX";

static struct conf *
read_conf(const char *text)
{
	struct conf *conf;

	assert_int_equal(conf_load_text("test", text, strlen(text), false,
				 NULL, &conf),
		NSD_OK);
	return conf;
}

static void
write_list(const char *text)
{
	FILE *file = fopen(list, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void
run_with(const char *text)
{
	char whole[1000];
	int fd;

	snprintf(whole, sizeof(whole), "server: zonelistfile: \"%s\"\n%s",
		list, text);
	conf_destroy(server.conf);
	server.conf = read_conf(whole);
	assert_int_equal(conf_image_write_zones(server.conf, &fd), NSD_OK);
	conf_zones_take(&server, fd);
	conf_drop_zones(server.conf);
}

static int
open_server(void **state)
{
	int fd;

	strcpy(list + sizeof(list) - 7, "XXXXXX");
	fd = mkstemp(list);
	assert_int_not_equal(fd, -1);
	close(fd);
	server = (struct server){.list = -1};
	run_with(KEYS P ZONE);
	write_list(HEAD "add a p\n");
	return 0;
}

static int
close_server(void **state)
{
	run_with("");
	assert_null(server.assocs);
	close(server.zones);
	conf_destroy(server.conf);
	unlink(list);
	return 0;
}

static void
find(void)
{
	conf_drop_zones(server.conf);
	assert_int_equal(conf_zones_add(&server, NULL), NSD_OK);
}

static const struct conf_zone *
zone(const char *name)
{
	return conf_find_zone_text(server.conf, name);
}

static void
give(const char *name, const char *key)
{
	const struct key_edit edit = {.what = KEY_EDIT_ASSOC, .zone = name,
		.key = key};

	assert_int_equal(conf_zones_keep_assoc(&server, &edit), NSD_OK);
}

static const char *
key_of(const char *name)
{
	return zone(name)->options->provide_xfr.items[0].key->name;
}

static void
zones_are_found_as_often_as_they_are_needed(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		find();
		assert_int_equal(server.conf->zone_count, 2);
		assert_null(zone("own")->pattern_name);
		assert_string_equal(zone("own")->zonefile, "o");
		assert_string_equal(zone("a")->pattern_name, "p");
	}
	/* The list changes; the next read finds its new contents. */
	write_list(HEAD "del a p\nadd b p\nadd c p\nadd d nosuch\nadd own p\n");
	find();
	assert_int_equal(server.conf->zone_count, 3);
	assert_null(zone("own")->pattern_name);
	assert_non_null(zone("b"));
	assert_non_null(zone("c"));
	assert_int_equal(unlink(list), 0);
	find();
	assert_int_equal(server.conf->zone_count, 1);
}

/* No zone may be lost so. */
static void
a_list_that_cannot_be_read_is_an_error(void **state)
{
	write_list("something else");
	assert_int_equal(conf_zones_add(&server, NULL), NSD_E_SYNTAX);
	conf_drop_zones(server.conf);
	assert_int_equal(unlink(list), 0);
	assert_int_equal(mkdir(list, 0700), 0);
	assert_int_equal(conf_zones_add(&server, NULL), NSD_E_SYSTEM);
	assert_int_equal(rmdir(list), 0);
}

static void
zones_have_the_keys_that_they_were_given_last(void **state)
{
	find();
	assert_string_equal(key_of("own"), "k");
	give("own", "n");
	give("A.", "n");
	give("gone", "n");
	find();
	assert_string_equal(key_of("own"), "n");
	assert_string_equal(key_of("a"), "n");
	give("a", "k");
	conf_zones_lose_key(&server, "OWN");
	find();
	assert_string_equal(key_of("own"), "k");
	assert_string_equal(key_of("a"), "k");
	give("own", "n");
	conf_zones_forget_key(&server, "n");
	find();
	assert_string_equal(key_of("own"), "k");
	give("own", "n");
	run_with(KEYS P ZONE);
	find();
	assert_string_equal(key_of("own"), "k");
}

static void
patterns_and_zones_say_whether_there_may_be_something_to_write(void **state)
{
	static const struct {
		const char *text;
		bool may;
	} rows[] = {
		{P ZONE, false},
		{"pattern: name: s zonefile: f request-xfr: 192.0.2.1 NOKEY\n",
			true},
		{"zone: name: s request-xfr: 192.0.2.1 NOKEY\n", true},
		{"zone: name: s zonefile: f store-ixfr: yes\n", false},
		{"zone: name: s zonefile: f store-ixfr: yes create-ixfr: yes\n",
			true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[400];
		struct conf *conf;

		snprintf(text, sizeof(text), KEYS "%s", rows[i].text);
		conf = read_conf(text);
		assert_int_equal(conf_zones_may_write(conf), rows[i].may);
		conf_destroy(conf);
	}
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_server, \
	close_server)
	const struct CMUnitTest tests[] = {
		TEST(zones_are_found_as_often_as_they_are_needed),
		TEST(a_list_that_cannot_be_read_is_an_error),
		TEST(zones_have_the_keys_that_they_were_given_last),
		TEST(patterns_and_zones_say_whether_there_may_be_something_to_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
