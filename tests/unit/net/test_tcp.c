/*
 * test_tcp.c - requests over TCP: framing, pipelining, clients that misbehave.
 */
#include "config.h"

#include "harness.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/octets.h"

static const struct net_tcp_options ordinary = {
	.connections_max = 100, .timeout_sec = 120 };

static uint8_t big[8 << 20];

/* RFC 7766 section 6.2.1.1: many requests without waiting for replies. */
static void
tcp_answers_1000_requests_of_one_segment_in_order(void **state)
{
	static uint8_t data[1000 * 32], reply[1000 * 32];
	struct harness h;
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	for (size_t i = 0; i < 1000; i++) {
		make_request(data + i * 32, 'E', 30);
		octets_put_u16(data + i * 32 + 4, (uint16_t)i);
	}
	harness_send(&h, fd, data, sizeof(data));
	assert_int_equal(harness_receive(&h, fd, reply, sizeof(reply), &eof),
		sizeof(reply));
	assert_memory_equal(data, reply, sizeof(reply));
	assert_int_equal(h.requests, 1000);
	assert_int_equal(h.largest_batch, 64);
	/* 15 full batches and a rest, some more if read in pieces. */
	assert_in_range(h.batches, 16, 40);
	close(fd);
	harness_fini(&h);
}

static void
tcp_gathers_requests_of_several_connections(void **state)
{
	struct harness h;
	uint8_t data[64], reply[64];
	int fd[20];
	bool eof;
	size_t batches;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	for (size_t i = 0; i < 20; i++)
		fd[i] = harness_connect(&h, 0);
	while (net_tcp_count(h.tcp) < 20)
		harness_turn(&h);
	harness_idle(&h, 10);
	for (size_t i = 0; i < 20; i++)
		harness_send(&h, fd[i], data, make_request(data, 'E', 20));
	batches = h.batches;
	harness_wait(&h, &h.requests, 20);
	/* Mostly one or two, but the system may deliver them bit by bit. */
	assert_in_range(h.batches - batches, 1, 10);
	for (size_t i = 0; i < 20; i++) {
		assert_int_equal(harness_receive(&h, fd[i], reply, 22, &eof),
			22);
		assert_memory_equal(reply, data, 22);
		close(fd[i]);
	}
	harness_fini(&h);
}

/* RFC 7766 section 8: the length and the message may come in pieces. */
static void
tcp_joins_a_request_that_comes_octet_by_octet(void **state)
{
	struct harness h;
	uint8_t data[128], reply[128];
	size_t len;
	bool eof;
	int fd;

	harness_tcp(&h, "::1", &ordinary);
	fd = harness_connect(&h, 0);
	len = make_request(data, 'E', 20);
	len += make_request(data + len, 'E', 40);
	for (size_t i = 0; i < len; i++) {
		harness_send(&h, fd, data + i, 1);
		harness_turn(&h);
		harness_turn(&h);
	}
	assert_int_equal(harness_receive(&h, fd, reply, len, &eof), len);
	assert_memory_equal(data, reply, len);
	assert_int_equal(h.requests, 2);
	close(fd);
	harness_fini(&h);
}

/* Cut anywhere: both halves of a stream of requests of all kinds of size. */
static void
tcp_joins_requests_cut_anywhere(void **state)
{
	static uint8_t data[200], reply[200];
	struct harness h;
	size_t len = 0;
	bool eof;
	int fd;

	for (size_t size = 12; size < 60; size += 15)
		len += make_request(data + len, 'E', size);
	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	for (size_t cut = 1; cut < len; cut++) {
		harness_send(&h, fd, data, cut);
		harness_turn(&h);
		harness_turn(&h);
		harness_send(&h, fd, data + cut, len - cut);
		memset(reply, 0, sizeof(reply));
		assert_int_equal(harness_receive(&h, fd, reply, len, &eof),
			len);
		assert_memory_equal(data, reply, len);
	}
	close(fd);
	harness_fini(&h);
}

