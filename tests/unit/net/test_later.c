/*
 * test_later.c - replies that come when their batch is over: to the right
 * client, behind others that are being sent, and nowhere once it is gone.
 */
#include "config.h"

#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/octets.h"
#include "net/later.h"

#define REQUEST 22 /* octets, with the length in front */

static const struct net_tcp_options ordinary = {
	.connections_max = 100, .timeout_sec = 120 };

static size_t
put_request(uint8_t *out, char kind, uint16_t number)
{
	make_request(out, kind, REQUEST - 2);
	octets_put_u16(out + 3, number);
	return REQUEST;
}

static void
ask(struct harness *h, int fd, char kind, uint16_t number)
{
	uint8_t request[REQUEST];

	put_request(request, kind, number);
	harness_send(h, fd, request, sizeof(request));
}

static void
expect(struct harness *h, int fd, const void *octets, size_t len)
{
	uint8_t got[256];
	bool eof;

	assert_int_equal(harness_receive(h, fd, got, len + 2, &eof), len + 2);
	assert_int_equal(octets_get_u16(got), len);
	assert_memory_equal(got + 2, octets, len);
}

/* A datagram for the client; expects none if len is 0. */
static void
expect_datagram(struct harness *h, int fd, const void *octets, size_t len)
{
	uint8_t got[256];
	ssize_t n = -1;

	for (int i = 0; i < 3000 && n == -1 && (len > 0 || i < 10); i++) {
		harness_turn(h);
		n = recv(fd, got, sizeof(got), MSG_DONTWAIT);
		if (n == -1)
			usleep(10000);
	}
	if (len == 0) {
		assert_int_equal(n, -1);
		return;
	}
	assert_int_equal(n, len);
	assert_memory_equal(got, octets, len);
}

/* A socket of all addresses replies from the one that was asked. */
static void
udp_reply_comes_from_where_it_was_asked(void **state)
{
	struct harness h;
	struct sockaddr_in to;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	harness_udp(&h, "0.0.0.0", 1232);
	memcpy(&to, &h.address, sizeof(to));
	assert_int_equal(inet_pton(AF_INET, "127.0.0.2", &to.sin_addr), 1);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(send(fd, "Labcdefghijklmn", 15, 0), 15);
	harness_wait(&h, &h.later_count, 1);
	net_later_send(h.laters[0], (const uint8_t *)"one", 3);
	expect_datagram(&h, fd, "one", 3);
	close(fd);
	harness_fini(&h);
}

static void
udp_reply_comes_later(void **state)
{
	static const char *const servers[] = {"127.0.0.1", "0.0.0.0", "::1",
		"::"};

	for (size_t i = 0; i < 4; i++) {
		struct harness h;
		uint8_t request[] = "Labcdefghijklmn";
		int first, second;

		harness_udp(&h, servers[i], 1232);
		first = harness_connect(&h, 0);
		second = harness_connect(&h, 0);
		assert_int_equal(send(first, request, 15, 0), 15);
		harness_wait(&h, &h.later_count, 1);
		assert_int_equal(send(second, request, 15, 0), 15);
		harness_wait(&h, &h.later_count, 2);
		expect_datagram(&h, first, NULL, 0);
		/* The last one first. */
		net_later_send(h.laters[1], (const uint8_t *)"two", 3);
		expect_datagram(&h, second, "two", 3);
		net_later_send(h.laters[0], (const uint8_t *)"first", 5);
		expect_datagram(&h, first, "first", 5);
		assert_int_equal(h.tx_err, 0);
		close(first);
		close(second);
		harness_fini(&h);
	}
}

static void
udp_reply_is_dropped(void **state)
{
	struct harness h;
	int fd;

	harness_udp(&h, "127.0.0.1", 1232);
	fd = harness_connect(&h, 0);
	assert_int_equal(send(fd, "Labcdefghijklmn", 15, 0), 15);
	harness_wait(&h, &h.later_count, 1);
	net_later_drop(h.laters[0], true);
	expect_datagram(&h, fd, NULL, 0);
	close(fd);
	harness_fini(&h);
}

