/* test_broadcast.c - commands of the operator to all processes: main answers
 * when all have done it, and names one that has not. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/log.h"
#include "main/barrier.h"
#include "main/broadcast.h"
#include "main/child.h"

#define WORKERS 2
#define CHILDREN (WORKERS + 2)

static struct supervisor s;
static struct service workers[WORKERS];
static struct generation generation;
/* The other ends: workers, xfrd, loader. */
static struct ipc_channel ends[CHILDREN];
static struct child *children[CHILDREN];

enum { XFRD = WORKERS, LOADER };

static void
open_child(struct service *service, enum ipc_role role, unsigned index,
	unsigned at)
{
	struct ipc_channel ours;

	*service = (struct service){.supervisor = &s, .role = role,
		.index = index};
	children[at] = service->current = child_create(service, &generation);
	assert_non_null(children[at]);
	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, role, &ours,
				 &ends[at]), NSD_OK);
	children[at]->link.channel = ours;
	assert_true(child_watch(children[at]));
}

/* The end of the other kind of broadcast. */
static unsigned ended;
static const struct child *ended_late;

static void
note_end(struct supervisor *of, const struct child *late)
{
	assert_ptr_equal(of, &s);
	ended++;
	ended_late = late;
}

static int
open_world(void **state)
{
	s = (struct supervisor){.base = event_base_new(), .workers = workers,
		.worker_count = WORKERS};
	assert_int_equal(broadcast_init(&s), NSD_OK);
	assert_int_equal(barrier_init(&s, BARRIER_SETTINGS, note_end), NSD_OK);
	ended = 0;
	ended_late = NULL;
	for (unsigned i = 0; i < WORKERS; i++)
		open_child(&workers[i], ROLE_WORKER, i, i);
	open_child(&s.xfrd, ROLE_XFRD, 0, XFRD);
	open_child(&s.loader, ROLE_LOADER, 0, LOADER);
	return 0;
}

static int
close_world(void **state)
{
	for (unsigned i = 0; i < CHILDREN; i++) {
		if (children[i] != NULL)
			child_unwatch(children[i]);
		free(children[i]);
		ipc_channel_close(&ends[i]);
	}
	for (unsigned i = 0; i < BARRIER_COUNT; i++)
		if (s.barriers[i].late_event != NULL)
			event_free(s.barriers[i].late_event);
	event_base_free(s.base);
	return 0;
}

/* ---- messages ------------------------------------------------------------ */

static void
give_broadcast(uint64_t ticket, uint32_t what, uint32_t value)
{
	const struct ipc_broadcast broadcast = {{ticket, 0}, what, value};
	struct ipc_message m = {.from = ROLE_XFRD, .type = IPC_BROADCAST,
		.len = sizeof(broadcast)};

	memcpy(m.payload, &broadcast, sizeof(broadcast));
	assert_true(ipc_credits_take(&children[XFRD]->link.credits,
		IPC_BROADCAST));
	broadcast_on_broadcast(&s, children[XFRD], &m);
}

/* Receives the broadcast that a child was sent; returns its number. */
static uint64_t
take_obey(unsigned child, uint32_t what, uint32_t value)
{
	struct ipc_message m;
	struct ipc_broadcast broadcast;

	do
		assert_int_equal(ipc_receive(&ends[child], &m), NSD_OK);
	while (m.type == IPC_CREDIT);
	assert_int_equal(m.type, IPC_OBEY);
	memcpy(&broadcast, m.payload, sizeof(broadcast));
	assert_int_equal(broadcast.what, what);
	assert_int_equal(broadcast.value, value);
	return broadcast.request.ticket;
}

static void
say_obeyed(unsigned child, uint64_t number)
{
	struct ipc_message m = {.from = children[child]->role,
		.type = IPC_OBEYED, .len = sizeof(number)};

	memcpy(m.payload, &number, sizeof(number));
	barrier_on_obeyed(&s, children[child], &m);
}

/* False: there is no answer. */
static bool
take_done(struct ipc_broadcast_done *done)
{
	struct ipc_message m;

	do
		if (ipc_receive(&ends[XFRD], &m) != NSD_OK)
			return false;
	while (m.type == IPC_CREDIT);
	assert_int_equal(m.type, IPC_BROADCAST_DONE);
	memcpy(done, m.payload, sizeof(*done));
	return true;
}

