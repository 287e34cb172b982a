/* test_threads.c - threads are started, numbered and joined. */
#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/threads.h"

#define NUMBERS 100

struct runs {
	pthread_t caller;
	unsigned times[NUMBERS];
	unsigned elsewhere;
	unsigned order[NUMBERS];
	unsigned here;
};

static void
note_run(void *arg, unsigned number)
{
	struct runs *r = arg;

	assert_true(number < NUMBERS);
	__atomic_fetch_add(&r->times[number], 1, __ATOMIC_RELAXED);
	if (pthread_equal(pthread_self(), r->caller))
		r->order[r->here++] = number;
	else
		__atomic_fetch_add(&r->elsewhere, 1, __ATOMIC_RELAXED);
}

static void
each_number_runs_once(void **state)
{
	for (unsigned count = 1; count <= NUMBERS; count += 11) {
		struct runs r = {.caller = pthread_self()};

		threads_run(count, note_run, &r);
		for (unsigned i = 0; i < NUMBERS; i++)
			assert_int_equal(r.times[i], i < count);
		assert_int_equal(r.order[0], 0);
		assert_int_equal(r.here + r.elsewhere, count);
		assert_int_equal(r.elsewhere, (count < THREADS_RUN_MAX
				? count : THREADS_RUN_MAX) - 1);
	}
}

/* The resources that are taken away so that no thread can start. */
struct shortage {
	pthread_attr_t attr;
	size_t stack;
	struct rlimit space;
};

static size_t
space_in_use(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A stack that fits nowhere; musl has none of that size, and there too little
 * space is left for any. */
static void
threads_forbid(struct shortage *s)
{
	struct rlimit limit;

	assert_int_equal(pthread_getattr_default_np(&s->attr), 0);
	assert_int_equal(pthread_attr_getstacksize(&s->attr, &s->stack), 0);
	assert_int_equal(getrlimit(RLIMIT_AS, &s->space), 0);
	if (pthread_attr_setstacksize(&s->attr, SIZE_MAX / 2 + 1) == 0) {
		assert_int_equal(pthread_setattr_default_np(&s->attr), 0);
		return;
	}
	limit = s->space;
	limit.rlim_cur = space_in_use() + s->stack / 2;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void
threads_allow(struct shortage *s)
{
	assert_int_equal(setrlimit(RLIMIT_AS, &s->space), 0);
	assert_int_equal(pthread_attr_setstacksize(&s->attr, s->stack), 0);
	assert_int_equal(pthread_setattr_default_np(&s->attr), 0);
	pthread_attr_destroy(&s->attr);
}

static void
the_caller_does_what_has_no_thread(void **state)
{
	struct runs r = {.caller = pthread_self()};
	struct threads threads;
	struct shortage shortage;

	threads_forbid(&shortage);
	threads_run(5, note_run, &r);
	assert_int_equal(threads_init(&threads, 3, note_run, &r), NSD_OK);
	assert_false(threads_start(&threads));
	assert_false(threads_start(&threads));
	assert_int_equal(threads.max, 0);
	threads_join(&threads);
	threads_allow(&shortage);
	assert_int_equal(r.here, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(r.order[i], i);
}

static void
threads_start_one_by_one(void **state)
{
	struct runs r = {.caller = pthread_self()};
	struct threads threads;

	assert_int_equal(threads_init(&threads, 3, note_run, &r), NSD_OK);
	for (unsigned i = 1; i <= 3; i++) {
		assert_true(threads_start(&threads));
		assert_int_equal(threads.started, i);
	}
	assert_false(threads_start(&threads));
	threads_join(&threads);
	assert_int_equal(r.here, 0);
	for (unsigned i = 0; i < NUMBERS; i++)
		assert_int_equal(r.times[i], i >= 1 && i <= 3);
	threads_join(&threads);
	assert_int_equal(threads.started, 0);
}

static void
no_thread_need_be_started(void **state)
{
	struct threads threads, zero;

	memset(&zero, 0, sizeof(zero));
	threads_join(&zero);
	assert_int_equal(threads_init(&threads, 0, note_run, NULL), NSD_OK);
	assert_false(threads_start(&threads));
	threads_join(&threads);
	assert_int_equal(threads_init(&threads, 2, note_run, NULL), NSD_OK);
	threads_join(&threads);
}

static void
note_mask(void *arg, unsigned number)
{
	sigset_t mask;

	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	((int *)arg)[number] = sigismember(&mask, SIGTERM);
}

static void
threads_have_the_callers_signal_mask(void **state)
{
	int blocked[2] = {-1, -1};
	sigset_t term, was;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, &was);
	threads_run(2, note_mask, blocked);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	assert_int_equal(blocked[0], 1);
	assert_int_equal(blocked[1], 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_runs_once),
		cmocka_unit_test(the_caller_does_what_has_no_thread),
		cmocka_unit_test(threads_start_one_by_one),
		cmocka_unit_test(no_thread_need_be_started),
		cmocka_unit_test(threads_have_the_callers_signal_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
