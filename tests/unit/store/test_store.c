/* test_store.c - the store's allocator, its growth, and its grace periods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store.h"
#include "store/writer.h"

struct fixture {
	struct store *store;
	struct store_writer *writer;
};

static void
fixture_open(struct fixture *f, size_t reservation, bool huge)
{
	struct store_options options = {
		.reservation = reservation,
		.reader_max = 4,
		.huge_pages = huge,
		.poison = true,
	};

	assert_int_equal(store_create(&options, &f->store), NSD_OK);
	assert_int_equal(store_writer_open(f->store, &f->writer), NSD_OK);
}

static void
fixture_close(struct fixture *f)
{
	store_writer_close(f->writer);
	store_destroy(f->store);
}

static uint64_t
live(struct fixture *f)
{
	struct store_stats stats;

	store_get_stats(f->writer, &stats);
	return stats.live;
}

static uint64_t
mapped(struct fixture *f)
{
	struct store_stats stats;

	store_get_stats(f->writer, &stats);
	return stats.mapped;
}

static uint64_t
rng_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Whether the kernel leaves what is mapped there out of core files: "dd" among
 * the flags of the mapping, see proc_pid_smaps(5). */
static bool
is_kept_from_core(const void *address)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	uintptr_t at = (uintptr_t)address;
	unsigned long start, end;
	bool inside = false, kept = false;
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = at >= start && at < end;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			kept = strstr(line, " dd") != NULL;
	}
	fclose(f);
	return kept;
}

/* A core of a writer would read the store's holes, and so fill them. */
static void
store_is_in_no_core_file(void **state)
{
	static const size_t sizes[] = {(size_t)64 << 20, (size_t)1 << 30};
	struct fixture f;

	for (unsigned i = 0; i < 2; i++) {
		fixture_open(&f, sizes[i], false);
		assert_true(is_kept_from_core(
			store_writer_view(f.writer)->base));
		fixture_close(&f);
	}
}

static void
store_counts_its_readers(void **state)
{
	struct store_reader *first, *second;
	struct fixture f;

	fixture_open(&f, 0, false);
	assert_int_equal(store_count_readers(f.writer), 0);
	assert_int_equal(store_reader_open(f.store, 0, "one", &first), NSD_OK);
	assert_int_equal(store_reader_open(f.store, 3, "two", &second), NSD_OK);
	assert_int_equal(store_count_readers(f.writer), 2);
	store_reader_close(first);
	assert_int_equal(store_count_readers(f.writer), 1);
	/* The second reader counts as dead. */
	store_reader_clear(f.store, 3);
	assert_int_equal(store_count_readers(f.writer), 0);
	store_reader_close(second);
	fixture_close(&f);
}

static void
store_small_takes_little(void **state)
{
	struct fixture f;
	store_ref ref;

	fixture_open(&f, 0, true);
	assert_non_null(store_alloc(store_writer_heap(f.writer), 100, &ref));
	assert_true(ref != STORE_NONE);
	assert_int_equal(live(&f), 104);
	assert_true(mapped(&f) <= 128 << 10);
	store_free(store_writer_heap(f.writer), ref, 100);
	assert_int_equal(live(&f), 0);
	fixture_close(&f);
}

#define OBJECTS 4000

struct object {
	store_ref ref;
	uint32_t len;
	uint8_t fill;
};

static void
object_check(const struct store_view *view, const struct object *o)
{
	const uint8_t *p = store_get(view, o->ref);

	for (uint32_t i = 0; i < o->len; i++)
		if (p[i] != o->fill)
			fail_msg("object of %u octets overwritten at %u",
				o->len, i);
}

static uint32_t
random_len(uint64_t *rng)
{
	uint64_t kind = rng_next(rng) % 100;

	if (kind < 90)
		return 1 + (uint32_t)(rng_next(rng) % 300);
	if (kind < 99)
		return 1 + (uint32_t)(rng_next(rng) % 20000);
	return 1 + (uint32_t)(rng_next(rng) % 400000);
}

