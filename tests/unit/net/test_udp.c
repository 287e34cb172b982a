/*
 * test_udp.c - requests over UDP: batches, odd sizes, odd senders.
 */
#include "config.h"

#include "harness.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/octets.h"

/* Not 0: sendmmsg fails with this errno for the next few datagrams. */
static int failing_sendmmsg;
static unsigned failing_times;

int __real_sendmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags);

int
__wrap_sendmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags)
{
	if (failing_sendmmsg == 0 || failing_times == 0)
		return __real_sendmmsg(fd, msgs, count, flags);
	failing_times--;
	errno = failing_sendmmsg;
	return -1;
}

static size_t
receive_one(struct harness *h, int fd, uint8_t *data, size_t size)
{
	for (int i = 0; i < 30000; i++) {
		ssize_t n = recv(fd, data, size, 0);

		if (n >= 0)
			return (size_t)n;
		assert_int_equal(errno, EAGAIN);
		harness_turn(h);
		if (i > 100)
			usleep(1000);
	}
	fail_msg("no reply");
	return 0;
}

/* Waits until count datagrams of 64 octets are queued for the server: a busy
 * system delivers them later than send returns. Peeking goes from one to the
 * next. */
static void
wait_queued(const struct harness *h, unsigned count)
{
	uint8_t data[64];
	int offset = 0, none = -1;
	unsigned seen = 0;

	assert_int_equal(setsockopt(h->fd, SOL_SOCKET, SO_PEEK_OFF, &offset,
		sizeof(offset)), 0);
	for (int i = 0; i < 30000 && seen < count; i++) {
		if (recv(h->fd, data, sizeof(data), MSG_PEEK | MSG_DONTWAIT)
			== sizeof(data))
			seen++;
		else
			usleep(1000);
	}
	assert_int_equal(seen, count);
	assert_int_equal(setsockopt(h->fd, SOL_SOCKET, SO_PEEK_OFF, &none,
		sizeof(none)), 0);
}

static void
udp_answers_a_batch_with_one_call(void **state)
{
	struct harness h;
	uint8_t data[64];
	int fd;

	harness_udp(&h, "127.0.0.1", 1232);
	fd = harness_connect(&h, 1 << 20);
	for (uint8_t i = 0; i < 100; i++) {
		memset(data, i, sizeof(data));
		data[0] = 'E';
		assert_int_equal(send(fd, data, sizeof(data), 0), 64);
	}
	wait_queued(&h, 100);
	for (uint8_t i = 0; i < 100; i++) {
		assert_int_equal(receive_one(&h, fd, data, sizeof(data)), 64);
		assert_int_equal(data[1], i);
	}
	/* 64 and 36, in one turn. */
	assert_int_equal(h.batches, 2);
	assert_int_equal(h.largest_batch, 64);
	assert_int_equal(h.requests, 100);
	close(fd);
	harness_fini(&h);
}

/* A busy socket is called without epoll; it must return to epoll, also after a
 * turn of as many batches as allowed, and other sockets must get their
 * turns. */
static void
udp_goes_on_after_a_crowd(void **state)
{
	struct harness h;
	uint8_t data[64];
	unsigned count = 9 * EXCHANGE_BATCH_MAX + 20;
	int fd, room = 1 << 20;

	harness_udp(&h, "127.0.0.1", 1232);
	fd = harness_connect(&h, 0);
	if (setsockopt(h.fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room))
			!= 0
	    || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room,
			sizeof(room)) != 0) {
		/* Needs CAP_NET_ADMIN: say so, do not look passed. */
		print_message("no large buffers: %s\n", strerror(errno));
		close(fd);
		harness_fini(&h);
		skip();
	}
	memset(data, 'E', sizeof(data));
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(send(fd, data, sizeof(data), 0), 64);
	wait_queued(&h, count);
	assert_int_not_equal(event_base_loop(h.base, EVLOOP_ONCE), -1);
	assert_int_equal(h.batches, 8);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(receive_one(&h, fd, data, sizeof(data)), 64);
	assert_int_equal(h.batches, 10);
	for (size_t len = 20; len < 30; len++) {
		assert_int_equal(send(fd, data, len, 0), len);
		assert_int_equal(receive_one(&h, fd, data, sizeof(data)),
			len);
	}
	close(fd);
	harness_fini(&h);
}

