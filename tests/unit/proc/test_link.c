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

#include "lib/failing_socket.h"
#include "proc/link.h"

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

	return link_send(&link_, &(struct link_parcel){
		.type = IPC_RELEASE,
		.payload = &adopt,
		.len = sizeof(adopt),
	});
}

static enum nsd_err
send_empty(enum ipc_type type, const int *fds, unsigned fd_count)
{
	return link_send(&link_, &(struct link_parcel){
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

/* Of those without a payload one is as good as many, and the latest descriptor
 * is the one that counts. */
static void
one_of_each_kind_waits(void **state)
{
	uint32_t count = fill();
	int fds[2], ends[2];
	struct ipc_message m;
	char octet = 0;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pipe(ends), 0);
	for (unsigned i = 0; i < 3 * LINK_WAITING_MAX; i++) {
		int *end = i == 3 * LINK_WAITING_MAX - 1 ? ends : fds;

		assert_int_equal(send_empty(IPC_STATISTICS, NULL, 0), NSD_OK);
		assert_int_equal(send_empty(IPC_LOG_REOPEN, &end[1], 1),
			NSD_OK);
	}
	while (count-- > 0)
		receive(&m);
	receive(&m);
	assert_int_equal(m.type, IPC_STATISTICS);
	receive(&m);
	assert_int_equal(m.type, IPC_LOG_REOPEN);
	assert_int_equal(m.fd_count, 1);
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
	assert_int_equal(send_empty(IPC_LOG_REOPEN, NULL, 0), NSD_OK);
	/* The last one to be sent had no room, and waited. */
	for (uint32_t i = 0; i + 1 < count; i++) {
		receive(&m);
		assert_int_equal(m.type, IPC_RELEASE);
	}
	receive(&m);
	assert_int_equal(m.type, IPC_STATISTICS);
	receive(&m);
	assert_int_equal(m.type, IPC_LOG_REOPEN);
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

/* Its last messages count, and then it is gone, once. */
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
		TEST(dead_side_is_heard_to_the_end),
		TEST(all_that_is_there_is_read_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