/* Objects never overlap, keep their contents, and all memory comes back. */
static void
churn(uint64_t seed, bool huge)
{
	static struct object objects[OBJECTS];
	struct fixture f;
	struct store_heap *heaps[3];
	uint64_t rng = seed;
	uint64_t sum = 0;

	print_message("seed %llu\n", (unsigned long long)seed);
	memset(objects, 0, sizeof(objects));
	fixture_open(&f, 0, huge);
	heaps[0] = store_writer_heap(f.writer);
	assert_int_equal(store_heap_create(f.writer, &heaps[1]), NSD_OK);
	assert_int_equal(store_heap_create(f.writer, &heaps[2]), NSD_OK);
	for (int i = 0; i < 60000; i++) {
		struct object *o = &objects[rng_next(&rng) % OBJECTS];
		struct store_heap *heap = heaps[rng_next(&rng) % 3];

		if (o->len != 0) {
			object_check(store_writer_view(f.writer), o);
			store_free(heap, o->ref, o->len);
			sum -= (o->len + 7) & ~7u;
			o->len = 0;
		} else {
			uint8_t *p;

			o->len = random_len(&rng);
			p = store_alloc(heap, o->len, &o->ref);
			assert_non_null(p);
			o->fill = (uint8_t)rng_next(&rng);
			memset(p, o->fill, o->len);
			sum += (o->len + 7) & ~7u;
		}
		if (i % 10000 == 0) {
			assert_int_equal(live(&f), sum);
			store_trim(f.writer);
		}
	}
	for (int i = 0; i < OBJECTS; i++) {
		if (objects[i].len == 0)
			continue;
		object_check(store_writer_view(f.writer), &objects[i]);
		store_free(heaps[0], objects[i].ref, objects[i].len);
	}
	assert_int_equal(live(&f), 0);
	store_heap_destroy(heaps[1]);
	store_heap_destroy(heaps[2]);
	assert_int_equal(live(&f), 0);
	store_trim(f.writer);
	/* The header, bitmaps and a span of the heap remain. */
	assert_true(mapped(&f) <= 512 << 10);
	fixture_close(&f);
}

static void
store_objects_never_overlap(void **state)
{
	churn(1, false);
	churn(88172645463325252u, true);
	churn(3, true);
}

static void
store_sizes_at_the_edges(void **state)
{
	static const size_t sizes[] = { 1, 7, 8, 9, 16383, 16384, 16385, 65528,
		65536, 65537, 131072, 2097152, 2097153, 10000000 };
	struct fixture f;
	store_ref refs[sizeof(sizes) / sizeof(sizes[0])];
	struct store_heap *heap;
	store_ref ref = 12345;

	fixture_open(&f, 0, true);
	heap = store_writer_heap(f.writer);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			uint8_t *p = store_alloc(heap, sizes[i], &refs[i]);

			assert_non_null(p);
			assert_int_equal((uintptr_t)p % 8, 0);
			memset(p, (int)i, sizes[i]);
		}
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct object o = { refs[i], (uint32_t)sizes[i],
				(uint8_t)i };

			object_check(store_writer_view(f.writer), &o);
			store_free(heap, refs[i], sizes[i]);
		}
		assert_int_equal(live(&f), 0);
	}
	assert_null(store_alloc(heap, (size_t)STORE_OBJECT_MAX + 1, &ref));
	assert_int_equal(ref, 12345);
	fixture_close(&f);
}

static uint32_t
zone_object_len(uint64_t *rng)
{
	uint64_t kind = rng_next(rng) % 100;

	if (kind < 70)
		return 24 + (uint32_t)(rng_next(rng) % 80);
	if (kind < 95)
		return 12 * (2 + (uint32_t)(rng_next(rng) % 8));
	if (kind < 99)
		return 200 + (uint32_t)(rng_next(rng) % 400);
	return 1000 + (uint32_t)(rng_next(rng) % 3000);
}

/* However often objects of many sizes are replaced, holes get used. */
static void
store_churn_keeps_memory_in_use(void **state)
{
	enum { COUNT = 50000, ROUNDS = 8 };
	struct object *objects = calloc(COUNT, sizeof(*objects));
	struct store_heap *heap;
	struct store_stats stats;
	struct fixture f;
	uint64_t rng = 7;

	assert_non_null(objects);
	fixture_open(&f, 0, false);
	heap = store_writer_heap(f.writer);
	for (int i = 0; i < COUNT * ROUNDS; i++) {
		struct object *o = &objects[rng_next(&rng) % COUNT];

		store_free(heap, o->ref, o->len);
		o->len = zone_object_len(&rng);
		assert_non_null(store_alloc(heap, o->len, &o->ref));
	}
	store_get_stats(f.writer, &stats);
	print_message("%.2f of the memory in use\n",
		(double)stats.live / (double)(stats.live + stats.free));
	assert_true(stats.live * 2 > stats.free + stats.live);
	fixture_close(&f);
	free(objects);
}

