/* test_dnstap_stream.c - the end of a connection to a receiver of dnstap, which
 * takes what is left, stalls, or says nothing. */
#include "config.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
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

#include "base/clock.h"
#include "collector/dnstap_stream.h"

#define CONTENT "protobuf:dnstap.Dnstap"
#define ACCEPT "\0\0\0\0\0\0\0\x22\0\0\0\1\0\0\0\1\0\0\0\x16" CONTENT
#define FINISH "\0\0\0\0\0\0\0\4\0\0\0\5"
/* Octets of a frame, and as many as no socket holds. */
#define FRAME 1000u
#define MANY 3000u
/* A test that takes longer hangs. */
#define DEADLINE_SEC 60

/* A stream, and the receiver's end of its socket. */
struct pair {
	struct event_base *base;
	struct dnstap_stream stream;
	int receiver;
	bool is_open, has_ended;
	char why[256];
	uint64_t sent, dropped;
};

static void
pair_on_open(void *ctx)
{
	((struct pair *)ctx)->is_open = true;
}

static void
pair_on_end(void *ctx, const char *why)
{
	struct pair *p = ctx;

	p->has_ended = true;
	(void)strncpy(p->why, why, sizeof(p->why) - 1);
}

static void
pair_turn(struct pair *p)
{
	assert_int_not_equal(event_base_loop(p->base, EVLOOP_NONBLOCK), -1);
}

/* Throws away what the receiver can read now. */
static void
pair_read(struct pair *p)
{
	char room[65536];

	while (read(p->receiver, room, sizeof(room)) > 0)
		;
}

static void
pair_write(struct pair *p, const void *octets, size_t len)
{
	assert_int_equal(write(p->receiver, octets, len), (ssize_t)len);
}

static void
pair_add(struct pair *p, unsigned count)
{
	static const uint8_t frame[FRAME];

	for (unsigned i = 0; i < count; i++) {
		struct evbuffer *room = dnstap_stream_room(&p->stream);

		assert_non_null(room);
		assert_int_equal(evbuffer_add(room, frame, FRAME), 0);
		dnstap_stream_add(&p->stream, 1);
	}
	dnstap_stream_push(&p->stream);
}

/* Opens a connection that the receiver accepts. */
static int
pair_setup(void **state)
{
	struct pair *p = test_calloc(1, sizeof(*p));
	int ends[2];

	*state = p;
	p->base = event_base_new();
	assert_non_null(p->base);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
				 ends), 0);
	p->receiver = ends[1];
	p->stream = (struct dnstap_stream){
		.base = p->base,
		.on_open = pair_on_open,
		.on_end = pair_on_end,
		.ctx = p,
		.sent = &p->sent,
		.dropped = &p->dropped,
	};
	assert_int_equal(dnstap_stream_init(&p->stream), NSD_OK);
	assert_true(dnstap_stream_open(&p->stream, ends[0]));
	pair_write(p, ACCEPT, sizeof(ACCEPT) - 1);
	while (!p->is_open) {
		assert_false(p->has_ended);
		assert_int_not_equal(event_base_loop(p->base, EVLOOP_ONCE), -1);
	}
	return 0;
}

static int
pair_teardown(void **state)
{
	struct pair *p = *state;

	dnstap_stream_end(&p->stream);
	evbuffer_free(p->stream.frames);
	event_free(p->stream.overdue);
	event_base_free(p->base);
	close(p->receiver);
	test_free(p);
	return 0;
}

/* ---- tests --------------------------------------------------------------- */

static void
receiver_that_has_stalled_is_not_waited_for(void **state)
{
	struct pair *p = *state;

	pair_add(p, MANY);
	do
		pair_turn(p);
	while (clock_now_msec() - p->stream.taken_msec
		< DNSTAP_STREAM_END_MSEC);
	assert_false(dnstap_stream_stop(&p->stream));
	dnstap_stream_end(&p->stream);
	assert_int_equal(p->sent, 0);
	assert_int_equal(p->dropped, MANY);
	assert_false(p->has_ended);
}

static void
receiver_that_stalls_at_the_end_is_left(void **state)
{
	struct pair *p = *state;

	pair_add(p, MANY);
	assert_true(dnstap_stream_stop(&p->stream));
	while (!p->has_ended)
		assert_int_equal(event_base_loop(p->base, EVLOOP_ONCE), 0);
	assert_int_equal(p->dropped, MANY);
}

/* The system has taken all: nothing is lost. */
static void
receiver_that_says_nothing_is_left(void **state)
{
	struct pair *p = *state;

	pair_add(p, 3);
	assert_true(dnstap_stream_stop(&p->stream));
	while (!p->has_ended)
		assert_int_equal(event_base_loop(p->base, EVLOOP_ONCE), 0);
	assert_string_equal(p->why, "the receiver does not finish");
	assert_int_equal(p->sent, 3);
	assert_int_equal(p->dropped, 0);
}

static void
receiver_that_finishes(void **state)
{
	struct pair *p = *state;

	pair_add(p, 3);
	assert_true(dnstap_stream_stop(&p->stream));
	pair_write(p, FINISH, sizeof(FINISH) - 1);
	while (!p->has_ended)
		assert_int_equal(event_base_loop(p->base, EVLOOP_ONCE), 0);
	assert_string_equal(p->why, "the receiver has finished");
}

/* The receiver takes longer for all of it than it may stall. */
static void
receiver_that_takes_all_by_and_by_gets_all(void **state)
{
	struct pair *p = *state;
	int64_t begin = clock_now_msec();

	pair_add(p, MANY);
	assert_true(dnstap_stream_stop(&p->stream));
	while (p->sent == 0) {
		assert_false(p->has_ended);
		usleep(10000);
		pair_read(p);
		pair_turn(p);
	}
	assert_true(clock_now_msec() - begin >= DNSTAP_STREAM_END_MSEC);
	assert_int_equal(p->sent, MANY);
	assert_int_equal(p->dropped, 0);
}

/* Frames that wait for a connection count as lost at the end. */
static void
frames_without_a_connection_are_counted(void **state)
{
	struct pair *p = *state;

	close(p->receiver);
	p->receiver = -1;
	while (!p->has_ended)
		assert_int_equal(event_base_loop(p->base, EVLOOP_ONCE), 0);
	pair_add(p, 5);
	assert_false(dnstap_stream_stop(&p->stream));
	dnstap_stream_end(&p->stream);
	assert_int_equal(p->dropped, 5);
}

#define PAIR_TEST(test)                                                      \
	cmocka_unit_test_setup_teardown(test, pair_setup, pair_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(receiver_that_has_stalled_is_not_waited_for),
		PAIR_TEST(receiver_that_stalls_at_the_end_is_left),
		PAIR_TEST(receiver_that_says_nothing_is_left),
		PAIR_TEST(receiver_that_finishes),
		PAIR_TEST(receiver_that_takes_all_by_and_by_gets_all),
		PAIR_TEST(frames_without_a_connection_are_counted),
	};

	alarm(DEADLINE_SEC);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