static void
lose_child(unsigned child)
{
	barrier_lose(&s, children[child]);
}

/* Replaces xfrd by one with a new channel. */
static void
replace_xfrd(void)
{
	child_unwatch(children[XFRD]);
	free(children[XFRD]);
	ipc_channel_close(&ends[XFRD]);
	open_child(&s.xfrd, ROLE_XFRD, 0, XFRD);
}

/* A broadcast that worker 1 has not obeyed yet; its number. */
static uint64_t
give_order_all_but_1_obey(void)
{
	uint64_t number;

	give_broadcast(1, BROADCAST_VERBOSITY, 1);
	number = take_obey(XFRD, BROADCAST_VERBOSITY, 1);
	say_obeyed(0, number);
	say_obeyed(XFRD, number);
	say_obeyed(LOADER, number);
	return number;
}

/* ---- the tests ----------------------------------------------------------- */

static void
broadcast_is_done_when_all_have_obeyed(void **state)
{
	struct ipc_broadcast_done done;
	uint64_t number = 0;

	give_broadcast(7, BROADCAST_VERBOSITY, 3);
	assert_int_equal(log_verbosity(), 3);
	for (unsigned i = 0; i < CHILDREN; i++)
		number = take_obey(i, BROADCAST_VERBOSITY, 3);
	for (unsigned i = 0; i < CHILDREN; i++) {
		assert_false(take_done(&done));
		say_obeyed(i, number);
	}
	assert_true(take_done(&done));
	assert_int_equal(done.ticket, 7);
	assert_int_equal(done.err, NSD_OK);
	assert_false(take_done(&done));
}

/* A child that was taken over cannot answer for others. */
static void
child_counts_once_and_for_itself(void **state)
{
	struct ipc_broadcast_done done;
	uint64_t number;

	give_broadcast(1, BROADCAST_VERBOSITY, 0);
	number = take_obey(0, BROADCAST_VERBOSITY, 0);
	for (unsigned i = 0; i < 10; i++) {
		say_obeyed(0, number);
		say_obeyed(0, number + 1);
		say_obeyed(0, 0);
	}
	for (unsigned i = 1; i < CHILDREN; i++)
		(void)take_obey(i, BROADCAST_VERBOSITY, 0);
	assert_false(take_done(&done));
}

static void
child_that_dies_has_obeyed(void **state)
{
	struct ipc_broadcast_done done;

	(void)give_order_all_but_1_obey();
	assert_false(take_done(&done));
	lose_child(1);
	assert_true(take_done(&done));
	assert_int_equal(done.err, NSD_OK);
	/* Once. */
	lose_child(1);
	assert_false(take_done(&done));
}

static void
child_that_does_not_answer_is_named(void **state)
{
	struct ipc_broadcast_done done;
	uint64_t number = give_order_all_but_1_obey();

	event_active(s.barriers[BARRIER_BROADCAST].late_event, EV_TIMEOUT, 0);
	event_base_loop(s.base, EVLOOP_NONBLOCK);
	assert_true(take_done(&done));
	assert_int_equal(done.err, NSD_E_AGAIN);
	assert_int_equal(done.role, ROLE_WORKER);
	assert_int_equal(done.index, 1);
	/* A late answer is ignored. */
	say_obeyed(1, number);
	assert_false(take_done(&done));
}

/* An answer gives back the credit for the next one. */
static void
one_broadcast_at_a_time(void **state)
{
	struct ipc_credits *credits = &children[XFRD]->link.credits;
	struct ipc_broadcast_done done;

	for (uint64_t ticket = 1; ticket < 5; ticket++) {
		give_broadcast(ticket, BROADCAST_VERBOSITY, 1);
		assert_false(ipc_credits_take(credits, IPC_BROADCAST));
		for (unsigned i = 0; i < CHILDREN; i++)
			say_obeyed(i, take_obey(i, BROADCAST_VERBOSITY, 1));
		assert_true(take_done(&done));
		assert_int_equal(done.ticket, ticket);
		assert_int_equal(done.what, BROADCAST_VERBOSITY);
	}
}

