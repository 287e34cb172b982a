/* test_tcp_share.c - TCP places when one network wants all of them, time-outs
 * that shrink, clients that take their replies slowly (faults 35, 36). */
#include "config.h"

#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/octets.h"

#define PLACES 8u
#define MANY "127.0.8.1"  /* of the network that wants all */
#define OTHER "127.0.9.1"

static const struct net_tcp_options options = { .connections_max = PLACES,
	.timeout_sec = 120 };

static bool
is_closed(int fd)
{
	uint8_t reply[64];

	return recv(fd, reply, 1, MSG_PEEK) != -1 || errno != EAGAIN;
}

/* The end may be on its way for a while. */
static void
wait_closed(struct harness *h, int fd)
{
	for (unsigned i = 0; i < 1500 && !is_closed(fd); i++)
		harness_idle(h, 10);
	assert_true(is_closed(fd));
}

/* Takes places with connections that have just asked. */
static void
take(struct harness *h, int *fds, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		fds[i] = harness_connect_from(h, MANY);
		harness_ask(h, fds[i]);
	}
}

/* The clients ask all the time, so none is ever idle. Some may be closed
 * meanwhile. */
static void
keep_busy(struct harness *h, const int *fds, unsigned count)
{
	uint8_t data[64], reply[64];
	size_t len = make_request(data, 'E', 30);
	bool eof;

	for (unsigned i = 0; i < count; i++)
		if (!is_closed(fds[i])
		    && send(fds[i], data, len, MSG_NOSIGNAL) == (ssize_t)len)
			(void)harness_receive(h, fds[i], reply, len, &eof);
}

static void
close_all(const int *fds, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
}

/* Asks once while these, which are never idle, ask a number of times. Does it
 * get an answer? */
