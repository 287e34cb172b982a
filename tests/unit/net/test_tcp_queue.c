/* test_tcp_queue.c - connections that wait for a TCP place: who gets the next,
 * how many there are (faults 35, 36). */
#include "config.h"

#include "harness.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/descriptors.h"

#define PLACES 8u
#define MANY "127.0.8.1" /* of the network that wants all */
#define OTHER "127.0.9.1"
#define QUEUE_MAX 1024u  /* TCP_QUEUE_MAX */
#define BEHIND 200u      /* clients beyond the queue */

static const struct net_tcp_options options = { .connections_max = PLACES,
	.timeout_sec = 120 };

/* True without an answer and without the end of the stream. */
static bool
still_waits(int fd)
{
	uint8_t octet;

	return recv(fd, &octet, 1, MSG_PEEK) == -1 && errno == EAGAIN;
}

static bool
is_answered(int fd)
{
	uint8_t octet;

	return recv(fd, &octet, 1, MSG_PEEK) == 1;
}

static bool
has_descriptors(rlim_t count)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < count)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* Comes and asks, and waits for nothing. */
static int
come(struct harness *h, const char *source)
{
	int fd = harness_connect_from(h, source);
	uint8_t data[64];

	harness_send(h, fd, data, make_request(data, 'E', 30));
	harness_turn(h);
	return fd;
}

/* Comes, and has a place that nobody takes away as idle: a stream that it does
 * not take. */
static int
stay(struct harness *h, const char *source)
{
	static const uint8_t request[] = { 0, 20, 'S', 0xff, 0xff, 0xff, 0xff,
		[21] = 0 };
	size_t streams = h->streams;
	int fd = harness_connect_from(h, source);

	harness_send(h, fd, request, sizeof(request));
	harness_wait(h, &h->streams, streams + 1);
	return fd;
}

static void
close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

/* The first client in the queue gets the next place. */
static void
tcp_queue_keeps_the_order(void **state)
{
	struct harness h;
	int fds[PLACES], waiting[3];

	harness_tcp(&h, "127.0.0.1", &options);
	for (unsigned i = 0; i < PLACES; i++)
		fds[i] = stay(&h, MANY);
	for (unsigned i = 0; i < 3; i++)
		waiting[i] = come(&h, MANY);
	assert_int_equal(net_tcp_count(h.tcp), PLACES);
	for (unsigned i = 0; i < 3; i++) {
		assert_false(is_answered(waiting[i]));
		close(fds[i]);
		harness_wait(&h, &h.requests, PLACES + i + 1);
		harness_turn(&h);
		assert_true(is_answered(waiting[i]));
	}
	assert_int_equal(h.rx_err, 0);
	close_all(waiting, 3);
	close_all(fds + 3, PLACES - 3);
	harness_fini(&h);
}

/* The network with the fewest places comes first. */
static void
tcp_queue_goes_by_places(void **state)
{
	static const char *const nets[] = { MANY, "127.0.10.1", "127.0.11.1",
		"127.0.12.1" };
	struct harness h;
	int fds[PLACES], waiting[3], other;

	harness_tcp(&h, "127.0.0.1", &options);
	for (unsigned i = 0; i < PLACES; i++)
		fds[i] = stay(&h, nets[i % 4]);
	for (unsigned i = 0; i < 3; i++)
		waiting[i] = come(&h, MANY);
	other = come(&h, OTHER);
	/* No network has more than its share. */
	assert_false(is_answered(other));
	close(fds[1]);
	harness_wait(&h, &h.requests, PLACES + 1);
	harness_turn(&h);
	assert_true(is_answered(other));
	for (unsigned i = 0; i < 3; i++)
		assert_true(still_waits(waiting[i]));
	close(other);
	close_all(waiting, 3);
	close(fds[0]);
	close_all(fds + 2, PLACES - 2);
	harness_fini(&h);
}

/* Where descriptors run out, who waits for a place gives way. That counts, and
 * so does the failure to accept. */
static void
tcp_queue_gives_way_where_descriptors_run_out(void **state)
{
	struct descriptors descriptors;
	struct harness h;
	int fds[PLACES], waiting, newcomer;

	harness_tcp(&h, "127.0.0.1", &options);
	for (unsigned i = 0; i < PLACES; i++)
		fds[i] = stay(&h, MANY);
	waiting = come(&h, MANY);
	assert_true(still_waits(waiting));
	newcomer = harness_connect(&h, 0);
	descriptors_take(&descriptors);
	harness_wait(&h, &h.rx_err, 2);
	assert_false(still_waits(waiting));
	descriptors_give_all(&descriptors);
	assert_int_equal(h.rx_err, 2);
	close(waiting);
	close(newcomer);
	close_all(fds, PLACES);
	harness_fini(&h);
}

