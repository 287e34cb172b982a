/*
 * test_tcp_full.c - TCP when there is no room: connections, descriptors, time.
 */
#include "config.h"

#include "harness.h"

#include <event2/event.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/filter.h"
#include "base/octets.h"
#include "lib/descriptors.h"

static int
connect_and_wait(struct harness *h, unsigned count)
{
	int fd = harness_connect(h, 0);

	while (net_tcp_count(h->tcp) < count)
		harness_turn(h);
	return fd;
}

static void
tcp_full_closes_the_oldest_idle_connection(void **state)
{
	struct net_tcp_options options = { .connections_max = 3,
		.timeout_sec = 120 };
	struct harness h;
	int fd[4];

	harness_tcp(&h, "127.0.0.1", &options);
	for (unsigned i = 0; i < 3; i++)
		fd[i] = connect_and_wait(&h, i + 1);
	/* The second becomes the one that has been idle longest. */
	harness_ask(&h, fd[0]);
	harness_ask(&h, fd[2]);
	fd[3] = harness_connect(&h, 0);
	harness_ask(&h, fd[3]);
	harness_expect_close(&h, fd[1]);
	harness_ask(&h, fd[0]);
	harness_ask(&h, fd[2]);
	assert_int_equal(net_tcp_count(h.tcp), 3);
	for (unsigned i = 0; i < 4; i++)
		close(fd[i]);
	harness_fini(&h);
}

/* Fault 34. A partial request does not make a connection busy. */
static void
tcp_full_closes_a_slow_drip(void **state)
{
	struct net_tcp_options options = { .connections_max = 1,
		.timeout_sec = 120 };
	struct harness h;
	int drip, fd;
	uint8_t data[64];

	harness_tcp(&h, "127.0.0.1", &options);
	drip = connect_and_wait(&h, 1);
	harness_send(&h, drip, "\xff\xff", 2);
	fd = harness_connect(&h, 0);
	harness_send(&h, fd, data, make_request(data, 'E', 30));
	for (int i = 0; i < 150 && h.requests == 0; i++) {
		if (send(drip, "x", 1, MSG_NOSIGNAL) != 1)
			break;
		harness_idle(&h, 10);
	}
	harness_wait(&h, &h.requests, 1);
	harness_expect_close(&h, drip);
	close(drip);
	close(fd);
	harness_fini(&h);
}

static void
tcp_full_lets_a_connection_wait_for_room(void **state)
{
	struct net_tcp_options options = { .connections_max = 1,
		.timeout_sec = 120 };
	struct harness h;
	uint8_t data[64];
	int fd[2];

	harness_tcp(&h, "127.0.0.1", &options);
	fd[0] = connect_and_wait(&h, 1);
	fd[1] = harness_connect(&h, 0);
	harness_send(&h, fd[1], data, make_request(data, 'E', 30));
	/* The first client keeps its place as long as it asks. */
	for (int i = 0; i < 30; i++) {
		harness_ask(&h, fd[0]);
		harness_idle(&h, 10);
	}
	assert_int_equal(h.requests, 30);
	close(fd[0]);
	harness_wait(&h, &h.requests, 31);
	close(fd[1]);
	harness_fini(&h);
}

static void
tcp_full_rejects_if_told_to(void **state)
{
	struct net_tcp_options options = { .connections_max = 2,
		.timeout_sec = 120, .reject_overflow = true };
	struct harness h;
	int fd[3];

	harness_tcp(&h, "127.0.0.1", &options);
	fd[0] = connect_and_wait(&h, 1);
	fd[1] = connect_and_wait(&h, 2);
	fd[2] = harness_connect(&h, 0);
	harness_expect_close(&h, fd[2]);
	close(fd[2]);
	assert_int_equal(h.rx_err, 1);
	harness_ask(&h, fd[0]);
	/* Full of connections, the server shortens the time-out of 120
	 * seconds. */
	harness_expect_close(&h, fd[1]);
	close(fd[1]);
	fd[1] = harness_connect(&h, 0);
	harness_ask(&h, fd[1]);
	close(fd[0]);
	close(fd[1]);
	harness_fini(&h);
}

