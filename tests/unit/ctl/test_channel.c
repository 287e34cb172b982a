/* test_channel.c - connections of the control channel: what they may send, what
 * is kept for them, and when they go. */
#include "config.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ctl/channel.h"
#include "ctl/json.h"

#define PATIENCE_MSEC 60000
#define CONNS 4

static struct world {
	struct event_base *base;
	struct ctl_channel *channel;
	struct sockaddr_un address;
	socklen_t address_len;
	int listener;
	/* The handler of calls that a test chooses. */
	void (*handle)(struct ctl_call *call);
	unsigned calls, gone, lines, rooms;
	struct ctl_call *held;
	char last_line[64];
} w;

static void
on_call(void *ctx, struct ctl_call *call)
{
	w.calls++;
	w.handle(call);
}

/* ---- handlers ------------------------------------------------------------ */

static void
says_ok(struct ctl_call *call)
{
	ctl_printf(call, "ok\n");
	ctl_end(call);
}

static void
count_gone(struct ctl_call *call)
{
	w.gone++;
}

static void
is_held(struct ctl_call *call)
{
	ctl_hooks(call)->on_gone = count_gone;
	w.held = call;
}

static void
print_some(struct ctl_call *call)
{
	static const char line[1000] = {[0 ... 998] = 'x', [999] = '\n'};

	w.rooms++;
	ctl_write(call, line, sizeof(line));
}

static void
streams_for_ever(struct ctl_call *call)
{
	is_held(call);
	ctl_stream(call, print_some);
}

static void
prints_json(struct ctl_call *call)
{
	struct ctl_json json = {.call = call};

	ctl_json_open(&json, NULL, '[');
	ctl_json_open(&json, NULL, '{');
	ctl_json_text(&json, "a\"b", "\\ \x01\x7f\xff\n");
	ctl_json_number(&json, "n", -3);
	ctl_json_open(&json, "e", '[');
	ctl_json_close(&json, ']');
	ctl_json_text(&json, "z", NULL);
	ctl_json_close(&json, '}');
	ctl_json_open(&json, NULL, '{');
	ctl_json_close(&json, '}');
	ctl_json_number(&json, NULL, 1);
	ctl_json_close(&json, ']');
	ctl_end(call);
}

static void
prints_too_much(struct ctl_call *call)
{
	is_held(call);
	for (unsigned i = 0; i < 2000; i++)
		print_some(call);
}

/* ---- the world ----------------------------------------------------------- */

static int
open_world_for(unsigned command_msec)
{
	struct ctl_channel_options options = {
		.on_call = on_call,
		.conns_max = CONNS,
		.command_msec = command_msec,
		.lines_msec = 300,
		.read_msec = 300,
	};

	w = (struct world){.base = event_base_new(), .handle = says_ok};
	options.base = w.base;
	w.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	w.address.sun_family = AF_UNIX;
	w.address_len = sizeof(sa_family_t);
	if (w.base == NULL || w.listener == -1
		|| bind(w.listener, (struct sockaddr *)&w.address,
			   w.address_len)
			!= 0
		|| listen(w.listener, 100) != 0)
		return -1;
	/* The kernel has chosen a name. */
	w.address_len = sizeof(w.address);
	if (getsockname(w.listener, (struct sockaddr *)&w.address,
		    &w.address_len)
			!= 0
		|| ctl_channel_create(&options, &w.channel) != NSD_OK)
		return -1;
	return ctl_channel_listen(w.channel, w.listener, NULL) == NSD_OK ? 0
									: -1;
}

static int
open_world(void **state)
{
	return open_world_for(300);
}

/* Where clients are to be there until the test has an end. */
static int
open_patient_world(void **state)
{
	return open_world_for(PATIENCE_MSEC);
}

static int
close_world(void **state)
{
	ctl_channel_destroy(w.channel);
	event_base_free(w.base);
	close(w.listener);
	return 0;
}

