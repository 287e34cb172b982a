/* test_requests.c - requests of xfrd to loaders that die: each is sent to the
 * next loader until it is answered, and one that they die of is given up. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/requests.h"

#define ENDS_MAX 1000u

static struct event_base *base;
static struct requests requests;
static struct link link_;          /* to the loader */
static struct ipc_channel loader;  /* end of the loader */
static uint64_t ends[ENDS_MAX];    /* numbers, in order */
static bool given_up[ENDS_MAX];
static unsigned end_count;

static void
on_message(struct link *link, const struct ipc_message *m)
{
	requests_take_answer(&requests, m);
}

static bool
on_refused(struct link *link)
{
	fail();
	return false;
}

static void
on_gone(struct link *link)
{
}

static void
on_room(struct link *link)
{
	requests_go_on(&requests, link);
}

static const struct link_calls calls = {
	.on_message = on_message,
	.on_refused = on_refused,
	.on_gone = on_gone,
	.on_room = on_room,
};

static void
start_loader(void)
{
	memset(&link_, 0, sizeof(link_));
	link_.calls = &calls;
	link_.turn = LINK_TURN;
	assert_int_equal(ipc_channel_open_pair(ROLE_XFRD, ROLE_LOADER,
				 &link_.channel, &loader),
		NSD_OK);
	assert_true(link_open(&link_, base));
	requests_go_on(&requests, &link_);
}

/* Closes the channel as peers.c does. */
static void
kill_loader(void)
{
	ipc_channel_close(&loader);
	link_read_out(&link_);
	requests_stop(&requests);
	link_close(&link_);
}

static int
set_up(void **state)
{
	base = event_base_new();
	memset(&requests, 0, sizeof(requests));
	end_count = 0;
	return base != NULL ? 0 : -1;
}

static void
on_end(void *ctx, const struct ipc_message *answer)
{
	assert_true(end_count < ENDS_MAX);
	given_up[end_count] = answer == NULL;
	ends[end_count++] = (uint64_t)(uintptr_t)ctx;
}

/* number: of the request, comes back at its end. */
static enum nsd_err
add(uintptr_t number, enum ipc_type type)
{
	const struct ipc_zone payload = {.request.again = 7};
	const struct link_message message = {
		.type = type,
		.payload = &payload,
		.len = ipc_rows[type].payload_min,
	};

	return requests_add(&requests, &message, on_end, (void *)number);
}

/* Receives the next one that the loader has; its ticket, or 0: none. */
static uint64_t
receive(bool again)
{
	struct ipc_request request;
	struct ipc_message m;
	enum nsd_err err = ipc_receive(&loader, &m);

	if (err == NSD_E_AGAIN)
		return 0;
	assert_int_equal(err, NSD_OK);
	memcpy(&request, m.payload, sizeof(request));
	assert_int_equal(request.again, again);
	return request.ticket;
}

static void
answer(enum ipc_type type, uint64_t ticket)
{
	const struct ipc_zone payload = {.request.ticket = ticket};

	assert_int_equal(ipc_send(&loader, type, &payload,
				 ipc_rows[type].payload_min, NULL, 0),
		NSD_OK);
	event_base_loop(base, EVLOOP_NONBLOCK);
}

/* Answers all that is left. */
static int
tear_down(void **state)
{
	struct ipc_message m;

	while (requests.count > 0) {
		start_loader();
		while (ipc_receive(&loader, &m) == NSD_OK) {
			uint64_t ticket;

			memcpy(&ticket, m.payload, sizeof(ticket));
			answer(m.type == IPC_UPDATE ? IPC_UPDATED
						    : IPC_ZONE_CHANGED,
				ticket);
		}
		kill_loader();
	}
	event_base_free(base);
	return 0;
}

static void
requests_wait_for_a_loader(void **state)
{
	for (uintptr_t n = 1; n <= 3; n++)
		assert_int_equal(add(n, IPC_UPDATE), NSD_OK);
	start_loader();
	for (uint64_t n = 1; n <= 3; n++)
		assert_int_equal(receive(false), n);
	assert_int_equal(receive(false), 0);
	answer(IPC_UPDATED, 2);
	answer(IPC_UPDATED, 1);
	answer(IPC_UPDATED, 3);
	assert_int_equal(end_count, 3);
	assert_int_equal(ends[0], 2);
	assert_int_equal(ends[1], 1);
	assert_int_equal(requests.count, 0);
	kill_loader();
}