static void
store_full_gives_null_and_goes_on(void **state)
{
	struct fixture f;
	struct store_heap *heap;
	store_ref *refs = calloc(70000, sizeof(*refs));
	store_ref ref;
	size_t count = 0;

	assert_non_null(refs);
	fixture_open(&f, (size_t)64 << 20, false);
	heap = store_writer_heap(f.writer);
	while (store_alloc(heap, 1000, &refs[count]) != NULL)
		count++;
	assert_true(count > 60000 && count < 67109);
	assert_null(store_alloc(heap, 1000, &ref));
	assert_null(store_alloc(heap, 5000000, &ref));
	for (size_t i = 0; i < count; i++)
		store_free(heap, refs[i], 1000);
	assert_non_null(store_alloc(heap, 5000000, &ref));
	assert_non_null(store_alloc(heap, 1000, &ref));
	fixture_close(&f);
	free(refs);
}

/* ---- grace periods */

static store_ref
publish_new(struct fixture *f, uint64_t value)
{
	store_ref ref, old;
	uint64_t *p = store_alloc(store_writer_heap(f->writer), 64, &ref);

	assert_non_null(p);
	*p = value;
	old = store_root(store_writer_view(f->writer), STORE_ROOT_ZONES);
	store_publish(f->writer, STORE_ROOT_ZONES, ref);
	store_retire(f->writer, old, 64);
	return ref;
}

static uint64_t
value_of(struct store_reader *reader, store_ref ref)
{
	return *(const uint64_t *)store_get(store_reader_view(reader), ref);
}

static void
store_retired_waits_for_readers(void **state)
{
	struct fixture f;
	struct store_reader *a, *b;
	store_ref first, second;

	fixture_open(&f, 0, false);
	assert_int_equal(store_reader_open(f.store, 0, "a", &a), NSD_OK);
	assert_int_equal(store_reader_open(f.store, 1, "b", &b), NSD_OK);
	first = publish_new(&f, 1);
	store_reader_online(a);
	second = publish_new(&f, 2);
	assert_int_equal(store_reclaim(f.writer), 64);
	assert_int_equal(value_of(a, first), 1);
	/* A later reader holds nothing back. */
	store_reader_online(b);
	assert_int_equal(store_reclaim(f.writer), 64);
	store_reader_quiescent(a);
	assert_int_equal(store_reclaim(f.writer), 0);
	assert_true(value_of(a, first) != 1);
	assert_int_equal(value_of(a, second), 2);
	/* Offline counts as quiescent, and a quiescent one may come back. */
	publish_new(&f, 3);
	store_reader_offline(a);
	assert_int_equal(store_reclaim(f.writer), 64);
	store_reader_offline(b);
	assert_int_equal(store_reclaim(f.writer), 0);
	store_reader_quiescent(a);
	first = store_root(store_reader_view(a), STORE_ROOT_ZONES);
	publish_new(&f, 4);
	assert_int_equal(store_reclaim(f.writer), 64);
	assert_int_equal(value_of(a, first), 3);
	store_reader_close(a);
	assert_int_equal(store_reclaim(f.writer), 0);
	store_reader_close(b);
	fixture_close(&f);
}

static void
store_pin_holds_a_version(void **state)
{
	struct fixture f;
	struct store_reader *a;
	struct store_pin one, two;
	store_ref first, second;

	fixture_open(&f, 0, false);
	assert_int_equal(store_reader_open(f.store, 0, "a", &a), NSD_OK);
	assert_int_equal(store_reader_pin(a, &one), NSD_E_BUG);
	first = publish_new(&f, 1);
	store_reader_online(a);
	assert_int_equal(store_reader_pin(a, &one), NSD_OK);
	second = publish_new(&f, 2);
	assert_int_equal(store_reclaim(f.writer), 64);
	store_reader_quiescent(a);
	assert_int_equal(store_reader_pin(a, &two), NSD_OK);
	publish_new(&f, 3);
	store_reader_quiescent(a);
	store_reader_offline(a);
	assert_int_equal(store_reclaim(f.writer), 128);
	assert_int_equal(value_of(a, first), 1);
	store_reader_unpin(a, &one);
	assert_int_equal(store_reclaim(f.writer), 64);
	assert_int_equal(value_of(a, second), 2);
	store_reader_unpin(a, &two);
	assert_int_equal(store_reclaim(f.writer), 0);
	store_reader_close(a);
	fixture_close(&f);
}

