/*
 * test_client_updates.c - UPDATEs from a worker to xfrd: how many may be under
 * way, what waits and for how long, and what an xfrd that dies takes along.
 */
#include "config.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/octets.h"
#include "dns/message.h"
#include "worker/client_updates.h"

#define CREDITS 256u
#define LEN 40u
#define NOW_MSEC 5000000u

static struct event_base *base;
static struct peers peers;
static struct client_updates *updates;
static struct counters counters;
static struct ipc_channel xfrd; /* end of xfrd */

static void
on_room(void *owner, struct peer *peer)
{
	client_updates_go_on(updates);
}

/* xfrd is there: main says so. */
static void
start_xfrd(uint64_t id)
{
	const struct ipc_peer what = {.id = id, .role = ROLE_XFRD};
	struct ipc_channel worker;
	struct ipc_message m = {.type = IPC_PEER, .fd_count = 1,
		.len = sizeof(what)};

	assert_int_equal(ipc_channel_open_pair(ROLE_WORKER, ROLE_XFRD,
		&worker, &xfrd), NSD_OK);
	memcpy(m.payload, &what, sizeof(what));
	m.fds[0] = worker.fd;
	peers_add(&peers, &m);
	ipc_channel_close(&worker);
}

static void
end_xfrd(uint64_t id)
{
	const struct ipc_peer what = {.id = id, .role = ROLE_XFRD};
	struct ipc_message m = {.type = IPC_PEER_GONE, .len = sizeof(what)};

	memcpy(m.payload, &what, sizeof(what));
	peers_remove(&peers, &m);
	ipc_channel_close(&xfrd);
	client_updates_on_gone(updates, id);
}

static int
set_up(void **state)
{
	memset(&peers, 0, sizeof(peers));
	memset(&counters, 0, sizeof(counters));
	base = event_base_new();
	updates = calloc(1, sizeof(*updates));
	peers.self = ROLE_WORKER;
	peers.base = base;
	peers.on_room = on_room;
	xfrd.fd = -1;
	if (base == NULL || updates == NULL)
		return -1;
	updates->peers = &peers;
	updates->counters = &counters;
	return 0;
}

/* Time ends all that is left. */
static int
tear_down(void **state)
{
	client_updates_on_time(updates, UINT64_MAX / 2);
	assert_int_equal(updates->count, 0);
	assert_int_equal(updates->octets, 0);
	end_xfrd(7);
	end_xfrd(8);
	free(updates);
	event_base_free(base);
	return 0;
}

/* An UPDATE with a number, of a client that is gone by the reply. True if it
 * was taken. */
static bool
take_at(uint32_t number, size_t len, uint64_t msec)
{
	const struct client_updates_now now = {1000, msec};
	uint8_t *octets = calloc(1, len);
	struct sockaddr_storage peer = {.ss_family = AF_INET};
	struct sockaddr_in *in = (struct sockaddr_in *)&peer;
	struct exchange x = {
		.request = octets,
		.request_len = (uint32_t)len,
		.reply_capacity = 512,
		.pass_on = true,
		.peer = &peer,
	};

	assert_non_null(octets);
	assert_int_equal(inet_pton(AF_INET, "192.0.2.1", &in->sin_addr), 1);
	in->sin_port = htons(53);
	octets_put_u16(octets, (uint16_t)number);
	octets_put_u32(octets + len - 4, number);
	client_updates_take(updates, &x, &now);
	free(octets);
	assert_int_equal(x.reply_len, 0);
	assert_int_equal(x.pass_on, x.later == NULL);
	if (x.later == NULL)
		return false;
	client_updates_on_later(updates, x.later, NULL);
	return true;
}

static bool
take(uint32_t number)
{
	return take_at(number, LEN, NOW_MSEC);
}

/* The next UPDATE that xfrd gets; false: there is none. */
static bool
next(struct ipc_message *m, uint32_t *number)
{
	const struct ipc_client_update *update;
	struct sockaddr_in in;

	if (ipc_receive(&xfrd, m) != NSD_OK)
		return false;
	assert_int_equal(m->type, IPC_CLIENT_UPDATE);
	assert_int_equal(m->fd_count, 0);
	assert_int_equal(m->len, IPC_CLIENT_UPDATE_MIN + LEN);
	update = (const struct ipc_client_update *)m->payload;
	memcpy(&in, update->address, sizeof(in));
	assert_int_equal(in.sin_family, AF_INET);
	assert_int_equal(in.sin_port, htons(53));
	*number = octets_get_u32(update->message + LEN - 4);
	return true;
}

static uint64_t
expect(uint32_t number)
{
	struct ipc_message m;
	uint32_t got;
	uint64_t ticket;

	assert_true(next(&m, &got));
	assert_int_equal(got, number);
	memcpy(&ticket, m.payload, sizeof(ticket));
	return ticket;
}

static void
expect_none(void)
{
	struct ipc_message m;
	uint32_t number;

	assert_false(next(&m, &number));
}

static void
tell(uint64_t channel, uint64_t ticket)
{
	const struct ipc_client_updated updated = {.ticket = ticket};
	struct ipc_message m = {.type = IPC_CLIENT_UPDATED,
		.channel = channel, .len = IPC_CLIENT_UPDATED_MIN};

	memcpy(m.payload, &updated, m.len);
	client_updates_on_updated(updates, &m);
}

