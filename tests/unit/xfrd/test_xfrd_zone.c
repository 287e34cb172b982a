/* test_xfrd_zone.c - zones are found by apex and by number, however many come
 * and go. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "xfrd/xfrd_member_id.h"
#include "xfrd/xfrd_zone.h"

#define ZONES 3000u

static struct xfrd_zone_table table;
static uint8_t wires[ZONES][8];
static struct xfrd_zone *zones[ZONES]; /* NULL: not in the table */

static int
start(void **state)
{
	uint8_t key[SIPHASH_KEY_LEN];

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(i * 7);
	xfrd_zone_table_init(&table, key);
	for (unsigned i = 0; i < ZONES; i++) {
		snprintf((char *)wires[i], sizeof(wires[i]), "%cz%04u", 5, i);
		zones[i] = NULL;
	}
	return 0;
}

static int
end(void **state)
{
	xfrd_zone_table_fini(&table);
	return 0;
}

static void
add(unsigned i)
{
	assert_int_equal(xfrd_zone_add(&table, wires[i], &zones[i]), NSD_OK);
}

static void
check_all(void)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < ZONES; i++) {
		assert_ptr_equal(xfrd_zone_find(&table, wires[i]), zones[i]);
		if (zones[i] == NULL)
			continue;
		count++;
		assert_memory_equal(xfrd_zone_apex(zones[i]), wires[i],
			sizeof(wires[i]) - 1);
		assert_ptr_equal(xfrd_zone_at(&table, zones[i]->number),
			zones[i]);
	}
	assert_int_equal(table.count, count);
	for (uint32_t n = 0; n < table.end; n++)
		count -= xfrd_zone_at(&table, n) != NULL;
	assert_int_equal(count, 0);
}

static void
zones_stay_where_they_are_while_others_come_and_go(void **state)
{
	unsigned random = 1;

	check_all();
	for (unsigned turn = 0; turn < 20; turn++) {
		for (unsigned i = 0; i < ZONES; i++) {
			random = random * 1103515245 + 12345;
			if (random >> 16 & 1)
				continue;
			if (zones[i] == NULL) {
				add(i);
			} else {
				xfrd_zone_remove(&table, zones[i]);
				zones[i] = NULL;
			}
		}
		check_all();
	}
	assert_in_range(table.end, table.count, ZONES);
}

static void
free_numbers_are_used_again(void **state)
{
	struct xfrd_zone *first;

	add(0);
	add(1);
	first = zones[0];
	xfrd_zone_remove(&table, first);
	assert_null(xfrd_zone_at(&table, 0));
	assert_null(xfrd_zone_at(&table, 2));
	add(2);
	assert_ptr_equal(zones[2], first);
	assert_int_equal(zones[2]->number, 0);
	assert_int_equal(table.end, 2);
}

static void
names_are_found_in_any_case(void **state)
{
	add(7);
	assert_ptr_equal(xfrd_zone_find(&table,
		(const uint8_t *)"\5Z0007"), zones[7]);
	assert_ptr_equal(xfrd_zone_find_text(&table, "Z0007."), zones[7]);
	assert_null(xfrd_zone_find_text(&table, "z0008"));
	assert_null(xfrd_zone_find_text(&table, "z0007.z0007"));
	assert_null(xfrd_zone_find_text(&table, "a..b"));
}

static void
apex_is_a_copy_in_lower_case(void **state)
{
	uint8_t wire[] = "\2Ab\1C";
	struct xfrd_zone *zone;

	assert_int_equal(xfrd_zone_add(&table, wire, &zone), NSD_OK);
	memset(wire, 0, sizeof(wire));
	assert_memory_equal(xfrd_zone_apex(zone), "\2ab\1c", 6);
	assert_ptr_equal(xfrd_zone_find_text(&table, "AB.c"), zone);
}

static void
members_of_folders_are_members(void **state)
{
	static const char *const ids[] = {"one", XFRD_MEMBER_OF_FOLDER,
		XFRD_MEMBER_OF_FOLDER, "other", XFRD_MEMBER_OF_FOLDER};

	add(0);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(xfrd_zone_set_member(&table, zones[0],
			ids[i]), NSD_OK);
		assert_true(zones[0]->is_member);
		assert_string_equal(xfrd_zone_member(&table, zones[0]),
			ids[i]);
	}
	/* No memory is needed for that. */
	assert_null(table.members);
	assert_int_equal(xfrd_zone_set_member(&table, zones[0], NULL), NSD_OK);
	assert_false(zones[0]->is_member);
	assert_null(xfrd_zone_member(&table, zones[0]));
	assert_int_equal(xfrd_zone_set_member(&table, zones[0], ids[1]),
		NSD_OK);
	xfrd_zone_remove(&table, zones[0]);
	add(1);
	assert_int_equal(zones[1]->number, 0);
	assert_null(xfrd_zone_member(&table, zones[1]));
}

