/* test_link.c - a channel in an event loop: what has no room waits, and what
 * the system is short of is nobody's death. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/failing.h"
#include "lib/failing_socket.h"
#include "process/link.h"

static struct event_base *base;
static struct link link_; /* main's, to a worker */
static struct ipc_channel worker;
static unsigned taken, gone, refused, rooms;

static void
on_message(struct link *link, const struct ipc_message *m)
{
	taken++;
}

static bool
on_refused(struct link *link)
{
	refused++;
	return true;
}

static void
on_gone(struct link *link)
{
	gone++;
}

static void
on_room(struct link *link)
{
	rooms++;
}

static const struct link_calls calls = {
	.on_message = on_message,
	.on_refused = on_refused,
	.on_gone = on_gone,
	.on_room = on_room,
};

static int
set_up(void **state)
{
	taken = gone = refused = rooms = 0;
	base = event_base_new();
	memset(&link_, 0, sizeof(link_));
	link_.calls = &calls;
	link_.turn = LINK_TURN;
	if (base == NULL || ipc_channel_open_pair(ROLE_MAIN, ROLE_WORKER,
		&link_.channel, &worker) != NSD_OK)
		return -1;
	return link_open(&link_, base) ? 0 : -1;
}

static int
tear_down(void **state)
{
	failing_sendmsg = failing_recvmsg = 0;
	link_close(&link_);
	ipc_channel_close(&worker);
	event_base_free(base);
	return 0;
}

static enum nsd_err
send_release(uint32_t server)
{
	struct ipc_adopt adopt = {.server = server};

	return link_send(&link_, &(struct link_message){
		.type = IPC_RELEASE,
		.payload = &adopt,
		.len = sizeof(adopt),
	});
}

static enum nsd_err
send_empty(enum ipc_type type, const int *fds, unsigned fd_count)
{
	return link_send(&link_, &(struct link_message){
		.type = type,
		.fds = fds,
		.fd_count = fd_count,
	});
}

/* Runs the loop until the worker has the next message. */
static void
receive(struct ipc_message *m)
{
	enum nsd_err err;

	while ((err = ipc_receive(&worker, m)) == NSD_E_AGAIN)
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	assert_int_equal(err, NSD_OK);
}

/* Until something waits; returns the number of the next message. */
static uint32_t
fill(void)
{
	uint32_t sent = 0;

	while (!link_waits(&link_))
		assert_int_equal(send_release(sent++), NSD_OK);
	return sent;
}

static void
what_has_no_room_waits_in_order(void **state)
{
	uint32_t sent = fill(), last = sent + 100;
	struct ipc_message m;

	while (sent < last)
		assert_int_equal(send_release(sent++), NSD_OK);
	for (uint32_t i = 0; i < last; i++) {
		struct ipc_adopt adopt;

		receive(&m);
		memcpy(&adopt, m.payload, sizeof(adopt));
		assert_int_equal(adopt.server, i);
	}
	assert_false(link_waits(&link_));
	assert_int_equal(rooms, 1);
	assert_int_equal(ipc_receive(&worker, &m), NSD_E_AGAIN);
}

static void
too_much_is_refused(void **state)
{
	uint32_t sent = fill();

	for (unsigned i = 1; i < LINK_WAITING_MAX; i++)
		assert_int_equal(send_release(sent++), NSD_OK);
	assert_int_equal(send_release(sent), NSD_E_LIMIT);
}

static enum nsd_err
send_log(unsigned verbosity, int fd)
{
	const struct log_share share = {.verbosity = verbosity,
		.has_file = 1};
	const struct link_message message = {
		.type = IPC_LOG,
		.payload = &share,
		.len = sizeof(share),
		.fds = &fd,
		.fd_count = 1,
	};

	return link_send(&link_, &message);
}

/* A waiting message without a payload is queued once, and of log messages the
 * latest. */
