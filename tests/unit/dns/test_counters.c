/* test_counters.c - sums of counters, and blocks of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/counters.h"

#define ROOM 3u

struct fixture {
	struct counters_block block;
	void *memory;
};

static void
fixture_make(struct fixture *f)
{
	size_t size = (counters_block_size(ROOM) + 63) & ~(size_t)63;

	f->memory = aligned_alloc(64, size);
	assert_non_null(f->memory);
	memset(f->memory, 0, size);
	counters_block_init(&f->block, f->memory, ROOM);
}

static void
sums_go_over_all_counters(void **state)
{
	struct counters sum, more;
	uint64_t *words = (uint64_t *)&more;

	memset(&sum, 0, sizeof(sum));
	for (size_t i = 0; i < sizeof(more) / sizeof(*words); i++)
		words[i] = i;
	counters_add(&sum, &more);
	counters_add(&sum, &more);
	assert_int_equal(sum.lost, 2 * more.lost);
	counters_subtract(&sum, &more);
	assert_memory_equal(&sum, &more, sizeof(sum));
	sum.lost = 0;
	counters_subtract(&sum, &more);
	assert_int_equal(sum.lost, 0);
	assert_int_equal(sum.queries, 0);
}

static void
a_group_gets_a_row_when_it_is_counted(void **state)
{
	struct fixture f;
	struct counters *a, *b;

	fixture_make(&f);
	assert_null(counters_block_find(&f.block, 1));
	assert_null(counters_block_find(&f.block, 3));
	assert_ptr_equal(counters_block_find(&f.block, 0), f.block.rows);
	a = counters_block_open(&f.block, 3);
	b = counters_block_open(&f.block, 1);
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_not_equal(a, b);
	assert_ptr_not_equal(a, f.block.rows);
	assert_ptr_equal(counters_block_open(&f.block, 3), a);
	assert_ptr_equal(counters_block_find(&f.block, 3), a);
	assert_ptr_equal(counters_block_find(&f.block, 1), b);
	assert_null(counters_block_find(&f.block, 2));
	assert_non_null(counters_block_open(&f.block, 2));
	free(f.memory);
}

static void
groups_beyond_the_room_have_none(void **state)
{
	struct fixture f;

	fixture_make(&f);
	assert_null(counters_block_open(&f.block, ROOM + 1));
	assert_null(counters_block_find(&f.block, ROOM + 1));
	assert_null(counters_block_open(&f.block, UINT32_MAX));
	assert_null(counters_block_find(&f.block, UINT32_MAX));
	free(f.memory);
}

/* A worker that was taken over writes what it likes. */
static void
whatever_a_book_holds_rows_lie_in_it(void **state)
{
	static const uint32_t bad[] = {ROOM + 1, UINT32_MAX, UINT32_MAX - 1,
		1u << 31};
	struct fixture f;

	fixture_make(&f);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		f.block.row_of[1] = bad[i];
		assert_null(counters_block_find(&f.block, 1));
		assert_null(counters_block_open(&f.block, 1));
		f.block.row_of[0] = bad[i];
		assert_ptr_equal(counters_block_find(&f.block, 0),
			f.block.rows);
		assert_ptr_equal(counters_block_open(&f.block, 0),
			f.block.rows);
		f.block.row_of[2] = 0;
		*f.block.used = bad[i];
		assert_null(counters_block_open(&f.block, 2));
	}
	free(f.memory);
}

static void
types_and_classes_have_a_place(void **state)
{
	assert_int_equal(counters_find_type(0), 0);
	assert_int_equal(counters_find_type(255), 255);
	assert_int_equal(counters_find_type(256), 256);
	assert_int_equal(counters_find_type(65535), 256);
	assert_int_equal(counters_find_class(1), COUNTER_IN);
	assert_int_equal(counters_find_class(0), COUNTER_CLASS0);
	assert_int_equal(counters_find_class(2), COUNTER_CS);
	assert_int_equal(counters_find_class(5), COUNTER_OTHER);
	assert_int_equal(counters_find_class(3), COUNTER_CH);
	assert_int_equal(counters_find_class(4), COUNTER_HS);
	assert_int_equal(counters_find_class(255), COUNTER_ANY);
	assert_int_equal(counters_find_class(254), COUNTER_OTHER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_go_over_all_counters),
		cmocka_unit_test(a_group_gets_a_row_when_it_is_counted),
		cmocka_unit_test(groups_beyond_the_room_have_none),
		cmocka_unit_test(whatever_a_book_holds_rows_lie_in_it),
		cmocka_unit_test(types_and_classes_have_a_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
