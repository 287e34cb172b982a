/* test_load_list.c - a loader finds in the store which zones were added at run
 * time. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/key_edit.h"
#include "loader/load_list.h"
#include "store/writer.h"

#define KEY "key: name: k secret: AAAA\n"
#define P "pattern: name: p zonefile: p provide-xfr: 192.0.2.1 NOKEY\n"
#define Q "pattern: name: q zonefile: q\n"
#define S "pattern: name: s zonefile: s request-xfr: 192.0.2.1 NOKEY\n"
#define OWN "zone: name: own zonefile: o\n"

static struct store *store;
static struct store_writer *writer;

static struct conf *
read_conf(const char *text)
{
	struct conf *conf;

	assert_int_equal(conf_load_text("test", text, strlen(text), false,
				 NULL, &conf),
		NSD_OK);
	return conf;
}

static int
open_store(void **state)
{
	struct store_options options = {
		.reservation = (size_t)1 << 30,
		.reader_max = 1,
	};

	assert_int_equal(store_create(&options, &store), NSD_OK);
	assert_int_equal(store_writer_open(store, &writer), NSD_OK);
	return 0;
}

static int
close_store(void **state)
{
	store_writer_close(writer);
	store_destroy(store);
	return 0;
}

static void
add(struct conf *conf, const char *name, const char *pattern)
{
	const struct conf_zone *zone;

	assert_int_equal(conf_add_zone(conf, name, pattern, &zone), NSD_OK);
}

/* As the loader before does; it has ended then. */
static void
publish(struct conf *conf)
{
	struct load_zone *zones = calloc(conf->zone_count + 1,
		sizeof(*zones));
	struct load_list_result result;

	assert_non_null(zones);
	assert_int_equal(load_list_publish(writer, conf, zones, &result),
		NSD_OK);
	conf_destroy(conf);
	free(zones);
}

static struct conf *
restore(const char *text)
{
	struct conf *conf = read_conf(text);

	assert_int_equal(load_list_restore(store_writer_view(writer), conf),
		NSD_OK);
	return conf;
}

/* The pattern of an existing zone, or "none". */
static const char *
pattern_of(const struct conf *conf, const char *name)
{
	const struct conf_zone *zone = conf_find_zone_text(conf, name);

	assert_non_null(zone);
	return zone->pattern_name != NULL ? zone->pattern_name : "none";
}

static void
nothing_is_in_a_new_store(void **state)
{
	struct conf *conf = restore(Q OWN);

	assert_int_equal(conf->zone_count, 1);
	conf_destroy(conf);
}

static void
zones_that_were_added_come_back(void **state)
{
	const struct key_edit assoc = {.what = KEY_EDIT_ASSOC, .zone = "c",
		.key = "k"};
	struct conf *conf = read_conf(KEY P Q OWN);

	add(conf, "A.Test.", "p");
	add(conf, "b", "q");
	add(conf, "c", "p");
	/* Zone c gets options of its own. */
	assert_int_equal(key_edit_apply(conf, &assoc), NSD_OK);
	publish(conf);
	conf = restore(KEY P Q OWN);
	assert_int_equal(conf->zone_count, 4);
	assert_string_equal(pattern_of(conf, "own"), "none");
	assert_string_equal(pattern_of(conf, "a.test"), "p");
	assert_string_equal(conf_find_zone_text(conf, "a.test")->name,
		"A.Test.");
	assert_string_equal(pattern_of(conf, "b"), "q");
	assert_string_equal(pattern_of(conf, "c"), "p");
	assert_ptr_equal(conf_find_zone_text(conf, "c")->options,
		conf_find_pattern(conf, "p"));
	conf_destroy(conf);
}

static void
nsd_conf_comes_first(void **state)
{
	struct conf *conf = read_conf(P Q OWN);

	add(conf, "a", "p");
	add(conf, "b", "q");
	add(conf, "c", "q");
	publish(conf);
	/* The new nsd.conf has zone b, and lacks zone own and pattern p. */
	conf = restore(Q "zone: name: b zonefile: f\n");
	assert_int_equal(conf->zone_count, 2);
	assert_string_equal(pattern_of(conf, "b"), "none");
	assert_string_equal(pattern_of(conf, "c"), "q");
	conf_destroy(conf);
}

/* Until the end of the server: their files may have to be written. */
static void
what_was_secondary_is_known(void **state)
{
	struct conf *conf = read_conf(S Q
		"zone: name: x include-pattern: s\n"
		"zone: name: y include-pattern: s\n");

	add(conf, "z", "s");
	publish(conf);
	for (unsigned i = 0; i < 2; i++) {
		conf = restore(S Q "zone: name: x include-pattern: q\n"
			"zone: name: y include-pattern: s\n" OWN);
		assert_true(conf_find_zone_text(conf, "x")->was_from_xfrd);
		assert_false(conf_find_zone_text(conf, "y")->was_from_xfrd);
		assert_false(conf_find_zone_text(conf, "z")->was_from_xfrd);
		assert_false(conf_find_zone_text(conf, "own")->was_from_xfrd);
		publish(conf);
	}
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_store, \
	close_store)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_in_a_new_store),
		TEST(zones_that_were_added_come_back),
		TEST(nsd_conf_comes_first),
		TEST(what_was_secondary_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
