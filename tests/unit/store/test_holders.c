/* test_holders.c - a reader may write anything into its slot, and change it all
 * the time. What it keeps is told all the same, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "store/ages.h"
#include "store/state.h"
#include "store/store.h"
#include "store/writer.h"

#define READERS 3u
#define OBJECTS 200000u /* more than a reclaim looks at in vain */
#define OBJECT 64u
#define ALL ((uint64_t)OBJECTS * OBJECT)
#define DECOYS (SLOT_PINS - 1)

struct fixture {
	struct store *store;
	struct store_writer *writer;
	struct store_slot *slots[READERS]; /* as hostile readers see them */
};

static void
fixture_open(struct fixture *f)
{
	struct store_options options = { .reader_max = READERS };

	assert_int_equal(store_create(&options, &f->store), NSD_OK);
	assert_int_equal(store_writer_open(f->store, &f->writer), NSD_OK);
	for (unsigned i = 0; i < READERS; i++)
		f->slots[i] = (struct store_slot *)(void *)(f->writer->slots
			+ (size_t)i * STORE_PAGE);
}

static void
fixture_close(struct fixture *f)
{
	for (unsigned i = 0; i < READERS; i++)
		memset(f->slots[i], 0, sizeof(*f->slots[i]));
	assert_int_equal(store_reclaim(f->writer), 0);
	assert_int_equal(f->writer->unheld_octets, 0);
	assert_int_equal(f->writer->retired_total, f->writer->reclaimed_total);
	store_writer_close(f->writer);
	store_destroy(f->store);
}

static void
objects_retire(struct fixture *f, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		store_ref ref;

		assert_non_null(store_alloc(store_writer_heap(f->writer),
			OBJECT, &ref));
		store_retire(f->writer, ref, OBJECT);
	}
}

static void
pin_set(struct store_slot *slot, unsigned at, uint64_t low, uint64_t high)
{
	slot->pins[at] = (struct store_slot_pin){ low, high };
	if (slot->pin_max <= at)
		slot->pin_max = at + 1;
}

static uint64_t
octets_of(struct fixture *f, unsigned reader)
{
	struct store_holder holder;

	return store_get_holder(f->writer, reader, 0, &holder) ? holder.octets
							       : 0;
}

/* ---- how much */

static void
pins_that_change_seem_to_keep_no_less(void **state)
{
	struct fixture f;

	fixture_open(&f);
	pin_set(f.slots[0], 0, 1, UINT64_MAX);
	/* Of another reader, which keeps nothing. */
	pin_set(f.slots[1], 0, 1, 0);
	objects_retire(&f, OBJECTS);
	assert_int_equal(store_reclaim(f.writer), ALL);
	assert_int_equal(octets_of(&f, 0), ALL);
	assert_int_equal(octets_of(&f, 1), 0);
	for (unsigned i = 1; i <= 20; i++) {
		f.slots[0]->pins[0].high = UINT64_MAX - i;
		assert_int_equal(store_reclaim(f.writer), ALL);
		assert_int_equal(octets_of(&f, 0), ALL);
	}
	fixture_close(&f);
}

static void
epoch_advance(struct fixture *f, uint64_t epoch)
{
	while (store_epoch(f->writer) < epoch)
		(void)store_epoch_passed(f->writer, store_epoch(f->writer));
}

/* There are more pins than the writer tells from each other: those that keep
 * something are among the ones that are taken for one. */
static void
pins_without_number_are_those_of_their_readers(void **state)
{
	struct fixture f;

	fixture_open(&f);
	epoch_advance(&f, 3);
	for (unsigned i = 0; i < DECOYS; i++) {
		pin_set(f.slots[0], i, 1000 + i, 1);
		pin_set(f.slots[1], i, 2000 + i, 1);
	}
	pin_set(f.slots[0], DECOYS, 2, UINT64_MAX);
	pin_set(f.slots[1], DECOYS, 1, 1);
	pin_set(f.slots[2], 0, 1, 0);
	objects_retire(&f, OBJECTS);
	assert_int_equal(store_reclaim(f.writer), ALL);
	assert_int_equal(octets_of(&f, 0), ALL);
	assert_int_equal(octets_of(&f, 2), 0);
	fixture_close(&f);
}

/* Among as many, whoever has few pins keeps what these do. */
static void
few_pins_are_told_from_those_without_number(void **state)
{
	struct fixture f;

	fixture_open(&f);
	epoch_advance(&f, 3);
	for (unsigned i = 0; i < SLOT_PINS; i++) {
		pin_set(f.slots[0], i, 1000 + i, 1);
		pin_set(f.slots[1], i, 2000 + i, 1);
	}
	pin_set(f.slots[2], 0, 3, UINT64_MAX);
	objects_retire(&f, OBJECTS);
	assert_int_equal(store_reclaim(f.writer), ALL);
	assert_int_equal(octets_of(&f, 0), 0);
	assert_int_equal(octets_of(&f, 1), 0);
	assert_int_equal(octets_of(&f, 2), ALL);
	fixture_close(&f);
}

/* A reader that stays online keeps all objects retired since, however many
 * epochs pass. */
static void
reader_that_stays_online_keeps_all_since(void **state)
{
	struct fixture f;

	fixture_open(&f);
	f.slots[1]->seen = 1;
	for (unsigned i = 0; i < 5000; i++) {
		objects_retire(&f, 2);
		assert_int_equal(store_reclaim(f.writer), (i + 1) * 2 * OBJECT);
	}
	assert_int_equal(octets_of(&f, 1), 10000 * OBJECT);
	f.slots[1]->seen = 2501;
	assert_int_equal(octets_of(&f, 0), 0);
	(void)store_reclaim(f.writer);
	assert_int_equal(octets_of(&f, 1), 5000 * OBJECT);
	fixture_close(&f);
}