/* The line of a zone goes with it, and is not the line of the next zone with
 * its number. */
static void
lines_and_members_go_with_their_zones(void **state)
{
	add(0);
	add(1);
	assert_int_equal(table.listed_count, 0);
	xfrd_zone_set_listed(&table, zones[0], true, 77);
	xfrd_zone_set_listed(&table, zones[0], true, UINT64_C(1) << 40);
	xfrd_zone_set_listed(&table, zones[1], true, 0);
	assert_int_equal(table.listed_count, 2);
	assert_true(zones[0]->listed_at == UINT64_C(1) << 40);
	assert_null(xfrd_zone_member(&table, zones[0]));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(xfrd_zone_set_member(&table, zones[i], "old"),
			NSD_OK);
		assert_int_equal(xfrd_zone_set_member(&table, zones[i],
			i == 0 ? "one" : "other"), NSD_OK);
	}
	assert_string_equal(xfrd_zone_member(&table, zones[0]), "one");
	assert_string_equal(xfrd_zone_member(&table, zones[1]), "other");
	xfrd_zone_set_listed(&table, zones[1], false, 0);
	assert_int_equal(table.listed_count, 1);
	xfrd_zone_remove(&table, zones[0]);
	assert_int_equal(table.listed_count, 0);
	add(2);
	assert_int_equal(zones[2]->number, 0);
	assert_false(zones[2]->is_listed);
	assert_null(xfrd_zone_member(&table, zones[2]));
	assert_int_equal(xfrd_zone_set_member(&table, zones[1], NULL), NSD_OK);
	assert_null(xfrd_zone_member(&table, zones[1]));
	/* The end frees it. */
	assert_int_equal(xfrd_zone_set_member(&table, zones[2], "x"), NSD_OK);
}

static void
table_without_zones_takes_no_memory_for_them(void **state)
{
	for (unsigned i = 0; i < ZONES; i++)
		add(i);
	assert_int_equal(table.chunk_count, (ZONES + 1023) / 1024);
	for (unsigned i = 0; i < ZONES; i++) {
		xfrd_zone_remove(&table, zones[i]);
		zones[i] = NULL;
	}
	assert_int_equal(table.chunk_count, 0);
	assert_int_equal(table.end, 0);
	check_all();
	add(0);
	check_all();
}

static void
pasts_take_no_memory_when_all_are_gone(void **state)
{
	struct xfrd_past *past;
	size_t octets;

	for (unsigned i = 0; i < ZONES; i++) {
		add(i);
		past = xfrd_zone_get_past(&table, zones[i]);
		assert_non_null(past);
		assert_ptr_equal(xfrd_zone_get_past(&table, zones[i]), past);
		assert_true(past->handover.expire_at == XFR_NEVER);
		memset(past, 1, sizeof(*past));
	}
	octets = table.pasts.mapped;
	assert_in_range(octets, ZONES * sizeof(*past), SIZE_MAX);
	/* While one state is left, others reuse what is free. */
	for (unsigned i = 1; i < 2 * ZONES; i++) {
		struct xfrd_zone *zone = zones[1 + i % (ZONES - 1)];

		xfrd_zone_drop_past(&table, zone);
		assert_null(zone->past);
		xfrd_zone_drop_past(&table, zone);
		past = xfrd_zone_get_past(&table, zone);
		assert_non_null(past);
		assert_true(past->handover.expire_at == XFR_NEVER);
		assert_false(past->state.is_known);
	}
	assert_int_equal(table.pasts.mapped, octets);
	for (unsigned i = 0; i < ZONES; i++)
		xfrd_zone_drop_past(&table, zones[i]);
	assert_int_equal(table.pasts.mapped, 0);
	past = xfrd_zone_get_past(&table, zones[0]);
	assert_non_null(past);
	xfrd_zone_drop_past(&table, zones[0]);
	assert_int_equal(table.pasts.mapped, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(zones_stay_where_they_are_while_others_come_and_go),
		TEST(free_numbers_are_used_again),
		TEST(names_are_found_in_any_case),
		TEST(apex_is_a_copy_in_lower_case),
		TEST(lines_and_members_go_with_their_zones),
		TEST(members_of_folders_are_members),
		TEST(table_without_zones_takes_no_memory_for_them),
		TEST(pasts_take_no_memory_when_all_are_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
