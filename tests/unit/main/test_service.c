/* test_service.c - how long a service is down, and who serves its sockets
 * meanwhile. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/clock.h"
#include "main/child.h"
#include "main/children.h"
#include "main/service.h"

#define WORKERS 3
#define NOBODY 0x3fffffff /* beyond all numbers of processes */

static struct supervisor s;
static struct service workers[WORKERS];
static struct child children[WORKERS];
static struct ipc_channel theirs[WORKERS]; /* ends of the children */
static struct listener listeners[WORKERS];

static int
setup(void **state)
{
	s = (struct supervisor){.base = event_base_new(), .workers = workers,
		.worker_count = WORKERS,
		.server.listeners = {.items = listeners, .count = WORKERS}};
	if (s.base == NULL)
		return -1;
	for (unsigned i = 0; i < WORKERS; i++) {
		struct child *child = &children[i];

		listeners[i] = (struct listener){.fd = dup(0), .server = i};
		*child = (struct child){.supervisor = &s, .index = i,
			.role = ROLE_WORKER, .serving = true,
			.pid = NOBODY, .stop_fd = -1,
			.started_msec = clock_now_msec()};
		if (listeners[i].fd == -1
			|| !service_init(&workers[i], &s, ROLE_WORKER, i)
			|| ipc_channel_open_pair(ROLE_MAIN, ROLE_WORKER,
				   &child->link.channel, &theirs[i])
				!= NSD_OK
			|| !child_watch(child))
			return -1;
		workers[i].current = child;
	}
	return service_init(&s.loader, &s, ROLE_LOADER, 0) ? 0 : -1;
}

static int
teardown(void **state)
{
	for (unsigned i = 0; i < WORKERS; i++) {
		event_free(workers[i].timer);
		workers[i] = (struct service){.supervisor = NULL};
		child_unwatch(&children[i]);
		ipc_channel_close(&theirs[i]);
		close(listeners[i].fd);
	}
	event_free(s.loader.timer);
	event_base_free(s.base);
	return 0;
}

/* ---- pauses -------------------------------------------------------------- */

/* Fails to start a service; milliseconds until the next try, in hundreds. Again
 * if this process had no processor meanwhile. */
static int64_t
pause_of(struct service *service)
{
	unsigned failures = service->failures;
	struct timeval now, then;
	int64_t before;

	do {
		service->failures = failures;
		before = clock_now_msec();
		evutil_gettimeofday(&now, NULL);
		service_start_later(service);
		assert_true(event_pending(service->timer, EV_TIMEOUT, &then));
	} while (clock_now_msec() - before > 20);
	evutil_timersub(&then, &now, &then);
	return ((int64_t)then.tv_sec * 1000 + then.tv_usec / 1000 + 50) / 100
		* 100;
}

static void
worker_is_away_for_less_than_2_seconds_ten_times(void **state)
{
	int64_t pause, last = 0;

	workers[0].current = NULL;
	for (unsigned i = 0; i < 10; i++) {
		pause = pause_of(&workers[0]);
		assert_true(pause >= last && pause < 2000);
		last = pause;
	}
	for (unsigned i = 0; i < 20; i++) {
		pause = pause_of(&workers[0]);
		assert_true(pause >= last);
		last = pause;
	}
	/* The pause grows until deaths in a row do not load the machine. */
	assert_true(last >= 30000);
}

static void
last_worker_is_away_for_a_moment_at_most(void **state)
{
	for (unsigned i = 0; i < WORKERS; i++)
		workers[i].current = NULL;
	for (unsigned i = 0; i < 30; i++)
		assert_true(pause_of(&workers[0]) <= 200);
	/* A worker that does not serve yet is no help. */
	workers[1].current = &children[1];
	children[1].serving = false;
	assert_true(pause_of(&workers[0]) <= 200);
}

/* A worker that lived as long as the pause would be is replaced at once. */
static void
last_worker_is_replaced_at_once(void **state)
{
	for (unsigned i = 0; i < WORKERS; i++)
		workers[i].current = NULL;
	workers[0].failures = 30;
	workers[0].started_msec = clock_now_msec() - 1000;
	assert_int_equal(pause_of(&workers[0]), 0);
}

static int64_t left_of_pause(const struct service *service);