static void
tcp_takes_the_longest_message_whole_and_in_pieces(void **state)
{
	static uint8_t data[2 * 65537], reply[2 * 65537];
	static const size_t pieces[] = { 65537, 10000, 4097, 1000, 37 };
	struct harness h;
	bool eof;
	int fd;

	make_request(data, 'E', 65535);
	for (size_t i = 3; i < 65537; i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
	memcpy(data + 65537, data, 65537);
	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
		for (size_t at = 0; at < sizeof(data); at += pieces[p]) {
			size_t left = sizeof(data) - at;

			harness_send(&h, fd, data + at,
				left < pieces[p] ? left : pieces[p]);
			harness_turn(&h);
		}
		assert_int_equal(harness_receive(&h, fd, reply,
			sizeof(reply), &eof), sizeof(reply));
		assert_memory_equal(data, reply, sizeof(reply));
	}
	assert_int_equal(h.requests, 10);
	close(fd);
	harness_fini(&h);
}

/* Fault 34. */
static void
tcp_closes_on_a_length_that_is_no_message(void **state)
{
	struct harness h;
	uint8_t data[64], reply[64];
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	for (size_t bad = 0; bad < 12; bad++) {
		size_t len = make_request(data, 'E', 12);

		fd = harness_connect(&h, 0);
		len += make_request(data + len, 'E', bad);
		len += make_request(data + len, 'E', 20);
		harness_send(&h, fd, data, len);
		/* The requests before the malformed one are answered, those
		 * behind it are not. */
		assert_int_equal(harness_receive(&h, fd, reply,
			sizeof(reply), &eof), 14);
		assert_true(eof);
		assert_int_equal(h.bad_lengths, bad + 1);
		assert_int_equal(h.last_bad_length, bad);
		close(fd);
	}
	assert_int_equal(h.requests, 12);
	assert_int_equal(h.rx_err, 12);
	harness_fini(&h);
}

/* The request before it waits for the end of a stream, and comes again; the
 * length is told once. */
static void
tcp_tells_a_bad_length_behind_a_stream_once(void **state)
{
	struct harness h;
	uint8_t data[64], reply[64];
	size_t len, at;
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	at = len = make_request(data, 'S', 20);
	octets_put_u16(data + 3, 1);
	octets_put_u16(data + 5, 10);
	len += make_request(data + len, 'E', 12);
	len += make_request(data + len, 'E', 5);
	harness_send(&h, fd, data, len);
	assert_int_equal(harness_receive(&h, fd, reply, sizeof(reply), &eof),
		22 + 12 + 14);
	assert_true(eof);
	assert_memory_equal(reply + 34, data + at, 14);
	assert_int_equal(h.requests, 3);
	assert_int_equal(h.bad_lengths, 1);
	assert_int_equal(h.rx_err, 1);
	close(fd);
	harness_fini(&h);
}

static void
wait_empty(struct harness *h)
{
	for (int i = 0; i < 30000 && net_tcp_count(h->tcp) > 0; i++)
		harness_idle(h, 1);
	assert_int_equal(net_tcp_count(h->tcp), 0);
}

/* Fault 37. */
static void
tcp_answers_all_after_half_close_then_closes(void **state)
{
	static uint8_t data[500 * 62], reply[500 * 62 + 1];
	struct harness h;
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	for (size_t i = 0; i < 500; i++)
		make_request(data + i * 62, 'E', 60);
	harness_send(&h, fd, data, sizeof(data));
	shutdown(fd, SHUT_WR);
	assert_int_equal(harness_receive(&h, fd, reply, sizeof(reply), &eof),
		sizeof(data));
	assert_true(eof);
	assert_memory_equal(data, reply, sizeof(data));
	close(fd);
	wait_empty(&h);
	harness_fini(&h);
}

static void
tcp_forgets_an_incomplete_request_at_the_end(void **state)
{
	struct harness h;
	uint8_t data[64];
	bool eof;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	for (size_t cut = 0; cut < 22; cut++) {
		int fd = harness_connect(&h, 0);

		make_request(data, 'E', 20);
		harness_send(&h, fd, data, cut);
		shutdown(fd, SHUT_WR);
		assert_int_equal(harness_receive(&h, fd, data, 1, &eof), 0);
		assert_true(eof);
		close(fd);
	}
	assert_int_equal(h.requests, 0);
	wait_empty(&h);
	harness_fini(&h);
}

