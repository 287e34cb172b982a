/*
 * harness.c - a server of net and its clients in one thread.
 */
#include "config.h"

#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/octets.h"

#define DEADLINE_MS 30000

static uint64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void
harness_work(int64_t nsec)
{
	int64_t end;

	if (nsec == 0)
		return;
	end = clock_thread_nsec() + nsec;
	while (clock_thread_nsec() < end)
		;
}

struct stream {
	unsigned left;
	unsigned len;
	uint8_t number;
};

static void
answer(struct harness *h, struct exchange *x)
{
	const uint8_t *r = x->request;
	struct stream *stream;

	assert_null(x->stream);
	assert_null(x->later);
	assert_int_equal(x->cost, 0);
	x->cost = h->request_cost;
	if (x->request_len > h->longest)
		h->longest = x->request_len;
	h->requests++;
	harness_work(h->request_nsec);
	h->last_peer = *x->peer;
	memset(&h->last_proxy, 0, sizeof(h->last_proxy));
	if (x->proxy != NULL)
		memcpy(&h->last_proxy, x->proxy, sizeof(h->last_proxy));
	memset(&h->last_local, 0, sizeof(h->last_local));
	if (x->local != NULL)
		memcpy(&h->last_local, x->local,
			x->local->sa_family == AF_INET6
				? sizeof(struct sockaddr_in6)
				: sizeof(struct sockaddr_in));
	h->new_replies += x->seen != EXCHANGE_ANSWERED;
	h->last_requests += x->idle_100ms == 0;
	if (x->request_len == 0 || r[0] == 'N') {
		x->reply_len = 0;
		return;
	}
	if (r[0] == 'B') {
		x->reply_len = octets_get_u32(r + 1);
		memset(x->reply, r[5], x->reply_len);
		return;
	}
	if (r[0] == 'P') {
		x->reply_len = 0;
		x->pass_on = x->seen != EXCHANGE_ANSWERED;
		h->not_passed_on += x->pass_on;
		return;
	}
	if (r[0] == 'L') {
		assert_in_range(h->later_count, 0, HARNESS_LATERS_MAX - 1);
		x->reply_len = 0;
		/* Of one that comes again, the reply is to come already. */
		if (x->seen == EXCHANGE_ANSWERED)
			return;
		memcpy(h->later_of[h->later_count], r + 1, 4);
		x->later = &h->laters[h->later_count++];
		return;
	}
	x->reply_len = x->request_len < x->reply_capacity
		? x->request_len : x->reply_capacity;
	memcpy(x->reply, r, x->reply_len);
	if (r[0] != 'S')
		return;
	stream = malloc(sizeof(*stream));
	assert_non_null(stream);
	stream->left = octets_get_u16(r + 1);
	stream->len = octets_get_u16(r + 3);
	stream->number = 0;
	x->stream = stream;
	h->streams++;
}

static void
on_batch(void *ctx, struct exchange *exchanges, size_t count)
{
	struct harness *h = ctx;

	assert_in_range(count, 1, EXCHANGE_BATCH_MAX);
	h->batches++;
	if (count > h->largest_batch)
		h->largest_batch = count;
	for (size_t i = 0, octets = 0; i < count; i++) {
		assert_false(exchanges[i].put_off);
		h->new_requests += exchanges[i].seen == EXCHANGE_NEW;
		if (h->replies_max > 0 && octets >= h->replies_max) {
			exchanges[i].put_off = true;
			continue;
		}
		answer(h, &exchanges[i]);
		octets += exchanges[i].reply_len;
		h->reply_octets += exchanges[i].reply_len;
	}
}

static size_t
on_stream(void *ctx, void *arg, uint8_t *reply, size_t capacity)
{
	struct stream *stream = arg;
	struct harness *h = ctx;

	assert_in_range(stream->len, 1, capacity);
	if (stream->left == 0)
		return 0;
	stream->left--;
	harness_work(h->message_nsec);
	h->stream_octets += stream->len;
	memset(reply, stream->number++, stream->len);
	return stream->len;
}