static void
tcp_closes_idle_connections_after_the_timeout(void **state)
{
	struct net_tcp_options options = { .connections_max = 10,
		.timeout_sec = 1 };
	struct harness h;
	int idle, drip, stuck;
	uint8_t data[64];
	size_t len;

	harness_tcp(&h, "127.0.0.1", &options);
	idle = harness_connect(&h, 0);
	drip = harness_connect(&h, 0);
	stuck = harness_connect(&h, 4096);
	/* A reply far larger than all buffers, never read. */
	len = make_request(data, 'S', 20);
	octets_put_u16(data + 3, 60000);
	octets_put_u16(data + 5, 60000);
	harness_send(&h, stuck, data, len);
	harness_ask(&h, idle);
	harness_send(&h, drip, "\xff\xff", 2);
	for (int i = 0; i < 150 && net_tcp_count(h.tcp) > 0; i++) {
		/* Fails with EPIPE once it has been closed. */
		if (send(drip, "x", 1, MSG_NOSIGNAL) != 1)
			break;
		harness_idle(&h, 10);
	}
	harness_expect_close(&h, idle);
	while (net_tcp_count(h.tcp) > 0)
		harness_turn(&h);
	assert_int_equal(h.streams, 0);
	close(idle);
	close(drip);
	close(stuck);
	harness_fini(&h);
}

/* A filter whose client says nothing: no more of it is called. */
static void *
silent_open(void *ctx, int fd)
{
	return ctx;
}

static void
silent_close(void *state)
{
}

/* A moment of the loop, and how many connections there were. */
struct moment {
	const struct harness *h;
	unsigned connections;
	bool has_come;
};

static void
on_moment(evutil_socket_t fd, short what, void *arg)
{
	struct moment *moment = arg;

	moment->connections = net_tcp_count(moment->h->tcp);
	moment->has_come = true;
}

/* Opening a filter takes no longer than tcp-timeout. The loop's timers fire in
 * their order, however late that is. */
static void
tcp_closes_after_the_timeout_if_a_filter_does_not_open(void **state)
{
	static int any;
	static const struct filter silent = { .open = silent_open,
		.ctx = &any, .close = silent_close };
	static const struct timeval later = { .tv_sec = 3 };
	struct net_tcp_options options = { .connections_max = 10,
		.timeout_sec = 1 };
	struct harness h;
	struct moment moment = { .h = &h };
	int fd;

	harness_tcp(&h, "127.0.0.1", &options);
	net_tcp_close(h.tcp);
	assert_int_equal(net_tcp_open(h.base,
		&(struct net_listener){ .fd = h.fd, .filter = &silent }, 1,
		&options, &h.handler, &h.tcp), NSD_OK);
	fd = connect_and_wait(&h, 1);
	assert_int_equal(event_base_once(h.base, -1, EV_TIMEOUT, on_moment,
		&moment, &later), 0);
	while (!moment.has_come)
		harness_idle(&h, 10);
	assert_int_equal(moment.connections, 0);
	harness_expect_close(&h, fd);
	close(fd);
	harness_fini(&h);
}

static void *
none_open(void *ctx, int fd)
{
	return NULL;
}

/* A connection for which a filter has no memory. */
static void
tcp_counts_a_connection_whose_filter_fails(void **state)
{
	static const struct filter none = { .open = none_open };
	struct net_tcp_options options = { .connections_max = 10,
		.timeout_sec = 120 };
	struct harness h;
	int fd;

	harness_tcp(&h, "127.0.0.1", &options);
	net_tcp_close(h.tcp);
	assert_int_equal(net_tcp_open(h.base,
		&(struct net_listener){ .fd = h.fd, .filter = &none }, 1,
		&options, &h.handler, &h.tcp), NSD_OK);
	fd = harness_connect(&h, 0);
	harness_expect_close(&h, fd);
	assert_int_equal(h.rx_err, 1);
	close(fd);
	harness_fini(&h);
}

/* A shorter time-out is that of open connections, too. */
static void
tcp_shorter_timeout_is_that_of_open_connections(void **state)
{
	struct net_tcp_options options = { .connections_max = 10,
		.timeout_sec = 120 };
	struct harness h;
	int fd;

	harness_tcp(&h, "127.0.0.1", &options);
	fd = connect_and_wait(&h, 1);
	harness_ask(&h, fd);
	options.timeout_sec = 1;
	net_tcp_set_options(h.tcp, &options);
	harness_expect_close(&h, fd);
	close(fd);
	harness_fini(&h);
}

