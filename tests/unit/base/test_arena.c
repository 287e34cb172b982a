/* test_arena.c - bump allocation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"

static void
pieces_are_aligned_and_apart(void **state)
{
	uint64_t own[32];
	struct arena arena;
	uint8_t *pieces[500];

	arena_init(&arena, own, sizeof(own));
	for (unsigned i = 0; i < 500; i++) {
		pieces[i] = i % 3 == 0 ? arena_copy(&arena, "x", 1)
			: arena_alloc(&arena, i);
		assert_non_null(pieces[i]);
		if (i % 3 != 0) {
			assert_int_equal((uintptr_t)pieces[i] % 8, 0);
			memset(pieces[i], (int)i, i);
		}
	}
	assert_ptr_equal(pieces[0], own);
	for (unsigned i = 0; i < 500; i++) {
		if (i % 3 == 0)
			assert_int_equal(*pieces[i], 'x');
		for (unsigned k = 0; i % 3 != 0 && k < i; k++)
			assert_int_equal(pieces[i][k], (uint8_t)i);
	}
	arena_fini(&arena);
}

static void
the_callers_memory_costs_no_mapping(void **state)
{
	uint64_t own[4];
	struct arena arena;

	arena_init(&arena, own, sizeof(own));
	assert_non_null(arena_alloc(&arena, 32));
	assert_int_equal(arena.mapped, 0);
	assert_non_null(arena_alloc(&arena, 1));
	assert_true(arena.mapped > 0);
	arena_fini(&arena);
	assert_int_equal(arena.mapped, 0);
}

static void
a_large_piece_leaves_the_current_block_in_use(void **state)
{
	struct arena arena;
	uint8_t *first, *large, *next;

	arena_init(&arena, NULL, 0);
	first = arena_alloc(&arena, 8);
	large = arena_alloc(&arena, 1 << 20);
	next = arena_alloc(&arena, 8);
	assert_non_null(large);
	memset(large, 1, 1 << 20);
	assert_ptr_equal(next, first + 8);
	assert_null(arena_alloc(&arena, SIZE_MAX - 4));
	arena_fini(&arena);
}

static void
what_is_asked_zero_is_zero_after_a_reset(void **state)
{
	struct arena arena;
	uint8_t *first, *again;
	size_t one;

	arena_init(&arena, NULL, 0);
	first = arena_alloc(&arena, 100);
	one = arena.mapped;
	memset(first, 0xff, 100);
	assert_non_null(arena_alloc(&arena, 1 << 20));
	for (unsigned i = 0; i < 100; i++)
		assert_non_null(arena_alloc(&arena, 4000));
	arena_reset(&arena);
	assert_true(arena.mapped >= one && arena.mapped < 1 << 20);
	again = arena_alloc(&arena, 8);
	memset(again, 0xff, 8);
	arena_reset(&arena);
	assert_ptr_equal(arena_alloc_zero(&arena, 8), again);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(again[i], 0);
	arena_fini(&arena);
	arena_reset(&arena);
	assert_non_null(arena_alloc(&arena, 8));
	arena_fini(&arena);
}

static void
a_text_ends_in_nul(void **state)
{
	struct arena arena;

	arena_init(&arena, NULL, 0);
	assert_string_equal(arena_copy_text(&arena, "abcdef", 3), "abc");
	assert_string_equal(arena_copy_text(&arena, "", 0), "");
	assert_non_null(arena_copy(&arena, NULL, 0));
	arena_fini(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_aligned_and_apart),
		cmocka_unit_test(the_callers_memory_costs_no_mapping),
		cmocka_unit_test(
			a_large_piece_leaves_the_current_block_in_use),
		cmocka_unit_test(what_is_asked_zero_is_zero_after_a_reset),
		cmocka_unit_test(a_text_ends_in_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
