/*
 * test_tcp_turn.c - no client decides how long a turn is: requests and replies
 * of a turn are bounded, what is left comes in the next, and everybody has one.
 */
#include "config.h"

#include "harness.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/octets.h"

#define REQUEST 22 /* octets, with the length in front */
#define REPLY 60002

static const struct net_tcp_options ordinary = {
	.connections_max = 100, .timeout_sec = 120 };

static uint8_t data[4000 * REQUEST], reply[4000 * REQUEST];

/* Count requests for large replies; each reply is filled with its number. */
static size_t
make_large(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		make_request(data + i * REQUEST, 'B', REQUEST - 2);
		octets_put_u32(data + i * REQUEST + 3, REPLY - 2);
		data[i * REQUEST + 7] = (uint8_t)i;
	}
	return count * REQUEST;
}

static void
receive_large(struct harness *h, int fd, size_t first, size_t end)
{
	static uint8_t octets[REPLY];
	bool eof;

	for (size_t i = first; i < end; i++) {
		assert_int_equal(harness_receive(h, fd, octets, REPLY, &eof),
			REPLY);
		assert_int_equal(octets_get_u16(octets), REPLY - 2);
		assert_int_equal(octets[2], (uint8_t)i);
		assert_int_equal(octets[REPLY - 1], (uint8_t)i);
	}
}

static void
tcp_turn_answers_only_so_many_requests(void **state)
{
	struct harness h;
	size_t most = 0, before;
	bool eof;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	fd = harness_connect(&h, 0);
	for (size_t i = 0; i < 4000; i++) {
		make_request(data + i * REQUEST, 'E', REQUEST - 2);
		octets_put_u16(data + i * REQUEST + 4, (uint16_t)i);
	}
	/* A single write, before the server has a turn. */
	assert_int_equal(write(fd, data, sizeof(data)), sizeof(data));
	while (h.requests < 4000) {
		before = h.requests;
		harness_turn_once(&h);
		if (h.requests - before > most)
			most = h.requests - before;
	}
	/* Without a bound: what one read brings, 32 KiB. */
	assert_in_range(most, 64, 1024 + EXCHANGE_BATCH_MAX);
	assert_int_equal(harness_receive(&h, fd, reply, sizeof(reply), &eof),
		sizeof(reply));
	assert_memory_equal(data, reply, sizeof(reply));
	assert_int_equal(h.new_requests, 4000);
	close(fd);
	harness_fini(&h);
}

/* Costly requests count by their cost: one batch of them in a turn. */
static void
tcp_turn_answers_fewer_dear_requests(void **state)
{
	struct harness h;
	size_t most = 0, before;
	int fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	h.request_cost = 64;
	fd = harness_connect(&h, 0);
	for (size_t i = 0; i < 1000; i++)
		make_request(data + i * REQUEST, 'E', REQUEST - 2);
	assert_int_equal(write(fd, data, 1000 * REQUEST), 1000 * REQUEST);
	while (h.requests < 1000) {
		before = h.requests;
		harness_turn_once(&h);
		if (h.requests - before > most)
			most = h.requests - before;
	}
	assert_in_range(most, 1, EXCHANGE_BATCH_MAX);
	close(fd);
	harness_fini(&h);
}

/* Requests beyond the limit of a turn are answered later, in order, and counted
 * once. */
static void
tcp_turn_sends_only_so_many_octets(void **state)
{
	struct harness h;
	size_t most = 0, before, received[20] = {0};
	int fd[20];

	harness_tcp(&h, "127.0.0.1", &ordinary);
	h.replies_max = EXCHANGE_REPLIES_MAX;
	for (size_t i = 0; i < 20; i++)
		fd[i] = harness_connect(&h, 0);
	while (net_tcp_count(h.tcp) < 20)
		harness_turn(&h);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(write(fd[i], data, make_large(100)),
			100 * REQUEST);
	for (unsigned round = 0; round < 100; round++) {
		before = h.reply_octets;
		harness_turn_once(&h);
		if (h.reply_octets - before > most)
			most = h.reply_octets - before;
	}
	/* Without a bound: 64 replies to each batch, and many of these. */
	assert_in_range(most, 1, (1u << 20) + EXCHANGE_REPLIES_MAX + REPLY);
	for (size_t i = 0; i < 20; i++, received[i - 1] = 100)
		receive_large(&h, fd[i], received[i], 100);
	assert_int_equal(h.new_requests, 20 * 100);
	assert_int_equal(h.new_replies, 20 * 100);
	assert_true(h.requests > 20 * 100);
	for (size_t i = 0; i < 20; i++)
		close(fd[i]);
	harness_fini(&h);
}

