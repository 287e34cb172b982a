/* test_crash.c - when deaths of readers have another store filled. */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "main/supervisor.h"
#include "process/counts.h"

#define SECOND INT64_C(1000)
#define HOUR (3600 * SECOND)

static struct supervisor s;
static struct generation serving, other;
static struct child worker = {.role = ROLE_WORKER, .is_reader = true};
/* Another worker, which has served for as long as the machine has run. */
static struct child healthy = {.role = ROLE_WORKER, .serving = true};
static struct service services[2];

static int
setup(void **state)
{
	s = (struct supervisor){.serving = &serving};
	serving = other = (struct generation){.users = 1};
	worker.has_read = false;
	worker.generation = &serving;
	s.workers = services;
	s.worker_count = 2;
	services[1].current = &healthy;
	healthy.started_msec = clock_now_msec() - HOUR;
	return 0;
}

/* Status as of a process that such a signal has killed. */
static void
crash(int number)
{
	worker.reaped = true;
	crash_note(&s, &worker, number);
	worker.reaped = false;
}

/* The other store has been filled, in no time, and is as the first. */
static void
fill(void)
{
	assert_true(serving.yields);
	serving.yields = false;
	s.fill_begun_msec = s.fill_ended_msec = clock_now_msec();
}

/* As if so much time had passed. */
static void
pass(int64_t msec)
{
	s.crashes.first_msec -= msec;
	s.fill_begun_msec -= msec;
	s.fill_ended_msec -= msec;
}

static void
signals_of_a_crash_are_told_from_others(void **state)
{
	static const int crashes[] = {SIGBUS, SIGSEGV, SIGABRT, SIGILL,
		SIGFPE};
	static const int others[] = {SIGKILL, SIGTERM, SIGSYS, SIGPIPE};

	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++) {
		assert_true(crash_is_one(crashes[i]));
		assert_true(crash_is_one(crashes[i] | 0x80)); /* with a core */
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(crash_is_one(others[i]));
	assert_false(crash_is_one(1 << 8)); /* exit status 1 */
}

static void
two_crashes_have_another_store_filled(void **state)
{
	crash(SIGSEGV);
	assert_false(serving.yields);
	crash(SIGKILL);
	assert_false(serving.yields);
	crash(SIGBUS);
	assert_true(serving.yields);
}

static void
crashes_far_apart_do_not_count_together(void **state)
{
	for (int i = 0; i < 5; i++) {
		crash(SIGSEGV);
		pass(700 * SECOND);
	}
	assert_false(serving.yields);
}

/* A query that kills while others are answered: twice as long between two
 * stores each time, up to an hour. */
static void
stores_come_ever_later(void **state)
{
	int64_t rest = 60 * SECOND;

	crash(SIGSEGV);
	crash(SIGSEGV);
	for (int i = 0; i < 10; i++) {
		fill();
		for (int64_t msec = 0; msec < rest - SECOND;
			msec += rest / 20) {
			crash(SIGSEGV);
			crash(SIGSEGV);
			assert_false(serving.yields);
			pass(rest / 20);
		}
		pass(rest / 20);
		crash(SIGSEGV);
		crash(SIGSEGV);
		rest = rest < 32 * 60 * SECOND ? 2 * rest : HOUR;
	}
	fill();
	pass(2 * HOUR);
	crash(SIGSEGV);
	crash(SIGSEGV);
	fill();
	pass(61 * SECOND);
	crash(SIGSEGV);
	crash(SIGSEGV);
	assert_true(serving.yields);
}

/* Damage that all meet: every answer is lost until there is another store. The
 * same for messages that kill: whoever sends these does not set the pace. */
static void
stores_come_sooner_while_nobody_is_answered(void **state)
{
	int64_t rest = SECOND / 4;

	healthy.started_msec = clock_now_msec() + HOUR; /* is to crash soon */
	worker.has_read = true;
	crash(SIGSEGV);
	crash(SIGSEGV);
	for (; rest < 60 * SECOND; rest *= 2) {
		fill();
		pass(rest / 2);
		crash(SIGSEGV);
		crash(SIGSEGV);
		assert_false(serving.yields);
		pass(rest / 2 + SECOND / 50);
		crash(SIGSEGV);
	}
	fill();
	/* With a worker that serves, crashes have no other store filled. */
	healthy.started_msec = clock_now_msec() - 6 * SECOND;
	pass(59 * SECOND);
	crash(SIGSEGV);
	crash(SIGSEGV);
	assert_false(serving.yields);
}

