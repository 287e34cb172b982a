/* test_zone_setup.c - the zones of a configuration as the store takes them. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "load/zone_setup.h"

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
acl_of_each_kind_is_converted(void **state)
{
	struct conf *conf = load(
		"key: name: k0 algorithm: sha256 secret: \"AAAA\"\n"
		"key: name: k1 algorithm: sha256 secret: \"AAAA\"\n"
		"zone: name: Example zonefile: f\n"
		" allow-query: 192.0.2.1@53 NOKEY\n"
		" allow-query: 192.0.2.0/24 BLOCKED\n"
		" allow-query: 192.0.2.0&255.0.255.0 k1\n"
		" allow-query: 192.0.2.1-192.0.2.9 NOKEY\n"
		" allow-query: 2001:db8::/32 NOKEY\n"
		" provide-xfr: ::1 k0\n");
	static const uint8_t low[4] = {192, 0, 2, 1}, high[4] = {192, 0, 2, 9},
			     mask24[4] = {255, 255, 255, 0},
			     odd[4] = {255, 0, 255, 0};
	const struct acl_element *a;
	struct zone_setups setups;

	assert_int_equal(zone_setups_init(&setups, conf), NSD_OK);
	assert_memory_equal(setups.items[0].apex, "\7example", 9);
	assert_int_equal(setups.items[0].flags, 0);
	assert_int_equal(setups.items[0].query_acl_count, 5);
	assert_int_equal(setups.items[0].provide_acl_count, 1);
	a = setups.items[0].query_acl;
	assert_int_equal(a[0].kind, ACL_SINGLE);
	assert_int_equal(a[0].family, 4);
	assert_int_equal(a[0].port, 53);
	assert_memory_equal(a[0].address, low, 4);
	assert_false(a[0].blocked || a[0].needs_key);
	assert_int_equal(a[1].kind, ACL_MASK);
	assert_true(a[1].blocked);
	assert_memory_equal(a[1].other, mask24, 4);
	assert_int_equal(a[2].kind, ACL_MASK);
	assert_memory_equal(a[2].other, odd, 4);
	assert_true(a[2].needs_key);
	assert_int_equal(a[2].key_id, 1);
	assert_int_equal(a[3].kind, ACL_RANGE);
	assert_memory_equal(a[3].address, low, 4);
	assert_memory_equal(a[3].other, high, 4);
	assert_int_equal(a[4].family, 6);
	assert_int_equal(setups.items[0].provide_acl[0].key_id, 0);
	assert_true(setups.items[0].provide_acl[0].needs_key);
	zone_setups_fini(&setups);
	conf_destroy(conf);
}

static void
zones_of_a_pattern_share_its_lists(void **state)
{
	struct conf *conf = load(
		"pattern: name: p zonefile: f allow-query: ::1 NOKEY\n"
		"pattern: name: s zonefile: f"
		" request-xfr: 192.0.2.1 NOKEY\n"
		"zone: name: a include-pattern: p\n"
		"zone: name: b include-pattern: p\n"
		"zone: name: c include-pattern: s\n"
		"zone: name: d include-pattern: p\n");
	struct zone_setups setups;

	assert_int_equal(zone_setups_init(&setups, conf), NSD_OK);
	assert_int_equal(conf->zone_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(setups.items[i].id, i);
		assert_ptr_equal(setups.items[i].apex, conf->zones[i]->wire);
		assert_int_equal(setups.items[i].query_acl_count, i != 2);
		assert_int_equal(setups.items[i].flags,
			i == 2 ? ZONE_ENTRY_SECONDARY : 0);
	}
	zone_setups_fini(&setups);
	conf_destroy(conf);
}

static void
no_zones_are_no_setups(void **state)
{
	struct conf *conf = load("server:");
	struct zone_setups setups;

	assert_int_equal(zone_setups_init(&setups, conf), NSD_OK);
	zone_setups_fini(&setups);
	conf_destroy(conf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acl_of_each_kind_is_converted),
		cmocka_unit_test(zones_of_a_pattern_share_its_lists),
		cmocka_unit_test(no_zones_are_no_setups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