/* The socket is closed first: of a worker that adopted it, say. */
static void
udp_reply_outlasts_its_socket(void **state)
{
	struct harness h;
	int fd;

	harness_udp(&h, "127.0.0.1", 1232);
	fd = harness_connect(&h, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(send(fd, "Labcdefghijklmn", 15, 0), 15);
	harness_wait(&h, &h.later_count, 3);
	net_later_drop(h.laters[1], false);
	net_udp_close(h.udp);
	h.udp = NULL;
	assert_false(net_later_is_wanted(h.laters[0]));
	net_later_send(h.laters[0], (const uint8_t *)"x", 1);
	net_later_drop(h.laters[2], true);
	assert_int_equal(recv(fd, (uint8_t[8]){0}, 8, MSG_DONTWAIT), -1);
	close(fd);
	harness_fini(&h);
}

/* Replies overtake each other (RFC 7766 section 7). */
static void
tcp_reply_comes_later(void **state)
{
	struct harness h;
	uint8_t two[2 * REQUEST];
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	put_request(two, 'L', 1);
	put_request(two + REQUEST, 'E', 2);
	harness_send(&h, fd, two, sizeof(two));
	expect(&h, fd, two + REQUEST + 2, REQUEST - 2);
	ask(&h, fd, 'L', 3);
	harness_wait(&h, &h.later_count, 2);
	net_later_send(h.laters[1], (const uint8_t *)"three", 5);
	expect(&h, fd, "three", 5);
	net_later_send(h.laters[0], (const uint8_t *)"one", 3);
	expect(&h, fd, "one", 3);
	harness_ask(&h, fd);
	close(fd);
	harness_fini(&h);
}

/* Behind the rest of a reply that the client has not taken yet. */
static void
tcp_reply_waits_for_others(void **state)
{
	static uint8_t large[65002];
	struct harness h;
	uint8_t request[REQUEST];
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 4096);
	ask(&h, fd, 'L', 0);
	harness_wait(&h, &h.later_count, 1);
	make_request(request, 'B', REQUEST - 2);
	octets_put_u32(request + 3, 65000);
	request[7] = 'x';
	/* More than the sockets hold. */
	for (unsigned i = 0; i < 200; i++)
		if (send(fd, request, sizeof(request), 0) == -1)
			break;
	harness_idle(&h, 50);
	net_later_send(h.laters[0], (const uint8_t *)"late", 4);
	for (unsigned i = 0;; i++) {
		assert_in_range(i, 0, 200);
		assert_int_equal(harness_receive(&h, fd, large, 2, &eof), 2);
		if (octets_get_u16(large) == 4)
			break;
		assert_int_equal(octets_get_u16(large), 65000);
		assert_int_equal(harness_receive(&h, fd, large, 65000, &eof),
			65000);
		assert_int_equal(large[64999], 'x');
	}
	assert_int_equal(harness_receive(&h, fd, large, 4, &eof), 4);
	assert_memory_equal(large, "late", 4);
	close(fd);
	harness_fini(&h);
}

/* Between the messages of a transfer. */
static void
tcp_reply_goes_beside_a_stream(void **state)
{
	static uint8_t message[20000];
	struct harness h;
	uint8_t request[REQUEST];
	unsigned of_stream = 0, late = 0;
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 4096);
	ask(&h, fd, 'L', 0);
	harness_wait(&h, &h.later_count, 1);
	make_request(request, 'S', REQUEST - 2);
	octets_put_u16(request + 3, 300);
	octets_put_u16(request + 5, sizeof(message));
	harness_send(&h, fd, request, sizeof(request));
	assert_int_equal(harness_receive(&h, fd, message, REQUEST, &eof),
		REQUEST);
	harness_idle(&h, 50);
	net_later_send(h.laters[0], (const uint8_t *)"late", 4);
	while (of_stream + late < 301) {
		size_t len;

		assert_int_equal(harness_receive(&h, fd, message, 2, &eof),
			2);
		len = octets_get_u16(message);
		assert_true(len == 4 || len == sizeof(message));
		assert_int_equal(harness_receive(&h, fd, message, len, &eof),
			len);
		if (len == 4) {
			assert_memory_equal(message, "late", 4);
			assert_in_range(of_stream, 0, 299);
			late++;
		} else {
			assert_int_equal(message[0], (uint8_t)of_stream);
			assert_int_equal(message[len - 1], message[0]);
			of_stream++;
		}
	}
	assert_int_equal(late, 1);
	harness_ask(&h, fd);
	close(fd);
	harness_fini(&h);
}