/* A message a second crashes the reader, and others are answered in between. */
static void
messages_that_kill_have_no_store_filled_while_others_are_answered(
	void **state)
{
	struct counters_block block;

	assert_int_equal(counts_create(&(struct counts_options){2, 1, 1, 0},
		&s.server.counts), NSD_OK);
	counts_get_block(s.server.counts, 1, &block);
	healthy.started_msec = clock_now_msec() + HOUR;
	worker.has_read = true;
	crash(SIGSEGV);
	crash(SIGSEGV);
	fill();
	for (int i = 0; i < 50; i++) {
		pass(SECOND);
		block.rows->rcode[0] += 4;
		crash(SIGSEGV);
		assert_false(serving.yields);
	}
	counts_destroy(s.server.counts);
}

/* Large zones: the loader has as much time for all else. */
static void
pause_is_no_shorter_than_the_filling(void **state)
{
	healthy.started_msec = clock_now_msec() + HOUR;
	crash(SIGSEGV);
	crash(SIGSEGV);
	fill();
	s.fill_begun_msec -= 300 * SECOND;
	pass(299 * SECOND);
	for (int i = 0; i < 5; i++)
		crash(SIGSEGV);
	assert_false(serving.yields);
	pass(2 * SECOND);
	crash(SIGSEGV);
	assert_true(serving.yields);
}

/* The zone files do not say what is served: it stays, and a pause follows. */
static void
altered_store_stays(void **state)
{
	serving.altered = true;
	crash(SIGSEGV);
	crash(SIGSEGV);
	assert_false(serving.yields);
	assert_int_not_equal(s.fill_ended_msec, 0);
}

static void
crashes_of_others_do_not_count(void **state)
{
	worker.generation = &other; /* left by its readers already */
	for (int i = 0; i < 3; i++)
		crash(SIGSEGV);
	assert_false(other.yields || serving.yields);
	worker.generation = &serving;
	worker.is_reader = false; /* the loader: see generation_choose */
	for (int i = 0; i < 3; i++)
		crash(SIGSEGV);
	worker.is_reader = true;
	s.building = &other; /* takes its place anyway */
	for (int i = 0; i < 3; i++)
		crash(SIGSEGV);
	assert_false(serving.yields);
	s.building = NULL;
	s.stopping = true;
	for (int i = 0; i < 3; i++)
		crash(SIGSEGV);
	assert_false(serving.yields);
}

static void
file_that_cannot_be_read_is_left_at_once(void **state)
{
	s.in_file = &serving;
	crash(SIGSEGV);
	assert_false(serving.damaged);
	crash(SIGBUS);
	assert_true(serving.damaged);
	assert_false(serving.yields);
}

/* Clients wait for the next one, which gets another store. */
static void
loader_that_cannot_read_the_file_is_replaced_at_once(void **state)
{
	struct child loader = {.role = ROLE_LOADER, .generation = &serving,
		.reaped = true};

	s.in_file = &serving;
	s.loader = (struct service){.role = ROLE_LOADER, .current = &loader,
		.failures = 4};
	crash_note(&s, &loader, SIGBUS);
	assert_true(serving.damaged);
	assert_int_equal(s.loader.failures, 0);
}

/* The next loader fills the other store. */
static void
loader_is_killed(void **state)
{
	struct child loader = {.role = ROLE_LOADER, .generation = &serving,
		.pid = fork()};
	int status;

	assert_true(loader.pid != -1);
	if (loader.pid == 0)
		for (;;)
			pause();
	s.loader = (struct service){.role = ROLE_LOADER, .current = &loader,
		.failures = 4};
	crash(SIGSEGV);
	crash(SIGSEGV);
	assert_int_equal(waitpid(loader.pid, &status, 0), loader.pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(s.loader.failures, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_of_a_crash_are_told_from_others),
		cmocka_unit_test_setup(
			two_crashes_have_another_store_filled, setup),
		cmocka_unit_test_setup(
			crashes_far_apart_do_not_count_together, setup),
		cmocka_unit_test_setup(stores_come_ever_later, setup),
		cmocka_unit_test_setup(
			stores_come_sooner_while_nobody_is_answered, setup),
		cmocka_unit_test_setup(
			messages_that_kill_have_no_store_filled_while_others_are_answered,
			setup),
		cmocka_unit_test_setup(
			pause_is_no_shorter_than_the_filling, setup),
		cmocka_unit_test_setup(altered_store_stays, setup),
		cmocka_unit_test_setup(crashes_of_others_do_not_count, setup),
		cmocka_unit_test_setup(
			file_that_cannot_be_read_is_left_at_once, setup),
		cmocka_unit_test_setup(
			loader_that_cannot_read_the_file_is_replaced_at_once,
			setup),
		cmocka_unit_test_setup(loader_is_killed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