/* A turn that ends early goes on where it was: the last of those who are
 * ready is not kept waiting by those before it. */
static void
tcp_turns_go_round(void **state)
{
	struct harness h;
	uint8_t one[64];
	int fd[40];
	unsigned turns = 0;
	size_t len;
	bool eof;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	for (size_t i = 0; i < 40; i++)
		fd[i] = harness_connect(&h, 0);
	while (net_tcp_count(h.tcp) < 40)
		harness_turn(&h);
	/* The clients have requests for several turns; no reply is sent to
	 * those. */
	for (size_t i = 0; i < 4000; i++)
		make_request(data + i * REQUEST, 'N', REQUEST - 2);
	for (size_t i = 0; i < 39; i++)
		assert_int_equal(write(fd[i], data, sizeof(data)),
			sizeof(data));
	len = make_request(one, 'E', 40);
	assert_int_equal(write(fd[39], one, len), len);
	while (recv(fd[39], reply, len, MSG_DONTWAIT) != (ssize_t)len) {
		harness_turn_once(&h);
		turns++;
	}
	assert_memory_equal(reply, one, len);
	assert_in_range(turns, 20, 60);
	assert_true(h.requests < 39 * 4000 / 2);
	for (size_t i = 0; i < 39; i++)
		close(fd[i]);
	/* And whoever is left is still served. */
	harness_send(&h, fd[39], one, len);
	assert_int_equal(harness_receive(&h, fd[39], reply, len, &eof), len);
	close(fd[39]);
	harness_fini(&h);
}

/* Connections cost more than requests: a flood of them is spread over turns. */
static void
tcp_turn_accepts_only_so_many(void **state)
{
	struct harness h;
	unsigned most = 0, before;
	int fd[90];

	harness_tcp(&h, "127.0.0.1", &ordinary);
	for (size_t i = 0; i < 90; i++)
		fd[i] = harness_connect(&h, 0);
	while (net_tcp_count(h.tcp) < 90) {
		before = net_tcp_count(h.tcp);
		harness_turn_once(&h);
		if (net_tcp_count(h.tcp) - before > most)
			most = net_tcp_count(h.tcp) - before;
	}
	assert_in_range(most, 2, 33);
	for (size_t i = 0; i < 90; i++)
		close(fd[i]);
	harness_fini(&h);
}

/* Transfers, and whoever reads them as fast as they come. */
static void
tcp_turn_streams_only_so_many_octets(void **state)
{
	struct harness h;
	size_t most = 0, before, len;
	uint8_t one[64];
	int fd[20];

	harness_tcp(&h, "127.0.0.1", &ordinary);
	len = make_request(one, 'S', 20);
	octets_put_u16(one + 3, 10);
	octets_put_u16(one + 5, 60000);
	for (size_t i = 0; i < 20; i++)
		fd[i] = harness_connect(&h, 4 << 20);
	while (net_tcp_count(h.tcp) < 20)
		harness_turn(&h);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(write(fd[i], one, len), len);
	while (h.streams_ended < 20) {
		before = h.stream_octets;
		harness_turn_once(&h);
		if (h.stream_octets - before > most)
			most = h.stream_octets - before;
		for (size_t i = 0; i < 20; i++)
			while (recv(fd[i], reply, sizeof(reply), MSG_DONTWAIT)
				> 0)
				;
	}
	/* Without a bound: each of them its 600,000 octets. */
	assert_in_range(most, 60000, (128u << 10) + 60000);
	for (size_t i = 0; i < 20; i++)
		close(fd[i]);
	harness_fini(&h);
}

#define STREAM_MESSAGE 16384u
#define STREAMS 3u

/* Asks for a stream of so many messages; returns the connection. */
static int
begin_stream(struct harness *h, uint16_t messages)
{
	int fd = harness_connect(h, 4 << 20);
	size_t begun = h->streams + h->streams_ended;
	uint8_t one[REQUEST];

	make_request(one, 'S', REQUEST - 2);
	octets_put_u16(one + 3, messages);
	octets_put_u16(one + 5, STREAM_MESSAGE);
	harness_send(h, fd, one, REQUEST);
	while (h->streams + h->streams_ended == begun)
		harness_turn_once(h);
	return fd;
}

/* Takes what is there; returns how much that was. */
static size_t
drain(int fd)
{
	size_t got = 0;
	ssize_t n;

	while ((n = recv(fd, reply, sizeof(reply), MSG_DONTWAIT)) > 0)
		got += (size_t)n;
	return got;
}

