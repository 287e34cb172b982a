/* test_standby.c - processes that stand by, what forks cost, and how many
 * deaths are told of. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "main/child.h"
#include "main/ends.h"
#include "main/service.h"
#include "main/standby.h"
#include "process/counts.h"

#define NOBODY 0x3fffffff /* beyond all numbers of processes */
#define SECOND INT64_C(1000000)

static struct supervisor s;
static struct service service;
static struct generation serving, other;
static struct child child;
static struct ipc_channel theirs;

static int
setup(void **state)
{
	s = (struct supervisor){.base = event_base_new(), .workers = &service,
		.worker_count = 1, .serving = &serving};
	service = (struct service){.supervisor = NULL};
	child = (struct child){.supervisor = &s, .role = ROLE_WORKER,
		.pid = NOBODY, .stop_fd = -1, .generation = &serving,
		.stands_by = true};
	if (s.base == NULL || !service_init(&service, &s, ROLE_WORKER, 0)
		|| counts_create(&(struct counts_options){1, 1, 1, 0},
			   &s.server.counts) != NSD_OK
		|| ipc_channel_open_pair(ROLE_MAIN, ROLE_WORKER,
			   &child.link.channel, &theirs) != NSD_OK
		|| !child_watch(&child))
		return -1;
	service.next = &child;
	return 0;
}

static int
teardown(void **state)
{
	event_free(service.timer);
	child_unwatch(&child);
	ipc_channel_close(&theirs);
	counts_destroy(s.server.counts);
	event_base_free(s.base);
	return 0;
}

static void
one_that_stands_by_is_told_to_serve(void **state)
{
	struct ipc_message m;

	assert_string_equal(child_name(&child), "standby 1");
	assert_true(standby_promote(&service));
	assert_ptr_equal(service.current, &child);
	assert_null(service.next);
	assert_string_equal(child_name(&child), "server 1");
	assert_int_equal(ipc_receive(&theirs, &m), NSD_OK);
	assert_int_equal(m.type, IPC_SERVE);
	assert_false(standby_promote(&service));
}

static void
one_that_ends_or_has_another_store_is_not(void **state)
{
	child.generation = &other;
	assert_false(standby_promote(&service));
	child.generation = &serving;
	child.hung = true;
	assert_false(standby_promote(&service));
	child.hung = false;
	child.told_stop = true;
	assert_false(standby_promote(&service));
	assert_ptr_equal(service.next, &child);
}

/* Of no message: another one stands by later, but nobody waits for it. */
static void
one_that_stands_by_serves_whatever_the_last_has_died_of(void **state)
{
	struct child lost = child;

	lost.reaped = true;
	service.failures = 30;
	lost.has_read = false;
	service_respawn(&service, &lost);
	assert_ptr_equal(service.current, &child);
	assert_true(event_pending(service.timer, EV_TIMEOUT, NULL));
}

/* A role other than a worker that writes the same word has no service started.
 * */
static void
only_workers_have_turned_to_clients(void **state)
{
	child.role = ROLE_LOADER;
	child.page->turns = 1;
	child_note_end(&child);
	assert_false(child.has_read);
	child.role = ROLE_WORKER;
	child.reaped = false;
	child_note_end(&child);
	assert_true(child.has_read);
}

/* The pid may be another process's by then. */
static void
who_is_reaped_is_not_killed(void **state)
{
	int status, to[2];
	char octet = 0;
	pid_t pid;

	assert_int_equal(pipe(to), 0);
	pid = fork();
	if (pid == 0)
		_exit(read(to[0], &octet, 1) == 1 ? 0 : 1);
	child.pid = pid;
	child_note_end(&child);
	child_kill(&child);
	child.pid = NOBODY;
	assert_int_equal(write(to[1], &octet, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(to[0]);
	close(to[1]);
}

static void
one_stands_by_only_after_two_deaths_in_a_minute(void **state)
{
	struct child lost = child;

	lost.reaped = true;
	lost.has_read = true;
	lost.started_msec = service.killed_msec = 0;
	service_respawn(&service, &lost);
	assert_ptr_equal(service.current, &child);
	assert_false(service.wants_next);
	lost.started_msec = child.started_msec;
	service.current = NULL;
	service.next = &child;
	s.forked_usec = INT64_MAX / 2; /* no process is made */
	service_respawn(&service, &lost);
	assert_true(service.wants_next);
	assert_int_equal(service.failures, 0);
	/* The standby ends once the worker has lived long enough. */
	standby_rest(&s, child.started_msec + SERVICE_LIVED_WELL_MSEC);
	assert_true(service.wants_next);
	standby_rest(&s, child.started_msec + SERVICE_LIVED_WELL_MSEC + 1);
	assert_false(service.wants_next);
}

static void
forks_are_paid_for(void **state)
{
	int64_t now = 1000 * SECOND;

	for (int i = 0; i < 51; i++) {
		assert_int_equal(standby_wait(&s, now), 0);
		standby_pay(&s, now, 100);
	}
	assert_int_equal(standby_wait(&s, now), 4);
	assert_int_equal(standby_wait(&s, now + 3999), 1);
	assert_int_equal(standby_wait(&s, now + 4000), 0);
	/* A main of many zones is not to do nothing else. */
	now += 10 * SECOND;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(standby_wait(&s, now), 0);
		standby_pay(&s, now, 20000);
	}
	assert_int_equal(standby_wait(&s, now), 40);
}

static void
deaths_are_told_of_while_they_are_few(void **state)
{
	struct ends ends = {.since_msec = 0};
	int64_t now = 1000;

	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < 20; i++)
			assert_true(ends_may_log(&ends, now + i));
		for (int i = 0; i < 500; i++)
			assert_false(ends_may_log(&ends, now + i));
		assert_int_equal(ends.untold, 500);
		ends_tell(&ends, now + 9999);
		assert_int_equal(ends.untold, 500);
		now += 10000;
		ends_tell(&ends, now);
		assert_int_equal(ends.untold, 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_that_stands_by_is_told_to_serve),
		TEST(one_that_ends_or_has_another_store_is_not),
		TEST(one_that_stands_by_serves_whatever_the_last_has_died_of),
		TEST(only_workers_have_turned_to_clients),
		TEST(who_is_reaped_is_not_killed),
		TEST(one_stands_by_only_after_two_deaths_in_a_minute),
		TEST(forks_are_paid_for),
		TEST(deaths_are_told_of_while_they_are_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
