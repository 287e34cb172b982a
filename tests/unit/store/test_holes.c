/* test_holes.c - room among objects is used again, and pages among them go
 * back. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/chance.h"
#include "lib/store_check.h"
#include "store/store.h"
#include "store/writer.h"

#define OBJECTS 3000

struct object {
	store_ref ref;
	uint32_t len;
	uint8_t fill;
};

struct fixture {
	struct store *store;
	struct store_writer *writer;
	struct store_heap *heap;
};

static struct object objects[OBJECTS];

static void
fixture_open(struct fixture *f, bool huge)
{
	struct store_options options = { .reader_max = 1,
		.huge_pages = huge, .poison = true };

	memset(objects, 0, sizeof(objects));
	assert_int_equal(store_create(&options, &f->store), NSD_OK);
	assert_int_equal(store_writer_open(f->store, &f->writer), NSD_OK);
	f->heap = store_writer_heap(f->writer);
}

static void
fixture_close(struct fixture *f)
{
	store_writer_close(f->writer);
	store_destroy(f->store);
}

static void
fixture_succeed(struct fixture *f)
{
	store_writer_close(f->writer);
	assert_int_equal(store_writer_open(f->store, &f->writer), NSD_OK);
	f->heap = store_writer_heap(f->writer);
}

static struct store_stats
stats(struct fixture *f)
{
	struct store_stats s;

	store_get_stats(f->writer, &s);
	return s;
}

static void
object_make(struct fixture *f, struct object *o, uint32_t len)
{
	static uint8_t fill;
	uint8_t *p = store_alloc(f->heap, len, &o->ref);

	assert_non_null(p);
	o->len = len;
	o->fill = fill++;
	memset(p, o->fill, len);
}

static void
object_check(struct fixture *f, const struct object *o)
{
	const uint8_t *p = store_get(store_writer_view(f->writer), o->ref);

	for (uint32_t i = 0; i < o->len; i++)
		if (p[i] != o->fill)
			fail_msg("object of %u octets overwritten at %u",
				o->len, i);
}

static void
object_free(struct fixture *f, struct object *o)
{
	if (o->len == 0)
		return;
	object_check(f, o);
	store_free(f->heap, o->ref, o->len);
	o->len = 0;
}

static void
mark_objects(struct store_writer *writer, struct store_sweep *sweep)
{
	(void)writer;
	for (unsigned i = 0; i < OBJECTS; i++)
		if (objects[i].len != 0)
			(void)store_sweep_mark(sweep, objects[i].ref,
				objects[i].len);
}

static void
check_store(struct fixture *f)
{
	const char *wrong = store_check(f->writer, mark_objects);

	if (wrong != NULL)
		fail_msg("%s", wrong);
	for (unsigned i = 0; i < OBJECTS; i++)
		object_check(f, &objects[i]);
}

/* The hole that fits best, of those the first; not the end of the store. */
static void
hole_that_fits_is_used_first(void **state)
{
	static const unsigned freed[] = { 1500, 40, 900, 43 };
	struct fixture f;
	store_ref was[4];
	struct object o;

	fixture_open(&f, false);
	for (unsigned i = 0; i < OBJECTS; i++)
		object_make(&f, &objects[i], i == 43 ? 72 : 40);
	for (unsigned i = 0; i < 4; i++) {
		was[i] = objects[freed[i]].ref;
		object_free(&f, &objects[freed[i]]);
	}
	object_make(&f, &o, 72);
	assert_int_equal(o.ref, was[3]);
	object_make(&f, &o, 33);
	assert_int_equal(o.ref, was[1]);
	object_make(&f, &o, 40);
	assert_int_equal(o.ref, was[2]);
	object_make(&f, &o, 40);
	assert_int_equal(o.ref, was[0]);
	fixture_close(&f);
}

