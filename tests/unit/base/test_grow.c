/* test_grow.c - arrays that grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/grow.h"

/* Lets a request that is too large fail where AddressSanitizer would abort. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void
items_stay_and_room_doubles(void **state)
{
	uint32_t *items = NULL;
	size_t room = 0, count = 0, growths = 0;

	while (count < 10000) {
		size_t before = room;
		uint32_t *grown = grow_array(items, count, &room,
			sizeof(*items));

		assert_non_null(grown);
		assert_true(room > count);
		if (room != before) {
			assert_true(before == 0 || room == before * 2);
			growths++;
		} else {
			assert_ptr_equal(grown, items);
		}
		items = grown;
		items[count] = (uint32_t)count;
		count++;
	}
	assert_in_range(growths, 5, 14);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(items[i], i);
	free(items);
}

static void
too_large_an_array_stays_as_it_was(void **state)
{
	size_t room = 0;
	char *items = grow_array(NULL, 0, &room, 1);
	size_t was = room;

	assert_non_null(items);
	items[0] = 'x';
	/* The size overflows, then there is not that much memory. */
	assert_null(grow_array(items, room, &room, SIZE_MAX / 16));
	assert_int_equal(room, was);
	assert_null(grow_array(items, room, &room, SIZE_MAX / 64));
	assert_int_equal(room, was);
	assert_int_equal(items[0], 'x');
	/* Nor can the room double. */
	room = SIZE_MAX / 2 + 1;
	assert_null(grow_array(items, room, &room, 1));
	assert_int_equal(room, SIZE_MAX / 2 + 1);
	free(items);
}

static void
an_arena_keeps_items_too(void **state)
{
	struct arena arena;
	uint64_t *items = NULL;
	size_t room = 0, count = 0;

	arena_init(&arena, NULL, 0);
	while (count < 5000) {
		items = grow_arena(&arena, items, count, &room,
			sizeof(*items));
		assert_non_null(items);
		assert_int_equal((uintptr_t)items % 8, 0);
		items[count] = count;
		count++;
	}
	for (size_t i = 0; i < count; i++)
		assert_int_equal(items[i], i);
	count = room;
	assert_null(grow_arena(&arena, items, count, &room, SIZE_MAX / 4));
	assert_int_equal(room, count);
	arena_fini(&arena);
}

static void
octets_grow_by_what_is_needed(void **state)
{
	size_t room = 0, was;
	uint8_t *octets = grow_octets(NULL, 1, &room);

	assert_non_null(octets);
	assert_true(room >= 1);
	memset(octets, 7, room);
	was = room;
	assert_ptr_equal(grow_octets(octets, was, &room), octets);
	assert_int_equal(room, was);
	octets = grow_octets(octets, was + 1, &room);
	assert_non_null(octets);
	assert_int_equal(room, was * 2);
	octets = grow_octets(octets, 100000, &room);
	assert_non_null(octets);
	assert_int_equal(room, 100000);
	for (size_t i = 0; i < was; i++)
		assert_int_equal(octets[i], 7);
	assert_null(grow_octets(octets, SIZE_MAX - 100, &room));
	assert_int_equal(room, 100000);
	free(octets);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_stay_and_room_doubles),
		cmocka_unit_test(too_large_an_array_stays_as_it_was),
		cmocka_unit_test(an_arena_keeps_items_too),
		cmocka_unit_test(octets_grow_by_what_is_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