static void
return_credits(uint32_t count)
{
	const struct ipc_credit credit = {.type = IPC_CLIENT_UPDATE,
		.count = count};

	assert_int_equal(ipc_send(&xfrd, IPC_CREDIT, &credit, sizeof(credit),
		NULL, 0), NSD_OK);
	event_base_loop(base, EVLOOP_NONBLOCK);
}

static void
updates_wait_for_credits_in_order(void **state)
{
	uint32_t number = 0;

	start_xfrd(7);
	for (uint32_t i = 0; i < CREDITS + 3; i++) {
		assert_true(take(i));
		if (i < CREDITS)
			expect(number++);
	}
	expect_none();
	return_credits(2);
	expect(number++);
	expect(number++);
	expect_none();
	/* A new one queues behind. */
	assert_true(take(CREDITS + 3));
	return_credits(5);
	expect(number++);
	expect(number++);
	expect_none();
	assert_int_equal(updates->count, CREDITS + 4);
}

static void
outcome_ends_its_update_once(void **state)
{
	uint64_t first, second;

	start_xfrd(7);
	assert_true(take(1));
	assert_true(take(2));
	first = expect(1);
	second = expect(2);
	/* Tickets that nobody has, and a channel that has not this one. */
	tell(7, second + 1);
	tell(7, first + CLIENT_UPDATES_MAX);
	tell(8, first);
	assert_int_equal(updates->count, 2);
	tell(7, second);
	tell(7, second);
	assert_int_equal(updates->count, 1);
	tell(7, first);
	assert_int_equal(updates->count, 0);
}

static void
xfrd_that_dies_takes_along_what_it_has(void **state)
{
	uint64_t first;

	start_xfrd(7);
	for (uint32_t i = 0; i < CREDITS + 2; i++) {
		assert_true(take(i));
		if (i < CREDITS)
			(void)expect(i);
	}
	end_xfrd(7);
	assert_int_equal(updates->count, 2);
	start_xfrd(8);
	client_updates_go_on(updates);
	first = expect(CREDITS);
	expect(CREDITS + 1);
	expect_none();
	tell(8, first);
	assert_int_equal(updates->count, 1);
}

static void
updates_are_given_up_in_time(void **state)
{
	uint64_t ticket;

	start_xfrd(7);
	assert_true(take_at(1, LEN, NOW_MSEC));
	assert_true(take_at(2, LEN, NOW_MSEC + 1000));
	ticket = expect(1);
	client_updates_on_time(updates, NOW_MSEC + CLIENT_UPDATES_MSEC - 1);
	assert_int_equal(updates->count, 2);
	client_updates_on_time(updates, NOW_MSEC + CLIENT_UPDATES_MSEC);
	assert_int_equal(updates->count, 1);
	tell(7, ticket);
	assert_int_equal(updates->count, 1);
	client_updates_on_time(updates, NOW_MSEC + CLIENT_UPDATES_MSEC + 1000);
	assert_int_equal(updates->count, 0);
}

static void
updates_beyond_the_room_are_not_taken(void **state)
{
	for (uint32_t i = 0; i < CLIENT_UPDATES_MAX; i++)
		assert_true(take(i));
	assert_false(take(0));
	client_updates_on_time(updates, NOW_MSEC + CLIENT_UPDATES_MSEC);
	assert_int_equal(updates->count, 0);
	for (uint32_t i = 0; i < CLIENT_UPDATES_OCTETS / 65535; i++)
		assert_true(take_at(i, 65535, NOW_MSEC));
	assert_false(take_at(0, 65535, NOW_MSEC));
	assert_in_range(updates->octets, 0, CLIENT_UPDATES_OCTETS);
}

static void
long_update_goes_in_a_file(void **state)
{
	uint8_t *octets = malloc(65536);
	struct ipc_message m;

	assert_non_null(octets);
	start_xfrd(7);
	assert_true(take_at(9, IPC_CLIENT_UPDATE_MAX, NOW_MSEC));
	assert_int_equal(ipc_receive(&xfrd, &m), NSD_OK);
	assert_int_equal(m.fd_count, 0);
	assert_int_equal(m.len, IPC_CLIENT_UPDATE_MIN
		+ IPC_CLIENT_UPDATE_MAX);
	for (size_t len = IPC_CLIENT_UPDATE_MAX + 1; len <= 65535;
		len += 65535 - IPC_CLIENT_UPDATE_MAX - 1) {
		assert_true(take_at(77, len, NOW_MSEC));
		assert_int_equal(ipc_receive(&xfrd, &m), NSD_OK);
		assert_int_equal(m.len, IPC_CLIENT_UPDATE_MIN);
		assert_int_equal(m.fd_count, 1);
		assert_int_equal(pread(m.fds[0], octets, 65536, 0), len);
		assert_int_equal(octets_get_u32(octets + len - 4), 77);
		close(m.fds[0]);
	}
	free(octets);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(updates_wait_for_credits_in_order),
		TEST(outcome_ends_its_update_once),
		TEST(xfrd_that_dies_takes_along_what_it_has),
		TEST(updates_are_given_up_in_time),
		TEST(updates_beyond_the_room_are_not_taken),
		TEST(long_update_goes_in_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