/* The server reads no datagrams, so the socket's buffer fills up. */
static void
udp_counts_what_the_kernel_drops(void **state)
{
	struct harness h;
	uint8_t data[64] = "N";
	size_t lost = 0;
	int fd, room = 1;

	harness_udp(&h, "127.0.0.1", 1232);
	assert_int_equal(setsockopt(h.fd, SOL_SOCKET, SO_RCVBUF, &room,
		sizeof(room)), 0);
	assert_int_equal(net_udp_take_lost(h.udp), 0);
	fd = harness_connect(&h, 0);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(send(fd, data, sizeof(data), 0), 64);
	/* A busy system delivers them later than send returns. */
	for (int i = 0; i < 30000 && h.requests + lost < 1000; i++) {
		lost += net_udp_take_lost(h.udp);
		harness_turn(&h);
		usleep(h.requests + lost < 1000 ? 1000 : 0);
	}
	assert_int_equal(h.requests + lost, 1000);
	assert_true(lost > 0);
	assert_int_equal(net_udp_take_lost(h.udp), 0);
	close(fd);
	harness_fini(&h);
}

static void
udp_sends_nothing_for_a_reply_of_length_0(void **state)
{
	struct harness h;
	uint8_t data[64];
	int fd;

	harness_udp(&h, "127.0.0.1", 1232);
	fd = harness_connect(&h, 0);
	/* Every second one is not answered; the others find their place. */
	for (uint8_t i = 0; i < 10; i++) {
		data[0] = i % 2 != 0 ? 'E' : 'N';
		data[1] = i;
		send(fd, data, 20, 0);
	}
	for (uint8_t i = 1; i < 10; i += 2) {
		assert_int_equal(receive_one(&h, fd, data, sizeof(data)), 20);
		assert_int_equal(data[1], i);
	}
	harness_idle(&h, 20);
	assert_int_equal(recv(fd, data, sizeof(data), 0), -1);
	close(fd);
	harness_fini(&h);
}

/* Every length there is, up to what a datagram can carry. */
static void
udp_takes_any_length(void **state)
{
	static const size_t lens[] = { 0, 1, 2, 11, 12, 13, 511, 512, 513,
		1232, 1500, 4095, 4096, 4097, 9000, 32768, 65506, 65507 };
	static uint8_t data[65536], reply[65536];
	struct harness h;
	int fd;

	harness_udp(&h, "127.0.0.1", 65535);
	fd = harness_connect(&h, 1 << 20);
	memset(data, 'E', sizeof(data));
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t want = lens[i] < 4096 ? lens[i] : 4096;

		assert_int_equal(send(fd, data, lens[i], 0), lens[i]);
		harness_wait(&h, &h.requests, i + 1);
		if (lens[i] == 0)
			continue;
		assert_int_equal(receive_one(&h, fd, reply, sizeof(reply)),
			want);
	}
	/* The beginning of a long datagram is kept. */
	assert_int_equal(h.longest, 4096);
	close(fd);
	harness_fini(&h);
}

/* Fault 41. */
static void
udp_goes_on_after_a_reply_that_is_too_large(void **state)
{
	struct harness h;
	uint8_t data[64] = "B", reply[64];
	int fd;

	harness_udp(&h, "127.0.0.1", 65535);
	fd = harness_connect(&h, 0);
	/* 65508 octets and more do not fit a datagram: EMSGSIZE. */
	octets_put_u32(data + 1, 65508);
	send(fd, data, 20, 0);
	data[0] = 'E';
	send(fd, data, 21, 0);
	assert_int_equal(receive_one(&h, fd, reply, sizeof(reply)), 21);
	assert_int_equal(h.tx_err, 1);
	assert_int_equal(h.batches, 1);
	close(fd);
	harness_fini(&h);
}