static void
what_was_not_answered_comes_again_one_at_a_time(void **state)
{
	start_loader();
	for (uintptr_t n = 1; n <= 4; n++)
		assert_int_equal(add(n, IPC_UPDATE), NSD_OK);
	for (uint64_t n = 1; n <= 4; n++)
		assert_int_equal(receive(false), n);
	answer(IPC_UPDATED, 2);
	/* An answer that it has left counts. */
	assert_int_equal(ipc_send(&loader, IPC_UPDATED,
				 &(struct ipc_updated){.ticket = 3},
				 sizeof(struct ipc_updated), NULL, 0),
		NSD_OK);
	kill_loader();
	assert_int_equal(end_count, 2);
	assert_int_equal(add(5, IPC_UPDATE), NSD_OK);
	start_loader();
	assert_int_equal(receive(true), 1);
	assert_int_equal(receive(true), 0);
	answer(IPC_UPDATED, 1);
	assert_int_equal(receive(true), 4);
	assert_int_equal(receive(false), 0);
	answer(IPC_UPDATED, 4);
	assert_int_equal(receive(false), 5);
	answer(IPC_UPDATED, 5);
	for (unsigned i = 0; i < end_count; i++)
		assert_false(given_up[i]);
	assert_int_equal(end_count, 5);
	kill_loader();
}

static void
what_loaders_die_of_is_given_up(void **state)
{
	for (uintptr_t n = 1; n <= 3; n++)
		assert_int_equal(add(n, IPC_UPDATE), NSD_OK);
	for (unsigned death = 0; death < REQUEST_DEATHS_MAX; death++) {
		start_loader();
		while (receive(death > 0) != 0)
			;
		/* The first one is innocent, the second is not. */
		answer(IPC_UPDATED, 1);
		if (death == 0)
			assert_int_equal(end_count, 1);
		assert_int_equal(requests.count, 2);
		while (receive(death > 0) != 0)
			;
		kill_loader();
		if (death == 0)
			end_count = 1;
	}
	assert_int_equal(end_count, 2);
	assert_int_equal(ends[1], 2);
	assert_true(given_up[1]);
	start_loader();
	assert_int_equal(receive(true), 3);
	answer(IPC_UPDATED, 3);
	assert_false(given_up[2]);
	kill_loader();
}

static void
innocent_ones_outlive_what_came_with_them(void **state)
{
	for (uintptr_t n = 1; n <= 100; n++)
		assert_int_equal(add(n, IPC_UPDATE), NSD_OK);
	/* The loader dies of the 50th request. */
	while (requests.count > 0) {
		uint64_t ticket = 1;
		bool deadly = false;
		struct ipc_message m;

		start_loader();
		while (!deadly && ipc_receive(&loader, &m) == NSD_OK) {
			memcpy(&ticket, m.payload, sizeof(ticket));
			deadly = ticket == 50;
			if (!deadly)
				answer(IPC_UPDATED, ticket);
		}
		kill_loader();
	}
	assert_int_equal(end_count, 100);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(given_up[i], ends[i] == 50);
}

static void
credits_hold_a_request_back_and_not_its_place(void **state)
{
	const unsigned credits = ipc_rows[IPC_UPDATE].credits;
	struct ipc_credit credit = {.type = IPC_UPDATE, .count = 1};

	start_loader();
	for (uintptr_t n = 1; n <= credits + 1; n++)
		assert_int_equal(add(n, IPC_UPDATE), NSD_OK);
	/* Another kind has credits, and stays behind. */
	assert_int_equal(add(credits + 2, IPC_CHANGE_ZONE), NSD_OK);
	for (uint64_t n = 1; n <= credits; n++)
		assert_int_equal(receive(false), n);
	assert_int_equal(receive(false), 0);
	answer(IPC_UPDATED, 1);
	assert_int_equal(receive(false), 0);
	assert_int_equal(ipc_send(&loader, IPC_CREDIT, &credit,
				 sizeof(credit), NULL, 0),
		NSD_OK);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(receive(false), credits + 1);
	assert_int_equal(receive(false), credits + 2);
	kill_loader();
}

/* Main's rule: a waiting request holds up no other kind, and requests of a kind
 * stay in order. */
static void
kinds_may_pass_each_other(void **state)
{
	const unsigned credits = ipc_rows[IPC_UPDATE].credits;
	struct ipc_credit credit = {.type = IPC_UPDATE, .count = 2};
	uintptr_t n = 1;

	requests.any_order = true;
	start_loader();
	while (n <= credits + 2)
		assert_int_equal(add(n++, IPC_UPDATE), NSD_OK);
	assert_int_equal(add(n++, IPC_CHANGE_ZONE), NSD_OK);
	assert_int_equal(add(n++, IPC_UPDATE), NSD_OK);
	for (n = 1; n <= credits; n++)
		assert_int_equal(receive(false), n);
	assert_int_equal(receive(false), credits + 3);
	assert_int_equal(receive(false), 0);
	answer(IPC_ZONE_CHANGED, credits + 3);
	assert_int_equal(end_count, 1);
	assert_int_equal(add(n, IPC_CHANGE_ZONE), NSD_OK);
	assert_int_equal(receive(false), credits + 5);
	assert_int_equal(ipc_send(&loader, IPC_CREDIT, &credit,
				 sizeof(credit), NULL, 0),
		NSD_OK);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(receive(false), credits + 1);
	assert_int_equal(receive(false), credits + 2);
	assert_int_equal(receive(false), 0);
	kill_loader();
	/* The next loader gets all open requests again, in their order. */
	start_loader();
	assert_int_equal(receive(true), 1);
	kill_loader();
}