/* A network that has more than its share gets what is idle of its own, however
 * many others have been idle for longer. */
static void
tcp_queue_finds_idle_places_of_a_network(void **state)
{
	enum { FEW = 100, ALL = 400 };
	static const struct net_tcp_options many = { .connections_max = ALL,
		.timeout_sec = 120 };
	struct harness h;
	int fds[ALL], fd;
	char source[16];

	if (!has_descriptors(2 * ALL + 200))
		skip();
	harness_tcp(&h, "127.0.0.1", &many);
	for (unsigned i = 0; i < ALL; i++) {
		snprintf(source, sizeof(source), "127.1.%u.1", i);
		fds[i] = come(&h, i < FEW ? source : MANY);
		harness_wait(&h, &h.requests, i + 1);
	}
	fd = come(&h, MANY);
	harness_wait(&h, &h.requests, ALL + 1);
	harness_turn(&h);
	assert_true(is_answered(fd));
	close(fd);
	close_all(fds, ALL);
	harness_fini(&h);
}

/* Networks that have as many take turns, however many each wants: those that
 * come back at once do not keep others waiting. */
static void
tcp_queue_takes_turns(void **state)
{
	enum { NETS = 100, EACH = 3 };
	struct harness h;
	int fds[PLACES], waiting[NETS][EACH], other;
	char source[16];
	size_t served = 0;

	harness_tcp(&h, "127.0.0.1", &options);
	for (unsigned i = 0; i < PLACES; i++) {
		snprintf(source, sizeof(source), "127.0.%u.1", 10 + i % 4);
		fds[i] = stay(&h, source);
	}
	for (unsigned i = 0; i < NETS; i++)
		for (unsigned k = 0; k < EACH; k++) {
			snprintf(source, sizeof(source), "127.1.%u.1", i);
			waiting[i][k] = come(&h, source);
		}
	other = come(&h, OTHER);
	close(fds[0]);
	harness_wait(&h, &h.requests, PLACES + 1);
	for (unsigned k = 0; k < EACH; k++)
		for (unsigned i = 0; i < NETS && !is_answered(other); i++) {
			harness_turn(&h);
			assert_true(is_answered(waiting[i][k]));
			close(waiting[i][k]);
			waiting[i][k] = -1;
			served++;
			harness_wait(&h, &h.requests, PLACES + served + 1);
		}
	assert_int_equal(served, NETS);
	close(other);
	for (unsigned i = 0; i < NETS; i++)
		for (unsigned k = 0; k < EACH; k++)
			if (waiting[i][k] != -1)
				close(waiting[i][k]);
	close_all(fds + 1, PLACES - 1);
	harness_fini(&h);
}

/* Clients beyond the queue are closed after a while, so that others behind them
 * get in; clients in the queue stay. */
static void
tcp_queue_is_bounded(void **state)
{
	size_t count = QUEUE_MAX + BEHIND, gone = 0;
	struct harness h;
	int fds[PLACES], *waiting = calloc(count, sizeof(*waiting)), other;

	if (!has_descriptors(2 * count + 200)) {
		free(waiting);
		skip();
	}
	harness_tcp(&h, "127.0.0.1", &options);
	for (unsigned i = 0; i < PLACES; i++)
		fds[i] = stay(&h, MANY);
	for (size_t i = 0; i < count; i++)
		waiting[i] = come(&h, MANY);
	other = come(&h, OTHER);
	harness_wait(&h, &h.requests, PLACES + 1);
	harness_turn(&h);
	assert_true(is_answered(other));
	assert_int_equal(h.rx_err, BEHIND);
	assert_int_equal(h.streams, PLACES - 1);
	for (size_t i = 0; i < count; i++)
		gone += !still_waits(waiting[i]);
	assert_int_equal(gone, BEHIND);
	for (size_t i = 0; i < QUEUE_MAX; i++)
		assert_true(still_waits(waiting[i]));
	close(other);
	close_all(waiting, count);
	close_all(fds, PLACES);
	free(waiting);
	harness_fini(&h);
}