static void
one_of_each_kind_waits(void **state)
{
	uint32_t count = fill();
	int fds[2], ends[2];
	struct log_share share;
	struct ipc_message m;
	char octet = 0;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pipe(ends), 0);
	for (unsigned i = 0; i < 3 * LINK_WAITING_MAX; i++) {
		int *end = i == 3 * LINK_WAITING_MAX - 1 ? ends : fds;

		assert_int_equal(send_empty(IPC_STATISTICS, NULL, 0), NSD_OK);
		assert_int_equal(send_log(i, end[1]), NSD_OK);
	}
	while (count-- > 0)
		receive(&m);
	receive(&m);
	assert_int_equal(m.type, IPC_STATISTICS);
	receive(&m);
	assert_int_equal(m.type, IPC_LOG);
	assert_int_equal(m.fd_count, 1);
	memcpy(&share, m.payload, sizeof(share));
	assert_int_equal(share.verbosity, 3 * LINK_WAITING_MAX - 1);
	assert_int_equal(write(m.fds[0], "x", 1), 1);
	assert_int_equal(read(ends[0], &octet, 1), 1);
	assert_int_equal(octet, 'x');
	close(m.fds[0]);
	assert_int_equal(ipc_receive(&worker, &m), NSD_E_AGAIN);
	for (int i = 0; i < 2; i++) {
		close(fds[i]);
		close(ends[i]);
	}
}

static void
what_is_of_no_use_any_more_is_forgotten(void **state)
{
	uint32_t count = fill();
	struct ipc_message m;

	assert_int_equal(send_empty(IPC_STATISTICS, NULL, 0), NSD_OK);
	assert_int_equal(send_release(count), NSD_OK);
	link_forget(&link_, IPC_STATISTICS);
	assert_true(link_waits(&link_));
	assert_int_equal(send_log(1, STDERR_FILENO), NSD_OK);
	/* The last message had no room, and waited. */
	for (uint32_t i = 0; i + 1 < count; i++) {
		receive(&m);
		assert_int_equal(m.type, IPC_RELEASE);
	}
	receive(&m);
	assert_int_equal(m.type, IPC_STATISTICS);
	receive(&m);
	assert_int_equal(m.type, IPC_LOG);
	close(m.fds[0]);
	assert_false(link_waits(&link_));
}

static void
shortage_of_memory_passes(void **state)
{
	struct ipc_message m;

	failing_sendmsg = ENOBUFS;
	assert_int_equal(send_release(1), NSD_OK);
	assert_int_equal(send_release(2), NSD_OK);
	assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	assert_int_equal(ipc_receive(&worker, &m), NSD_E_AGAIN);
	failing_sendmsg = 0;
	receive(&m);
	receive(&m);

	failing_recvmsg = ENOBUFS;
	assert_int_equal(ipc_send(&worker, IPC_SERVING, NULL, 0, NULL, 0),
		NSD_OK);
	assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	assert_int_equal(taken, 0);
	failing_recvmsg = 0;
	while (taken == 0)
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	assert_int_equal(gone + refused, 0);
}

/* A message that cannot be queued for lack of memory is refused, and its sender
 * is told when to try again. */
static void
shortage_of_memory_for_what_waits_is_told(void **state)
{
	uint32_t sent = fill();
	struct ipc_message m;

	failing_from(0);
	assert_int_equal(send_release(sent), NSD_E_MEMORY);
	failing_from(-1);
	assert_int_equal(rooms, 0);
	/* The bound of the wait, if the sender is not told. */
	event_base_loopexit(base, &(struct timeval){.tv_sec = 10});
	assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	assert_int_equal(rooms, 1);
	assert_int_equal(send_release(sent++), NSD_OK);
	for (uint32_t i = 0; i < sent; i++)
		receive(&m);
}

/* The last messages of a dead peer are handled, then its end, once. */
static void
dead_side_is_heard_to_the_end(void **state)
{
	for (unsigned i = 0; i < 2 * LINK_TURN + 5; i++)
		assert_int_equal(ipc_send(&worker, IPC_SERVING, NULL, 0, NULL,
					 0),
			NSD_OK);
	(void)fill();
	ipc_channel_close(&worker);
	assert_int_equal(event_base_dispatch(base), 1); /* no events left */
	assert_int_equal(taken, 2 * LINK_TURN + 5);
	assert_int_equal(gone, 1);
	assert_int_equal(send_release(0), NSD_E_PEER);
	assert_false(link_waits(&link_));
}