/* Two roles may answer with the same message. */
static void
answers_of_another_role_do_nothing(void **state)
{
	struct ipc_message m = {.from = ROLE_MAIN, .type = IPC_UPDATED,
		.len = sizeof(struct ipc_updated)};
	const struct ipc_updated updated = {.ticket = 1};

	memcpy(m.payload, &updated, sizeof(updated));
	start_loader();
	assert_int_equal(add(1, IPC_UPDATE), NSD_OK);
	assert_int_equal(receive(false), 1);
	requests_take_answer(&requests, &m);
	assert_int_equal(end_count, 0);
	m.from = ROLE_LOADER;
	requests_take_answer(&requests, &m);
	assert_int_equal(end_count, 1);
	kill_loader();
}

static void
too_many_are_refused(void **state)
{
	for (uintptr_t n = 1; n <= REQUESTS_MAX; n++)
		assert_int_equal(add(n, IPC_UPDATE), NSD_OK);
	assert_int_equal(add(0, IPC_UPDATE), NSD_E_AGAIN);
	start_loader();
	assert_int_equal(receive(false), 1);
	answer(IPC_UPDATED, 1);
	assert_int_equal(add(0, IPC_UPDATE), NSD_OK);
	kill_loader();
}

static void
answers_to_nothing_do_nothing(void **state)
{
	start_loader();
	answer(IPC_UPDATED, 1);
	assert_int_equal(add(1, IPC_UPDATE), NSD_OK);
	assert_int_equal(receive(false), 1);
	answer(IPC_UPDATED, 0);
	answer(IPC_UPDATED, 2);
	answer(IPC_ZONE_CHANGED, 1);
	assert_int_equal(end_count, 0);
	answer(IPC_UPDATED, 1);
	answer(IPC_UPDATED, 1);
	assert_int_equal(end_count, 1);
	kill_loader();
}

/* A late request holds no other back, has its credit back, and is answered, or
 * sent to the next loader. */
static void
late_ones_count_no_more(void **state)
{
	struct ipc_request head = {.ticket = 0};
	unsigned credits = ipc_rows[IPC_UPDATE].credits;
	const struct ipc_credit credit = {.type = IPC_UPDATE, .count = credits};

	start_loader();
	for (unsigned i = 1; i <= credits + 2; i++)
		assert_int_equal(add(i, IPC_UPDATE), NSD_OK);
	for (unsigned i = 1; i <= credits; i++)
		assert_int_equal(receive(false), i);
	assert_int_equal(receive(false), 0);
	for (uintptr_t i = 1; i <= credits; i++)
		assert_ptr_equal(requests_take_delay(&requests, i,
				i == 2 ? NULL : on_end),
			i == 2 ? NULL : (void *)i);
	assert_null(requests_take_delay(&requests, 1, on_end));
	assert_null(requests_take_delay(&requests, credits + 1, on_end));
	assert_int_equal(requests.count, 2);
	assert_int_equal(ipc_send(&loader, IPC_CREDIT, &credit,
				 sizeof(credit), NULL, 0),
		NSD_OK);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(receive(false), credits + 1);
	answer(IPC_UPDATED, credits + 1);
	assert_int_equal(end_count, 1);
	answer(IPC_UPDATED, 2);
	assert_int_equal(end_count, 2);
	assert_int_equal(ends[1], 2);
	answer(IPC_UPDATED, 2);
	assert_int_equal(end_count, 2);
	kill_loader();
	assert_int_equal(requests.count, credits);
	start_loader();
	head.ticket = receive(true);
	assert_int_equal(head.ticket, 1);
	assert_ptr_equal(requests_take_delay(&requests, 1, on_end),
		(void *)1);
	assert_int_equal(receive(true), 3);
	kill_loader();
}

static void
one_loader_that_dies_is_enough_for_a_read(void **state)
{
	assert_int_equal(add(1, IPC_UPDATE), NSD_OK);
	assert_int_equal(add(2, IPC_READ), NSD_OK);
	start_loader();
	assert_int_equal(receive(false), 1);
	assert_int_equal(receive(false), 2);
	kill_loader();
	assert_int_equal(end_count, 1);
	assert_int_equal(ends[0], 2);
	assert_true(given_up[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_wait_for_a_loader),
		TEST(what_was_not_answered_comes_again_one_at_a_time),
		TEST(what_loaders_die_of_is_given_up),
		TEST(one_loader_that_dies_is_enough_for_a_read),
		TEST(innocent_ones_outlive_what_came_with_them),
		TEST(credits_hold_a_request_back_and_not_its_place),
		TEST(kinds_may_pass_each_other),
		TEST(answers_of_another_role_do_nothing),
		TEST(late_ones_count_no_more),
		TEST(too_many_are_refused),
		TEST(answers_to_nothing_do_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