/* Fault 41. */
static void
udp_goes_on_after_a_client_is_gone(void **state)
{
	struct harness h;
	uint8_t data[64] = "E";
	size_t got;
	int gone, fd;

	harness_udp(&h, "127.0.0.1", 1232);
	for (int i = 0; i < 200; i++) {
		gone = harness_connect(&h, 0);
		send(gone, data, 20, 0);
		close(gone);
	}
	fd = harness_connect(&h, 0);
	send(fd, data, 21, 0);
	/* The new client may have the port of a closed one, and get its
	 * reply. */
	while ((got = receive_one(&h, fd, data, sizeof(data))) == 20)
		continue;
	assert_int_equal(got, 21);
	close(fd);
	harness_fini(&h);
}

/* Fault 41. What is for others goes; nothing is tried for ever. */
static void
udp_goes_on_after_any_error_of_sending(void **state)
{
	/* A full buffer passes; other errors are of one datagram. */
	static const struct { int error; unsigned times, unsent; } rows[] = {
		{ ENOBUFS, 1, 0 }, { EAGAIN, 1, 0 }, { EINTR, 3, 0 },
		{ ENOBUFS, 1000, 8 }, { EAGAIN, 1000, 8 },
		{ ENETUNREACH, 1, 1 }, { EPERM, 3, 3 }, { ECONNREFUSED, 1, 1 },
		{ EMSGSIZE, 1, 0 }, { EMSGSIZE, 3, 2 }, { EINVAL, 1000, 8 },
		{ ENOMEM, 2, 2 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t data[64] = "E";
		struct harness h;
		int fd;

		harness_udp(&h, "127.0.0.1", 1232);
		fd = harness_connect(&h, 0);
		for (unsigned n = 0; n < 8; n++)
			send(fd, data, sizeof(data), 0);
		wait_queued(&h, 8);
		failing_sendmmsg = rows[i].error;
		failing_times = rows[i].times;
		harness_wait(&h, &h.requests, 8);
		failing_sendmmsg = 0;
		assert_int_equal(h.tx_err, rows[i].unsent);
		for (unsigned n = rows[i].unsent; n < 8; n++)
			assert_int_equal(receive_one(&h, fd, data,
				sizeof(data)), sizeof(data));
		send(fd, data, 20, 0);
		assert_int_equal(receive_one(&h, fd, data, sizeof(data)), 20);
		close(fd);
		harness_fini(&h);
	}
}

/* Source port 0 cannot be bound, but made by hand. */
static void
udp_drops_source_port_0(void **state)
{
	struct harness h;
	uint8_t data[64];
	struct sockaddr_in to;
	struct udphdr *udp = (struct udphdr *)data;
	int raw, fd;

	harness_udp(&h, "127.0.0.1", 1232);
	raw = socket(AF_INET, SOCK_RAW, IPPROTO_UDP);
	if (raw == -1) {
		/* Needs CAP_NET_RAW: say so, do not look passed. */
		print_message("no raw sockets: %s\n", strerror(errno));
		harness_fini(&h);
		skip();
	}
	memcpy(&to, &h.address, sizeof(to));
	memset(data, 'E', sizeof(data));
	memset(udp, 0, sizeof(*udp));
	udp->dest = to.sin_port;
	udp->len = htons(8 + 20);
	to.sin_port = 0;
	assert_int_equal(sendto(raw, data, 8 + 20, 0,
		(struct sockaddr *)&to, sizeof(to)), 28);
	close(raw);
	fd = harness_connect(&h, 0);
	send(fd, data + 8, 21, 0);
	assert_int_equal(receive_one(&h, fd, data, sizeof(data)), 21);
	assert_int_equal(h.rx_err, 1);
	assert_int_equal(h.requests, 1);
	close(fd);
	harness_fini(&h);
}

static int
mtu_discovery(const struct harness *h)
{
	int how = -1;
	socklen_t len = sizeof(how);

	assert_int_equal(getsockopt(h->fd, SOL_IP, IP_MTU_DISCOVER, &how,
		&len), 0);
	return how;
}

/* RFC 9715 section 3.1 */
static void
udp_forbids_fragments_of_short_replies_only(void **state)
{
	struct harness h;

	harness_udp(&h, "127.0.0.1", 1232);
	assert_int_equal(mtu_discovery(&h), IP_PMTUDISC_PROBE);
	harness_fini(&h);
	harness_udp(&h, "127.0.0.1", 1233);
	assert_int_equal(mtu_discovery(&h), IP_PMTUDISC_OMIT);
	harness_fini(&h);
}

/* Octets of the reply to a request of 4000, which it repeats as far as it has
 * room. */
static size_t
room_for_reply(struct harness *h, int fd)
{
	uint8_t data[4000], reply[8000];

	memset(data, 'E', sizeof(data));
	assert_int_equal(send(fd, data, sizeof(data), 0), sizeof(data));
	return receive_one(h, fd, reply, sizeof(reply));
}

static void
udp_has_other_room_for_replies_while_it_serves(void **state)
{
	static const size_t sizes[] = { 3000, 512, 1233, 1232, 65535, 512 };
	struct harness h;
	int fd;

	harness_udp(&h, "127.0.0.1", 1232);
	fd = harness_connect(&h, 1 << 20);
	assert_int_equal(room_for_reply(&h, fd), 1232);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(net_udp_set_reply_size(h.udp, sizes[i]),
			NSD_OK);
		assert_int_equal(room_for_reply(&h, fd),
			sizes[i] < 4000 ? sizes[i] : 4000);
		assert_int_equal(mtu_discovery(&h), sizes[i] > 1232
				? IP_PMTUDISC_OMIT : IP_PMTUDISC_PROBE);
	}
	close(fd);
	harness_fini(&h);
}