static void
all_that_is_there_is_read_out(void **state)
{
	for (unsigned i = 0; i < 3 * LINK_TURN; i++)
		assert_int_equal(ipc_send(&worker, IPC_SERVING, NULL, 0, NULL,
					 0),
			NSD_OK);
	assert_int_equal(send(worker.fd, "?", 1, 0), 1);
	assert_int_equal(ipc_send(&worker, IPC_SERVING, NULL, 0, NULL, 0),
		NSD_OK);
	link_read_out(&link_);
	assert_int_equal(taken, 3 * LINK_TURN + 1);
	ipc_channel_close(&worker);
	link_read_out(&link_);
	assert_int_equal(gone, 0);
}

/* ---- credits ------------------------------------------------------------- */

/* Opens a link of self with a raw end of the other side. */
static void
open_side(struct link *side, enum ipc_role self, enum ipc_role peer,
	struct ipc_channel *other)
{
	memset(side, 0, sizeof(*side));
	side->calls = &calls;
	side->turn = LINK_TURN;
	assert_int_equal(ipc_channel_open_pair(self, peer, &side->channel,
				 other),
		NSD_OK);
	assert_true(link_open(side, base));
}

static enum nsd_err
send_update(struct link *side)
{
	static const struct ipc_update update;

	return link_send(side, &(struct link_message){
		.type = IPC_UPDATE,
		.payload = &update,
		.len = sizeof(update),
	});
}

static void
send_raw(const struct ipc_channel *other, enum ipc_type type, const void *what,
	size_t len)
{
	assert_int_equal(ipc_send(other, type, what, len, NULL, 0), NSD_OK);
}

static void
sender_without_credit_waits_for_it(void **state)
{
	const unsigned credits = ipc_rows[IPC_UPDATE].credits;
	const struct ipc_credit some = {.type = IPC_UPDATE, .count = 2};
	struct ipc_channel loader;
	struct link xfrd;

	open_side(&xfrd, ROLE_XFRD, ROLE_LOADER, &loader);
	for (unsigned i = 0; i < credits; i++)
		assert_int_equal(send_update(&xfrd), NSD_OK);
	assert_int_equal(send_update(&xfrd), NSD_E_AGAIN);
	assert_int_equal(rooms, 0);
	send_raw(&loader, IPC_CREDIT, &some, sizeof(some));
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(rooms, 1);
	assert_int_equal(send_update(&xfrd), NSD_OK);
	assert_int_equal(send_update(&xfrd), NSD_OK);
	assert_int_equal(send_update(&xfrd), NSD_E_AGAIN);
	link_close(&xfrd);
	ipc_channel_close(&loader);
}

static void
receiver_refuses_what_had_no_credit(void **state)
{
	static const struct ipc_update update;
	const unsigned credits = ipc_rows[IPC_UPDATE].credits;
	struct ipc_channel xfrd;
	struct ipc_message m;
	struct link loader;

	open_side(&loader, ROLE_LOADER, ROLE_XFRD, &xfrd);
	for (unsigned i = 0; i < credits; i++)
		send_raw(&xfrd, IPC_UPDATE, &update, sizeof(update));
	while (taken < credits)
		event_base_loop(base, EVLOOP_ONCE);
	/* Credit comes back in halves, once it is worth a message. */
	link_return(&loader, IPC_UPDATE);
	assert_int_equal(ipc_receive(&xfrd, &m), NSD_E_AGAIN);
	send_raw(&xfrd, IPC_UPDATE, &update, sizeof(update));
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(taken, credits);
	assert_int_equal(refused, 1);
	for (unsigned i = 1; i < credits / 2; i++)
		link_return(&loader, IPC_UPDATE);
	assert_int_equal(ipc_receive(&xfrd, &m), NSD_OK);
	assert_int_equal(m.type, IPC_CREDIT);
	link_close(&loader);
	ipc_channel_close(&xfrd);
}

/* A peer that does not read its answers gets no credits, and the queue is
 * bounded. */