/* A message may have killed the worker: the pause is only what forks cost. */
static void
worker_that_has_read_is_replaced_without_a_pause(void **state)
{
	children[0].has_read = children[0].reaped = true;
	workers[0].current = NULL;
	workers[0].failures = 30;
	s.forked_usec = clock_now_usec() + 200000 + 50000;
	service_respawn(&workers[0], &children[0]);
	assert_true(left_of_pause(&workers[0]) <= 51);
	assert_int_equal(workers[0].failures, 0);
	assert_null(workers[0].adopter);
}

static int64_t
left_of_pause(const struct service *service)
{
	assert_true(event_pending(service->timer, EV_TIMEOUT, NULL));
	return service->due_msec - clock_now_msec();
}

/* A worker has a long pause while the other one serves; the pause ends when
 * that one is lost. */
static void
pauses_of_all_end_when_the_last_worker_is_lost(void **state)
{
	workers[2].current = workers[1].current = NULL;
	workers[1].failures = 30;
	service_start_later(&workers[1]);
	assert_true(left_of_pause(&workers[1]) > 20000);
	workers[0].current = NULL;
	workers[0].failures = 30;
	service_start_later(&workers[0]);
	assert_true(left_of_pause(&workers[0]) <= 200);
	assert_true(left_of_pause(&workers[1]) <= 200);
	/* A service that waits for nothing is left alone. */
	assert_false(event_pending(workers[2].timer, EV_TIMEOUT, NULL));
}

/* Two workers hang; the first one is reaped. */
static void
worker_that_hangs_serves_nobody(void **state)
{
	workers[2].current = NULL;
	workers[0].current = NULL;
	children[0].reaped = children[1].hung = true;
	workers[0].failures = 30;
	service_respawn(&workers[0], &children[0]);
	assert_true(left_of_pause(&workers[0]) <= 200);
	assert_null(workers[0].adopter);
}

/* A worker whose heartbeat is overdue, as main sees it. */
static void
silent_worker_serves_if_it_lacks_a_processor(void **state)
{
	static const struct {
		enum watch_verdict kind;
		bool serves;
	} rows[] = {{WATCH_WAITS, true}, {WATCH_STOPPED, false},
		{WATCH_ASLEEP, false}, {WATCH_TRACED, false}};

	workers[1].current = workers[2].current = NULL;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		children[0].watch = (struct watch){.kind = rows[i].kind,
			.silent_msec = ROLE_HEARTBEAT_MSEC};
		assert_true(children_serve(&s));
		children[0].watch.silent_msec = 2 * ROLE_HEARTBEAT_MSEC;
		assert_int_equal(children_serve(&s), rows[i].serves);
	}
}

static void
other_roles_wait_longer(void **state)
{
	static const int64_t pauses[] = {0, 1000, 2000, 4000, 8000, 16000,
		30000, 30000};

	for (unsigned i = 0; i < sizeof(pauses) / sizeof(*pauses); i++)
		assert_int_equal(pause_of(&s.loader), pauses[i]);
}

/* ---- sockets ------------------------------------------------------------- */

/* A worker has ended. */
static void
lose(unsigned i, bool crashed)
{
	workers[i].current = NULL;
	children[i].reaped = true;
	if (service_drop_adopter(&s, &children[i], crashed))
		workers[i].failures = 0;
	service_respawn(&workers[i], &children[i]);
	children[i].reaped = false; /* the next one, at the same place */
}

/* A worker crashes, not for the first time. */
static void
lose_again(unsigned i)
{
	workers[i].failures = 3;
	lose(i, true);
}

/* How many messages of a type a worker has been sent about a server's sockets,
 * since the last call. Others are lost. */
static unsigned
count_sent(unsigned to, enum ipc_type type, unsigned server)
{
	struct ipc_adopt adopt;
	struct ipc_message m;
	unsigned count = 0;

	while (ipc_receive(&theirs[to], &m) == NSD_OK) {
		memcpy(&adopt, m.payload, sizeof(adopt));
		count += m.type == type && adopt.server == server;
		for (unsigned i = 0; i < m.fd_count; i++)
			close(m.fds[i]);
	}
	return count;
}

static void
sockets_of_one_that_keeps_dying_are_lent(void **state)
{
	lose(0, true);
	assert_int_equal(count_sent(1, IPC_ADOPT, 0), 0); /* at once again */
	workers[0].current = &children[0];
	lose_again(0);
	assert_int_equal(count_sent(1, IPC_ADOPT, 0), 1);
	assert_ptr_equal(workers[0].adopter, &children[1]);
	workers[0].current = &children[0];
	service_on_serving(&workers[0]);
	assert_int_equal(count_sent(1, IPC_RELEASE, 0), 1);
	assert_null(workers[0].adopter);
}

