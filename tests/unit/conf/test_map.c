/* test_map.c - the hash table of the configuration, beside a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/map.h"

#define ITEMS 5000u

struct item {
	uint32_t key;
	bool there;
};

static struct item items[ITEMS];

static const void *
item_key(const void *item, size_t *len)
{
	*len = sizeof(uint32_t);
	return &((const struct item *)item)->key;
}

static void
open_map(struct conf_map *map)
{
	map_init(map, item_key);
	for (uint32_t i = 0; i < ITEMS; i++)
		items[i] = (struct item){.key = i};
}

static void *
find(const struct conf_map *map, uint32_t key)
{
	return map_find(map, &key, sizeof(key));
}

static void
expect_all(const struct conf_map *map)
{
	size_t count = 0;

	for (uint32_t i = 0; i < ITEMS; i++) {
		assert_ptr_equal(find(map, i),
			items[i].there ? &items[i] : NULL);
		count += items[i].there;
	}
	assert_int_equal(map->count, count);
}

/* Look-ups are right at each stage of growing. */
static void
items_are_found_while_it_grows(void **state)
{
	uint64_t random = 88172645463325252u;
	struct conf_map map;

	open_map(&map);
	for (unsigned n = 0; n < 60000; n++) {
		struct item *item;
		uint32_t key;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		key = (uint32_t)(random >> 33) % (n < 30000 ? n / 8 + 1
							      : ITEMS);
		item = &items[key];
		assert_ptr_equal(find(&map, key), item->there ? item : NULL);
		if (!item->there)
			assert_int_equal(map_add(&map, item), NSD_OK);
		else if (random >> 60 < 9)
			assert_ptr_equal(map_remove(&map, &key, sizeof(key)),
				item);
		else
			continue;
		item->there = !item->there;
		if (n % 1000 == 0 || map.old.items != NULL)
			if (n % 16 == 0)
				expect_all(&map);
	}
	expect_all(&map);
	for (uint32_t i = 0; i < ITEMS; i++)
		assert_ptr_equal(map_remove(&map, &i, sizeof(i)),
			items[i].there ? &items[i] : NULL);
	assert_int_equal(map.count, 0);
	map_fini(&map);
}

/* An addition moves a few items only, and all are moved long before the map
 * grows again. */
static void
addition_never_moves_all(void **state)
{
	struct conf_map map;
	size_t mask = 0, growths = 0;

	open_map(&map);
	for (uint32_t i = 0; i < ITEMS; i++) {
		size_t moved = map.moved;
		bool growing = map.old.items != NULL;

		assert_int_equal(map_add(&map, &items[i]), NSD_OK);
		if (growing && map.old.items != NULL)
			assert_true(map.moved - moved <= 16);
		if (map.slots.mask != mask) {
			assert_false(growing);
			mask = map.slots.mask;
			growths++;
		}
	}
	assert_true(growths >= 9);
	map_fini(&map);
}

static void
empty_map_has_nothing(void **state)
{
	struct conf_map map;
	uint32_t key = 1;

	open_map(&map);
	assert_null(find(&map, key));
	assert_null(map_remove(&map, &key, sizeof(key)));
	assert_int_equal(map_memory_size(&map), 0);
	map_fini(&map);
}

/* Look-ups are right while the table shrinks, and while it grows again before
 * it is done. */
static void
memory_goes_with_the_items(void **state)
{
	struct conf_map map;
	size_t full;

	for (uint32_t left = 1; left < 600; left += 199) {
		open_map(&map);
		for (uint32_t i = 0; i < ITEMS; i++) {
			assert_int_equal(map_add(&map, &items[i]), NSD_OK);
			items[i].there = true;
		}
		full = map_memory_size(&map);
		for (uint32_t i = left; i < ITEMS; i++) {
			uint32_t key = i;

			assert_ptr_equal(map_remove(&map, &key, sizeof(key)),
				&items[i]);
			items[i].there = false;
			if (i % 64 == 0)
				expect_all(&map);
		}
		expect_all(&map);
		for (uint32_t i = left; i < ITEMS; i++) {
			assert_int_equal(map_add(&map, &items[i]), NSD_OK);
			items[i].there = true;
			if (i % 64 == 0)
				expect_all(&map);
			if (i == left + 2000 && left < 400)
				assert_true(map_memory_size(&map) < full);
		}
		expect_all(&map);
		map_fini(&map);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_found_while_it_grows),
		cmocka_unit_test(addition_never_moves_all),
		cmocka_unit_test(memory_goes_with_the_items),
		cmocka_unit_test(empty_map_has_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