/* Fault 42.
 * Out of descriptors the server waits, and goes on as soon as it can. */
static void
tcp_survives_emfile(void **state)
{
	struct net_tcp_options options = { .connections_max = 1000,
		.timeout_sec = 120 };
	struct descriptors descriptors;
	struct harness h;
	int fd[8];
	uint8_t data[64];

	harness_tcp(&h, "127.0.0.1", &options);
	for (size_t i = 0; i < 8; i++)
		fd[i] = harness_connect(&h, 0);
	descriptors_take(&descriptors);
	harness_idle(&h, 50);
	assert_int_equal(net_tcp_count(h.tcp), 0);
	assert_in_range(h.rx_err, 1, 3);
	for (size_t i = 0; i < 8; i++)
		harness_send(&h, fd[i], data, make_request(data, 'E', 30));
	/* With one descriptor the clients are served one after the other. */
	descriptors_give_one(&descriptors);
	harness_wait(&h, &h.requests, 2);
	descriptors_give_all(&descriptors);
	harness_wait(&h, &h.requests, 8);
	for (size_t i = 0; i < 8; i++)
		close(fd[i]);
	harness_fini(&h);
}

/* The closed connection's last request came in the same turn. */
static void
tcp_forgets_requests_of_a_connection_that_makes_room(void **state)
{
	struct net_tcp_options options = { .connections_max = 1000,
		.timeout_sec = 120 };
	struct descriptors descriptors;
	struct harness h;
	int fd[2], newcomer;
	uint8_t data[64];

	harness_tcp(&h, "127.0.0.1", &options);
	for (unsigned i = 0; i < 2; i++) {
		fd[i] = connect_and_wait(&h, i + 1);
		harness_ask(&h, fd[i]);
	}
	harness_idle(&h, 250);
	newcomer = harness_connect(&h, 0);
	descriptors_take(&descriptors);
	assert_int_equal(send(fd[0], data, make_request(data, 'E', 30), 0),
		32);
	harness_turn(&h);
	/* The old connection made room for the new one. */
	assert_int_equal(net_tcp_count(h.tcp), 2);
	assert_int_equal(h.requests, 2);
	harness_send(&h, newcomer, data, make_request(data, 'E', 30));
	harness_wait(&h, &h.requests, 3);
	descriptors_give_all(&descriptors);
	harness_ask(&h, fd[1]);
	harness_ask(&h, newcomer);
	assert_int_equal(net_tcp_count(h.tcp), 2);
	close(newcomer);
	for (unsigned i = 0; i < 2; i++)
		close(fd[i]);
	harness_fini(&h);
}

/* Fault 36.
 * Far more idle connections than there is room for: others are served. */
static void
tcp_flood_of_idle_connections_leaves_room_for_others(void **state)
{
	struct net_tcp_options options = { .connections_max = 50,
		.timeout_sec = 120 };
	struct harness h;
	int fd[400], asking;

	harness_tcp(&h, "127.0.0.1", &options);
	for (size_t i = 0; i < 400; i++) {
		fd[i] = harness_connect(&h, 0);
		harness_turn(&h);
	}
	harness_idle(&h, 250);
	asking = harness_connect(&h, 0);
	harness_ask(&h, asking);
	assert_true(net_tcp_count(h.tcp) <= 50);
	for (size_t i = 0; i < 400; i++)
		close(fd[i]);
	close(asking);
	harness_fini(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp_full_closes_the_oldest_idle_connection),
		cmocka_unit_test(tcp_full_closes_a_slow_drip),
		cmocka_unit_test(tcp_full_lets_a_connection_wait_for_room),
		cmocka_unit_test(tcp_full_rejects_if_told_to),
		cmocka_unit_test(
			tcp_closes_idle_connections_after_the_timeout),
		cmocka_unit_test(
			tcp_closes_after_the_timeout_if_a_filter_does_not_open),
		cmocka_unit_test(tcp_counts_a_connection_whose_filter_fails),
		cmocka_unit_test(
			tcp_shorter_timeout_is_that_of_open_connections),
		cmocka_unit_test(tcp_survives_emfile),
		cmocka_unit_test(
			tcp_forgets_requests_of_a_connection_that_makes_room),
		cmocka_unit_test(
			tcp_flood_of_idle_connections_leaves_room_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