/* A worker before this one may have had another size. */
static void
udp_allows_fragments_on_a_socket_that_forbids_them(void **state)
{
	struct harness h;
	struct net_udp_options options = { .reply_size = 4000 };

	harness_udp(&h, "127.0.0.1", 1232);
	assert_int_equal(mtu_discovery(&h), IP_PMTUDISC_PROBE);
	net_udp_close(h.udp);
	assert_int_equal(net_udp_open(h.base, h.fd, &options, &h.handler,
		&h.udp), NSD_OK);
	assert_int_equal(mtu_discovery(&h), IP_PMTUDISC_OMIT);
	harness_fini(&h);
}

/* Enters a network namespace whose one interface has a small MTU. False: not
 * allowed to. */
static bool
enter_narrow_network(int mtu, int *old)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd;

	*old = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (*old == -1 || unshare(CLONE_NEWNET) != 0) {
		print_message("no network of its own: %s\n",
			strerror(errno));
		if (*old != -1)
			close(*old);
		return false;
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	request.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &request), 0);
	request.ifr_mtu = mtu;
	assert_int_equal(ioctl(fd, SIOCSIFMTU, &request), 0);
	close(fd);
	return true;
}

static void
udp_fragments_where_the_interface_is_narrow(void **state)
{
	struct harness h;
	uint8_t data[1232] = "B";
	int old, fd;

	if (!enter_narrow_network(576, &old)) {
		/* Needs CAP_SYS_ADMIN: say so, do not look passed. */
		skip();
	}
	harness_udp(&h, "127.0.0.1", 1232);
	fd = harness_connect(&h, 0);
	for (int i = 0; i < 2; i++) {
		data[0] = 'B';
		octets_put_u32(data + 1, 1000);
		send(fd, data, 20, 0);
		assert_int_equal(receive_one(&h, fd, data, sizeof(data)),
			1000);
	}
	assert_int_equal(h.tx_err, 0);
	close(fd);
	harness_fini(&h);
	assert_int_equal(setns(old, CLONE_NEWNET), 0);
	close(old);
}

