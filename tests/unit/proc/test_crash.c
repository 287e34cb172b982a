/* test_crash.c - when deaths of readers have their store looked through. */
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
#include "proc/supervisor.h"
#include "role/counts.h"

#define SECOND INT64_C(1000)
#define HOUR (3600 * SECOND)

static struct supervisor s;
static struct generation serving, other;
static struct child worker = {.role = ROLE_WORKER, .is_reader = true};
/* Another one, which has served for as long as the machine has run. */
static struct child healthy = {.role = ROLE_WORKER, .serving = true};
static struct post posts[2];

static int
setup(void **state)
{
	s = (struct supervisor){.serving = &serving};
	serving = other = (struct generation){.users = 1};
	worker.has_read = false;
	worker.generation = &serving;
	s.workers = posts;
	s.worker_count = 2;
	posts[1].current = &healthy;
	healthy.started_msec = clock_now_msec() - HOUR;
	return 0;
}

/* Status as of a process that such a signal has killed. */
static void
crash(int number)
{
	crash_note(&s, &worker, number);
}

/* A loader has found nothing. */
static void
be_sound(void)
{
	assert_true(serving.suspect);
	serving.suspect = false;
	crash_forget(&s);
}

/* As if so much time had passed. */
static void
pass(int64_t msec)
{
	s.crashes.first_msec -= msec;
	s.crashes.looked_msec -= msec;
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
two_crashes_have_the_store_looked_through(void **state)
{
	crash(SIGSEGV);
	assert_false(serving.suspect);
	crash(SIGKILL);
	assert_false(serving.suspect);
	crash(SIGBUS);
	assert_true(serving.suspect);
}

static void
crashes_far_apart_do_not_count_together(void **state)
{
	for (int i = 0; i < 5; i++) {
		crash(SIGSEGV);
		pass(700 * SECOND);
	}
	assert_false(serving.suspect);
}

/* A query that kills: twice as long between two looks each time, up to an
 * hour. */
static void
looks_come_ever_later(void **state)
{
	int64_t rest = 60 * SECOND;

	crash(SIGSEGV);
	crash(SIGSEGV);
	for (int i = 0; i < 10; i++) {
		be_sound();
		for (int64_t msec = 0; msec < rest - SECOND;
			msec += rest / 20) {
			crash(SIGSEGV);
			crash(SIGSEGV);
			assert_false(serving.suspect);
			pass(rest / 20);
		}
		pass(rest / 20);
		crash(SIGSEGV);
		crash(SIGSEGV);
		rest = rest < 32 * 60 * SECOND ? 2 * rest : HOUR;
	}
	be_sound();
	pass(2 * HOUR);
	crash(SIGSEGV);
	crash(SIGSEGV);
	be_sound();
	pass(61 * SECOND);
	crash(SIGSEGV);
	crash(SIGSEGV);
	assert_true(serving.suspect);
}

/* Damage that all meet: every answer is lost until it is found. */
static void
looks_come_soon_while_nobody_serves(void **state)
{
	int64_t rest = SECOND / 4;

	healthy.started_msec = clock_now_msec(); /* and is to crash soon */
	crash(SIGSEGV);
	crash(SIGSEGV);
	for (int i = 0; i < 10; i++) {
		be_sound();
		pass(rest / 2);
		crash(SIGSEGV);
		crash(SIGSEGV);
		assert_false(serving.suspect);
		pass(rest / 2 + SECOND / 50);
		crash(SIGSEGV);
		crash(SIGSEGV);
		rest = rest < 2 * SECOND ? 2 * rest : rest;
	}
	be_sound();
	/* Once one serves, they do no more. */
	healthy.started_msec = clock_now_msec() - 6 * SECOND;
	pass(30 * SECOND);
	crash(SIGSEGV);
	crash(SIGSEGV);
	assert_false(serving.suspect);
}

/* Workers that die of messages, one behind the other: whoever sends these does
 * not set the pace, even if nobody else is answered. */
static void
looks_for_messages_come_ever_later(void **state)
{
	int64_t rest = SECOND / 4;

	healthy.started_msec = clock_now_msec() + HOUR; /* is to crash soon */
	worker.has_read = true;
	crash(SIGSEGV);
	crash(SIGSEGV);
	for (int i = 0; i < 12; i++) {
		be_sound();
		pass(rest / 2);
		crash(SIGSEGV);
		crash(SIGSEGV);
		assert_false(serving.suspect);
		pass(rest / 2 + SECOND / 50);
		crash(SIGSEGV);
		rest *= 2;
		if (rest > 60 * SECOND)
			break;
	}
	/* Those that die of themselves are what it is for. */
	be_sound();
	worker.has_read = false;
	pass(2 * SECOND + SECOND / 50);
	crash(SIGSEGV);
	crash(SIGSEGV);
	assert_true(serving.suspect);
}

/* Others are answered between them. */
static void
messages_that_kill_bring_no_look_while_others_are_answered(void **state)
{
	struct counters_book book;

	assert_int_equal(counts_create(&(struct counts_wish){2, 1, 1},
		&s.server.counts), NSD_OK);
	counts_get_book(s.server.counts, 1, &book);
	healthy.started_msec = clock_now_msec() + HOUR;
	worker.has_read = true;
	crash(SIGSEGV);
	crash(SIGSEGV);
	be_sound();
	for (int i = 0; i < 50; i++) {
		pass(SECOND);
		book.rows->rcode[0] += 4;
		crash(SIGSEGV);
		assert_false(serving.suspect);
	}
	counts_destroy(s.server.counts);
}

static void
crashes_of_others_do_not_count(void **state)
{
	worker.generation = &other; /* left by its readers already */
	for (int i = 0; i < 3; i++)
		crash(SIGSEGV);
	assert_false(other.suspect || serving.suspect);
	worker.generation = &serving;
	worker.is_reader = false; /* the loader: see generation_choose */
	for (int i = 0; i < 3; i++)
		crash(SIGSEGV);
	worker.is_reader = true;
	s.building = &other; /* takes its place anyway */
	for (int i = 0; i < 3; i++)
		crash(SIGSEGV);
	assert_false(serving.suspect);
	s.building = NULL;
	s.stopping = true;
	for (int i = 0; i < 3; i++)
		crash(SIGSEGV);
	assert_false(serving.suspect);
}

static void
file_that_cannot_be_read_is_left_at_once(void **state)
{
	serving.in_file = true;
	crash(SIGSEGV);
	assert_false(serving.damaged);
	crash(SIGBUS);
	assert_true(serving.damaged);
	assert_false(serving.suspect);
}

/* Clients wait for the next one, which gets another store. */
static void
loader_that_cannot_read_the_file_is_replaced_at_once(void **state)
{
	struct child loader = {.role = ROLE_LOADER, .generation = &serving};

	serving.in_file = true;
	s.loader = (struct post){.role = ROLE_LOADER, .current = &loader,
		.failures = 4};
	crash_note(&s, &loader, SIGBUS);
	assert_true(serving.damaged);
	assert_int_equal(s.loader.failures, 0);
}

/* Its successor knows what it does not. */
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
	s.loader = (struct post){.role = ROLE_LOADER, .current = &loader,
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
			two_crashes_have_the_store_looked_through, setup),
		cmocka_unit_test_setup(
			crashes_far_apart_do_not_count_together, setup),
		cmocka_unit_test_setup(looks_come_ever_later, setup),
		cmocka_unit_test_setup(
			looks_come_soon_while_nobody_serves, setup),
		cmocka_unit_test_setup(looks_for_messages_come_ever_later,
			setup),
		cmocka_unit_test_setup(
			messages_that_kill_bring_no_look_while_others_are_answered,
			setup),
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