static void
on_later(void *ctx, void *arg, struct net_later *reply)
{
	const struct harness *h = ctx;
	struct net_later **later = arg;

	assert_in_range(later - h->laters, 0, h->later_count - 1);
	assert_null(*later);
	assert_true(net_later_is_wanted(reply));
	*later = reply;
}

static void
on_stream_end(void *ctx, void *arg)
{
	struct harness *h = ctx;

	h->streams--;
	h->streams_ended++;
	free(arg);
}

static void
on_bad_length(void *ctx, const struct sockaddr_storage *peer, size_t len)
{
	struct harness *h = ctx;

	assert_int_equal(peer->ss_family, h->address.ss_family);
	h->bad_lengths++;
	h->last_bad_length = len;
}

static bool
may_proxy(void *ctx, const struct sockaddr_storage *peer)
{
	struct harness *h = ctx;

	assert_int_equal(peer->ss_family, h->address.ss_family);
	return !h->refuse_proxies;
}

static unsigned
client_number(const struct sockaddr_storage *peer)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)peer;

	assert_int_equal(in->sin_family, AF_INET);
	return ntohl(in->sin_addr.s_addr) & 7;
}

static void
on_spent(void *ctx, const struct sockaddr_storage *peer, int64_t nsec,
	uint64_t now_msec)
{
	struct harness *h = ctx;

	assert_true(nsec > 0);
	assert_true(now_msec <= clock_coarse_msec());
	h->spent_nsec[client_number(peer)] += nsec;
	h->spent_count++;
}

static bool
is_throttled(void *ctx, const struct sockaddr_storage *peer, uint64_t now_msec)
{
	const struct harness *h = ctx;

	assert_true(now_msec <= clock_coarse_msec());
	return (h->throttled >> client_number(peer) & 1) != 0;
}

static void
harness_init(struct harness *h, const char *address, bool tcp)
{
	struct net_listen listen = { .tcp = tcp, .tcp_backlog = -1 };
	socklen_t len = sizeof(h->address);

	memset(h, 0, sizeof(*h));
	h->base = event_base_new();
	assert_non_null(h->base);
	h->handler = (struct net_handler){ .on_batch = on_batch, .ctx = h,
		.on_stream = on_stream, .on_stream_end = on_stream_end,
		.on_later = on_later,
		.on_bad_length = on_bad_length, .on_spent = on_spent,
		.is_throttled = is_throttled, .rx_err = &h->rx_err,
		.tx_err = &h->tx_err, .wants_local = &h->wants_local,
		.requests = &h->handed };
	assert_int_equal(net_parse_address(address, 0, &listen.address),
		NSD_OK);
	assert_int_equal(net_listen(&listen, NULL, &h->fd), NSD_OK);
	assert_int_equal(getsockname(h->fd, (struct sockaddr *)&h->address,
		&len), 0);
}

void
harness_udp(struct harness *h, const char *address, size_t reply_size)
{
	harness_init(h, address, false);
	assert_int_equal(net_udp_open(h->base, h->fd,
		&(struct net_udp_options){.reply_size = reply_size},
		&h->handler, &h->udp), NSD_OK);
}

void
harness_proxied(struct harness *h, const char *address, bool tcp,
	const struct net_tcp_options *options)
{
	struct net_udp_options udp = { .reply_size = 1232,
		.for_proxies = true };
	struct net_listener stream = { .for_proxies = true };

	harness_init(h, address, tcp);
	h->handler.may_proxy = may_proxy;
	stream.fd = h->fd;
	if (tcp)
		assert_int_equal(net_tcp_open(h->base, &stream, 1, options,
			&h->handler, &h->tcp), NSD_OK);
	else
		assert_int_equal(net_udp_open(h->base, h->fd, &udp,
			&h->handler, &h->udp), NSD_OK);
}

void
harness_tcp(struct harness *h, const char *address,
	const struct net_tcp_options *options)
{
	harness_init(h, address, true);
	assert_int_equal(net_tcp_open(h->base,
		&(struct net_listener){.fd = h->fd}, 1, options, &h->handler,
		&h->tcp), NSD_OK);
}