/* Fault 35.
 * A client that only sends: its requests stop being read, and what is kept
 * for it stays bounded; when it reads, nothing is missing. The buffers of the
 * sockets are of a fixed size, smaller than one reply: what the system makes
 * of them otherwise, and when, is its own affair. */
static void
tcp_does_not_read_from_a_client_that_does_not_read(void **state)
{
	struct harness h;
	uint8_t data[64];
	int small = 4096, large = 1 << 20;
	size_t len, answered, want = 100 * 60002;
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	/* Accepted sockets inherit it. */
	assert_int_equal(setsockopt(h.fd, SOL_SOCKET, SO_SNDBUF, &small,
		sizeof(small)), 0);
	fd = harness_connect(&h, small);
	len = make_request(data, 'B', 20);
	octets_put_u32(data + 3, 60000);
	for (unsigned sent = 0; sent < 100; sent++) {
		harness_send(&h, fd, data, len);
		harness_turn(&h);
	}
	harness_wait(&h, &h.requests, 1);
	answered = h.requests;
	assert_in_range(answered, 1, EXCHANGE_BATCH_MAX);
	harness_idle(&h, 20);
	assert_int_equal(h.requests, answered);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &large,
		sizeof(large)), 0);
	while (want > 0) {
		size_t part = want < sizeof(big) ? want : sizeof(big);

		assert_int_equal(harness_receive(&h, fd, big, part, &eof),
			part);
		want -= part;
	}
	close(fd);
	wait_empty(&h);
	harness_fini(&h);
}

/* 64 requests in one segment, replies of 60000 octets: what is over the
 * limit is not kept, its requests are answered again when there is room. */
static void
tcp_keeps_only_some_replies_that_do_not_fit(void **state)
{
	static uint8_t data[200 * 22];
	struct harness h;
	size_t want = 200 * 60002;
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 4096);
	for (size_t i = 0; i < 200; i++) {
		make_request(data + i * 22, 'B', 20);
		octets_put_u32(data + i * 22 + 3, 60000);
		data[i * 22 + 7] = (uint8_t)i;
	}
	harness_send(&h, fd, data, sizeof(data));
	for (size_t i = 0; i < 200; i++) {
		assert_int_equal(harness_receive(&h, fd, big, 60002, &eof),
			60002);
		assert_int_equal(octets_get_u16(big), 60000);
		assert_int_equal(big[2], i);
		assert_int_equal(big[60001], i);
		want -= 60002;
	}
	assert_int_equal(want, 0);
	assert_true(h.requests > 200);
	close(fd);
	wait_empty(&h);
	harness_fini(&h);
}

/* Fault 37. */
static void
tcp_survives_a_reset_at_any_time(void **state)
{
	static uint8_t data[1000 * 62];
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };
	struct harness h;

	for (size_t i = 0; i < 1000; i++) {
		make_request(data + i * 62, i % 10 == 0 ? 'B' : 'E', 60);
		octets_put_u32(data + i * 62 + 3, 50000);
	}
	harness_tcp(&h, "127.0.0.1", &ordinary);
	for (size_t turns = 0; turns < 12; turns++) {
		int fd = harness_connect(&h, 0);

		if (send(fd, data, sizeof(data), 0) < 0)
			fail();
		for (size_t i = 0; i < turns; i++)
			harness_turn(&h);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger,
			sizeof(linger));
		close(fd);
	}
	wait_empty(&h);
	harness_fini(&h);
}

static void
tcp_closes_after_queries_max(void **state)
{
	struct net_tcp_options options = ordinary;
	static uint8_t data[5000 * 22], reply[200 * 22];
	struct harness h;
	bool eof;
	int fd;

	/* More than is read at once: closing on the rest would reset the
	 * connection and could take the replies with it. */
	options.queries_max = 150;
	for (size_t i = 0; i < 5000; i++)
		make_request(data + i * 22, 'E', 20);
	harness_tcp(&h, "127.0.0.1", &options);
	fd = harness_connect(&h, 0);
	harness_send(&h, fd, data, sizeof(data));
	assert_int_equal(harness_receive(&h, fd, reply, sizeof(reply), &eof),
		150 * 22);
	assert_true(eof);
	assert_false(h.reset);
	assert_int_equal(h.requests, 150);
	assert_int_equal(h.last_requests, 1);
	close(fd);
	wait_empty(&h);
	harness_fini(&h);
}