/* ---- other processes */

/* A child that maps the store, tells so, and waits to be killed or told to
 * end through the pipe. */
static pid_t
fork_reader(struct store *store, unsigned slot, int *to, int *from)
{
	int in[2], out[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct store_reader *r;
		store_ref ref;
		uint64_t v;

		close(in[1]);
		close(out[0]);
		if (store_reader_open(store, slot, "child", &r) != NSD_OK)
			_exit(10);
		store_reader_online(r);
		ref = store_root(store_reader_view(r), STORE_ROOT_ZONES);
		v = *(const uint64_t *)store_get(store_reader_view(r), ref);
		if (write(out[1], "o", 1) != 1 || read(in[0], &c, 1) < 0)
			_exit(11);
		if (*(const uint64_t *)store_get(store_reader_view(r), ref)
			!= v)
			_exit(12);
		/* No way to a writable mapping is left. */
		if (mprotect((void *)(uintptr_t)store_reader_view(r)->base,
			    4096, PROT_READ | PROT_WRITE)
			== 0)
			_exit(13);
		if (store_writer_open(store, &(struct store_writer *){ NULL })
			!= NSD_E_DENIED)
			_exit(14);
		_exit(0);
	}
	close(in[0]);
	close(out[1]);
	assert_int_equal(read(out[0], &c, 1), 1);
	*to = in[1];
	*from = out[0];
	return pid;
}

static void
store_child_reads_and_cannot_write(void **state)
{
	struct fixture f;
	int to, from, status;
	pid_t pid;

	fixture_open(&f, 0, false);
	publish_new(&f, 1);
	pid = fork_reader(f.store, 2, &to, &from);
	publish_new(&f, 2);
	assert_int_equal(store_reclaim(f.writer), 64);
	close(to);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(from);
	fixture_close(&f);
}

static void
store_killed_reader_holds_back_until_cleared(void **state)
{
	struct fixture f;
	int to, from, status;
	pid_t pid;

	fixture_open(&f, 0, false);
	publish_new(&f, 1);
	pid = fork_reader(f.store, 2, &to, &from);
	publish_new(&f, 2);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(store_reclaim(f.writer), 64);
	store_reader_clear(f.store, 2);
	assert_int_equal(store_reclaim(f.writer), 0);
	close(to);
	close(from);
	fixture_close(&f);
}

/* A writer that dies leaves the published version; the next one goes on. */
static void
store_killed_writer_is_succeeded(void **state)
{
	struct store_options options = { .reader_max = 2 };
	struct fixture f = { 0 };
	struct store_reader *reader;
	store_ref ref;
	int status;
	pid_t pid;

	assert_int_equal(store_create(&options, &f.store), NSD_OK);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (store_writer_open(f.store, &f.writer) != NSD_OK)
			_exit(1);
		publish_new(&f, 41);
		publish_new(&f, 42);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(store_reader_open(f.store, 0, "r", &reader), NSD_OK);
	assert_int_equal(store_writer_open(f.store, &f.writer), NSD_OK);
	store_reader_online(reader);
	ref = store_root(store_reader_view(reader), STORE_ROOT_ZONES);
	assert_int_equal(value_of(reader, ref), 42);
	for (int i = 0; i < 100000; i++)
		publish_new(&f, 7);
	assert_int_equal(value_of(reader, ref), 42);
	store_reader_close(reader);
	assert_int_equal(store_reclaim(f.writer), 0);
	fixture_close(&f);
}

