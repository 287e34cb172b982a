/* test_tcp_cpu.c - clients over TCP are charged for the time that they take,
 * and throttled from more (doc/decisions/0123). */
#include "config.h"

#include "harness.h"

#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/octets.h"

#define A "127.0.0.1" /* spent_nsec[1] */
#define B "127.0.0.2"
#define THROTTLE_A (1u << 1)
#define MSEC INT64_C(1000000)

static const struct net_tcp_options options = { .connections_max = 1000,
	.timeout_sec = 120, .limits_cpu = true };

static int64_t
spent_by_all(const struct harness *h)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < 8; i++)
		sum += h->spent_nsec[i];
	return sum;
}

/* Sends so many requests without a look at the loop. They are at the server's
 * socket when this returns. */
static void
send_requests(int fd, unsigned count)
{
	uint8_t data[64];
	size_t len = make_request(data, 'E', 30);
	int left;

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(send(fd, data, len, 0), len);
	while (ioctl(fd, TIOCOUTQ, &left) == 0 && left > 0)
		poll(NULL, 0, 1);
}

/* Sends a request for a stream of messages. */
static void
send_stream_request(struct harness *h, int fd, uint16_t count, uint16_t len)
{
	uint8_t data[64];
	size_t octets = make_request(data, 'S', 30);

	octets_put_u16(data + 3, count);
	octets_put_u16(data + 5, len);
	harness_send(h, fd, data, octets);
}

static void
tcp_charges_who_takes_time(void **state)
{
	struct harness h;
	int a, b;

	harness_tcp(&h, "127.0.0.1", &options);
	a = harness_connect_from(&h, A);
	b = harness_connect_from(&h, B);
	h.request_nsec = 10 * MSEC;
	harness_ask(&h, a);
	harness_ask(&h, a);
	assert_true(h.spent_nsec[1] >= 20 * MSEC);
	h.request_nsec = 0;
	harness_ask(&h, b);
	assert_in_range(h.spent_nsec[2], 1, 10 * MSEC);
	close(a);
	close(b);
	harness_fini(&h);
}

/* The clients of a turn share its time in proportion to the work for each. */
static void
tcp_shares_the_time_of_a_turn(void **state)
{
	struct harness h;
	int64_t before, used;
	int a, b;

	harness_tcp(&h, "127.0.0.1", &options);
	a = harness_connect_from(&h, A);
	b = harness_connect_from(&h, B);
	harness_ask(&h, a);
	harness_ask(&h, b);
	memset(h.spent_nsec, 0, sizeof(h.spent_nsec));
	send_requests(a, 60);
	send_requests(b, 1);
	h.request_nsec = MSEC;
	h.requests = 0;
	before = clock_thread_nsec();
	harness_wait(&h, &h.requests, 61);
	harness_turn(&h);
	used = clock_thread_nsec() - before;
	assert_int_equal(h.largest_batch, 61);
	assert_in_range(spent_by_all(&h), 61 * MSEC, used);
	assert_true(h.spent_nsec[1] > 8 * h.spent_nsec[2]);
	assert_true(h.spent_nsec[2] > 0);
	close(a);
	close(b);
	harness_fini(&h);
}

/* A client that connects and closes within a turn is charged too. */
static void
tcp_charges_who_has_gone(void **state)
{
	struct harness h;

	harness_tcp(&h, "127.0.0.1", &options);
	for (unsigned i = 0; i < 10; i++) {
		int fd = harness_connect_from(&h, A);

		send_requests(fd, 1);
		close(fd);
	}
	h.request_nsec = 3 * MSEC;
	harness_wait(&h, &h.requests, 10);
	while (net_tcp_count(h.tcp) > 0)
		harness_turn(&h);
	assert_true(h.spent_nsec[1] >= 30 * MSEC);
	harness_fini(&h);
}

static void
tcp_without_a_limit_charges_and_bars_nobody(void **state)
{
	struct net_tcp_options off = options;
	struct harness h;
	int fd;

	off.limits_cpu = false;
	harness_tcp(&h, "127.0.0.1", &off);
	h.throttled = THROTTLE_A;
	h.request_nsec = MSEC;
	fd = harness_connect_from(&h, A);
	harness_ask(&h, fd);
	assert_int_equal(h.spent_count, 0);
	assert_int_equal(h.rx_err, 0);
	close(fd);
	harness_fini(&h);
}