/* Expects that a request's local address is that of the client's peer, if it is
 * wanted. */
static void
expect_local(struct harness *h, int fd)
{
	const struct sockaddr_in *ip4
		= (const struct sockaddr_in *)&h->last_local;
	const struct sockaddr_in *asked4
		= (const struct sockaddr_in *)&h->address;
	const struct sockaddr_in6 *asked6
		= (const struct sockaddr_in6 *)&h->address;
	uint8_t data[64] = "E";

	for (h->wants_local = 0; h->wants_local < 2; h->wants_local++) {
		send(fd, data, 20, 0);
		assert_int_equal(receive_one(h, fd, data, sizeof(data)), 20);
		if (h->wants_local == 0) {
			assert_int_equal(ip4->sin_family, AF_UNSPEC);
			continue;
		}
		assert_int_equal(ip4->sin_family, asked4->sin_family);
		assert_int_equal(ip4->sin_port, asked4->sin_port);
		if (ip4->sin_family == AF_INET)
			assert_int_equal(ip4->sin_addr.s_addr,
				asked4->sin_addr.s_addr);
		else
			assert_memory_equal(&h->last_local.sin6_addr,
				&asked6->sin6_addr, 16);
	}
}

/* Replies of a wildcard socket come from the address that was asked: a
 * connected client would not see others. */
static void
wildcard(const char *listen, const char *ask)
{
	struct harness h;
	struct sockaddr_storage address;
	uint16_t port;
	uint8_t data[64] = "E";
	int fd;

	harness_udp(&h, listen, 1232);
	port = ((struct sockaddr_in *)&h.address)->sin_port;
	assert_int_equal(net_parse_address(ask, ntohs(port), &address),
		NSD_OK);
	h.address = address;
	fd = harness_connect(&h, 0);
	for (size_t len = 20; len < 30; len++)
		send(fd, data, len, 0);
	for (size_t len = 20; len < 30; len++)
		assert_int_equal(receive_one(&h, fd, data, sizeof(data)),
			len);
	expect_local(&h, fd);
	close(fd);
	harness_fini(&h);
}

static void
udp_tells_the_address_that_was_asked(void **state)
{
	static const char *const addresses[] = {"127.0.0.1", "::1"};
	struct harness h;
	int fd;

	for (size_t i = 0; i < 2; i++) {
		harness_udp(&h, addresses[i], 1232);
		fd = harness_connect(&h, 0);
		expect_local(&h, fd);
		close(fd);
		harness_fini(&h);
	}
}

static void
udp_wildcard_replies_from_the_address_that_was_asked(void **state)
{
	wildcard("0.0.0.0", "127.0.0.1");
	wildcard("0.0.0.0", "127.1.2.3");
	wildcard("::", "::1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp_answers_a_batch_with_one_call),
		cmocka_unit_test(udp_goes_on_after_a_crowd),
		cmocka_unit_test(udp_counts_what_the_kernel_drops),
		cmocka_unit_test(udp_sends_nothing_for_a_reply_of_length_0),
		cmocka_unit_test(udp_takes_any_length),
		cmocka_unit_test(udp_goes_on_after_a_reply_that_is_too_large),
		cmocka_unit_test(udp_goes_on_after_a_client_is_gone),
		cmocka_unit_test(udp_goes_on_after_any_error_of_sending),
		cmocka_unit_test(udp_drops_source_port_0),
		cmocka_unit_test(udp_forbids_fragments_of_short_replies_only),
		cmocka_unit_test(
			udp_has_other_room_for_replies_while_it_serves),
		cmocka_unit_test(
			udp_allows_fragments_on_a_socket_that_forbids_them),
		cmocka_unit_test(udp_fragments_where_the_interface_is_narrow),
		cmocka_unit_test(
			udp_wildcard_replies_from_the_address_that_was_asked),
		cmocka_unit_test(udp_tells_the_address_that_was_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
