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

static void
a_piece_that_grows_keeps_what_it_has(void **state)
{
	uint64_t own[32];
	struct arena arena;
	uint8_t *piece = NULL, *other;
	size_t len = 0;

	arena_init(&arena, own, sizeof(own));
	other = arena_alloc(&arena, 8);
	memset(other, 0xee, 8);
	for (size_t more = 8; more <= 16 << 20; more *= 2) {
		uint8_t *grown = arena_grow(&arena, piece, len, more);

		assert_non_null(grown);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(grown[i], (uint8_t)(i * 7));
		for (size_t i = len; i < more; i++)
			grown[i] = (uint8_t)(i * 7);
		assert_int_equal(*(uint8_t *)arena_alloc_zero(&arena, 1), 0);
		piece = grown;
		len = more;
	}
	assert_null(arena_grow(&arena, piece, len, SIZE_MAX - 4));
	assert_int_equal(piece[len - 1], (uint8_t)((len - 1) * 7));
	/* Room that a large piece had before is not left behind. */
	assert_true(arena.mapped < len + (256 << 10));
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(other[i], 0xee);
	arena_fini(&arena);
	assert_int_equal(arena.mapped, 0);
}

/* The first piece of a block for many is not alone in it. */
static void
a_piece_that_grows_leaves_its_neighbours(void **state)
{
	struct arena arena;
	uint8_t *pieces[40], *grown;

	arena_init(&arena, NULL, 0);
	for (unsigned i = 0; i < 40; i++) {
		size_t len = (1u + i % 4) * 8000;

		pieces[i] = arena_alloc(&arena, len);
		memset(pieces[i], (int)i, len);
	}
	for (unsigned i = 0; i < 40; i++) {
		size_t len = (1u + i % 4) * 8000;

		grown = arena_grow(&arena, pieces[i], len, 3 * len);
		assert_non_null(grown);
		for (size_t k = 0; k < len; k++)
			assert_int_equal(grown[k], i);
		memset(grown, (int)i, 3 * len);
		pieces[i] = grown;
	}
	for (unsigned i = 0; i < 40; i++)
		for (size_t k = 0; k < 3 * (1u + i % 4) * 8000; k++)
			assert_int_equal(pieces[i][k], i);
	arena_fini(&arena);
}

static void
a_piece_of_the_block_that_a_reset_keeps_is_not_alone(void **state)
{
	struct arena arena;
	uint8_t *piece, *grown, *neighbour;
	size_t len;

	arena_init(&arena, NULL, 0);
	assert_non_null(arena_alloc(&arena, 8));
	arena_reset(&arena);
	/* All of the block but for a small piece behind it. */
	len = (size_t)(arena.end - arena.at) - 8;
	piece = arena_alloc(&arena, len);
	neighbour = arena_alloc(&arena, 8);
	assert_ptr_equal(neighbour, piece + len);
	memset(piece, 1, len);
	memset(neighbour, 2, 8);
	grown = arena_grow(&arena, piece, len, 2 * len);
	assert_non_null(grown);
	memset(grown + len, 3, len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(grown[i], 1);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(neighbour[i], 2);
	arena_fini(&arena);
}

static void
what_comes_behind_a_mark_goes(void **state)
{
	uint64_t own[32];
	struct arena arena;
	struct arena_mark first, second;
	uint8_t *before, *at;
	size_t mapped;

	arena_init(&arena, own, sizeof(own));
	first = arena_mark(&arena);
	before = arena_alloc(&arena, 200);
	memset(before, 1, 200);
	second = arena_mark(&arena);
	for (unsigned round = 0; round < 3; round++) {
		at = arena_alloc(&arena, 8);
		assert_ptr_equal(at, before + 200);
		for (unsigned i = 0; i < 100; i++)
			assert_non_null(arena_alloc(&arena, 20000));
		arena_rewind(&arena, &second);
		assert_int_equal(arena.mapped, 0);
	}
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(before[i], 1);
	assert_non_null(arena_alloc(&arena, 1 << 20));
	second = arena_mark(&arena);
	mapped = arena.mapped;
	assert_non_null(arena_alloc(&arena, 1 << 20));
	arena_rewind(&arena, &second);
	assert_int_equal(arena.mapped, mapped);
	arena_rewind(&arena, &first);
	assert_int_equal(arena.mapped, 0);
	assert_ptr_equal(arena_alloc(&arena, 8), own);
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
		cmocka_unit_test(a_piece_that_grows_keeps_what_it_has),
		cmocka_unit_test(a_piece_that_grows_leaves_its_neighbours),
		cmocka_unit_test(
			a_piece_of_the_block_that_a_reset_keeps_is_not_alone),
		cmocka_unit_test(what_comes_behind_a_mark_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
