/*
 * test_socket.c - addresses as text, and listening sockets with options.
 */
#include "config.h"

#include "harness.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static void
set_address(const char *text, uint16_t port, struct sockaddr_storage *address)
{
	assert_int_equal(net_parse_address(text, port, address), NSD_OK);
}

static void
address_parses_and_prints(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "192.0.2.1", "192.0.2.1@53" },
		{ "192.0.2.1@5353", "192.0.2.1@5353" },
		{ "0.0.0.0@0", "0.0.0.0@0" },
		{ "255.255.255.255@65535", "255.255.255.255@65535" },
		{ "::", "::@53" },
		{ "2001:DB8:0::1@54", "2001:db8::1@54" },
		{ "::ffff:192.0.2.1", "::ffff:192.0.2.1@53" },
		{ "fe80::1%lo", "fe80::1@53" },
		{ "fe80::1%1@54", "fe80::1@54" },
	};
	struct sockaddr_storage address;
	char text[NET_ADDRESS_TEXT_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(net_parse_address(rows[i].in, 53, &address),
			NSD_OK);
		assert_int_equal(net_print_address(&address, true, text),
			strlen(rows[i].out));
		assert_string_equal(text, rows[i].out);
		assert_int_equal(net_print_address(&address, false, text),
			strcspn(rows[i].out, "@"));
	}
	set_address("fe80::1%1", 53, &address);
	assert_int_equal(((struct sockaddr_in6 *)&address)->sin6_scope_id, 1);
}

static void
address_refuses_what_is_none(void **state)
{
	static const char *const rows[] = { "", "@", "@53", "192.0.2", "1",
		"192.0.2.256", "192.0.2.1.", "192.0.2.1 ", " 192.0.2.1",
		"192.0.2.1@", "192.0.2.1@x", "192.0.2.1@65536", "192.0.2.1@-1",
		"192.0.2.1@53@53", "192.0.2.1@4294967297", "::g", ":", ":::",
		"1::2::3", "::1%", "fe80::1%nosuchdevice", "fe80::1%0",
		"localhost", "192.0.2.1%lo",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999",
		"11111111111111111111111111111111111111111111111111111111111"
		"11111111111111111111111111111111111111111111111111111" };
	struct sockaddr_storage address;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(net_parse_address(rows[i], 53, &address),
			NSD_E_SYNTAX);
}

struct sink {
	struct diag_sink sink;
	char last[256];
};

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct sink *s = (struct sink *)sink;

	strncpy(s->last, d->text, sizeof(s->last) - 1);
}

static int
get_int(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static uint16_t
bound_port(int fd)
{
	struct sockaddr_in address;
	socklen_t len = sizeof(address);

	getsockname(fd, (struct sockaddr *)&address, &len);
	return ntohs(address.sin_port);
}

static void
listen_sets_the_options_of_udp(void **state)
{
	struct sink s = { .sink = { .on_diag = on_diag } };
	struct net_listen o = { .receive_buffer = 65536,
		.send_buffer = 131072, .freebind = true };
	int fd;

	set_address("127.0.0.1", 0, &o.address);
	assert_int_equal(net_listen(&o, &s.sink, &fd), NSD_OK);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_RCVBUF), 2 * 65536);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_SNDBUF), 2 * 131072);
	assert_int_equal(get_int(fd, SOL_IP, IP_MTU_DISCOVER),
		IP_PMTUDISC_OMIT);
	assert_int_equal(get_int(fd, SOL_IP, IP_FREEBIND), 1);
	close(fd);
	set_address("::1", 0, &o.address);
	assert_int_equal(net_listen(&o, &s.sink, &fd), NSD_OK);
	assert_int_equal(get_int(fd, SOL_IPV6, IPV6_V6ONLY), 1);
	assert_int_equal(get_int(fd, SOL_IPV6, IPV6_MTU_DISCOVER),
		IPV6_PMTUDISC_OMIT);
	close(fd);
	assert_int_equal(s.sink.errors + s.sink.warnings, 0);
}

static void
listen_sets_the_options_of_tcp(void **state)
{
	struct sink s = { .sink = { .on_diag = on_diag } };
	struct net_listen o = { .tcp = true, .tcp_backlog = -1,
		.tcp_mss = 1000, .tcp_fastopen = 5 };
	int fd;

	set_address("127.0.0.1", 0, &o.address);
	assert_int_equal(net_listen(&o, &s.sink, &fd), NSD_OK);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_FASTOPEN), 5);
	assert_int_equal(s.sink.errors + s.sink.warnings, 0);
	close(fd);
}

static void
listen_reports_an_address_in_use(void **state)
{
	struct sink s = { .sink = { .on_diag = on_diag } };
	struct net_listen o = { .tcp = false };
	char text[64];
	int fd, second = -1;

	for (int tcp = 0; tcp < 2; tcp++) {
		o.tcp = tcp != 0;
		set_address("127.0.0.1", 0, &o.address);
		assert_int_equal(net_listen(&o, &s.sink, &fd), NSD_OK);
		set_address("127.0.0.1", bound_port(fd), &o.address);
		s.sink.errors = 0;
		assert_int_equal(net_listen(&o, &s.sink, &second),
			NSD_E_SYSTEM);
		assert_int_equal(errno, EADDRINUSE);
		assert_int_equal(second, -1);
		assert_int_equal(s.sink.errors, 1);
		net_print_address(&o.address, true, text);
		assert_non_null(strstr(s.last, text));
		close(fd);
	}
}