/* A transfer: the reply, its further messages in order, and what was asked
 * behind it afterwards. */
static void
tcp_streams_and_then_goes_on(void **state)
{
	static uint8_t data[256];
	struct harness h;
	size_t len, at = 22;
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 4096);
	len = make_request(data, 'S', 20);
	octets_put_u16(data + 3, 200);
	octets_put_u16(data + 5, 30000);
	memcpy(data + len, data, len);
	len *= 2;
	len += make_request(data + len, 'E', 33);
	harness_send(&h, fd, data, len);
	len = 2 * (22 + 200 * 30002);
	assert_true(len + 35 > sizeof(big));
	for (int stream = 0; stream < 2; stream++) {
		assert_int_equal(harness_receive(&h, fd, big, 22, &eof), 22);
		assert_memory_equal(big, data, 22);
		len = 200 * 30002;
		assert_int_equal(harness_receive(&h, fd, big, len, &eof),
			len);
		for (size_t i = 0; i < 200; i++) {
			at = i * 30002;
			assert_int_equal(octets_get_u16(big + at), 30000);
			assert_int_equal(big[at + 2], i);
			assert_int_equal(big[at + 30001], i);
		}
	}
	assert_int_equal(harness_receive(&h, fd, big, 35, &eof), 35);
	assert_int_equal(big[2], 'E');
	assert_int_equal(h.streams, 0);
	close(fd);
	wait_empty(&h);
	harness_fini(&h);
}

/* The stream is over before the socket is full: no event comes by itself. */
static void
tcp_goes_on_after_a_short_stream(void **state)
{
	static uint8_t data[256], reply[256];
	struct harness h;
	size_t len;
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	len = make_request(data, 'S', 20);
	octets_put_u16(data + 3, 1);
	octets_put_u16(data + 5, 10);
	len += make_request(data + len, 'E', 33);
	harness_send(&h, fd, data, len);
	assert_int_equal(harness_receive(&h, fd, reply, 22 + 12 + 35, &eof),
		22 + 12 + 35);
	assert_memory_equal(reply + 34, data + 22, 35);
	close(fd);
	wait_empty(&h);
	harness_fini(&h);
}

static void
tcp_ends_a_stream_when_its_client_is_gone(void **state)
{
	static uint8_t data[64];
	struct harness h;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 4096);
	make_request(data, 'S', 20);
	octets_put_u16(data + 3, 60000);
	octets_put_u16(data + 5, 60000);
	harness_send(&h, fd, data, 22);
	harness_wait(&h, &h.streams, 1);
	harness_idle(&h, 20);
	close(fd);
	harness_wait(&h, &h.streams_ended, 1);
	wait_empty(&h);
	harness_fini(&h);
}

/* The first stream that it is asked about is to end. */
static bool
ends_first(void *ctx, void *stream, const struct sockaddr_storage *peer)
{
	unsigned *asked = ctx;

	assert_non_null(stream);
	assert_int_equal(peer->ss_family, AF_INET);
	return (*asked)++ == 0;
}

static void
tcp_closes_the_streams_that_are_to_end_and_nothing_else(void **state)
{
	static uint8_t data[64], reply[64];
	unsigned asked = 0;
	struct harness h;
	bool eof;
	int fds[3];

	harness_tcp(&h, "127.0.0.1", &ordinary);
	for (unsigned i = 0; i < 3; i++)
		fds[i] = harness_connect(&h, 4096);
	make_request(data, 'S', 20);
	octets_put_u16(data + 3, 60000);
	octets_put_u16(data + 5, 60000);
	for (size_t i = 0; i < 2; i++) {
		harness_send(&h, fds[i], data, 22);
		harness_wait(&h, &h.streams, i + 1);
	}
	make_request(data, 'E', 33);
	harness_send(&h, fds[2], data, 35);
	assert_int_equal(harness_receive(&h, fds[2], reply, 35, &eof), 35);
	assert_int_equal(net_tcp_count(h.tcp), 3);
	net_tcp_end_streams(h.tcp, ends_first, &asked);
	assert_int_equal(asked, 2);
	assert_int_equal(h.streams_ended, 1);
	assert_int_equal(h.streams, 1);
	assert_int_equal(net_tcp_count(h.tcp), 2);
	harness_send(&h, fds[2], data, 35);
	assert_int_equal(harness_receive(&h, fds[2], reply, 35, &eof), 35);
	for (unsigned i = 0; i < 3; i++)
		close(fds[i]);
	wait_empty(&h);
	assert_int_equal(h.streams_ended, 2);
	harness_fini(&h);
}

