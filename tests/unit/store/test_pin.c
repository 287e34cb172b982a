/* test_pin.c - memory that a pinned version holds back, and the holder that
 * is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <unistd.h>

#include "lib/chance.h"
#include "store/store.h"
#include "store/writer.h"

#define OBJECTS 4000u
#define OBJECT 64u
#define ALL ((uint64_t)OBJECTS * OBJECT)

/* A version: the root refers to references of objects that are all filled with
 * their own. */
struct version {
	store_ref refs[OBJECTS];
};

struct fixture {
	struct store *store;
	struct store_writer *writer;
	struct store_reader *reader;
	struct store_reader *other;
	store_ref objects[OBJECTS];
	uint64_t rng;
};

static uint64_t
rng_next(struct fixture *f)
{
	return chance_next(&f->rng);
}

static store_ref
object_make(struct fixture *f)
{
	store_ref ref;
	store_ref *p = store_alloc(store_writer_heap(f->writer), OBJECT, &ref);

	assert_non_null(p);
	for (unsigned i = 0; i < OBJECT / sizeof(*p); i++)
		p[i] = ref;
	return ref;
}

static void
object_check(struct fixture *f, store_ref ref)
{
	const store_ref *p = store_get(store_writer_view(f->writer), ref);

	for (unsigned i = 0; i < OBJECT / sizeof(*p); i++)
		assert_int_equal(p[i], ref);
}

/* Replaces some objects in a version of their own. */
static void
update(struct fixture *f, unsigned count)
{
	store_ref ref, old = store_root(store_writer_view(f->writer),
		STORE_ROOT_ZONES);
	struct version *v = store_alloc(store_writer_heap(f->writer),
		sizeof(*v), &ref);
	store_ref gone[OBJECTS];

	assert_non_null(v);
	assert_true(count <= OBJECTS);
	for (unsigned i = 0; i < count; i++) {
		unsigned at = (unsigned)(rng_next(f) % OBJECTS);

		gone[i] = f->objects[at];
		f->objects[at] = object_make(f);
	}
	memcpy(v->refs, f->objects, sizeof(v->refs));
	store_publish(f->writer, STORE_ROOT_ZONES, ref);
	for (unsigned i = 0; i < count; i++)
		store_retire(f->writer, gone[i], OBJECT);
	store_retire(f->writer, old, sizeof(*v));
}

static void
fixture_open(struct fixture *f)
{
	struct store_options options = { .reader_max = 3, .poison = true };

	memset(f, 0, sizeof(*f));
	f->rng = 4711;
	assert_int_equal(store_create(&options, &f->store), NSD_OK);
	assert_int_equal(store_writer_open(f->store, &f->writer), NSD_OK);
	assert_int_equal(store_reader_open(f->store, 1, "server 1", &f->reader),
		NSD_OK);
	assert_int_equal(store_reader_open(f->store, 2, "bad\nname",
				 &f->other),
		NSD_OK);
	for (unsigned i = 0; i < OBJECTS; i++)
		f->objects[i] = object_make(f);
	update(f, 0);
	store_reclaim(f->writer);
}

static void
fixture_close(struct fixture *f)
{
	struct store_stats stats;

	assert_int_equal(store_reclaim(f->writer), 0);
	store_get_stats(f->writer, &stats);
	assert_int_equal(stats.live, ALL + sizeof(struct version));
	assert_int_equal(stats.retired_total, stats.reclaimed_total);
	assert_int_equal(stats.pins, 0);
	store_reader_close(f->reader);
	store_reader_close(f->other);
	store_writer_close(f->writer);
	store_destroy(f->store);
}

/* Takes a pin, and the version that it is for. */
static struct version *
pin_take(struct fixture *f, struct store_pin *pin)
{
	struct version *copy = malloc(sizeof(*copy));
	const struct store_view *view = store_reader_view(f->reader);

	assert_non_null(copy);
	store_reader_online(f->reader);
	assert_int_equal(store_reader_pin(f->reader, pin), NSD_OK);
	memcpy(copy, store_get(view, store_root(view, STORE_ROOT_ZONES)),
		sizeof(*copy));
	store_reader_offline(f->reader);
	return copy;
}

