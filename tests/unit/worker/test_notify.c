/*
 * test_notify.c - NOTIFYs from a worker to xfrd: how many may be under way,
 * what waits, and what is not taken.
 */
#include "config.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "worker/notify.h"

#define CREDITS 64u

static struct event_base *base;
static struct peers peers;
static struct notify_queue queue;
static struct ipc_channel xfrd; /* end of xfrd */

static void
on_room(void *owner, struct peer *peer)
{
	notify_go_on(&queue, &peers);
}

/* xfrd is there: main says so. */
static void
start_xfrd(void)
{
	const struct ipc_peer what = {.id = 7, .role = ROLE_XFRD};
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

static int
set_up(void **state)
{
	memset(&peers, 0, sizeof(peers));
	memset(&queue, 0, sizeof(queue));
	base = event_base_new();
	peers.self = ROLE_WORKER;
	peers.base = base;
	peers.on_room = on_room;
	xfrd.fd = -1;
	return base != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
	const struct ipc_peer what = {.id = 7, .role = ROLE_XFRD};
	struct ipc_message m = {.type = IPC_PEER_GONE, .len = sizeof(what)};

	memcpy(m.payload, &what, sizeof(what));
	peers_remove(&peers, &m);
	while (queue.count > 0)
		free(queue.waiting[--queue.count]);
	ipc_channel_close(&xfrd);
	event_base_free(base);
	return 0;
}

/* A NOTIFY of the zone zNNN. whose octets end in a mark. */
static bool
pass_on(unsigned zone, char mark, size_t len)
{
	uint8_t *octets = calloc(1, len);
	struct sockaddr_storage peer = {.ss_family = AF_INET};
	struct sockaddr_in *in = (struct sockaddr_in *)&peer;
	const struct exchange x = {
		.request = octets,
		.request_len = (uint32_t)len,
		.peer = &peer,
	};
	bool taken;

	assert_non_null(octets);
	assert_int_equal(inet_pton(AF_INET, "192.0.2.1", &in->sin_addr), 1);
	in->sin_port = htons(53);
	octets[2] = 0x20;
	octets[5] = 1;
	octets[12] = 4;
	snprintf((char *)octets + 13, 5, "z%03u", zone);
	octets[len - 1] = (uint8_t)mark;
	taken = notify_pass_on(&queue, &peers, &x);
	free(octets);
	return taken;
}

#define LEN 40u

/* The next NOTIFY that xfrd gets: "z001a", or "" for none. */
static const char *
next(void)
{
	static char text[8];
	const struct ipc_notify *notify;
	struct sockaddr_in in;
	struct ipc_message m;

	text[0] = '\0';
	if (ipc_receive(&xfrd, &m) != NSD_OK)
		return text;
	assert_int_equal(m.type, IPC_NOTIFY);
	notify = (const struct ipc_notify *)m.payload;
	assert_int_equal(m.len, offsetof(struct ipc_notify, message) + LEN);
	memcpy(&in, notify->address, sizeof(in));
	assert_int_equal(in.sin_family, AF_INET);
	assert_int_equal(in.sin_port, htons(53));
	snprintf(text, sizeof(text), "%.4s%c",
		(const char *)notify->message + 13,
		notify->message[LEN - 1]);
	return text;
}

/* xfrd is done with so many. */
static void
return_credits(uint32_t count)
{
	const struct ipc_credit credit = {.type = IPC_NOTIFY, .count = count};

	assert_int_equal(ipc_send(&xfrd, IPC_CREDIT, &credit, sizeof(credit),
		NULL, 0), NSD_OK);
	event_base_loop(base, EVLOOP_NONBLOCK);
}

static void
notify_comes_to_xfrd_with_its_sender(void **state)
{
	start_xfrd();
	assert_true(pass_on(1, 'a', LEN));
	assert_string_equal(next(), "z001a");
	assert_string_equal(next(), "");
}

/* The beginning of a NOTIFY that is longer than a message to xfrd. */
static void
long_notify_is_cut(void **state)
{
	struct ipc_message m;

	start_xfrd();
	assert_true(pass_on(1, 'a', IPC_NOTIFY_MAX));
	assert_int_equal(ipc_receive(&xfrd, &m), NSD_OK);
	assert_int_equal(m.len, sizeof(struct ipc_notify));
	assert_int_equal(m.payload[m.len - 1], 'a');
	assert_true(pass_on(1, 'a', 65535));
	assert_int_equal(ipc_receive(&xfrd, &m), NSD_OK);
	assert_int_equal(m.len, sizeof(struct ipc_notify));
	assert_int_equal(m.payload[m.len - 1], 0);
	/* A NOTIFY that waits is cut, too. */
	peers.first->link.credits.left[IPC_NOTIFY] = 0;
	assert_true(pass_on(2, 'a', 65535));
	assert_int_equal(queue.count, 1);
}

/* Beyond the credits one waits for each zone, the newest. */
static void
newest_of_each_zone_waits_for_credits(void **state)
{
	start_xfrd();
	for (unsigned i = 0; i < CREDITS; i++)
		assert_true(pass_on(0, 'a', LEN));
	assert_true(pass_on(1, 'a', LEN));
	assert_true(pass_on(2, 'a', LEN));
	assert_true(pass_on(1, 'b', LEN));
	assert_true(pass_on(3, 'a', LEN));
	assert_true(pass_on(1, 'c', LEN));
	assert_int_equal(queue.count, 3);
	for (unsigned i = 0; i < CREDITS; i++)
		assert_string_equal(next(), "z000a");
	assert_string_equal(next(), "");
	return_credits(2);
	assert_string_equal(next(), "z001c");
	assert_string_equal(next(), "z002a");
	assert_string_equal(next(), "");
	/* New NOTIFYs queue behind waiting ones. */
	assert_true(pass_on(4, 'a', LEN));
	return_credits(CREDITS - 2);
	assert_string_equal(next(), "z003a");
	assert_string_equal(next(), "z004a");
	assert_true(pass_on(5, 'a', LEN));
	assert_string_equal(next(), "z005a");
	assert_int_equal(queue.count, 0);
}

static void
zones_beyond_the_room_are_not_taken(void **state)
{
	for (unsigned i = 0; i < NOTIFY_WAITING_MAX; i++)
		assert_true(pass_on(i, 'a', LEN));
	assert_false(pass_on(NOTIFY_WAITING_MAX, 'a', LEN));
	assert_true(pass_on(5, 'b', LEN));
	assert_false(pass_on(NOTIFY_WAITING_MAX, 'a', LEN));
	assert_int_equal(queue.count, NOTIFY_WAITING_MAX);
}

/* NOTIFYs wait for the first xfrd, and for the next one. */
static void
what_waits_goes_to_the_next_xfrd(void **state)
{
	assert_true(pass_on(1, 'a', LEN));
	assert_true(pass_on(2, 'a', LEN));
	start_xfrd();
	assert_string_equal(next(), "z001a");
	assert_string_equal(next(), "z002a");
	assert_string_equal(next(), "");
	assert_int_equal(queue.count, 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(notify_comes_to_xfrd_with_its_sender),
		TEST(long_notify_is_cut),
		TEST(newest_of_each_zone_waits_for_credits),
		TEST(zones_beyond_the_room_are_not_taken),
		TEST(what_waits_goes_to_the_next_xfrd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