/* Neighbours that are freed become one hole. */
static void
neighbours_become_one_hole(void **state)
{
	struct fixture f;
	store_ref first;
	struct object o;

	fixture_open(&f, false);
	for (unsigned i = 0; i < OBJECTS; i++)
		object_make(&f, &objects[i], 40);
	first = objects[100].ref;
	object_free(&f, &objects[100]);
	object_free(&f, &objects[102]);
	object_free(&f, &objects[101]);
	object_make(&f, &o, 120);
	assert_int_equal(o.ref, first);
	fixture_close(&f);
}

/* A writer that comes later finds the same holes. */
static void
holes_are_found_by_a_successor(void **state)
{
	struct fixture f;
	store_ref was;

	fixture_open(&f, false);
	for (unsigned i = 0; i < OBJECTS; i++)
		object_make(&f, &objects[i], 40 + i % 7 * 8);
	was = objects[700].ref;
	object_free(&f, &objects[700]);
	fixture_succeed(&f);
	check_store(&f);
	object_make(&f, &objects[700], 40);
	assert_int_equal(objects[700].ref, was);
	check_store(&f);
	fixture_close(&f);
}

static uint32_t
random_len(uint64_t *rng)
{
	switch (chance_next(rng) % 16) {
	case 0:
		return 1 + (uint32_t)(chance_next(rng) % 2000);
	case 1:
		return chance_next(rng) % 32 == 0
			? 1 + (uint32_t)(chance_next(rng) % 150000)
			: 1 + (uint32_t)(chance_next(rng) % 16000);
	default:
		return 8 + 8 * (uint32_t)(chance_next(rng) % 16);
	}
}

/* In any order: each hole is known, nothing overlaps, no page is missing. */
static void
holes_are_all_known(void **state)
{
	struct fixture f;

	for (uint64_t seed = 1; seed <= 2; seed++) {
		uint64_t rng = seed * 88172645463325252u;

		fixture_open(&f, seed == 2);
		for (unsigned i = 0; i < 60000; i++) {
			unsigned most = i / 10000 % 2 == 0 ? OBJECTS : 300;
			size_t which = chance_next(&rng) % OBJECTS;
			struct object *o = &objects[which];

			object_free(&f, o);
			if (o - objects < most)
				object_make(&f, o, random_len(&rng));
			if (chance_next(&rng) % 2000 == 0)
				store_trim(f.writer);
			if (chance_next(&rng) % 4000 == 0)
				check_store(&f);
		}
		check_store(&f);
		fixture_close(&f);
	}
}

/* Pages that no object lies in go back, though their span is in use, and come
 * again when they are needed. */
static void
pages_among_objects_go_back(void **state)
{
	struct fixture f;
	uint64_t before, after;

	fixture_open(&f, false);
	for (unsigned i = 0; i < OBJECTS; i++)
		object_make(&f, &objects[i], 512);
	store_trim(f.writer);
	before = stats(&f).mapped;
	for (unsigned i = 0; i < OBJECTS; i++)
		if (i % 64 >= 8)
			object_free(&f, &objects[i]);
	store_trim(f.writer);
	after = stats(&f).mapped;
	/* An eighth is in use, in runs that may begin within a page. */
	assert_true(before - after
		> (uint64_t)OBJECTS * 512 / 64 * (64 - 8 - 9));
	assert_true(stats(&f).free < 2 * stats(&f).live);
	check_store(&f);
	for (unsigned i = 0; i < OBJECTS; i++)
		if (objects[i].len == 0)
			object_make(&f, &objects[i], 512);
	check_store(&f);
	assert_true(stats(&f).mapped <= before + (64 << 10));
	fixture_close(&f);
}

/* A writer that comes later does not know which pages went back. They come
 * again before they are written to, and those that are left go back, too. */
static void
successor_makes_pages_that_went_back(void **state)
{
	struct fixture f;
	const char *wrong;

	fixture_open(&f, false);
	for (unsigned i = 0; i < OBJECTS; i++)
		object_make(&f, &objects[i], 512);
	for (unsigned i = 0; i < OBJECTS; i++)
		if (i % 64 >= 8)
			object_free(&f, &objects[i]);
	store_trim(f.writer);
	fixture_succeed(&f);
	for (unsigned i = 0; i < OBJECTS; i++)
		if (objects[i].len == 0) {
			objects[i].len = 512;
			assert_non_null(store_alloc(f.heap, 512,
				&objects[i].ref));
		}
	wrong = store_check(f.writer, mark_objects);
	if (wrong != NULL)
		fail_msg("%s", wrong);
	fixture_close(&f);
}