/* Streams have a tenth of the time while others ask, in turn. Time is that of
 * the processor, so that it does not matter who else has it meanwhile. */
static void
tcp_turn_gives_streams_a_tenth_of_the_time(void **state)
{
	size_t got[STREAMS] = {0}, least = SIZE_MAX, most = 0;
	int64_t begin, took, streamed;
	int ask, fd[STREAMS];
	struct harness h;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	h.request_nsec = 50000;
	h.message_nsec = 100000;
	ask = harness_connect(&h, 0);
	for (size_t i = 0; i < 20; i++)
		make_request(data + i * REQUEST, 'N', REQUEST - 2);
	for (size_t i = 0; i < STREAMS; i++)
		fd[i] = begin_stream(&h, 60000);
	h.stream_octets = 0;
	begin = clock_thread_nsec();
	for (unsigned turn = 0; turn < 400; turn++) {
		harness_send(&h, ask, data, 20 * REQUEST);
		harness_turn_once(&h);
		for (size_t i = 0; i < STREAMS; i++)
			got[i] += drain(fd[i]);
	}
	took = clock_thread_nsec() - begin;
	streamed = (int64_t)(h.stream_octets / STREAM_MESSAGE)
		* h.message_nsec;
	/* The share of the time, and three messages. */
	assert_true(streamed < took / 10 + 3 * h.message_nsec);
	assert_true(streamed > took / 25);
	for (size_t i = 0; i < STREAMS; i++) {
		least = got[i] < least ? got[i] : least;
		most = got[i] > most ? got[i] : most;
	}
	/* Writes have one to three messages. */
	assert_in_range(most, least, 2 * least);
	for (size_t i = 0; i < STREAMS; i++)
		close(fd[i]);
	close(ask);
	harness_turn(&h);
	harness_fini(&h);
}

/* Alone, a stream may take more from turn to turn; when somebody has asked, it
 * begins with one message again. */
static void
tcp_turn_lets_a_stream_grow_while_nobody_asks(void **state)
{
	size_t most = 0, before, made = 0;
	uint8_t one[REQUEST];
	struct harness h;
	int ask, fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	ask = harness_connect(&h, 0);
	make_request(one, 'N', REQUEST - 2);
	fd = begin_stream(&h, 60000);
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned turn = 0; turn < 10; turn++) {
			before = h.stream_octets;
			harness_turn_once(&h);
			made = h.stream_octets - before;
			most = made > most ? made : most;
			drain(fd);
		}
		harness_send(&h, ask, one, REQUEST);
		before = h.handed;
		while (h.handed == before)
			harness_turn_once(&h);
		drain(fd);
		before = h.stream_octets;
		harness_turn_once(&h);
		assert_int_equal(h.stream_octets - before, STREAM_MESSAGE);
	}
	assert_in_range(most, 4 * STREAM_MESSAGE, 9 * STREAM_MESSAGE);
	/* A request for a stream is none of others. */
	assert_int_equal(h.handed, 20);
	close(fd);
	close(ask);
	harness_turn(&h);
	harness_fini(&h);
}

/* Requests that fill each turn leave streams their part. */
static void
tcp_turn_streams_beside_a_flood(void **state)
{
	struct harness h;
	int flood[40], fd;

	harness_tcp(&h, "127.0.0.1", &ordinary);
	h.request_nsec = 2000;
	h.message_nsec = 100000;
	for (size_t i = 0; i < 40; i++)
		flood[i] = harness_connect(&h, 0);
	while (net_tcp_count(h.tcp) < 40)
		harness_turn_once(&h);
	for (size_t i = 0; i < 4000; i++)
		make_request(data + i * REQUEST, 'N', REQUEST - 2);
	for (size_t i = 0; i < 40; i++)
		assert_int_equal(write(flood[i], data, sizeof(data)),
			sizeof(data));
	h.requests = 0;
	fd = begin_stream(&h, 30);
	while (h.streams_ended == 0) {
		harness_turn_once(&h);
		drain(fd);
	}
	/* Nine times as long as 30 messages; and its connection has its turn
	 * after 40 others, first to ask and again when there is room. */
	assert_in_range(h.requests, 5000, 100000);
	for (size_t i = 0; i < 40; i++)
		close(flood[i]);
	close(fd);
	harness_turn(&h);
	harness_fini(&h);
}