/* A connection that waits for many replies is not read from. */
static void
tcp_replies_to_come_are_bounded(void **state)
{
	static uint8_t requests[300 * REQUEST];
	struct harness h;
	size_t done = 0;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	for (unsigned i = 0; i < 300; i++)
		put_request(requests + i * REQUEST, 'L', (uint16_t)i);
	harness_send(&h, fd, requests, sizeof(requests));
	harness_idle(&h, 100);
	assert_in_range(h.later_count, 64, 64 + EXCHANGE_BATCH_MAX);
	while (done < 300) {
		harness_wait(&h, &h.later_count, done + 1);
		assert_int_equal(octets_get_u16(h.later_of[done]), done);
		net_later_send(h.laters[done], h.later_of[done], 4);
		expect(&h, fd, h.later_of[done], 4);
		done++;
	}
	assert_int_equal(h.new_requests, 300);
	harness_ask(&h, fd);
	close(fd);
	harness_fini(&h);
}

/* The client says that it sends no more; it gets its replies. */
static void
tcp_reply_comes_after_the_client_has_ended(void **state)
{
	struct harness h;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	ask(&h, fd, 'L', 0);
	ask(&h, fd, 'L', 1);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	harness_wait(&h, &h.later_count, 2);
	harness_idle(&h, 50);
	net_later_send(h.laters[0], (const uint8_t *)"zero", 4);
	expect(&h, fd, "zero", 4);
	harness_idle(&h, 50);
	net_later_send(h.laters[1], (const uint8_t *)"one", 3);
	expect(&h, fd, "one", 3);
	harness_expect_close(&h, fd);
	assert_int_equal(net_tcp_count(h.tcp), 0);
	close(fd);
	harness_fini(&h);
}

/* Of the last request of a connection (tcp-query-count), too. */
static void
tcp_reply_to_the_last_request_comes(void **state)
{
	struct net_tcp_options options = ordinary;
	struct harness h;
	int fd;

	options.queries_max = 1;
	harness_tcp(&h, "127.0.0.1", &options);
	fd = harness_connect(&h, 0);
	ask(&h, fd, 'L', 0);
	harness_wait(&h, &h.later_count, 1);
	harness_idle(&h, 50);
	net_later_send(h.laters[0], (const uint8_t *)"zero", 4);
	expect(&h, fd, "zero", 4);
	harness_expect_close(&h, fd);
	close(fd);
	harness_fini(&h);
}

static void
tcp_connection_closes_without_a_reply(void **state)
{
	struct harness h;
	int fd, other;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	other = harness_connect(&h, 0);
	ask(&h, fd, 'L', 0);
	ask(&h, fd, 'L', 1);
	harness_wait(&h, &h.later_count, 2);
	ask(&h, other, 'L', 2);
	harness_wait(&h, &h.later_count, 3);
	net_later_drop(h.laters[0], true);
	/* Other replies of the connection still come. */
	net_later_send(h.laters[1], (const uint8_t *)"one", 3);
	expect(&h, fd, "one", 3);
	harness_expect_close(&h, fd);
	/* The other connection stays. */
	net_later_drop(h.laters[2], false);
	harness_ask(&h, other);
	close(fd);
	close(other);
	harness_fini(&h);
}

static void
tcp_reply_outlasts_its_connection(void **state)
{
	struct harness h;
	int fd, other;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	other = harness_connect(&h, 0);
	ask(&h, fd, 'L', 0);
	ask(&h, fd, 'L', 1);
	harness_wait(&h, &h.later_count, 2);
	ask(&h, other, 'L', 2);
	harness_wait(&h, &h.later_count, 3);
	/* With a reset it is gone at once. */
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER,
		&(struct linger){.l_onoff = 1}, sizeof(struct linger)), 0);
	close(fd);
	while (net_tcp_count(h.tcp) > 1)
		harness_idle(&h, 10);
	assert_false(net_later_is_wanted(h.laters[0]));
	net_later_send(h.laters[0], (const uint8_t *)"x", 1);
	net_tcp_close(h.tcp);
	h.tcp = NULL;
	net_later_drop(h.laters[1], true);
	assert_false(net_later_is_wanted(h.laters[2]));
	net_later_send(h.laters[2], (const uint8_t *)"x", 1);
	close(other);
	harness_fini(&h);
}