static void
successor_gives_back_what_was_left(void **state)
{
	struct fixture f;
	uint64_t before;

	fixture_open(&f, false);
	for (unsigned i = 0; i < OBJECTS; i++)
		object_make(&f, &objects[i], 512);
	for (unsigned i = 0; i < OBJECTS; i++)
		if (i % 64 >= 8)
			object_free(&f, &objects[i]);
	before = stats(&f).mapped;
	fixture_succeed(&f);
	store_trim(f.writer);
	assert_true(before - stats(&f).mapped
		> (uint64_t)OBJECTS * 512 / 64 * (64 - 8 - 9));
	check_store(&f);
	fixture_close(&f);
}

/* Without a trim: what is freed much of goes back bit by bit. */
static void
free_spans_go_back_by_themselves(void **state)
{
	struct fixture f;
	uint64_t before;

	fixture_open(&f, false);
	for (unsigned i = 0; i < OBJECTS; i++)
		object_make(&f, &objects[i], 8000);
	before = stats(&f).mapped;
	for (unsigned i = 0; i < OBJECTS; i++)
		if (i % 100 != 0) {
			object_check(&f, &objects[i]);
			store_retire(f.writer, objects[i].ref, 8000);
			objects[i].len = 0;
		}
	for (unsigned i = 0; i < 30; i++) {
		store_retire(f.writer, objects[0].ref, 8000);
		object_make(&f, &objects[0], 8000);
		(void)store_reclaim(f.writer);
	}
	assert_true(stats(&f).mapped < before / 2);
	check_store(&f);
	fixture_close(&f);
}

/* KiB of this process that are mapped as huge pages of files in memory. */
static unsigned long
huge_kib(void)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long kib, sum = 0;
	char line[256];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "ShmemPmdMapped: %lu", &kib) == 1)
			sum += kib;
	fclose(f);
	return sum;
}

/* Whether the kernel makes huge pages of a file in memory at all. */
static bool
kernel_collapses(void)
{
	size_t huge = 2u << 20;
	int fd = memfd_create("probe", 0);
	uint8_t *area = mmap(NULL, 2 * huge, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *at = area + (huge - (uintptr_t)area % huge) % huge;
	bool does;

	assert_true(fd >= 0 && area != MAP_FAILED);
	assert_int_equal(ftruncate(fd, (off_t)huge), 0);
	assert_true(mmap(at, huge, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, fd, 0)
		== at);
	memset(at, 1, huge);
	does = madvise(at, huge, 25 /* MADV_COLLAPSE */) == 0;
	munmap(area, 2 * huge);
	close(fd);
	return does;
}

/* Growing by whole extents: each is a huge page from the beginning. */
static void
large_stores_have_huge_pages(void **state)
{
	struct fixture f;

	if (!kernel_collapses())
		skip();
	fixture_open(&f, true);
	for (unsigned i = 0; i < OBJECTS; i++)
		object_make(&f, &objects[i], 8000);
	/* As many as there are is the kernel's affair. */
	assert_true(huge_kib() > 0);
	store_trim(f.writer);
	assert_true(huge_kib() > 0);
	check_store(&f);
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hole_that_fits_is_used_first),
		cmocka_unit_test(neighbours_become_one_hole),
		cmocka_unit_test(holes_are_found_by_a_successor),
		cmocka_unit_test(holes_are_all_known),
		cmocka_unit_test(pages_among_objects_go_back),
		cmocka_unit_test(successor_makes_pages_that_went_back),
		cmocka_unit_test(successor_gives_back_what_was_left),
		cmocka_unit_test(free_spans_go_back_by_themselves),
		cmocka_unit_test(large_stores_have_huge_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