static void
pin_drop(struct fixture *f, struct store_pin *pin, struct version *version)
{
	for (unsigned i = 0; i < OBJECTS; i++)
		object_check(f, version->refs[i]);
	store_reader_unpin(f->reader, pin);
	free(version);
}

static void
pin_needs_a_reader_online(void **state)
{
	struct fixture f;
	struct store_pin pin;

	fixture_open(&f);
	assert_int_equal(store_reader_pin(f.reader, &pin), NSD_E_BUG);
	fixture_close(&f);
}

/* However long it lasts, it holds no more than what there was when it was
 * taken, and what came into the holes of that. */
static void
pin_holds_back_what_it_can_see(void **state)
{
	struct fixture f;
	struct store_pin pin;
	struct version *version;
	struct store_stats before, stats;
	size_t waiting = 0;

	fixture_open(&f);
	store_get_stats(f.writer, &before);
	version = pin_take(&f, &pin);
	for (int i = 0; i < 20000; i++) {
		update(&f, 20);
		waiting = store_reclaim(f.writer);
	}
	store_get_stats(f.writer, &stats);
	print_message("%.1f MB came and went, %.1f MB wait for %.1f MB\n",
		(double)stats.retired_total / 1e6, (double)waiting / 1e6,
		(double)ALL / 1e6);
	assert_true(waiting >= ALL * 9 / 10);
	assert_true(waiting <= before.live + before.free);
	assert_int_equal(stats.pins, 1);
	pin_drop(&f, &pin, version);
	fixture_close(&f);
}

/* Objects built after the pin are not part of the pinned version, even if
 * nothing was retired in between. */
static void
pin_does_not_hold_what_is_built_in_a_new_epoch(void **state)
{
	struct fixture f;
	struct store_pin pin;
	struct version *version;
	struct store_stats before;
	size_t waiting = 0;

	fixture_open(&f);
	store_get_stats(f.writer, &before);
	version = pin_take(&f, &pin);
	store_end_epoch(f.writer);
	for (int i = 0; i < 20; i++) {
		update(&f, OBJECTS);
		waiting = store_reclaim(f.writer);
	}
	assert_true(waiting > 0);
	assert_true(waiting <= before.live + before.free);
	pin_drop(&f, &pin, version);
	fixture_close(&f);
}

/* The reader is late: what it finds is newer than the epoch it is in. */
static void
pin_holds_what_is_newer_than_its_reader(void **state)
{
	struct fixture f;
	struct store_pin pin;
	struct version *version;

	fixture_open(&f);
	store_reader_online(f.reader);
	for (int i = 0; i < 100; i++) {
		update(&f, 400);
		store_reclaim(f.writer);
	}
	assert_int_equal(store_reader_pin(f.reader, &pin), NSD_OK);
	version = malloc(sizeof(*version));
	assert_non_null(version);
	memcpy(version->refs, f.objects, sizeof(version->refs));
	store_reader_quiescent(f.reader);
	for (int i = 0; i < 100; i++) {
		update(&f, 400);
		store_reclaim(f.writer);
		store_reader_quiescent(f.reader);
	}
	pin_drop(&f, &pin, version);
	store_reader_offline(f.reader);
	fixture_close(&f);
}

/* A long one and short ones beside it. */
static void
pin_beside_others_holds_its_own(void **state)
{
	struct fixture f;
	struct store_pin pin, pins[4];
	struct version *version, *versions[4] = { NULL };
	struct store_stats before;
	size_t most = 0;

	fixture_open(&f);
	store_get_stats(f.writer, &before);
	version = pin_take(&f, &pin);
	for (int i = 0; i < 4000; i++) {
		unsigned k = (unsigned)(i / 10 % 4);
		size_t waiting;

		if (i % 10 == 0 && versions[k] != NULL)
			pin_drop(&f, &pins[k], versions[k]);
		if (i % 10 == 0)
			versions[k] = pin_take(&f, &pins[k]);
		update(&f, 40);
		waiting = store_reclaim(f.writer);
		if (waiting > most)
			most = waiting;
	}
	/* A short pin holds 40 updates at most. */
	print_message("at most %.1f MB wait\n", (double)most / 1e6);
	assert_true(most <= before.live + before.free
			+ 50 * (40 * OBJECT + sizeof(struct version)) * 4);
	for (unsigned k = 0; k < 4; k++)
		pin_drop(&f, &pins[k], versions[k]);
	pin_drop(&f, &pin, version);
	fixture_close(&f);
}