/* Lone clients of other networks stay in the queue when a crowd fills it. */
static void
tcp_queue_is_bounded_at_the_cost_of_a_crowd(void **state)
{
	enum { NETS = 100 };
	struct harness h;
	int fds[PLACES], alone[NETS], *waiting;
	char source[16];

	if (!has_descriptors(2 * QUEUE_MAX + 600))
		skip();
	waiting = calloc(QUEUE_MAX, sizeof(*waiting));
	harness_tcp(&h, "127.0.0.1", &options);
	for (unsigned i = 0; i < PLACES; i++) {
		snprintf(source, sizeof(source), "127.0.%u.1", 10 + i % 4);
		fds[i] = stay(&h, source);
	}
	for (unsigned i = 0; i < NETS; i++) {
		snprintf(source, sizeof(source), "127.1.%u.1", i);
		alone[i] = come(&h, source);
	}
	for (size_t i = 0; i < QUEUE_MAX; i++)
		waiting[i] = come(&h, MANY);
	harness_wait(&h, &h.rx_err, NETS);
	harness_turn(&h);
	assert_int_equal(h.rx_err, NETS);
	for (unsigned i = 0; i < NETS; i++)
		assert_true(still_waits(alone[i]));
	close_all(alone, NETS);
	close_all(waiting, QUEUE_MAX);
	close_all(fds, PLACES);
	free(waiting);
	harness_fini(&h);
}

/* Connections whose PROXY header is incomplete wait in the queue too. */
static void
tcp_queue_awaits_headers(void **state)
{
	static const uint8_t header[28] = { '\r', '\n', '\r', '\n', 0, '\r',
		'\n', 'Q', 'U', 'I', 'T', '\n', 0x21, 0x11, 0, 12,
		192, 0, 2, 7, 127, 0, 0, 1, 0x12, 0x34, 0, 53 };
	struct harness h;
	int fds[PLACES], half, none, bad;

	harness_proxied(&h, "127.0.0.1", true, &options);
	for (unsigned i = 0; i < PLACES; i++) {
		size_t streams = h.streams;

		fds[i] = harness_connect_from(&h, MANY);
		harness_send(&h, fds[i], header, sizeof(header));
		harness_send(&h, fds[i], "\0\24S\377\377\377\377"
			"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
		harness_wait(&h, &h.streams, streams + 1);
	}
	half = harness_connect_from(&h, MANY);
	harness_send(&h, half, header, 20);
	none = harness_connect_from(&h, MANY);
	bad = harness_connect_from(&h, MANY);
	harness_send(&h, bad, "GET / HTTP/1.1\r\n\r\n", 18);
	harness_expect_close(&h, bad);
	close(bad);
	assert_true(still_waits(half));
	assert_true(still_waits(none));
	harness_send(&h, half, header + 20, sizeof(header) - 20);
	close(fds[0]);
	close(fds[1]);
	harness_ask(&h, half);
	harness_send(&h, none, header, sizeof(header));
	harness_ask(&h, none);
	close(half);
	close(none);
	close_all(fds + 2, PLACES - 2);
	harness_fini(&h);
}

/* With reject_overflow clients do not wait; shares are the same. */
static void
tcp_queue_is_empty_if_newcomers_are_rejected(void **state)
{
	struct net_tcp_options reject = { .connections_max = PLACES,
		.timeout_sec = 120, .reject_overflow = true };
	struct harness h;
	int fds[PLACES], fd;

	harness_tcp(&h, "127.0.0.1", &reject);
	for (unsigned i = 0; i < PLACES; i++)
		fds[i] = stay(&h, MANY);
	fd = harness_connect_from(&h, MANY);
	harness_expect_close(&h, fd);
	close(fd);
	assert_int_equal(h.rx_err, 1);
	fd = harness_connect_from(&h, OTHER);
	harness_ask(&h, fd);
	assert_int_equal(h.streams, PLACES - 1);
	close(fd);
	close_all(fds, PLACES);
	harness_fini(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp_queue_keeps_the_order),
		cmocka_unit_test(tcp_queue_goes_by_places),
		cmocka_unit_test(tcp_queue_gives_way_where_descriptors_run_out),
		cmocka_unit_test(tcp_queue_finds_idle_places_of_a_network),
		cmocka_unit_test(tcp_queue_takes_turns),
		cmocka_unit_test(tcp_queue_is_bounded),
		cmocka_unit_test(tcp_queue_is_bounded_at_the_cost_of_a_crowd),
		cmocka_unit_test(tcp_queue_awaits_headers),
		cmocka_unit_test(tcp_queue_is_empty_if_newcomers_are_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
