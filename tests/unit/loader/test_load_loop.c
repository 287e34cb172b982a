/* test_load_loop.c - threads have the loop do things for them, and wait. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <event2/event.h>
#include <pthread.h>

#include "base/threads.h"
#include "loader/load_loop.h"

#define THREADS 8u
#define CALLS 200u

static struct event_base *base;
static struct load_loop *loop;
static pthread_t own;
static unsigned called;  /* in the loop: without a lock */
static unsigned ended;
static bool was_edited;

static void
on_call(void *arg)
{
	unsigned *count = arg;

	assert_true(pthread_equal(pthread_self(), own));
	++*count;
	called++;
	was_edited |= load_loop_is_edited(loop);
}

static void
on_end(void *arg)
{
	if (++ended == THREADS)
		event_base_loopbreak(base);
}

static void
test_thread_main(void *arg, unsigned number)
{
	unsigned count = 0;

	load_loop_begin_edit(loop);
	for (unsigned i = 0; i < CALLS; i++) {
		load_loop_call(loop, on_call, &count);
		/* The call returns when its work is done. */
		if (count != i + 1)
			abort();
	}
	load_loop_end_edit(loop);
	load_loop_call(loop, on_end, NULL);
}

static void
calls_of_threads_are_done_in_the_loop(void **state)
{
	struct threads threads;

	assert_int_equal(threads_init(&threads, THREADS, test_thread_main,
		NULL), NSD_OK);
	for (unsigned i = 0; i < THREADS; i++)
		assert_true(threads_start(&threads));
	event_base_dispatch(base);
	threads_join(&threads);
	assert_int_equal(called, THREADS * CALLS);
	assert_true(was_edited);
	assert_false(load_loop_is_edited(loop));
}

static void
loop_calls_for_itself_at_once(void **state)
{
	unsigned count = 0;

	load_loop_call(loop, on_call, &count);
	load_loop_call(NULL, on_call, &count);
	assert_int_equal(count, 2);
	load_loop_begin_edit(loop);
	load_loop_begin_edit(loop);
	load_loop_end_edit(loop);
	assert_true(load_loop_is_edited(loop));
	load_loop_end_edit(loop);
	assert_false(load_loop_is_edited(loop));
	assert_false(load_loop_is_edited(NULL));
}

static int
setup(void **state)
{
	own = pthread_self();
	base = event_base_new();
	return base == NULL || load_loop_create(base, &loop) != NSD_OK;
}

static int
teardown(void **state)
{
	load_loop_destroy(loop);
	event_base_free(base);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_threads_are_done_in_the_loop),
		cmocka_unit_test(loop_calls_for_itself_at_once),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