static void
credit_stands_behind_answers(void **state)
{
	static const struct ipc_update update;
	static const struct ipc_updated answer;
	const struct link_message message = {.type = IPC_UPDATED,
		.payload = &answer, .len = sizeof(answer)};
	struct ipc_channel xfrd;
	struct link loader;
	unsigned sent = 0, idle = 0, before;

	open_side(&loader, ROLE_LOADER, ROLE_XFRD, &xfrd);
	while (idle < 3) {
		before = taken;
		if (ipc_send(&xfrd, IPC_UPDATE, &update, sizeof(update), NULL,
			    0)
			== NSD_OK)
			sent++;
		event_base_loop(base, EVLOOP_NONBLOCK);
		for (; before < taken; before++) {
			assert_int_equal(link_send(&loader, &message), NSD_OK);
			link_return(&loader, IPC_UPDATE);
			idle = 0;
		}
		idle += refused > 0;
		assert_true(sent < 100000);
	}
	assert_true(loader.waiting <= ipc_rows[IPC_UPDATE].credits);
	link_close(&loader);
	ipc_channel_close(&xfrd);
}

static void
link_behind_another_waits_for_it(void **state)
{
	static const struct ipc_updated answer;
	const struct link_message message = {.type = IPC_UPDATED,
		.payload = &answer, .len = sizeof(answer)};
	struct ipc_channel xfrd;
	struct ipc_message m;
	struct link loader;
	uint32_t count = fill();

	open_side(&loader, ROLE_LOADER, ROLE_XFRD, &xfrd);
	loader.behind = &link_;
	assert_int_equal(link_send(&loader, &message), NSD_OK);
	event_base_loop(base, EVLOOP_NONBLOCK);
	link_go_on(&loader);
	assert_int_equal(ipc_receive(&xfrd, &m), NSD_E_AGAIN);
	while (count-- > 0)
		receive(&m);
	assert_false(link_waits(&link_));
	link_go_on(&loader);
	assert_int_equal(ipc_receive(&xfrd, &m), NSD_OK);
	assert_int_equal(m.type, IPC_UPDATED);
	assert_int_equal(link_send(&loader, &message), NSD_OK);
	assert_int_equal(ipc_receive(&xfrd, &m), NSD_OK);
	link_close(&loader);
	ipc_channel_close(&xfrd);
}

/* Octets of all kinds from a worker: what is taken has its credit. */
static void
whatever_comes_is_bounded(void **state)
{
	uint8_t octets[4 + IPC_PAYLOAD_MAX + 8];
	struct ipc_channel other;
	struct link xfrd;
	uint32_t random = 7;

	open_side(&xfrd, ROLE_XFRD, ROLE_WORKER, &other);
	for (unsigned n = 0; n < 40000; n++) {
		size_t len;
		uint32_t type;

		for (size_t i = 0; i < sizeof(octets); i++) {
			random = random * 1664525 + 1013904223;
			octets[i] = (uint8_t)(random >> 24);
		}
		type = octets[4] % (IPC_TYPE_COUNT + 1u);
		len = 1 + random % (octets[5] % 2 ? 64 : sizeof(octets));
		memcpy(octets, &type, sizeof(type));
		assert_int_equal(send(other.fd, octets, len, 0), len);
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(taken, ipc_rows[IPC_NOTIFY].credits
		+ ipc_rows[IPC_CLIENT_UPDATE].credits);
	assert_int_equal(taken + refused, 40000);
	assert_int_equal(gone, 0);
	link_close(&xfrd);
	ipc_channel_close(&other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_has_no_room_waits_in_order),
		TEST(too_much_is_refused),
		TEST(one_of_each_kind_waits),
		TEST(what_is_of_no_use_any_more_is_forgotten),
		TEST(shortage_of_memory_passes),
		TEST(shortage_of_memory_for_what_waits_is_told),
		TEST(dead_side_is_heard_to_the_end),
		TEST(all_that_is_there_is_read_out),
		TEST(sender_without_credit_waits_for_it),
		TEST(receiver_refuses_what_had_no_credit),
		TEST(credit_stands_behind_answers),
		TEST(link_behind_another_waits_for_it),
		TEST(whatever_comes_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