static void
tcp_bars_open_connections_and_newcomers(void **state)
{
	struct harness h;
	uint8_t data[64];
	int a, b, other, newcomer;
	size_t requests;
	bool eof;

	harness_tcp(&h, "127.0.0.1", &options);
	a = harness_connect_from(&h, A);
	b = harness_connect_from(&h, A);
	other = harness_connect_from(&h, B);
	harness_ask(&h, a);
	harness_ask(&h, b);
	h.throttled = THROTTLE_A;
	send_requests(a, 1);
	send_requests(b, 1);
	requests = h.requests;
	harness_idle(&h, 200);
	assert_int_equal(h.requests, requests);
	newcomer = harness_connect_from(&h, A);
	harness_expect_close(&h, newcomer);
	assert_int_equal(h.rx_err, 1);
	harness_ask(&h, other);
	h.throttled = 0;
	assert_int_equal(harness_receive(&h, a, data, 32, &eof), 32);
	assert_int_equal(harness_receive(&h, b, data, 32, &eof), 32);
	harness_ask(&h, a);
	close(a);
	close(b);
	close(other);
	close(newcomer);
	harness_fini(&h);
}

/* The cost of refusing a client is charged too. */
static void
tcp_charges_who_is_turned_away(void **state)
{
	struct harness h;
	int fd;

	harness_tcp(&h, "127.0.0.1", &options);
	h.throttled = THROTTLE_A;
	fd = harness_connect_from(&h, A);
	harness_expect_close(&h, fd);
	harness_turn(&h);
	assert_true(h.spent_nsec[1] > 0);
	close(fd);
	harness_fini(&h);
}

static void
tcp_bars_streams(void **state)
{
	static uint8_t messages[100 * 1002 + 32];
	struct harness h;
	int64_t before = clock_thread_nsec();
	size_t octets;
	bool eof;
	int fd, b;

	harness_tcp(&h, "127.0.0.1", &options);
	fd = harness_connect_from(&h, A);
	b = harness_connect_from(&h, B);
	harness_ask(&h, fd);
	harness_ask(&h, b);
	h.message_nsec = MSEC;
	send_stream_request(&h, fd, 100, 1000);
	while (h.stream_octets == 0)
		harness_turn_once(&h);
	h.throttled = THROTTLE_A;
	harness_turn(&h);
	octets = h.stream_octets;
	assert_true(octets < 100000);
	harness_idle(&h, 200);
	assert_int_equal(h.stream_octets, octets);
	h.throttled = 0;
	assert_int_equal(harness_receive(&h, fd, messages, sizeof(messages),
		&eof), sizeof(messages));
	harness_turn(&h);
	/* The stream's messages were measured, and not charged twice. */
	assert_in_range(h.spent_nsec[1], 100 * MSEC,
		clock_thread_nsec() - before);
	/* A client that asks meanwhile is not charged for the stream. */
	memset(h.spent_nsec, 0, sizeof(h.spent_nsec));
	send_stream_request(&h, fd, 100, 1000);
	while (h.streams > 0 || h.spent_nsec[1] == 0)
		harness_ask(&h, b);
	assert_true(h.spent_nsec[1] >= 100 * MSEC);
	close(b);
	close(fd);
	harness_fini(&h);
}

/* More clients are in a turn than are noted at once. */
static void
tcp_charges_many_in_a_turn(void **state)
{
	enum { COUNT = 60 };
	struct harness h;
	int64_t before, used;
	int fds[COUNT];

	harness_tcp(&h, "127.0.0.1", &options);
	for (unsigned i = 0; i < COUNT; i++) {
		fds[i] = harness_connect_from(&h, i % 2 == 0 ? A : B);
		harness_ask(&h, fds[i]);
	}
	memset(h.spent_nsec, 0, sizeof(h.spent_nsec));
	h.spent_count = 0;
	for (unsigned i = 0; i < COUNT; i++)
		send_requests(fds[i], 1);
	h.request_nsec = MSEC;
	h.requests = 0;
	before = clock_thread_nsec();
	harness_wait(&h, &h.requests, COUNT);
	harness_turn(&h);
	used = clock_thread_nsec() - before;
	assert_int_equal(h.largest_batch, COUNT);
	assert_in_range(spent_by_all(&h), COUNT * MSEC, used);
	assert_in_range(h.spent_count, COUNT, 2 * COUNT);
	assert_true(h.spent_nsec[1] > COUNT / 4 * MSEC);
	assert_true(h.spent_nsec[2] > COUNT / 4 * MSEC);
	for (unsigned i = 0; i < COUNT; i++)
		close(fds[i]);
	harness_fini(&h);
}