static uint64_t
clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Takes a little of a stream again and again, for so long or until its end.
 * Returns the longest time in which nothing was taken. */
static uint64_t
take_slowly(struct harness *h, unsigned rate, unsigned ms)
{
	const struct net_tcp_options options = { .connections_max = 10,
		.timeout_sec = 1, .stream_rate = rate };
	static uint8_t data[16 * 1024];
	uint64_t end, last, longest = 0;
	int fd;

	harness_tcp(h, "127.0.0.1", &options);
	fd = harness_connect(h, 4096);
	make_request(data, 'S', 20);
	octets_put_u16(data + 3, 65535);
	octets_put_u16(data + 5, 60000);
	harness_send(h, fd, data, 22);
	harness_wait(h, &h->streams, 1);
	last = clock_ms();
	end = last + ms;
	while (h->streams_ended == 0 && clock_ms() < end) {
		if (recv(fd, data, sizeof(data), 0) > 0) {
			uint64_t now = clock_ms();

			if (now - last > longest)
				longest = now - last;
			last = now;
		}
		usleep(1000);
		harness_turn(h);
	}
	close(fd);
	return longest;
}

static void
tcp_ends_a_stream_whose_client_takes_too_little(void **state)
{
	struct harness h;

	take_slowly(&h, UINT32_MAX, 10000);
	assert_int_equal(h.streams_ended, 1);
	harness_fini(&h);
}

/* The client takes longer than the time-out in all, but always takes
 * something. */
static void
tcp_waits_for_the_client_of_a_stream_that_takes_enough(void **state)
{
	uint64_t longest;

	do {
		struct harness h;
		size_t ended;

		longest = take_slowly(&h, 1, 2500);
		ended = h.streams_ended;
		harness_fini(&h);
		/* A machine that stood still says nothing. */
		if (longest < 500)
			assert_int_equal(ended, 0);
	} while (longest >= 500);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			tcp_answers_1000_requests_of_one_segment_in_order),
		cmocka_unit_test(tcp_gathers_requests_of_several_connections),
		cmocka_unit_test(
			tcp_joins_a_request_that_comes_octet_by_octet),
		cmocka_unit_test(tcp_joins_requests_cut_anywhere),
		cmocka_unit_test(
			tcp_takes_the_longest_message_whole_and_in_pieces),
		cmocka_unit_test(tcp_closes_on_a_length_that_is_no_message),
		cmocka_unit_test(tcp_tells_a_bad_length_behind_a_stream_once),
		cmocka_unit_test(tcp_answers_all_after_half_close_then_closes),
		cmocka_unit_test(tcp_forgets_an_incomplete_request_at_the_end),
		cmocka_unit_test(
			tcp_does_not_read_from_a_client_that_does_not_read),
		cmocka_unit_test(tcp_keeps_only_some_replies_that_do_not_fit),
		cmocka_unit_test(tcp_survives_a_reset_at_any_time),
		cmocka_unit_test(tcp_closes_after_queries_max),
		cmocka_unit_test(tcp_streams_and_then_goes_on),
		cmocka_unit_test(tcp_goes_on_after_a_short_stream),
		cmocka_unit_test(tcp_ends_a_stream_when_its_client_is_gone),
		cmocka_unit_test(
			tcp_closes_the_streams_that_are_to_end_and_nothing_else),
		cmocka_unit_test(
			tcp_ends_a_stream_whose_client_takes_too_little),
		cmocka_unit_test(
			tcp_waits_for_the_client_of_a_stream_that_takes_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