/* A time-out of a second passes twice; the client is let wait for its reply. */
static void
tcp_connection_with_a_reply_to_come_is_not_idle(void **state)
{
	struct net_tcp_options options = ordinary;
	struct harness h;
	int fd, idle;

	options.timeout_sec = 1;
	harness_tcp(&h, "127.0.0.1", &options);
	fd = harness_connect(&h, 0);
	idle = harness_connect(&h, 0);
	ask(&h, fd, 'L', 0);
	harness_ask(&h, idle);
	harness_expect_close(&h, idle);
	harness_idle(&h, 1500);
	assert_true(net_later_is_wanted(h.laters[0]));
	net_later_send(h.laters[0], (const uint8_t *)"zero", 4);
	expect(&h, fd, "zero", 4);
	harness_expect_close(&h, fd);
	close(fd);
	close(idle);
	harness_fini(&h);
}

/* A request behind a transfer comes again; its reply is to come once. */
static void
tcp_request_that_comes_again_waits_once(void **state)
{
	uint8_t requests[2 * REQUEST], got[REQUEST + 3 * 12];
	struct harness h;
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	make_request(requests, 'S', REQUEST - 2);
	octets_put_u16(requests + 3, 3);
	octets_put_u16(requests + 5, 10);
	put_request(requests + REQUEST, 'L', 1);
	harness_send(&h, fd, requests, sizeof(requests));
	assert_int_equal(harness_receive(&h, fd, got, sizeof(got), &eof),
		sizeof(got));
	harness_wait(&h, &h.requests, 3);
	harness_idle(&h, 20);
	assert_int_equal(h.new_requests, 2);
	assert_int_equal(h.later_count, 1);
	net_later_send(h.laters[0], (const uint8_t *)"one", 3);
	expect(&h, fd, "one", 3);
	harness_ask(&h, fd);
	close(fd);
	harness_fini(&h);
}

/* A request behind a transfer that could not be passed on is to be passed on
 * when it comes again; those around it were answered. */
static void
tcp_request_that_was_not_passed_on_is_tried_again(void **state)
{
	uint8_t requests[5 * REQUEST], got[REQUEST + 12];
	struct harness h;
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	make_request(requests, 'S', REQUEST - 2);
	octets_put_u16(requests + 3, 1);
	octets_put_u16(requests + 5, 10);
	put_request(requests + REQUEST, 'L', 1);
	put_request(requests + 2 * REQUEST, 'P', 2);
	put_request(requests + 3 * REQUEST, 'E', 3);
	put_request(requests + 4 * REQUEST, 'E', 4);
	harness_send(&h, fd, requests, sizeof(requests));
	assert_int_equal(harness_receive(&h, fd, got, sizeof(got), &eof),
		sizeof(got));
	expect(&h, fd, requests + 3 * REQUEST + 2, REQUEST - 2);
	expect(&h, fd, requests + 4 * REQUEST + 2, REQUEST - 2);
	assert_int_equal(h.requests, 9);
	assert_int_equal(h.new_requests, 5);
	assert_int_equal(h.not_passed_on, 2);
	assert_int_equal(h.new_replies, 6);
	assert_int_equal(h.later_count, 1);
	net_later_send(h.laters[0], (const uint8_t *)"one", 3);
	expect(&h, fd, "one", 3);
	harness_ask(&h, fd);
	close(fd);
	harness_fini(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp_reply_comes_later),
		cmocka_unit_test(udp_reply_comes_from_where_it_was_asked),
		cmocka_unit_test(udp_reply_is_dropped),
		cmocka_unit_test(udp_reply_outlasts_its_socket),
		cmocka_unit_test(tcp_reply_comes_later),
		cmocka_unit_test(tcp_reply_waits_for_others),
		cmocka_unit_test(tcp_reply_goes_beside_a_stream),
		cmocka_unit_test(tcp_replies_to_come_are_bounded),
		cmocka_unit_test(tcp_reply_comes_after_the_client_has_ended),
		cmocka_unit_test(tcp_reply_to_the_last_request_comes),
		cmocka_unit_test(tcp_connection_closes_without_a_reply),
		cmocka_unit_test(tcp_reply_outlasts_its_connection),
		cmocka_unit_test(
			tcp_connection_with_a_reply_to_come_is_not_idle),
		cmocka_unit_test(tcp_request_that_comes_again_waits_once),
		cmocka_unit_test(
			tcp_request_that_was_not_passed_on_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