/* A throttled client counts as idle: it times out, and makes room. */
static void
tcp_barred_connections_are_idle(void **state)
{
	struct net_tcp_options few = options;
	struct harness h;
	int a, b;

	few.timeout_sec = 1;
	harness_tcp(&h, "127.0.0.1", &few);
	a = harness_connect_from(&h, A);
	harness_ask(&h, a);
	h.throttled = THROTTLE_A;
	send_requests(a, 1);
	harness_expect_close(&h, a);
	assert_int_equal(net_tcp_count(h.tcp), 0);
	close(a);
	h.throttled = 0;
	harness_idle(&h, 200);
	few.timeout_sec = 120;
	few.connections_max = 1;
	net_tcp_set_options(h.tcp, &few);
	a = harness_connect_from(&h, A);
	harness_ask(&h, a);
	h.throttled = THROTTLE_A;
	send_requests(a, 1);
	b = harness_connect_from(&h, B);
	harness_ask(&h, b);
	assert_int_equal(net_tcp_count(h.tcp), 1);
	close(a);
	close(b);
	harness_fini(&h);
}

static void
tcp_lets_go_on_when_there_is_no_limit(void **state)
{
	struct net_tcp_options off = options;
	struct harness h;
	uint8_t data[64];
	bool eof;
	int fd;

	off.limits_cpu = false;
	harness_tcp(&h, "127.0.0.1", &options);
	fd = harness_connect_from(&h, A);
	harness_ask(&h, fd);
	h.throttled = THROTTLE_A;
	send_requests(fd, 1);
	harness_idle(&h, 100);
	net_tcp_set_options(h.tcp, &off);
	assert_int_equal(harness_receive(&h, fd, data, 32, &eof), 32);
	close(fd);
	harness_fini(&h);
}

/* PROXYv2 of 192.0.2.7; returns the octets. */
static size_t
make_header(uint8_t *out)
{
	static const uint8_t header[] = {
		'\r', '\n', '\r', '\n', 0, '\r', '\n', 'Q', 'U', 'I', 'T',
		'\n', 0x21, 0x11, 0, 12,
		192, 0, 2, 7, 127, 0, 0, 1, 0x12, 0x34, 0, 53,
	};

	memcpy(out, header, sizeof(header));
	return sizeof(header);
}

static void
tcp_charges_and_bars_the_client_behind_a_proxy(void **state)
{
	struct harness h;
	uint8_t data[64];
	size_t len = make_header(data);
	int fd, newcomer;

	harness_proxied(&h, "127.0.0.1", true, &options);
	h.throttled = THROTTLE_A; /* the proxy's own address is nothing */
	fd = harness_connect_from(&h, A);
	harness_send(&h, fd, data, len / 2);
	harness_idle(&h, 20);
	assert_int_equal(h.spent_count, 0);
	harness_send(&h, fd, data + len / 2, len - len / 2);
	h.request_nsec = 5 * MSEC;
	harness_ask(&h, fd);
	assert_true(h.spent_nsec[7] >= 5 * MSEC);
	assert_int_equal(h.spent_nsec[1], 0);
	h.throttled = 1u << 7;
	newcomer = harness_connect_from(&h, A);
	harness_send(&h, newcomer, data, len);
	harness_expect_close(&h, newcomer);
	assert_int_equal(h.rx_err, 1);
	close(fd);
	close(newcomer);
	harness_fini(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp_charges_who_takes_time),
		cmocka_unit_test(tcp_shares_the_time_of_a_turn),
		cmocka_unit_test(tcp_charges_who_has_gone),
		cmocka_unit_test(tcp_without_a_limit_charges_and_bars_nobody),
		cmocka_unit_test(tcp_bars_open_connections_and_newcomers),
		cmocka_unit_test(tcp_charges_who_is_turned_away),
		cmocka_unit_test(tcp_bars_streams),
		cmocka_unit_test(tcp_charges_many_in_a_turn),
		cmocka_unit_test(tcp_barred_connections_are_idle),
		cmocka_unit_test(tcp_lets_go_on_when_there_is_no_limit),
		cmocka_unit_test(
			tcp_charges_and_bars_the_client_behind_a_proxy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