/* ---- for how long */

static void
pins_that_change_seem_no_younger(void **state)
{
	struct store_holder holder;
	struct fixture f;

	fixture_open(&f);
	epoch_advance(&f, 3);
	for (int64_t i = 0; i < 20; i++) {
		/* A different pin each time. */
		memset(f.slots[0], 0, sizeof(*f.slots[0]));
		pin_set(f.slots[0], (unsigned)i, 1 + (uint64_t)i % 2,
			UINT64_MAX - (uint64_t)i);
		objects_retire(&f, 1);
		assert_int_equal(store_reclaim(f.writer), (i + 1) * OBJECT);
		assert_true(store_get_holder(f.writer, 0, i * 1000, &holder));
		assert_int_equal(holder.octets, (i + 1) * OBJECT);
		assert_int_equal(holder.age_msec, i * 1000);
	}
	fixture_close(&f);
}

/* A kept object is as old as the epoch in which it was retired: a reader cannot
 * claim a later epoch without letting go of it. */
static void
newer_pin_keeps_less(void **state)
{
	struct store_holder holder;
	struct fixture f;

	fixture_open(&f);
	pin_set(f.slots[0], 0, 1, UINT64_MAX);
	for (int64_t i = 0; i < 10; i++) {
		objects_retire(&f, 1);
		(void)store_reclaim(f.writer);
		assert_true(store_get_holder(f.writer, 0, i * 1000, &holder));
	}
	assert_int_equal(holder.age_msec, 9000);
	assert_int_equal(store_find_epoch(f.writer, 4000, 9000), 6);
	f.slots[0]->pins[0].low = 7;
	assert_int_equal(store_reclaim(f.writer), 4 * OBJECT);
	assert_true(store_get_holder(f.writer, 0, 9000, &holder));
	assert_int_equal(holder.octets, 4 * OBJECT);
	assert_int_equal(holder.age_msec, 3000);
	fixture_close(&f);
}

/* The reader of an old version may keep as much as was served then, though less
 * is served now; other readers may not. */
static void
what_was_served_counts_since_the_epoch(void **state)
{
	const int64_t days = 3 * 24 * 3600;
	struct store_holder holder;
	store_ref refs[10];
	struct fixture f;

	fixture_open(&f);
	/* The first mark stays; the one with the most must be another. */
	assert_false(store_get_holder(f.writer, 0, 0, &holder));
	for (unsigned i = 0; i < 10; i++)
		assert_non_null(store_alloc(store_writer_heap(f.writer),
			OBJECT, &refs[i]));
	epoch_advance(&f, 3);
	pin_set(f.slots[0], 0, 3, UINT64_MAX);
	for (unsigned i = 0; i < 9; i++)
		store_retire(f.writer, refs[i], OBJECT);
	assert_int_equal(store_reclaim(f.writer), 9 * OBJECT);
	assert_true(store_get_holder(f.writer, 0, 0, &holder));
	assert_int_equal(holder.octets, 9 * OBJECT);
	assert_int_equal(holder.served, 10 * OBJECT);
	/* The value stays as long as the reader keeps the version. */
	for (int64_t sec = 1; sec < days; sec += 100) {
		epoch_advance(&f, store_epoch(f.writer) + 1);
		assert_true(store_get_holder(f.writer, 0, sec * 1000,
			&holder));
		assert_int_equal(holder.served, 10 * OBJECT);
	}
	/* A later reader, once no other one keeps the object. */
	memset(f.slots[0], 0, sizeof(*f.slots[0]));
	pin_set(f.slots[1], 0, store_epoch(f.writer), UINT64_MAX);
	store_retire(f.writer, refs[9], OBJECT);
	(void)store_reclaim(f.writer);
	assert_true(store_get_holder(f.writer, 1, days * 1000, &holder));
	assert_int_equal(holder.octets, OBJECT);
	assert_int_equal(holder.served, OBJECT);
	fixture_close(&f);
}

static void
ages_of_days_are_nearly_right(void **state)
{
	const int64_t days = 3 * 24 * 3600;
	uint64_t first;
	struct fixture f;

	fixture_open(&f);
	first = f.writer->header->epoch;
	for (int64_t sec = 0; sec < days; sec++) {
		ages_note(f.writer, sec * 1000);
		f.writer->header->epoch++;
	}
	for (int64_t sec = 0; sec + 1 < days; sec += 7) {
		/* The epoch ended by the next second. */
		int64_t age = (days - sec - 1) * 1000;
		int64_t told = ages_get(f.writer, first + (uint64_t)sec,
			days * 1000);

		assert_true(told <= age);
		assert_true(told >= age - age / 7 - 1000);
	}
	assert_int_equal(ages_get(f.writer, f.writer->header->epoch,
		days * 1000), 0);
	assert_int_equal(store_find_epoch(f.writer, days * 2000, days * 1000),
		0);
	f.writer->header->epoch = first;
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pins_that_change_seem_to_keep_no_less),
		cmocka_unit_test(
			pins_without_number_are_those_of_their_readers),
		cmocka_unit_test(few_pins_are_told_from_those_without_number),
		cmocka_unit_test(reader_that_stays_online_keeps_all_since),
		cmocka_unit_test(pins_that_change_seem_no_younger),
		cmocka_unit_test(newer_pin_keeps_less),
		cmocka_unit_test(what_was_served_counts_since_the_epoch),
		cmocka_unit_test(ages_of_days_are_nearly_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