/* Objects of a writer that died: a third stays, the others are swept. */
static void
store_sweep_frees_what_is_not_marked(void **state)
{
	static struct object objects[1000];
	struct store_options options = { .reader_max = 2 };
	struct fixture f = { 0 };
	struct store_reader *reader;
	struct store_sweep *sweep;
	uint64_t rng = 5, kept = 0, octets = 0;
	store_ref ref;

	assert_int_equal(store_create(&options, &f.store), NSD_OK);
	assert_int_equal(store_writer_open(f.store, &f.writer), NSD_OK);
	for (int i = 0; i < 1000; i++) {
		struct object *o = &objects[i];
		uint8_t *p;

		o->len = random_len(&rng);
		o->fill = (uint8_t)i;
		p = store_alloc(store_writer_heap(f.writer), o->len, &o->ref);
		assert_non_null(p);
		memset(p, o->fill, o->len);
		if (i % 3 == 0)
			kept += (o->len + 7) & ~7u;
	}
	store_writer_close(f.writer);
	assert_int_equal(store_reader_open(f.store, 0, "r", &reader), NSD_OK);
	store_reader_online(reader);
	assert_int_equal(store_writer_open(f.store, &f.writer), NSD_OK);
	/* An object of the new writer must be kept as well. */
	assert_non_null(
		store_alloc(store_writer_heap(f.writer), 1000, &ref));
	assert_int_equal(store_sweep_begin(f.writer, &sweep), NSD_OK);
	assert_true(store_sweep_mark(sweep, ref, 1000));
	for (int i = 0; i < 1000; i += 3) {
		assert_true(store_sweep_mark(sweep, objects[i].ref,
			objects[i].len));
		assert_false(store_sweep_mark(sweep, objects[i].ref,
			objects[i].len));
	}
	assert_int_equal(store_sweep_end(sweep, &octets), NSD_OK);
	assert_int_equal(live(&f), kept + 1000);
	assert_int_equal(store_reclaim(f.writer), octets);
	store_reader_close(reader);
	assert_int_equal(store_reclaim(f.writer), 0);
	for (int i = 0; i < 1000; i++) {
		uint8_t *p = store_alloc(store_writer_heap(f.writer), 777,
			&ref);

		assert_non_null(p);
		memset(p, 0xff, 777);
	}
	for (int i = 0; i < 1000; i += 3)
		object_check(store_writer_view(f.writer), &objects[i]);
	fixture_close(&f);
}

static void
store_sweep_tells_damage(void **state)
{
	struct fixture f;
	struct store_sweep *sweep;
	store_ref ref;
	uint64_t octets;

	fixture_open(&f, 0, false);
	assert_non_null(store_alloc(store_writer_heap(f.writer), 64, &ref));
	for (int i = 0; i < 5; i++) {
		static const int ref_add[] = { 1, 0, 0, -100000, 900000 };
		static const size_t lens[] = { 64, 72, 8, 8, 8 };

		assert_int_equal(store_sweep_begin(f.writer, &sweep), NSD_OK);
		store_sweep_mark(sweep, ref + (store_ref)ref_add[i], lens[i]);
		if (i == 2)
			store_sweep_mark(sweep, ref + 1, 64);
		assert_int_equal(store_sweep_end(sweep, &octets), NSD_E_BUG);
		assert_int_equal(live(&f), 64);
	}
	fixture_close(&f);
}

static void
store_reader_slot_out_of_range(void **state)
{
	struct fixture f;
	struct store_reader *reader;

	fixture_open(&f, 0, false);
	assert_int_equal(store_reader_open(f.store, 4, "r", &reader),
		NSD_E_LIMIT);
	store_reader_clear(f.store, 4);
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_is_in_no_core_file),
		cmocka_unit_test(store_counts_its_readers),
		cmocka_unit_test(store_small_takes_little),
		cmocka_unit_test(store_objects_never_overlap),
		cmocka_unit_test(store_sizes_at_the_edges),
		cmocka_unit_test(store_churn_keeps_memory_in_use),
		cmocka_unit_test(store_full_gives_null_and_goes_on),
		cmocka_unit_test(store_retired_waits_for_readers),
		cmocka_unit_test(store_pin_holds_a_version),
		cmocka_unit_test(store_child_reads_and_cannot_write),
		cmocka_unit_test(store_killed_reader_holds_back_until_cleared),
		cmocka_unit_test(store_killed_writer_is_succeeded),
		cmocka_unit_test(store_sweep_frees_what_is_not_marked),
		cmocka_unit_test(store_sweep_tells_damage),
		cmocka_unit_test(store_reader_slot_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
