/* test_decoys.c - a reader may write anything into its slot. However it chooses
 * its pins, what a reclaim costs has a bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <time.h>

#include "store/state.h"
#include "store/store.h"
#include "store/writer.h"

#define OBJECTS 200000u
#define OBJECT 64u
/* The most objects that a reclaim may look at in vain: 65536, and a block. */
#define VAIN_MOST (65536u + 8192u)

struct fixture {
	struct store *store;
	struct store_writer *writer;
	struct store_slot *slot; /* as a hostile reader sees it */
};

static void
fixture_open(struct fixture *f)
{
	struct store_options options = { .reader_max = 1 };

	assert_int_equal(store_create(&options, &f->store), NSD_OK);
	assert_int_equal(store_writer_open(f->store, &f->writer), NSD_OK);
	f->slot = (struct store_slot *)(void *)f->writer->slots;
}

static void
fixture_close(struct fixture *f)
{
	memset(f->slot, 0, sizeof(*f->slot));
	while (!cds_list_empty(&f->writer->unheld)
		|| !cds_list_empty(&f->writer->held))
		(void)store_reclaim(f->writer);
	assert_int_equal(store_reclaim(f->writer), 0);
	assert_int_equal(f->writer->retired_total, f->writer->reclaimed_total);
	store_writer_close(f->writer);
	store_destroy(f->store);
}

static void
objects_retire(struct fixture *f)
{
	for (unsigned i = 0; i < OBJECTS; i++) {
		store_ref ref;

		assert_non_null(store_alloc(store_writer_heap(f->writer),
			OBJECT, &ref));
		store_retire(f->writer, ref, OBJECT);
	}
}

/* Pins that hold nothing, as all was allocated later; behind them one that
 * holds all. */
static void
decoys_set(struct fixture *f, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		f->slot->pins[i] = (struct store_slot_pin){ i + 1, i + 1 };
	f->slot->pins[count] = (struct store_slot_pin){ 1, UINT64_MAX };
	f->slot->pin_max = count + 1;
}

static uint64_t
cpu_nsec(void)
{
	struct timespec t;

	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The CPU time of a reclaim that puts all objects aside. */
static uint64_t
reclaim_nsec(struct fixture *f, unsigned decoys)
{
	uint64_t start;

	objects_retire(f);
	decoys_set(f, decoys);
	start = cpu_nsec();
	assert_int_equal(store_reclaim(f->writer), (size_t)OBJECTS * OBJECT);
	start = cpu_nsec() - start;
	memset(f->slot, 0, sizeof(*f->slot));
	assert_int_equal(store_reclaim(f->writer), 0);
	return start;
}

static void
decoys_cost_next_to_nothing(void **state)
{
	uint64_t without = UINT64_MAX, with = UINT64_MAX;
	struct fixture f;

	fixture_open(&f);
	/* Enough epochs, so that all decoys are older than the objects. */
	for (unsigned i = 0; i <= SLOT_PINS; i++)
		(void)store_epoch_passed(f.writer, store_epoch(f.writer));
	for (unsigned i = 0; i < 10; i++) {
		uint64_t nsec = reclaim_nsec(&f, i % 2 == 0 ? 0 : 250);

		if (i % 2 == 0 && nsec < without)
			without = nsec;
		if (i % 2 == 1 && nsec < with)
			with = nsec;
	}
	print_message("%u objects: %.1f ms, with decoys %.1f ms\n", OBJECTS,
		(double)without / 1e6, (double)with / 1e6);
	assert_true(with < 4 * without);
	fixture_close(&f);
}

static size_t
count_held(const struct fixture *f)
{
	const struct retired_block *block;
	const struct held *held;
	size_t count = 0;

	cds_list_for_each_entry(held, &f->writer->held, entry)
		cds_list_for_each_entry(block, &held->blocks, entry)
			count += block->count;
	return count;
}

/* The objects are held all the time, each time by another pin. */
static void
pins_that_change_cost_little(void **state)
{
	struct fixture f;
	size_t waiting;

	fixture_open(&f);
	f.slot->pins[0] = (struct store_slot_pin){ 1, UINT64_MAX };
	f.slot->pin_max = 1;
	objects_retire(&f);
	waiting = store_reclaim(f.writer);
	assert_int_equal(waiting, (size_t)OBJECTS * OBJECT);
	assert_int_equal(count_held(&f), OBJECTS);
	for (unsigned i = 1; i <= 20; i++) {
		f.slot->pins[0].high = UINT64_MAX - i;
		assert_int_equal(store_reclaim(f.writer), waiting);
		/* The objects of the new pin have been looked at. */
		assert_true(count_held(&f) > 0);
		assert_true(count_held(&f) <= VAIN_MOST);
	}
	/* With a pin that stays, all comes to rest; then all is freed. */
	for (unsigned i = 0; count_held(&f) < OBJECTS; i++) {
		assert_true(i < OBJECTS / 65536 + 1);
		assert_int_equal(store_reclaim(f.writer), waiting);
	}
	f.slot->pins[0].low = 0;
	assert_int_equal(store_reclaim(f.writer), 0);
	fixture_close(&f);
}

/* Of any set of pins, each holds the objects it covers and no other. */
static void
objects_wait_for_whichever_pin_holds_them(void **state)
{
	static const struct {
		uint64_t low, high;
		bool holds; /* an object allocated in 10, retired in 20 */
	} rows[] = { { 20, 10, true }, { 1, 10, true }, { 20, 99, true },
		{ 21, 10, false }, { 20, 9, false }, { 21, 99, false },
		{ 1, 9, false }, { UINT64_MAX, UINT64_MAX, false },
		{ 1, 1, false }, { 1, UINT64_MAX, true } };
	const unsigned count = sizeof(rows) / sizeof(rows[0]);
	struct fixture f;

	fixture_open(&f);
	for (unsigned mask = 0; mask < 1u << count; mask++) {
		bool holds = false;
		store_ref ref;

		f.writer->header->epoch = 10;
		memset(f.slot, 0, sizeof(*f.slot));
		/* Alone in its span, which was empty before. */
		assert_non_null(store_alloc(store_writer_heap(f.writer),
			SPAN_SIZE, &ref));
		f.writer->header->epoch = 20;
		store_retire(f.writer, ref, SPAN_SIZE);
		for (unsigned i = 0; i < count; i++)
			if ((mask >> i & 1) != 0) {
				f.slot->pins[f.slot->pin_max++] =
					(struct store_slot_pin){
						rows[i].low, rows[i].high };
				holds = holds || rows[i].holds;
			}
		assert_int_equal(store_reclaim(f.writer) != 0, holds);
		memset(f.slot, 0, sizeof(*f.slot));
		assert_int_equal(store_reclaim(f.writer), 0);
	}
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoys_cost_next_to_nothing),
		cmocka_unit_test(pins_that_change_cost_little),
		cmocka_unit_test(objects_wait_for_whichever_pin_holds_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