static int
client_open(const char *text)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_int_not_equal(fd, -1);
	assert_int_equal(connect(fd, (struct sockaddr *)&w.address,
				 w.address_len), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

/* Lets the channel work until the client has all of its answer, which is
 * returned; or "late". */
static const char *
client_read(int fd)
{
	static char text[4096];
	int64_t end = clock_now_msec() + PATIENCE_MSEC;
	size_t len = 0;
	ssize_t n;

	while (clock_now_msec() < end) {
		event_base_loop(w.base, EVLOOP_NONBLOCK);
		n = read(fd, text + len, sizeof(text) - 1 - len);
		if (n == 0 || (n == -1 && errno == ECONNRESET)) {
			text[len] = '\0';
			close(fd);
			return text;
		}
		len += n > 0 ? (size_t)n : 0;
	}
	return "late";
}

static bool
turn_until(unsigned *what, unsigned count)
{
	int64_t end = clock_now_msec() + PATIENCE_MSEC;

	while (*what < count && clock_now_msec() < end)
		event_base_loop(w.base, EVLOOP_NONBLOCK);
	return *what >= count;
}

/* ---- the tests ----------------------------------------------------------- */

static void
command_is_answered(void **state)
{
	assert_string_equal(client_read(client_open("NSDCT1 status\n")),
		"ok\n");
	assert_string_equal(client_read(client_open("NSDCT1 status\nmore")),
		"ok\n");
	assert_string_equal(client_read(client_open("NSDCT1 paint\n")),
		"error unknown command 'paint'\n");
	assert_int_equal(w.calls, 2);
}

static void
client_that_says_nothing_is_closed(void **state)
{
	assert_string_equal(client_read(client_open("")), "");
	assert_string_equal(client_read(client_open("NSDCT1 stat")), "");
	assert_int_equal(w.calls, 0);
}

static void
oldest_without_a_command_makes_room(void **state)
{
	int idle[CONNS];

	for (unsigned i = 0; i < CONNS; i++)
		idle[i] = client_open("NSDCT1");
	assert_string_equal(client_read(client_open("NSDCT1 status\n")),
		"ok\n");
	/* The others were left alone. */
	assert_int_equal(write(idle[CONNS - 1], " status\n", 8), 8);
	assert_string_equal(client_read(idle[CONNS - 1]), "ok\n");
	assert_string_equal(client_read(idle[0]), "");
	for (unsigned i = 1; i < CONNS - 1; i++)
		close(idle[i]);
}

/* Commands are not dropped: with all connections busy, the next one waits. */
static void
commands_are_not_thrown_out(void **state)
{
	struct ctl_call *calls[CONNS];
	int fds[CONNS], next;

	w.handle = is_held;
	for (unsigned i = 0; i < CONNS; i++) {
		fds[i] = client_open("NSDCT1 status\n");
		assert_true(turn_until(&w.calls, i + 1));
		calls[i] = w.held;
	}
	w.handle = says_ok;
	next = client_open("NSDCT1 status\n");
	for (unsigned i = 0; i < 100; i++)
		event_base_loop(w.base, EVLOOP_NONBLOCK);
	assert_int_equal(w.calls, CONNS);
	for (unsigned i = 0; i < CONNS; i++) {
		ctl_printf(calls[i], "%u\n", i);
		ctl_end(calls[i]);
		assert_int_equal(client_read(fds[i])[0], '0' + i);
	}
	assert_string_equal(client_read(next), "ok\n");
	assert_int_equal(w.gone, 0);
}

/* One connection is kept for quick commands. */
static void
slow_commands_leave_room_for_quick_ones(void **state)
{
	struct ctl_call *calls[CONNS];

	w.handle = is_held;
	for (unsigned i = 0; i < CONNS - 1; i++) {
		client_open("NSDCT1 reload\n");
		assert_true(turn_until(&w.calls, i + 1));
		calls[i] = w.held;
	}
	w.handle = says_ok;
	assert_memory_equal(client_read(client_open("NSDCT1 reload\n")),
		"error too many", 14);
	assert_string_equal(client_read(client_open("NSDCT1 stop\n")),
		"ok\n");
	for (unsigned i = 0; i < CONNS - 1; i++)
		ctl_end(calls[i]);
	assert_string_equal(client_read(client_open("NSDCT1 reload\n")),
		"ok\n");
}

/* A call stays valid after its client has left, as its work may be under
 * way. */
static void
call_outlives_its_client(void **state)
{
	int fd;

	w.handle = streams_for_ever;
	fd = client_open("NSDCT1 status\n");
	assert_true(turn_until(&w.rooms, 3));
	close(fd);
	assert_true(turn_until(&w.gone, 1));
	assert_true(ctl_is_gone(w.held));
	ctl_printf(w.held, "nobody hears\n");
	ctl_end(w.held);
}

/* A call that waits and prints nothing notices that its client has left, and
 * gives up its connection. */
static void
clients_that_leave_while_they_wait_hold_no_place(void **state)
{
	struct ctl_call *calls[CONNS];
	int fds[CONNS];

	w.handle = is_held;
	for (unsigned i = 0; i < CONNS; i++) {
		fds[i] = client_open("NSDCT1 status\nmore");
		assert_true(turn_until(&w.calls, i + 1));
		calls[i] = w.held;
	}
	for (unsigned i = 0; i < CONNS; i++)
		close(fds[i]);
	assert_true(turn_until(&w.gone, CONNS));
	w.handle = says_ok;
	assert_string_equal(client_read(client_open("NSDCT1 status\n")),
		"ok\n");
	for (unsigned i = 0; i < CONNS; i++)
		ctl_end(calls[i]);
}

/* A client that has sent all of its command may still wait for the answer, and
 * gets it unless the channel is full. */
static void
client_that_has_said_all_gives_way(void **state)
{
	static char octets[65536];
	struct ctl_call *calls[CONNS];
	int fds[CONNS];

	w.handle = is_held;
	for (unsigned i = 0; i < CONNS; i++) {
		fds[i] = client_open("NSDCT1 status\n");
		assert_true(turn_until(&w.calls, i + 1));
		calls[i] = w.held;
	}
	assert_int_equal(shutdown(fds[1], SHUT_WR), 0);
	assert_int_equal(shutdown(fds[2], SHUT_WR), 0);
	assert_true(write(fds[3], octets, sizeof(octets)) > 0);
	for (unsigned i = 0; i < 100; i++)
		event_base_loop(w.base, EVLOOP_NONBLOCK);
	assert_int_equal(w.gone, 0);
	w.handle = says_ok;
	assert_string_equal(client_read(client_open("NSDCT1 status\n")),
		"ok\n");
	assert_int_equal(w.gone, 1);
	assert_true(ctl_is_gone(calls[1]));
	ctl_end(calls[1]);
	ctl_printf(calls[2], "two\n");
	ctl_end(calls[2]);
	assert_string_equal(client_read(fds[2]), "two\n");
	ctl_end(calls[0]);
	ctl_printf(calls[3], "three\n");
	ctl_end(calls[3]);
	assert_string_equal(client_read(fds[3]), "three\n");
	close(fds[0]);
	close(fds[1]);
}

static void
answer_is_made_while_it_is_read(void **state)
{
	char octets[65536];
	unsigned before;
	int fd;

	w.handle = streams_for_ever;
	fd = client_open("NSDCT1 status\n");
	assert_true(turn_until(&w.rooms, 1));
	for (unsigned i = 0; i < 5000; i++)
		event_base_loop(w.base, EVLOOP_NONBLOCK);
	before = w.rooms;
	assert_in_range(before, 10, 1000);
	for (unsigned i = 0; i < 1000 && w.rooms < before + 10; i++) {
		(void)!read(fd, octets, sizeof(octets));
		event_base_loop(w.base, EVLOOP_NONBLOCK);
	}
	assert_true(w.rooms >= before + 10);
	/* A client that stops reading is dropped after its time. */
	assert_true(turn_until(&w.gone, 1));
	ctl_end(w.held);
	close(fd);
}

static void
answer_that_is_too_large_is_none(void **state)
{
	int fd;

	w.handle = prints_too_much;
	fd = client_open("NSDCT1 status\n");
	assert_true(turn_until(&w.gone, 1));
	ctl_end(w.held);
	close(fd);
}

/* RFC 8259 section 7 */
static void
json_is_ascii_and_has_its_commas(void **state)
{
	w.handle = prints_json;
	assert_string_equal(client_read(client_open("NSDCT1 -j status\n")),
		"[{\"a\\\"b\":\"\\\\ \\u0001\\u007f\\u00ff\\u000a\","
		"\"n\":-3,\"e\":[],\"z\":null},{},1]");
}

static void
call_that_is_broken_off_is_ended_later(void **state)
{
	struct ctl_call *call;
	int fd;

	w.handle = is_held;
	fd = client_open("NSDCT1 status\n");
	assert_true(turn_until(&w.calls, 1));
	call = w.held;
	assert_true(ctl_channel_is_busy(w.channel));
	ctl_break_off(call, "error it ends");
	ctl_printf(call, "ok\n");
	assert_string_equal(client_read(fd), "error it ends\n");
	assert_false(ctl_channel_is_busy(w.channel));
	assert_int_equal(w.gone, 0);
	ctl_printf(call, "ok\n");
	ctl_end(call);
}

static void
channel_that_is_destroyed_has_no_calls(void **state)
{
	int fd;

	w.handle = is_held;
	fd = client_open("NSDCT1 status\n");
	assert_true(turn_until(&w.calls, 1));
	ctl_channel_destroy(w.channel);
	w.channel = NULL;
	assert_string_equal(client_read(fd), "");
	assert_int_equal(w.gone, 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, \
	close_world)
	const struct CMUnitTest tests[] = {
		TEST(command_is_answered),
		TEST(client_that_says_nothing_is_closed),
		cmocka_unit_test_setup_teardown(
			oldest_without_a_command_makes_room, open_patient_world,
			close_world),
		TEST(commands_are_not_thrown_out),
		TEST(slow_commands_leave_room_for_quick_ones),
		TEST(call_outlives_its_client),
		TEST(clients_that_leave_while_they_wait_hold_no_place),
		TEST(client_that_has_said_all_gives_way),
		TEST(answer_is_made_while_it_is_read),
		TEST(answer_that_is_too_large_is_none),
		TEST(json_is_ascii_and_has_its_commas),
		TEST(call_that_is_broken_off_is_ended_later),
		TEST(channel_that_is_destroyed_has_no_calls),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