static void
broadcast_of_a_dead_xfrd_makes_way(void **state)
{
	uint64_t first, second;

	give_broadcast(1, BROADCAST_VERBOSITY, 1);
	first = take_obey(0, BROADCAST_VERBOSITY, 1);
	lose_child(XFRD);
	replace_xfrd();
	give_broadcast(1, BROADCAST_VERBOSITY, 2);
	second = take_obey(0, BROADCAST_VERBOSITY, 2);
	assert_int_not_equal(first, second);
	say_obeyed(0, first);
	assert_int_equal(s.barriers[BARRIER_BROADCAST].left, CHILDREN);
	say_obeyed(0, second);
	assert_int_equal(s.barriers[BARRIER_BROADCAST].left, CHILDREN - 1);
}

static void
broadcast_that_is_none_is_refused(void **state)
{
	struct ipc_broadcast_done done;

	give_broadcast(5, 77, 0);
	assert_true(take_done(&done));
	assert_int_equal(done.ticket, 5);
	assert_int_equal(done.err, NSD_E_SYSTEM);
	assert_int_equal(s.barriers[BARRIER_BROADCAST].left, 0);
}

/* ---- barriers of main's own ---------------------------------------------- */

static void
begin_settings(void)
{
	const struct ipc_broadcast broadcast = {.what = BROADCAST_SETTINGS};

	assert_int_equal(barrier_begin(&s, BARRIER_SETTINGS, &broadcast,
				 ROLE_WORKER), NSD_OK);
}

/* A barrier of settings counts apart from a broadcast, and for its own roles
 * only. */
static void
barriers_are_counted_apart(void **state)
{
	struct ipc_broadcast_done done;
	uint64_t number = 0, settings = 0;

	give_broadcast(1, BROADCAST_VERBOSITY, 1);
	begin_settings();
	for (unsigned i = 0; i < CHILDREN; i++)
		number = take_obey(i, BROADCAST_VERBOSITY, 1);
	for (unsigned i = 0; i < WORKERS; i++)
		settings = take_obey(i, BROADCAST_SETTINGS, 0);
	assert_int_not_equal(number, settings);
	for (unsigned i = 0; i < CHILDREN; i++)
		say_obeyed(i, number);
	assert_true(take_done(&done));
	assert_int_equal(ended, 0);
	say_obeyed(LOADER, settings);
	say_obeyed(0, settings);
	assert_int_equal(ended, 0);
	lose_child(1);
	assert_int_equal(ended, 1);
	assert_null(ended_late);
}

static void
later_barrier_takes_the_place_of_one(void **state)
{
	uint64_t first, second;

	begin_settings();
	first = take_obey(0, BROADCAST_SETTINGS, 0);
	(void)take_obey(1, BROADCAST_SETTINGS, 0);
	say_obeyed(0, first);
	begin_settings();
	second = take_obey(0, BROADCAST_SETTINGS, 0);
	(void)take_obey(1, BROADCAST_SETTINGS, 0);
	say_obeyed(1, first);
	say_obeyed(1, second);
	assert_int_equal(ended, 0);
	event_active(s.barriers[BARRIER_SETTINGS].late_event, EV_TIMEOUT, 0);
	event_base_loop(s.base, EVLOOP_NONBLOCK);
	assert_int_equal(ended, 1);
	assert_ptr_equal(ended_late, children[0]);
	begin_settings();
	barrier_forget(&s, BARRIER_SETTINGS);
	second = take_obey(0, BROADCAST_SETTINGS, 0);
	say_obeyed(0, second);
	assert_int_equal(children[0]->pending[BARRIER_SETTINGS], 0);
	say_obeyed(1, second);
	assert_int_equal(ended, 1);
}

/* The broadcast to read settings is main's alone: xfrd may not give it. */
static void
settings_are_no_broadcast(void **state)
{
	struct ipc_broadcast_done done;

	give_broadcast(5, BROADCAST_SETTINGS, 0);
	assert_true(take_done(&done));
	assert_int_equal(done.err, NSD_E_SYSTEM);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, \
	close_world)
	const struct CMUnitTest tests[] = {
		TEST(broadcast_is_done_when_all_have_obeyed),
		TEST(child_counts_once_and_for_itself),
		TEST(child_that_dies_has_obeyed),
		TEST(child_that_does_not_answer_is_named),
		TEST(one_broadcast_at_a_time),
		TEST(broadcast_of_a_dead_xfrd_makes_way),
		TEST(broadcast_that_is_none_is_refused),
		TEST(barriers_are_counted_apart),
		TEST(later_barrier_takes_the_place_of_one),
		TEST(settings_are_no_broadcast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