/* More than a slot has places for. */
static void
pins_without_number_hold_their_versions(void **state)
{
	static struct fixture f;
	static struct store_pin pins[600];
	static struct version *versions[600];

	fixture_open(&f);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 600; i++)
			if (versions[i] == NULL) {
				versions[i] = pin_take(&f, &pins[i]);
				update(&f, 5);
				store_reclaim(f.writer);
			}
		for (unsigned i = 0; i < 600; i++)
			if (rng_next(&f) % 2 == 0) {
				pin_drop(&f, &pins[i], versions[i]);
				versions[i] = NULL;
				update(&f, 5);
				store_reclaim(f.writer);
			}
	}
	for (unsigned i = 0; i < 600; i++)
		if (versions[i] != NULL)
			pin_drop(&f, &pins[i], versions[i]);
	fixture_close(&f);
}

static void
pin_of_a_dead_reader_goes_when_cleared(void **state)
{
	struct fixture f;
	struct store_pin pin;

	fixture_open(&f);
	free(pin_take(&f, &pin));
	update(&f, 100);
	assert_true(store_reclaim(f.writer) > 0);
	store_reader_clear(f.store, 1);
	fixture_close(&f);
}

/* ---- holders */

static void
holder_is_named_with_its_age(void **state)
{
	struct fixture f;
	struct store_holder holder;
	struct store_pin pin, same;
	struct version *version, *again;
	size_t waiting;

	fixture_open(&f);
	store_reader_online(f.other);
	/* There is nothing to hold back. */
	assert_false(store_find_holder(f.writer, 1000, &holder));
	update(&f, 10);
	waiting = store_reclaim(f.writer);
	assert_true(store_find_holder(f.writer, 2000, &holder));
	assert_int_equal(holder.age_msec, 0);
	assert_int_equal(holder.slot, 2);
	assert_int_equal(holder.pid, getpid());
	assert_string_equal(holder.name, "bad?name");
	assert_false(holder.pinned);
	assert_int_equal(holder.octets, waiting);
	version = pin_take(&f, &pin);
	again = pin_take(&f, &same);
	update(&f, 10);
	waiting = store_reclaim(f.writer);
	assert_true(store_find_holder(f.writer, 5500, &holder));
	assert_int_equal(holder.slot, 2);
	assert_int_equal(holder.age_msec, 3500);
	assert_int_equal(holder.octets, waiting);
	/* The pin is left. */
	store_reader_quiescent(f.other);
	waiting = store_reclaim(f.writer);
	assert_true(waiting > 0);
	assert_true(store_find_holder(f.writer, 6000, &holder));
	assert_int_equal(holder.slot, 1);
	assert_string_equal(holder.name, "server 1");
	assert_true(holder.pinned);
	assert_int_equal(holder.octets, waiting);
	assert_true(store_find_holder(f.writer, 9000, &holder));
	assert_int_equal(holder.age_msec, 3500);
	pin_drop(&f, &same, again);
	pin_drop(&f, &pin, version);
	store_reclaim(f.writer);
	assert_false(store_find_holder(f.writer, 10000, &holder));
	/* A reader that moves on is never old. */
	for (int i = 0; i < 5; i++) {
		store_reader_quiescent(f.other);
		update(&f, 1);
		store_reclaim(f.writer);
		assert_true(store_find_holder(f.writer, 20000 + i * 1000,
			&holder));
		assert_int_equal(holder.age_msec, 0);
	}
	store_reader_offline(f.other);
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pin_needs_a_reader_online),
		cmocka_unit_test(pin_holds_back_what_it_can_see),
		cmocka_unit_test(
			pin_does_not_hold_what_is_built_in_a_new_epoch),
		cmocka_unit_test(pin_holds_what_is_newer_than_its_reader),
		cmocka_unit_test(pin_beside_others_holds_its_own),
		cmocka_unit_test(pins_without_number_hold_their_versions),
		cmocka_unit_test(pin_of_a_dead_reader_goes_when_cleared),
		cmocka_unit_test(holder_is_named_with_its_age),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
