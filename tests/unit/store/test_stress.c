/* test_stress.c - readers that check what they see while the writer publishes
 * and frees: threads (for ThreadSanitizer), and processes that get killed.
 *
 * STORE_STRESS_PUBLISHES sets how long it runs, STORE_STRESS_SEED the seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/chance.h"
#include "store/store.h"
#include "store/writer.h"

#define READERS 3
#define PARTS 8

/* The root object: its parts all carry its number. */
struct version {
	uint64_t number;
	struct {
		store_ref ref;
		uint32_t len;
	} parts[PARTS];
};

struct stress {
	struct store *store;
	struct store_writer *writer;
	uint64_t publishes;
	uint64_t rng;
	bool stop;
};

static void
stress_open(struct stress *s)
{
	struct store_options options = { .reader_max = READERS,
		.huge_pages = true, .poison = true };

	memset(s, 0, sizeof(*s));
	s->publishes = chance_setting("STORE_STRESS_PUBLISHES", 20000);
	s->rng = chance_setting("STORE_STRESS_SEED", 88172645463325252u);
	print_message("seed %llu\n", (unsigned long long)s->rng);
	assert_int_equal(store_create(&options, &s->store), NSD_OK);
	assert_int_equal(store_writer_open(s->store, &s->writer), NSD_OK);
}

static void
stress_close(struct stress *s)
{
	struct store_stats stats;

	store_publish(s->writer, STORE_ROOT_ZONES, STORE_NONE);
	assert_int_equal(store_reclaim(s->writer), 0);
	store_get_stats(s->writer, &stats);
	assert_int_equal(stats.live, 0);
	assert_int_equal(stats.retired, 0);
	assert_int_equal(stats.oldest_reader_epoch, 0);
	store_writer_close(s->writer);
	store_destroy(s->store);
}

/* Publishes a version; some parts are those of the one before. */
static void
publish(struct stress *s, uint64_t number)
{
	struct store_heap *heap = store_writer_heap(s->writer);
	store_ref ref, old_ref = store_root(store_writer_view(s->writer),
		STORE_ROOT_ZONES);
	struct version *v = store_alloc(heap, sizeof(*v), &ref);
	const struct version *old = store_get(store_writer_view(s->writer),
		old_ref);
	uint32_t replaced = (uint32_t)chance_next(&s->rng) | 1;

	if (v == NULL)
		abort();
	v->number = number;
	for (unsigned i = 0; i < PARTS; i++) {
		uint64_t *p;

		if (old_ref != STORE_NONE && (replaced & 1u << i) == 0) {
			v->parts[i] = old->parts[i];
			continue;
		}
		v->parts[i].len = 16
			+ (uint32_t)(chance_next(&s->rng) % 40) * 8;
		p = store_alloc(heap, v->parts[i].len, &v->parts[i].ref);
		if (p == NULL)
			abort();
		for (uint32_t j = 0; j < v->parts[i].len / 8; j++)
			p[j] = v->parts[i].ref * UINT64_C(0x9e3779b97f4a7c15);
	}
	store_publish(s->writer, STORE_ROOT_ZONES, ref);
	if (old_ref == STORE_NONE)
		return;
	for (unsigned i = 0; i < PARTS; i++)
		if ((replaced & 1u << i) != 0)
			store_retire(s->writer, old->parts[i].ref,
				old->parts[i].len);
	store_retire(s->writer, old_ref, sizeof(*old));
}

static void
retire_all(struct stress *s)
{
	store_ref ref = store_root(store_writer_view(s->writer),
		STORE_ROOT_ZONES);
	const struct version *v = store_get(store_writer_view(s->writer), ref);

	store_publish(s->writer, STORE_ROOT_ZONES, STORE_NONE);
	for (unsigned i = 0; i < PARTS; i++)
		store_retire(s->writer, v->parts[i].ref, v->parts[i].len);
	store_retire(s->writer, ref, sizeof(*v));
}

/* True if the version is whole. */
static bool
version_check(const struct store_view *view, store_ref ref, uint64_t *number)
{
	const struct version *v = store_get(view, ref);

	*number = v->number;
	for (unsigned i = 0; i < PARTS; i++) {
		const uint64_t *p = store_get(view, v->parts[i].ref);

		if (v->parts[i].len > 16 + 40 * 8)
			return false;
		for (uint32_t j = 0; j < v->parts[i].len / 8; j++)
			if (p[j] != v->parts[i].ref
					* UINT64_C(0x9e3779b97f4a7c15))
				return false;
	}
	return true;
}