void
harness_fini(struct harness *h)
{
	net_udp_close(h->udp);
	net_tcp_close(h->tcp);
	event_base_free(h->base);
	close(h->fd);
	assert_int_equal(h->streams, 0);
}

int
harness_connect(struct harness *h, int receive_buffer)
{
	int type = h->tcp != NULL ? SOCK_STREAM : SOCK_DGRAM;
	int fd = socket(h->address.ss_family, type | SOCK_NONBLOCK, 0);
	int result;

	assert_int_not_equal(fd, -1);
	if (receive_buffer > 0)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF,
			&receive_buffer, sizeof(receive_buffer)), 0);
	result = connect(fd, (struct sockaddr *)&h->address,
		net_address_len(&h->address));
	assert_true(result == 0 || errno == EINPROGRESS);
	return fd;
}

int
harness_connect_from(struct harness *h, const char *source)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_int_not_equal(fd, -1);
	assert_int_equal(inet_pton(AF_INET, source, &in.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_true(connect(fd, (struct sockaddr *)&h->address,
		net_address_len(&h->address)) == 0 || errno == EINPROGRESS);
	return fd;
}

void
harness_turn(struct harness *h)
{
	assert_int_not_equal(event_base_loop(h->base, EVLOOP_NONBLOCK), -1);
}

void
harness_turn_once(struct harness *h)
{
	assert_int_not_equal(event_base_loop(h->base,
		EVLOOP_ONCE | EVLOOP_NONBLOCK), -1);
}

void
harness_send(struct harness *h, int fd, const void *data, size_t len)
{
	uint64_t deadline = now_ms() + DEADLINE_MS;
	const uint8_t *at = data;

	while (len > 0) {
		ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);

		assert_true(now_ms() < deadline);
		if (sent > 0) {
			at += sent;
			len -= (size_t)sent;
			continue;
		}
		assert_int_equal(errno, EAGAIN);
		harness_turn(h);
	}
}

size_t
harness_receive(struct harness *h, int fd, uint8_t *data, size_t want,
	bool *eof)
{
	uint64_t deadline = now_ms() + DEADLINE_MS;
	size_t got = 0;

	*eof = false;
	while (got < want) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n = recv(fd, data + got, want - got, 0);

		assert_true(now_ms() < deadline);
		if (n > 0) {
			got += (size_t)n;
			continue;
		}
		if (n == 0 || errno == ECONNRESET) {
			*eof = true;
			h->reset = n != 0;
			break;
		}
		assert_int_equal(errno, EAGAIN);
		harness_turn(h);
		poll(&p, 1, 1);
	}
	return got;
}

void
harness_wait(struct harness *h, const size_t *count, size_t want)
{
	uint64_t deadline = now_ms() + DEADLINE_MS;

	while (*count < want) {
		assert_true(now_ms() < deadline);
		harness_turn(h);
	}
}

void
harness_idle(struct harness *h, unsigned ms)
{
	uint64_t end = now_ms() + ms;

	while (now_ms() < end) {
		harness_turn(h);
		poll(NULL, 0, 1);
	}
}

size_t
make_request(uint8_t *out, char kind, size_t len)
{
	octets_put_u16(out, (uint16_t)len);
	memset(out + 2, 'x', len);
	if (len > 0)
		out[2] = (uint8_t)kind;
	return len + 2;
}

void
harness_ask(struct harness *h, int fd)
{
	uint8_t data[64], reply[64];
	bool eof;
	size_t len = make_request(data, 'E', 30);

	harness_send(h, fd, data, len);
	assert_int_equal(harness_receive(h, fd, reply, len, &eof), len);
	assert_memory_equal(data, reply, len);
}

void
harness_expect_close(struct harness *h, int fd)
{
	uint8_t octet;
	bool eof;

	assert_int_equal(harness_receive(h, fd, &octet, 1, &eof), 0);
	assert_true(eof);
}
