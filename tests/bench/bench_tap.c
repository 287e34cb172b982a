/*
 * bench_tap.c - the collector's work for a record: reading it from the ring,
 * making the frames of dnstap of its query and its response, and sending them
 * to a receiver at a UNIX socket.
 *
 * usage: bench_tap [ROUNDS [CASE]]
 *
 * A round fills the ring with 4,096 records of 44 octets asked and 80 answered,
 * and takes the processor time of this thread for one case: nanoseconds a
 * record, the least of all rounds. The receiver is a process of its own, which
 * throws away what it gets. JSON. With CASE, a number, that one alone, for what
 * counts instructions.
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <event2/buffer.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "collector/dnstap_frame.h"
#include "tap/ring.h"

#define RECORDS 4096u
#define BOTH (TAP_QUERY | TAP_RESPONSE)

static struct tap_ring ring;
static struct tap_cursor cursor;
static struct tap_writer writer;
static uint8_t copy[TAP_RECORD_MAX];
static struct tap_reader reader = {&ring, &cursor, copy};
static struct evbuffer *frames;
static int receiver;

/* A question of n0.example., type A, and room for the rest of the message. */
static const uint8_t question[] = "\x12\x34\1\0\0\1\0\0\0\0\0\1"
	"\2n0\7example\0\0\1\0\1";
static uint8_t query[44], response[80];

static void
ring_fill(void)
{
	struct tap_record record = {
		.kind = TAP_AUTH, .parts = BOTH, .protocol = TAP_UDP,
		.query_nsec = INT64_C(1796000000123456789),
		.response_nsec = INT64_C(1796000000123466789),
		.peer = {{127, 0, 0, 1}, 43210, 4},
		.local = {{127, 0, 0, 1}, 53, 4},
		.zone_len = 9,
		.query = query, .query_len = sizeof(query),
		.response = response, .response_len = sizeof(response),
	};

	for (unsigned i = 0; i < RECORDS; i++)
		if (!tap_write(&writer, &record))
			errx(1, "the ring has no room");
}

/* ---- cases --------------------------------------------------------------- */

static void
do_read(void)
{
	struct tap_record record;

	while (tap_read(&reader, &record) == TAP_READ)
		;
}

static void
do_frames(void)
{
	static const struct dnstap_names names = {NULL, NULL};
	struct tap_record record;

	while (tap_read(&reader, &record) == TAP_READ)
		if (dnstap_frame_add(frames, &names, &record, BOTH) != NSD_OK)
			errx(1, "no memory");
}

/* As a connection of libevent does, which waits in its loop. */
static void
do_send(void)
{
	struct pollfd wait = {receiver, POLLOUT, 0};

	do_frames();
	while (evbuffer_get_length(frames) > 0)
		if (evbuffer_write(frames, receiver) == -1) {
			if (errno != EAGAIN)
				err(1, "write");
			(void)poll(&wait, 1, -1);
		}
}

static const struct tap_case {
	const char *title;
	void (*run)(void);
} cases[] = {
	{"read", do_read},
	{"read and make frames", do_frames},
	{"read, make frames and send", do_send},
};

#define CASES (sizeof(cases) / sizeof(*cases))

/* ---- measuring ----------------------------------------------------------- */

static double
thread_nsec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static double
measure_case(const struct tap_case *one, unsigned rounds)
{
	double least = 0;

	for (unsigned i = 0; i < rounds; i++) {
		double begin, took;

		ring_fill();
		begin = thread_nsec();
		one->run();
		took = (thread_nsec() - begin) / RECORDS;
		if (i == 0 || took < least)
			least = took;
		evbuffer_drain(frames, evbuffer_get_length(frames));
	}
	return least;
}

/* Starts a process that reads all that comes; returns it. */
static pid_t
receiver_start(void)
{
	static uint8_t room[1 << 20];
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == -1
		|| (pid = fork()) == -1)
		err(1, "a receiver");
	receiver = ends[0];
	if (pid != 0) {
		close(ends[1]);
		return pid;
	}
	close(ends[0]);
	for (;;) {
		struct pollfd wait = {ends[1], POLLIN, 0};
		ssize_t n = read(ends[1], room, sizeof(room));

		if (n == 0 || (n == -1 && errno != EAGAIN))
			_exit(0);
		if (n == -1)
			(void)poll(&wait, 1, -1);
	}
}

int
main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	long only = argc > 2 ? atol(argv[2]) : -1;
	pid_t pid = receiver_start();

	memcpy(query, question, sizeof(question) - 1);
	memcpy(response, question, sizeof(question) - 1);
	tap_writer_init(&writer, &ring, &cursor, 1);
	frames = evbuffer_new();
	if (frames == NULL || rounds == 0 || only >= (long)CASES)
		errx(2, "usage: bench_tap [ROUNDS [CASE]]");
	for (size_t i = 0; i < CASES; i++)
		if (only == -1 || only == (long)i)
			printf("{\"case\": \"%s\", \"record_ns\": %.0f}\n",
				cases[i].title,
				measure_case(&cases[i], rounds));
	kill(pid, SIGKILL);
	evbuffer_free(frames);
	return 0;
}