/* The server's end of a connection: it is a descriptor of this process. */
static int
find_other_end(int fd)
{
	struct sockaddr_in ours, peer;
	socklen_t len = sizeof(ours);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&ours, &len), 0);
	for (int other = 3; other < 1024; other++) {
		len = sizeof(peer);
		if (getpeername(other, (struct sockaddr *)&peer, &len) == 0
			&& peer.sin_family == AF_INET
			&& peer.sin_port == ours.sin_port)
			return other;
	}
	fail();
	return -1;
}

/* How many octets the server has written to these, sent or not. */
static uint64_t
count_written(const int *fd, size_t count)
{
	struct tcp_info info;
	socklen_t len;
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		len = sizeof(info);
		assert_int_equal(getsockopt(fd[i], IPPROTO_TCP, TCP_INFO,
			&info, &len), 0);
		sum += info.tcpi_bytes_sent + info.tcpi_notsent_bytes
			- info.tcpi_bytes_retrans;
	}
	return sum;
}

/* Asks until a part of a reply is kept, since the client does not read. */
static void
ask_until_kept(struct harness *h, int fd, int other)
{
	uint64_t asked = 0;

	while (count_written(&other, 1) == asked) {
		assert_int_equal(write(fd, data, make_large(1)), REQUEST);
		asked += REPLY;
		while (h->requests < asked / REPLY)
			harness_turn(h);
	}
	h->requests = 0;
}

/* Replies were kept for clients that did not read. Then all do. */
static void
tcp_turn_sends_only_so_much_that_was_kept(void **state)
{
	struct harness h;
	uint64_t most = 0, before, now;
	int fd[90], other[90];

	harness_tcp(&h, "127.0.0.1", &ordinary);
	for (size_t i = 0; i < 90; i++) {
		fd[i] = harness_connect(&h, 65536);
		while (net_tcp_count(h.tcp) < i + 1)
			harness_turn(&h);
		other[i] = find_other_end(fd[i]);
		ask_until_kept(&h, fd[i], other[i]);
	}
	before = count_written(other, 90);
	for (unsigned turn = 0; turn < 1000; turn++) {
		for (size_t i = 0; i < 90; i++)
			while (recv(fd[i], reply, sizeof(reply), MSG_DONTWAIT)
				> 0)
				;
		harness_turn_once(&h);
		now = count_written(other, 90);
		if (now - before > most)
			most = now - before;
		before = now;
	}
	assert_int_equal(before % REPLY, 0);
	/* Without a bound: all that is kept for 64 of them. */
	assert_in_range(most, 1, (1u << 20) + REPLY);
	for (size_t i = 0; i < 90; i++)
		close(fd[i]);
	harness_fini(&h);
}

/* Connections that came together time out together. */
static void
tcp_turn_closes_only_so_many(void **state)
{
	const struct net_tcp_options short_timeout = {
		.connections_max = 100, .timeout_sec = 1 };
	struct harness h;
	unsigned most = 0, before;
	int64_t end;
	int fd[90];

	harness_tcp(&h, "127.0.0.1", &short_timeout);
	for (size_t i = 0; i < 90; i++)
		fd[i] = harness_connect(&h, 0);
	while (net_tcp_count(h.tcp) < 90)
		harness_turn(&h);
	usleep(1100000);
	end = clock_now_msec() + 30000;
	while (net_tcp_count(h.tcp) > 0) {
		assert_true(clock_now_msec() < end);
		before = net_tcp_count(h.tcp);
		harness_turn_once(&h);
		if (before - net_tcp_count(h.tcp) > most)
			most = before - net_tcp_count(h.tcp);
	}
	assert_in_range(most, 1, 32);
	for (size_t i = 0; i < 90; i++)
		close(fd[i]);
	harness_fini(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp_turn_answers_only_so_many_requests),
		cmocka_unit_test(tcp_turn_answers_fewer_dear_requests),
		cmocka_unit_test(tcp_turn_sends_only_so_many_octets),
		cmocka_unit_test(tcp_turns_go_round),
		cmocka_unit_test(tcp_turn_accepts_only_so_many),
		cmocka_unit_test(tcp_turn_streams_only_so_many_octets),
		cmocka_unit_test(tcp_turn_gives_streams_a_tenth_of_the_time),
		cmocka_unit_test(tcp_turn_lets_a_stream_grow_while_nobody_asks),
		cmocka_unit_test(tcp_turn_streams_beside_a_flood),
		cmocka_unit_test(tcp_turn_sends_only_so_much_that_was_kept),
		cmocka_unit_test(tcp_turn_closes_only_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
