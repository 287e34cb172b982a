/* test_limits.c - the store where the system gives less than it asks for, and
 * heaps of several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/chance.h"
#include "store/state.h"
#include "store/store.h"
#include "store/writer.h"

/* Runs a part in a child, as limits cannot be raised again. */
static void
in_child(int (*part)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(60);
		_exit(part());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool
limit_set(int resource, rlim_t value)
{
	struct rlimit limit = { value, value };

	return setrlimit(resource, &limit) == 0;
}

/* True if what lacks is called by all these words. */
static bool
lack_says(struct store_writer *writer, const char *first, const char *second)
{
	char text[STORE_LACK_TEXT_MAX];

	store_explain_lack(writer, text, sizeof(text));
	if (strstr(text, first) != NULL && strstr(text, second) != NULL)
		return true;
	print_message("%s\n", text);
	return false;
}

/* The file may not grow: the pages for bitmaps and spans fail in turn. */
static int
file_limited(void)
{
	struct store_options options = { .reader_max = 1,
		.reservation = (size_t)64 << 20, .huge_pages = true };
	struct store *store;
	struct store_writer *writer;
	struct store_stats stats;
	store_ref ref, first = STORE_NONE;
	size_t count = 0;
	void *p;

	signal(SIGXFSZ, SIG_IGN);
	if (store_create(&options, &store) != NSD_OK
		|| store_writer_open(store, &writer) != NSD_OK)
		return 1;
	/* The spans start at 2 MiB; there is room for three MiB of them. */
	if (!limit_set(RLIMIT_FSIZE, 5 << 20))
		return 2;
	while ((p = store_alloc(store_writer_heap(writer), 100, &ref))
		!= NULL) {
		memset(p, 1, 100);
		if (first == STORE_NONE)
			first = ref;
		if (++count > 40000)
			return 3;
	}
	if (count < 29000)
		return 4;
	if (store_count_lacks(writer) != 1)
		return 8;
	if (store_alloc(store_writer_heap(writer), 100000, &ref) != NULL)
		return 5;
	if (store_count_lacks(writer) != 2
		|| !lack_says(writer, "larger than 5 MiB", "RLIMIT_FSIZE"))
		return 9;
	/* Memory that the store has can still be used. */
	store_free(store_writer_heap(writer), first, 100);
	if (store_alloc(store_writer_heap(writer), 100, &ref) == NULL)
		return 6;
	store_get_stats(writer, &stats);
	if (stats.live != count * 104)
		return 7;
	store_writer_close(writer);
	store_destroy(store);
	return 0;
}

static void
store_file_limit_gives_null(void **state)
{
	in_child(file_limited);
}

/* Little address space: a smaller reservation. */
static int
space_limited(void)
{
	struct store_options options = { .reader_max = 1 };
	struct store *store;
	struct store_writer *writer;
	struct store_reader *reader;
	store_ref ref;

	if (!limit_set(RLIMIT_AS, (rlim_t)3 << 30))
		return 1;
	if (store_create(&options, &store) != NSD_OK
		|| store_writer_open(store, &writer) != NSD_OK
		|| store_reader_open(store, 0, "r", &reader) != NSD_OK)
		return 2;
	for (int i = 0; i < 100000; i++) {
		void *p = store_alloc(store_writer_heap(writer), 100, &ref);

		if (p == NULL)
			return 3;
		memset(p, 1, 100);
	}
	store_reader_close(reader);
	store_writer_close(writer);
	store_destroy(store);
	return 0;
}

static int
space_none(void)
{
	struct store_options options = { .reader_max = 1 };
	struct store *store;

	if (!limit_set(RLIMIT_AS, (rlim_t)32 << 20))
		return 1;
	return store_create(&options, &store) == NSD_E_MEMORY ? 0 : 2;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

static void
store_space_limit_shrinks_reservation(void **state)
{
	/* A sanitizer's own address space is above any such limit. */
	if (sanitized)
		skip();
	in_child(space_limited);
	in_child(space_none);
}

/* No descriptors left: an error, and nothing stays open. */
static int
descriptors_limited(void)
{
	struct store_options options = { .reader_max = 1 };
	struct store *store;
	int first = dup(0);

	if (first < 0)
		return 1;
	close(first);
	for (int more = 0; more < 3; more++) {
		if (!limit_set(RLIMIT_NOFILE, (rlim_t)first + 2 - more))
			return 2;
		if (store_create(&options, &store) != NSD_E_SYSTEM)
			return 3;
		if (more == 2)
			break;
		if (dup(0) != first)
			return 4;
		close(first);
	}
	return 0;
}

static void
store_create_fails_without_descriptors(void **state)
{
	in_child(descriptors_limited);
}

/* Shortages that a test cannot cause: the kernel's error numbers stand for
 * them. */
static void
lack_is_called_by_its_name(void **state)
{
	static const struct {
		int error;
		const char *first, *second;
	} rows[] = { { ENOSPC, "vm.overcommit_memory", "swap" },
		{ ENOMEM, "control group", "memory.max" },
		{ EIO, "cannot grow", "error" }, /* the C library says it */
		{ 0, "64 MiB of addresses", "RLIMIT_AS" } };
	struct store_options options = { .reader_max = 1,
		.reservation = (size_t)64 << 20 };
	struct store_writer *writer;
	struct store *store;

	assert_int_equal(store_create(&options, &store), NSD_OK);
	assert_int_equal(store_writer_open(store, &writer), NSD_OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		writer->lack = rows[i].error;
		assert_true(lack_says(writer, rows[i].first, rows[i].second));
	}
	store_writer_close(writer);
	store_destroy(store);
}

/* The last granule's successor has a number, too. */
static void
store_is_used_to_its_last_span(void **state)
{
	struct store_options options = { .reader_max = 1 };
	struct store *store;
	struct store_writer *writer;
	struct store_heap *heap;
	store_ref ref, last = STORE_NONE;
	unsigned count = 0;
	void *p;

	assert_int_equal(store_create(&options, &store), NSD_OK);
	assert_int_equal(store_writer_open(store, &writer), NSD_OK);
	heap = store_writer_heap(writer);
	/* Pretends that all other spans are in use. */
	writer->header->span_count = writer->span_max - 1;
	for (uint32_t i = 0; i < writer->span_max - 1; i++)
		writer->spans[i].state = SPAN_USED;
	while ((p = store_alloc(heap, 1024, &ref)) != NULL) {
		memset(p, 1, 1024);
		last = ref;
		count++;
	}
	assert_int_equal(count, SPAN_SIZE / 1024);
	store_free(heap, last, 1024);
	assert_non_null(store_alloc(heap, 1000, &ref));
	assert_int_equal(ref, last);
	store_free(heap, ref, 1000);
	assert_null(store_alloc(heap, SPAN_SIZE, &ref));
	assert_true(lack_says(writer, "full", "all that it can hold"));
	assert_non_null(store_alloc(heap, 10, &ref));
	store_writer_close(writer);
	store_destroy(store);
}

/* ---- threads */

#define THREADS 3
#define SHARED 2048
#define STEPS 100000

struct object {
	uint32_t len;
	uint32_t fill;
	uint32_t data[];
};

struct threads {
	struct store_writer *writer;
	store_ref shared[SHARED];
	uint32_t faults;
};

struct thread {
	struct threads *all;
	struct store_heap *heap;
	uint64_t rng;
};

static store_ref
object_make(struct thread *t)
{
	uint32_t words = (uint32_t)(chance_next(&t->rng) % 40);
	struct object *o;
	store_ref ref;

	if (chance_next(&t->rng) % 64 == 0)
		words *= 200;
	o = store_alloc(t->heap, sizeof(*o) + words * 4, &ref);
	if (o == NULL)
		return STORE_NONE;
	o->len = (uint32_t)sizeof(*o) + words * 4;
	o->fill = (uint32_t)chance_next(&t->rng);
	for (uint32_t i = 0; i < words; i++)
		o->data[i] = o->fill;
	return ref;
}

/* Objects that one thread has made are freed by any. */
static bool
object_free(struct thread *t, store_ref ref)
{
	const struct object *o = store_edit(t->heap, ref);
	uint32_t words = (o->len - (uint32_t)sizeof(*o)) / 4;
	bool fine = true;

	for (uint32_t i = 0; i < words; i++)
		fine = fine && o->data[i] == o->fill;
	store_free(t->heap, ref, o->len);
	return fine;
}

static void *
thread_main(void *arg)
{
	struct thread *t = arg;

	for (int i = 0; i < STEPS; i++) {
		size_t which = chance_next(&t->rng) % SHARED;
		store_ref *slot = &t->all->shared[which];
		store_ref ref = object_make(t);

		ref = __atomic_exchange_n(slot, ref, __ATOMIC_ACQ_REL);
		if (ref != STORE_NONE && !object_free(t, ref))
			__atomic_fetch_add(&t->all->faults, 1,
				__ATOMIC_RELAXED);
	}
	return NULL;
}

static void
store_heaps_of_threads_share_spans(void **state)
{
	struct store_options options = { .reader_max = 1, .huge_pages = true };
	static struct threads all;
	struct thread threads[THREADS];
	pthread_t ids[THREADS];
	struct store_stats stats;
	struct store *store;

	memset(&all, 0, sizeof(all));
	assert_int_equal(store_create(&options, &store), NSD_OK);
	assert_int_equal(store_writer_open(store, &all.writer), NSD_OK);
	for (unsigned i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ .all = &all,
			.heap = store_writer_heap(all.writer),
			.rng = 77 + i };
		/* The writer's own heap is one of them. */
		if (i > 0)
			assert_int_equal(store_heap_create(all.writer,
						 &threads[i].heap),
				NSD_OK);
		assert_int_equal(pthread_create(&ids[i], NULL, thread_main,
					 &threads[i]),
			0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	assert_int_equal(all.faults, 0);
	for (unsigned i = 0; i < SHARED; i++)
		if (all.shared[i] != STORE_NONE)
			assert_true(object_free(&threads[0], all.shared[i]));
	for (unsigned i = 1; i < THREADS; i++)
		store_heap_destroy(threads[i].heap);
	store_get_stats(all.writer, &stats);
	assert_int_equal(stats.live, 0);
	store_trim(all.writer);
	store_get_stats(all.writer, &stats);
	assert_int_equal(stats.free, 0);
	store_writer_close(all.writer);
	store_destroy(store);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_file_limit_gives_null),
		cmocka_unit_test(store_space_limit_shrinks_reservation),
		cmocka_unit_test(store_create_fails_without_descriptors),
		cmocka_unit_test(lack_is_called_by_its_name),
		cmocka_unit_test(store_is_used_to_its_last_span),
		cmocka_unit_test(store_heaps_of_threads_share_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