static bool
ask_amid_rounds(struct harness *h, int fd, const int *fds, unsigned count,
	unsigned rounds)
{
	uint8_t data[64];

	harness_send(h, fd, data, make_request(data, 'E', 30));
	for (unsigned i = 0; i < rounds; i++) {
		keep_busy(h, fds, count);
		if (recv(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
			return true;
		harness_idle(h, 10);
	}
	return false;
}

static bool
ask_amid(struct harness *h, int fd, const int *fds, unsigned count)
{
	return ask_amid_rounds(h, fd, fds, count, 1500);
}

/* Clients of other networks get in at once, until the one network has just its
 * share, which it keeps. */
static void
tcp_share_goes_to_newcomers_of_others(void **state)
{
	struct harness h;
	int fds[PLACES], other[PLACES], share = PLACES / 4;
	unsigned left = 0;

	harness_tcp(&h, "127.0.0.1", &options);
	other[0] = harness_connect_from(&h, OTHER);
	harness_ask(&h, other[0]);
	close(other[0]);
	while (net_tcp_count(h.tcp) > 0)
		harness_turn(&h);
	take(&h, fds, PLACES);
	assert_int_equal(net_tcp_count(h.tcp), PLACES);
	for (int i = 0; i < (int)PLACES - share; i++) {
		char from[32];

		snprintf(from, sizeof(from), "127.0.%d.1", 20 + i);
		other[i] = harness_connect_from(&h, from);
		assert_true(ask_amid(&h, other[i], fds, PLACES));
		/* The eldest goes, and no other. */
		wait_closed(&h, fds[i]);
		assert_false(is_closed(fds[i + 1]));
	}
	for (unsigned i = 0; i < PLACES; i++)
		left += !is_closed(fds[i]);
	assert_int_equal(left, share);
	for (int i = 0; i < (int)PLACES - share; i++) {
		harness_ask(&h, other[i]);
		close(other[i]);
	}
	close_all(fds, PLACES);
	harness_fini(&h);
}

/* New clients of that network get no place of other networks, not even of idle
 * clients. */
static void
tcp_share_bounds_newcomers(void **state)
{
	struct harness h;
	int fds[PLACES - 1], idle, fd;

	harness_tcp(&h, "127.0.0.1", &options);
	idle = harness_connect_from(&h, OTHER);
	harness_ask(&h, idle);
	take(&h, fds, PLACES - 1);
	harness_idle(&h, 300);
	for (unsigned i = 0; i < 20; i++) {
		keep_busy(&h, fds, PLACES - 1);
		fd = harness_connect_from(&h, MANY);
		/* The client waits, or takes the place of one of its own
		 * network. */
		harness_idle(&h, 10);
		close(fd);
	}
	harness_ask(&h, idle);
	close(idle);
	close_all(fds, PLACES - 1);
	harness_fini(&h);
}

/* Alone it may have all, and its newcomers wait for places. */
static void
tcp_share_is_nothing_to_a_network_alone(void **state)
{
	struct harness h;
	uint8_t data[64];
	int fds[PLACES], fd;

	harness_tcp(&h, "127.0.0.1", &options);
	take(&h, fds, PLACES);
	fd = harness_connect_from(&h, MANY);
	harness_send(&h, fd, data, make_request(data, 'E', 30));
	for (unsigned i = 0; i < 50; i++) {
		keep_busy(&h, fds, PLACES);
		harness_idle(&h, 5);
	}
	assert_int_equal(h.rx_err, 0);
	harness_ask(&h, fd);
	close(fd);
	close_all(fds, PLACES);
	harness_fini(&h);
}

/* A client of a new network gets in at once, behind all waiting ones of the
 * crowd: its network needs no history. */
static void
tcp_share_is_of_those_who_were_never_seen(void **state)
{
	struct harness h;
	int fds[PLACES], waiting[100], other;
	uint8_t data[64];

	harness_tcp(&h, "127.0.0.1", &options);
	take(&h, fds, PLACES);
	for (unsigned i = 0; i < 100; i++) {
		waiting[i] = harness_connect_from(&h, MANY);
		harness_send(&h, waiting[i], data,
			make_request(data, 'E', 30));
	}
	other = harness_connect_from(&h, OTHER);
	assert_true(ask_amid_rounds(&h, other, fds, PLACES, 10));
	assert_int_equal(h.rx_err, 0);
	close(other);
	close_all(waiting, 100);
	close_all(fds, PLACES);
	harness_fini(&h);
}

/* A proxy is not a client: its clients have shares. */
static void
tcp_share_is_of_the_client_behind_a_proxy(void **state)
{
	static const uint8_t header[28] = { '\r', '\n', '\r', '\n', 0, '\r',
		'\n', 'Q', 'U', 'I', 'T', '\n', 0x21, 0x11, 0, 12,
		192, 0, 2, 7, 127, 0, 0, 1, 0x12, 0x34, 0, 53 };
	struct harness h;
	int fds[PLACES], other[2];
	uint8_t client[28];

	harness_proxied(&h, "127.0.0.1", true, &options);
	memcpy(client, header, sizeof(client));
	client[18] = 9;
	other[0] = harness_connect_from(&h, MANY);
	harness_send(&h, other[0], client, sizeof(client));
	harness_ask(&h, other[0]);
	close(other[0]);
	while (net_tcp_count(h.tcp) > 0)
		harness_turn(&h);
	for (unsigned i = 0; i < PLACES; i++) {
		fds[i] = harness_connect_from(&h, MANY);
		harness_send(&h, fds[i], header, sizeof(header));
		harness_ask(&h, fds[i]);
	}
	for (unsigned i = 0; i < 2; i++) {
		other[i] = harness_connect_from(&h, MANY);
		harness_send(&h, other[i], client, sizeof(client));
		assert_true(ask_amid(&h, other[i], fds, PLACES));
		wait_closed(&h, fds[i]);
		assert_false(is_closed(fds[i + 1]));
	}
	close_all(other, 2);
	close_all(fds, PLACES);
	harness_fini(&h);
}

/* RFC 7828 section 3.4: fewer places left, less time. */
static void
tcp_time_out_shrinks_under_load(void **state)
{
	struct net_tcp_options few = { .connections_max = PLACES,
		.timeout_sec = 40 };
	struct harness h;
	int fds[PLACES];

	harness_tcp(&h, "127.0.0.1", &few);
	/* Half of the places: all the time. */
	for (unsigned i = 0; i < PLACES / 2; i++)
		fds[i] = harness_connect(&h, 0);
	harness_idle(&h, 2500);
	assert_int_equal(net_tcp_count(h.tcp), PLACES / 2);
	/* Seven of them, two that have asked: these stay. */
	for (unsigned i = PLACES / 2; i < PLACES - 1; i++)
		fds[i] = harness_connect(&h, 0);
	harness_ask(&h, fds[0]);
	harness_ask(&h, fds[5]);
	wait_closed(&h, fds[1]);
	harness_ask(&h, fds[0]);
	harness_ask(&h, fds[5]);
	close_all(fds, PLACES - 1);
	harness_fini(&h);
}

/* A client that takes a few octets now and then counts as idle. */
static void
tcp_closes_a_client_that_takes_too_slowly(void **state)
{
	struct net_tcp_options soon = { .connections_max = 100,
		.timeout_sec = 1 };
	struct harness h;
	uint8_t data[4096];
	size_t len = make_request(data, 'S', 20);
	int fd;

	harness_tcp(&h, "127.0.0.1", &soon);
	fd = harness_connect(&h, 4096);
	octets_put_u16(data + 3, 60000);
	octets_put_u16(data + 5, 60000);
	harness_send(&h, fd, data, len);
	harness_wait(&h, &h.streams, 1);
	for (unsigned i = 0; i < 3000 && h.streams > 0; i++) {
		(void)recv(fd, data, 100, MSG_DONTWAIT);
		harness_idle(&h, 10);
	}
	assert_int_equal(h.streams, 0);
	close(fd);
	harness_fini(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp_share_goes_to_newcomers_of_others),
		cmocka_unit_test(tcp_share_bounds_newcomers),
		cmocka_unit_test(tcp_share_is_nothing_to_a_network_alone),
		cmocka_unit_test(tcp_share_is_of_those_who_were_never_seen),
		cmocka_unit_test(tcp_share_is_of_the_client_behind_a_proxy),
		cmocka_unit_test(tcp_time_out_shrinks_under_load),
		cmocka_unit_test(tcp_closes_a_client_that_takes_too_slowly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