/* Reads while online for a while. Returns false if something was wrong. */
static bool
read_once(struct store_reader *reader, uint64_t *rng, uint64_t *newest)
{
	const struct store_view *view = store_reader_view(reader);
	unsigned batches = 1 + (unsigned)(chance_next(rng) % 8);
	bool fine = true;

	store_reader_online(reader);
	while (batches-- > 0 && fine) {
		store_ref ref = store_root(view, STORE_ROOT_ZONES);
		uint64_t number;

		if (ref != STORE_NONE) {
			fine = version_check(view, ref, &number)
				&& number >= *newest;
			*newest = number;
			if (chance_next(rng) % 8 == 0)
				sched_yield();
			/* Held on to, it must still be whole. */
			fine = fine && version_check(view, ref, &number)
				&& number == *newest;
		}
		store_reader_quiescent(reader);
	}
	store_reader_offline(reader);
	return fine;
}

/* A pinned version lasts over many spells. */
static bool
read_pinned(struct store_reader *reader, uint64_t *rng, uint64_t *newest)
{
	const struct store_view *view = store_reader_view(reader);
	struct store_pin pin;
	store_ref ref;
	uint64_t number, again;
	bool fine;

	store_reader_online(reader);
	if (store_reader_pin(reader, &pin) != NSD_OK)
		return false;
	ref = store_root(view, STORE_ROOT_ZONES);
	fine = ref == STORE_NONE || version_check(view, ref, &number);
	store_reader_offline(reader);
	for (int i = 0; i < 4 && fine; i++)
		fine = read_once(reader, rng, newest);
	if (ref != STORE_NONE && fine)
		fine = version_check(view, ref, &again) && again == number;
	store_reader_unpin(reader, &pin);
	return fine;
}

static bool
read_some(struct store_reader *reader, uint64_t *rng, uint64_t *newest)
{
	if (chance_next(rng) % 16 == 0)
		return read_pinned(reader, rng, newest);
	return read_once(reader, rng, newest);
}

/* ---- threads */

struct thread {
	struct stress *stress;
	struct store_reader *reader;
	uint64_t rng;
	bool fine;
};

static void *
thread_main(void *arg)
{
	struct thread *t = arg;
	uint64_t newest = 0;

	while (!__atomic_load_n(&t->stress->stop, __ATOMIC_RELAXED) && t->fine)
		t->fine = read_some(t->reader, &t->rng, &newest);
	return NULL;
}

static void
stress_threads_see_whole_versions(void **state)
{
	static struct stress s;
	struct thread threads[READERS];
	pthread_t ids[READERS];

	stress_open(&s);
	for (unsigned i = 0; i < READERS; i++) {
		threads[i] = (struct thread){ .stress = &s,
			.rng = s.rng + 1 + i, .fine = true };
		assert_int_equal(store_reader_open(s.store, i, "thread",
					 &threads[i].reader),
			NSD_OK);
		assert_int_equal(pthread_create(&ids[i], NULL, thread_main,
					 &threads[i]),
			0);
	}
	for (uint64_t i = 1; i <= s.publishes; i++) {
		publish(&s, i);
		if (chance_next(&s.rng) % 4 != 0)
			store_reclaim(s.writer);
	}
	__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(ids[i], NULL);
		assert_true(threads[i].fine);
		store_reader_close(threads[i].reader);
	}
	retire_all(&s);
	stress_close(&s);
}

/* ---- processes */

static pid_t
reader_fork(struct stress *s, unsigned slot)
{
	struct store_reader *reader;
	uint64_t rng = chance_next(&s->rng), newest = 0;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	alarm(600);
	if (store_reader_open(s->store, slot, "child", &reader) != NSD_OK)
		_exit(2);
	while (read_some(reader, &rng, &newest))
		;
	_exit(3);
}

static void
reader_kill(struct stress *s, unsigned slot, pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* A child that found a fault would have exited by itself. */
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	store_reader_clear(s->store, slot);
}

static void
stress_killed_readers_hold_nothing_back(void **state)
{
	static struct stress s;
	pid_t pids[READERS];

	stress_open(&s);
	for (unsigned i = 0; i < READERS; i++) {
		pids[i] = reader_fork(&s, i);
		assert_true(pids[i] > 0);
	}
	for (uint64_t i = 1; i <= s.publishes; i++) {
		publish(&s, i);
		if (chance_next(&s.rng) % 4 != 0)
			store_reclaim(s.writer);
		if (i % 500 == 0) {
			unsigned slot = chance_below(&s.rng, READERS);

			reader_kill(&s, slot, pids[slot]);
			pids[slot] = reader_fork(&s, slot);
			assert_true(pids[slot] > 0);
		}
	}
	retire_all(&s);
	for (unsigned i = 0; i < READERS; i++)
		reader_kill(&s, i, pids[i]);
	stress_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stress_threads_see_whole_versions),
		cmocka_unit_test(stress_killed_readers_hold_nothing_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