static void
sockets_of_a_killed_adopter_go_on_to_a_third(void **state)
{
	lose_again(0);
	workers[1].failures = 2;
	lose(1, false);
	assert_int_equal(workers[1].failures, 3);
	assert_ptr_equal(workers[0].adopter, &children[2]);
	assert_int_equal(count_sent(2, IPC_ADOPT, 0), 1);
}

/* A client's messages may have killed both workers. */
static void
sockets_of_a_crashed_adopter_go_to_nobody(void **state)
{
	lose_again(0);
	workers[1].failures = 2;
	lose(1, true);
	assert_int_equal(workers[1].failures, 1); /* none of its own */
	assert_null(workers[0].adopter);
	assert_int_equal(count_sent(2, IPC_ADOPT, 0), 0);
	workers[1].current = &children[1];
	service_on_serving(&workers[1]);
	assert_null(workers[0].adopter);
	/* Nor the next time. */
	workers[0].current = &children[0];
	lose_again(0);
	assert_null(workers[0].adopter);
	/* Worker 0 lived long with the sockets, so they may be lent again. */
	workers[0].current = &children[0];
	children[0].started_msec -= 100000;
	lose(0, true);
	workers[0].current = &children[0];
	children[0].started_msec = clock_now_msec();
	lose(0, true);
	assert_non_null(workers[0].adopter);
}

static void
sockets_that_nobody_could_adopt_are_lent_later(void **state)
{
	children[1].serving = children[2].serving = false;
	lose_again(0);
	assert_null(workers[0].adopter);
	service_on_serving(&workers[2]);
	assert_ptr_equal(workers[0].adopter, &children[2]);
	assert_int_equal(count_sent(2, IPC_ADOPT, 0), 1);
	service_on_serving(&workers[1]);
	assert_ptr_equal(workers[0].adopter, &children[2]);
	assert_int_equal(count_sent(1, IPC_ADOPT, 0), 0);
}

/* The time of a child that was told to end goes by. True: it gets more. */
static bool
gets_more_time(struct child *child)
{
	event_del(child->overdue_event);
	event_active(child->overdue_event, EV_TIMEOUT, 0);
	event_base_loop(s.base, EVLOOP_NONBLOCK);
	return event_pending(child->overdue_event, EV_TIMEOUT, NULL) != 0;
}

/* The file xfrdfile of very many zones takes long. */
static void
xfrd_that_is_at_work_has_more_time_to_end(void **state)
{
	struct child_page page = {.heartbeat = 5};
	struct child *child = &children[0];

	child->role = ROLE_XFRD;
	child->page = &page;
	child_stop(child);
	for (unsigned i = 0; i < 4; i++) {
		assert_false(child->given_up);
		page.heartbeat++;
		assert_true(gets_more_time(child));
	}
	page.heartbeat++;
	assert_false(gets_more_time(child));
	assert_true(child->given_up);
	child->page = NULL;
}

static void
child_that_stands_still_has_no_more_time_to_end(void **state)
{
	struct child_page page = {.heartbeat = 5};

	for (unsigned i = 0; i < 2; i++) {
		struct child *child = &children[i];

		child->role = i == 0 ? ROLE_XFRD : ROLE_WORKER;
		child->page = &page;
		child_stop(child);
		page.heartbeat += i;
		assert_false(gets_more_time(child));
		assert_true(child->given_up);
		child->page = NULL;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(worker_is_away_for_less_than_2_seconds_ten_times),
		TEST(last_worker_is_away_for_a_moment_at_most),
		TEST(last_worker_is_replaced_at_once),
		TEST(worker_that_has_read_is_replaced_without_a_pause),
		TEST(pauses_of_all_end_when_the_last_worker_is_lost),
		TEST(worker_that_hangs_serves_nobody),
		TEST(silent_worker_serves_if_it_lacks_a_processor),
		TEST(other_roles_wait_longer),
		TEST(sockets_of_one_that_keeps_dying_are_lent),
		TEST(sockets_of_a_killed_adopter_go_on_to_a_third),
		TEST(sockets_of_a_crashed_adopter_go_to_nobody),
		TEST(sockets_that_nobody_could_adopt_are_lent_later),
		TEST(xfrd_that_is_at_work_has_more_time_to_end),
		TEST(child_that_stands_still_has_no_more_time_to_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