static void
listen_shares_an_address_with_reuseport_only(void **state)
{
	struct net_listen o = { .reuseport = true };
	int fd[2];

	for (int tcp = 0; tcp < 2; tcp++) {
		o.tcp = tcp != 0;
		set_address("127.0.0.1", 0, &o.address);
		assert_int_equal(net_listen(&o, NULL, &fd[0]), NSD_OK);
		set_address("127.0.0.1", bound_port(fd[0]), &o.address);
		assert_int_equal(net_listen(&o, NULL, &fd[1]), NSD_OK);
		close(fd[0]);
		close(fd[1]);
	}
}

/* How many of 64 datagrams from as many clients each of the sockets gets. */
static void
count_arrivals(const int fd[2], unsigned got[2])
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(bound_port(fd[0])),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct pollfd ready[2] = { { .fd = fd[0], .events = POLLIN },
		{ .fd = fd[1], .events = POLLIN } };
	char octet;

	got[0] = 0;
	got[1] = 0;
	for (unsigned i = 0; i < 64; i++) {
		int client = socket(AF_INET, SOCK_DGRAM, 0);

		assert_int_equal(sendto(client, "x", 1, 0,
			(struct sockaddr *)&to, sizeof(to)), 1);
		close(client);
	}
	while (got[0] + got[1] < 64) {
		assert_true(poll(ready, 2, 30000) > 0);
		for (unsigned i = 0; i < 2; i++)
			got[i] += recv(fd[i], &octet, 1, MSG_DONTWAIT) == 1;
	}
}

/* On the loopback interface the sender's processor takes a packet in. */
static void
steer_chooses_the_socket_of_the_processor(void **state)
{
	const uint32_t none = CPU_SETSIZE;
	uint32_t cpus[2] = { none, none };
	struct net_listen o = { .reuseport = true };
	cpu_set_t all, one;
	unsigned got[2];
	uint32_t cpu = 0;
	int fd[2];

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	set_address("127.0.0.1", 0, &o.address);
	assert_int_equal(net_listen(&o, NULL, &fd[0]), NSD_OK);
	set_address("127.0.0.1", bound_port(fd[0]), &o.address);
	assert_int_equal(net_listen(&o, NULL, &fd[1]), NSD_OK);
	for (unsigned i = 0; i < 2; i++) {
		cpus[i] = cpu;
		cpus[1 - i] = none;
		assert_int_equal(net_steer_by_cpu(fd[0], cpus, 2), NSD_OK);
		count_arrivals(fd, got);
		assert_int_equal(got[i], 64);
	}
	cpus[0] = none; /* on other processors, as without it */
	cpus[1] = none;
	assert_int_equal(net_steer_by_cpu(fd[1], cpus, 2), NSD_OK);
	count_arrivals(fd, got);
	assert_true(got[0] > 0 && got[1] > 0);
	assert_int_equal(net_steer_by_cpu(fd[0], cpus, 0), NSD_E_LIMIT);
	assert_int_equal(net_steer_by_cpu(-1, cpus, 2), NSD_E_SYSTEM);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* As many as there may be, each with a processor. */
static void
steer_has_a_limit_of_sockets(void **state)
{
	static uint32_t cpus[2048];
	struct net_listen o = { .reuseport = true };
	int fd;

	set_address("127.0.0.1", 0, &o.address);
	assert_int_equal(net_listen(&o, NULL, &fd), NSD_OK);
	for (uint32_t i = 0; i < 2048; i++)
		cpus[i] = i;
	assert_int_equal(net_steer_by_cpu(fd, cpus, 2047), NSD_OK);
	assert_int_equal(net_steer_by_cpu(fd, cpus, 2048), NSD_E_LIMIT);
	close(fd);
}

static void
listen_warns_of_an_option_it_cannot_set(void **state)
{
	struct sink s = { .sink = { .on_diag = on_diag } };
	struct net_listen o = { .device = "nosuchdevice0" };
	int fd;

	set_address("127.0.0.1", 0, &o.address);
	assert_int_equal(net_listen(&o, &s.sink, &fd), NSD_OK);
	assert_int_equal(s.sink.warnings, 1);
	assert_non_null(strstr(s.last, "bindtodevice"));
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_parses_and_prints),
		cmocka_unit_test(address_refuses_what_is_none),
		cmocka_unit_test(listen_sets_the_options_of_udp),
		cmocka_unit_test(listen_sets_the_options_of_tcp),
		cmocka_unit_test(listen_reports_an_address_in_use),
		cmocka_unit_test(listen_shares_an_address_with_reuseport_only),
		cmocka_unit_test(listen_warns_of_an_option_it_cannot_set),
		cmocka_unit_test(steer_chooses_the_socket_of_the_processor),
		cmocka_unit_test(steer_has_a_limit_of_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
