/* test_table_memory.c - zones are added all or none, wherever memory runs
 * out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/name.h"
#include "lib/failing.h"
#include "lib/one_store.h"
#include "lib/table_remove.h"
#include "zone/table.h"
#include "zonedb/table_edit.h"

static uint64_t
reclaimed(void)
{
	return store_fixture_reclaimed(s.writer);
}

static const uint8_t *
apex_of(unsigned i)
{
	static uint8_t names[16][NAME_MAX_LEN];
	uint8_t *name = names[i % 16];

	memset(name, 0, NAME_MAX_LEN);
	snprintf((char *)name + 1, 20, "zone%03u", i);
	name[0] = 7;
	return name;
}

/* Adds count zones from a number on, after a failure at each place. */
static void
add_zones(unsigned first, unsigned count)
{
	struct zone_setup setups[16] = {{0}};
	store_ref entries[16];
	enum nsd_err err = NSD_E_MEMORY;
	int n;

	for (unsigned i = 0; i < count; i++)
		setups[i].apex = apex_of(first + i);
	for (n = 0; err == NSD_E_MEMORY; n++) {
		const struct zone_table *before = table_get(
			s.view);
		uint64_t octets = reclaimed();

		err = FAILING_ONCE(n,
			table_add(s.writer, setups, count, entries));
		if (err == NSD_OK)
			break;
		assert_ptr_equal(table_get(s.view), before);
		assert_int_equal(reclaimed(), octets);
	}
	assert_int_equal(err, NSD_OK);
	assert_true(n > 2);
}

static void
remove_zone(unsigned i)
{
	enum nsd_err err = NSD_E_MEMORY;

	for (int n = 0; err == NSD_E_MEMORY; n++) {
		uint64_t octets = reclaimed();

		err = FAILING_ONCE(n, table_remove(s.writer, apex_of(i)));
		assert_true(err == NSD_OK || reclaimed() == octets);
	}
	assert_int_equal(err, NSD_OK);
}

static void
zones_come_and_go_without_a_trace(void **state)
{
	uint64_t octets;

	add_zones(0, 1); /* leaves an empty table behind */
	remove_zone(0);
	octets = reclaimed();
	add_zones(0, 16); /* the trie made anew */
	for (unsigned i = 16; i < 100; i++)
		add_zones(i, 1); /* into the trie */
	for (unsigned i = 100; i < 160; i += 3)
		add_zones(i, 3); /* three at once: paths are copied once */
	for (unsigned i = 0; i < 160; i++)
		remove_zone(i);
	assert_int_equal(table_get(s.view)->zone_count, 0);
	assert_int_equal(reclaimed(), octets);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_come_and_go_without_a_trace),
	};

	return cmocka_run_group_tests(tests, open_store, close_store);
}
