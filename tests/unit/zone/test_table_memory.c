/* test_table_memory.c - zones are added all or none, also when memory runs
 * out at each place in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "dns/name.h"
#include "zone/table.h"

/* The linker puts these before the real ones (--wrap). */
void *__real_store_alloc(struct store_heap *heap, size_t len, store_ref *ref);
void *__wrap_store_alloc(struct store_heap *heap, size_t len, store_ref *ref);
void *__real_arena_alloc(struct arena *arena, size_t len);
void *__wrap_arena_alloc(struct arena *arena, size_t len);
void *__real_arena_alloc_zero(struct arena *arena, size_t len);
void *__wrap_arena_alloc_zero(struct arena *arena, size_t len);

static unsigned allocs_left; /* the one after them fails; 0: none fails */

static bool
alloc_fails(void)
{
	return allocs_left > 0 && --allocs_left == 0;
}

void *
__wrap_store_alloc(struct store_heap *heap, size_t len, store_ref *ref)
{
	return alloc_fails() ? NULL : __real_store_alloc(heap, len, ref);
}

void *
__wrap_arena_alloc(struct arena *arena, size_t len)
{
	return alloc_fails() ? NULL : __real_arena_alloc(arena, len);
}

void *
__wrap_arena_alloc_zero(struct arena *arena, size_t len)
{
	return alloc_fails() ? NULL : __real_arena_alloc_zero(arena, len);
}

static struct store *store;
static struct store_writer *writer;

static uint64_t
live(void)
{
	struct store_stats stats;

	while (store_reclaim(writer) > 0)
		;
	store_get_stats(writer, &stats);
	return stats.live;
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

/* Adds count zones from a number on, failing at each place first. */
static void
add_zones(unsigned first, unsigned count)
{
	struct zone_setup setups[16] = {{0}};
	store_ref entries[16];
	enum nsd_err err = NSD_E_MEMORY;
	unsigned n;

	for (unsigned i = 0; i < count; i++)
		setups[i].apex = apex_of(first + i);
	for (n = 1; err == NSD_E_MEMORY; n++) {
		const struct zone_table *before = table_get(
			store_writer_view(writer));
		uint64_t octets = live();

		allocs_left = n;
		err = table_add(writer, setups, count, entries);
		allocs_left = 0;
		if (err == NSD_OK)
			break;
		assert_ptr_equal(table_get(store_writer_view(writer)), before);
		assert_int_equal(live(), octets);
	}
	assert_int_equal(err, NSD_OK);
	assert_true(n > 2);
}

static void
remove_zone(unsigned i)
{
	enum nsd_err err = NSD_E_MEMORY;

	for (unsigned n = 1; err == NSD_E_MEMORY; n++) {
		uint64_t octets = live();

		allocs_left = n;
		err = table_remove(writer, apex_of(i));
		allocs_left = 0;
		assert_true(err == NSD_OK || live() == octets);
	}
	assert_int_equal(err, NSD_OK);
}

static void
zones_come_and_go_without_a_trace(void **state)
{
	uint64_t octets;

	add_zones(0, 1); /* leaves an empty table behind */
	remove_zone(0);
	octets = live();
	add_zones(0, 16); /* the trie made anew */
	for (unsigned i = 16; i < 100; i++)
		add_zones(i, 1); /* into the trie */
	for (unsigned i = 100; i < 160; i += 3)
		add_zones(i, 3); /* some at once: paths are copied once */
	for (unsigned i = 0; i < 160; i++)
		remove_zone(i);
	assert_int_equal(table_get(store_writer_view(writer))->zone_count, 0);
	assert_int_equal(live(), octets);
}

static int
open_store(void **state)
{
	const struct store_options options = {.reservation = 1u << 30,
		.reader_max = 1, .poison = true};

	return store_create(&options, &store) != NSD_OK
		|| store_writer_open(store, &writer) != NSD_OK;
}

static int
close_store(void **state)
{
	store_writer_close(writer);
	store_destroy(store);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_come_and_go_without_a_trace),
	};

	return cmocka_run_group_tests(tests, open_store, close_store);
}
