/* test_proxied.c - sockets for proxies: headers come off, clients are those
 * that they name (faults 40). */
#include "config.h"

#include "harness.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/octets.h"
#include "net/proxy.h"

static const struct net_tcp_options tcp_options = { .connections_max = 100,
	.timeout_sec = 120 };

/* "PROXY" for 192.0.2.7 port 0x1234; returns the octets. */
static size_t
make_header(uint8_t *out)
{
	static const uint8_t header[] = {
		'\r', '\n', '\r', '\n', 0, '\r', '\n', 'Q', 'U', 'I', 'T',
		'\n', 0x21, 0x12, 0, 15,
		192, 0, 2, 7, 127, 0, 0, 1, 0x12, 0x34, 0, 53,
		0xe0, 0, 0,
	};

	memcpy(out, header, sizeof(header));
	return sizeof(header);
}

static void
expect_client(const struct harness *h)
{
	const struct sockaddr_in *in
		= (const struct sockaddr_in *)&h->last_peer;

	assert_int_equal(in->sin_family, AF_INET);
	assert_int_equal(ntohl(in->sin_addr.s_addr), 0xc0000207);
	assert_int_equal(ntohs(in->sin_port), 0x1234);
	/* The proxy's own address is kept too. */
	assert_int_equal(h->last_proxy.sin_family, AF_INET);
	assert_int_equal(h->last_proxy.sin_addr.s_addr,
		htonl(INADDR_LOOPBACK));
	assert_int_not_equal(h->last_proxy.sin_port, 0);
}

static void
expect_proxy_itself(const struct harness *h)
{
	assert_int_equal(((const struct sockaddr_in *)&h->last_peer)
		->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_int_equal(h->last_proxy.sin_family, AF_UNSPEC);
}

/* ---- UDP ----------------------------------------------------------------- */

static void
udp_takes_the_header_off(void **state)
{
	struct harness h;
	uint8_t data[128], reply[128];
	size_t head = make_header(data);
	bool eof;
	int fd;

	harness_proxied(&h, "127.0.0.1", false, NULL);
	fd = harness_connect(&h, 0);
	memset(data + head, 'E', 40);
	harness_send(&h, fd, data, head + 40);
	assert_int_equal(harness_receive(&h, fd, reply, 40, &eof), 40);
	assert_memory_equal(reply, data + head, 40);
	expect_client(&h);
	assert_int_equal(h.longest, 40);
	data[12] = 0x20; /* LOCAL */
	harness_send(&h, fd, data, head + 40);
	assert_int_equal(harness_receive(&h, fd, reply, 40, &eof), 40);
	expect_proxy_itself(&h);
	close(fd);
	harness_fini(&h);
}

/* The datagram is all that there is of it: what is cut stays so. */
static void
udp_drops_what_has_no_whole_header(void **state)
{
	struct harness h;
	uint8_t data[128], reply[128];
	size_t head = make_header(data), sent = 0;
	bool eof;
	int fd;

	harness_proxied(&h, "127.0.0.1", false, NULL);
	fd = harness_connect(&h, 0);
	memset(data + head, 'E', 40);
	for (size_t len = 0; len < head; len++, sent++)
		assert_int_equal(send(fd, data, len, 0), len);
	assert_int_equal(send(fd, data + head, 40, 0), 40);
	sent++;
	while (h.rx_err < sent)
		harness_turn(&h);
	assert_int_equal(h.requests, 0);
	/* Among others that are right, each gets its own reply. */
	assert_int_equal(send(fd, data, head - 1, 0), head - 1);
	assert_int_equal(send(fd, data, head + 40, 0), head + 40);
	assert_int_equal(harness_receive(&h, fd, reply, 40, &eof), 40);
	assert_int_equal(h.rx_err, sent + 1);
	close(fd);
	harness_fini(&h);
}

static void
udp_drops_what_comes_from_others(void **state)
{
	struct harness h;
	uint8_t data[128];
	size_t head = make_header(data);
	int fd;

	harness_proxied(&h, "127.0.0.1", false, NULL);
	h.refuse_proxies = true;
	fd = harness_connect(&h, 0);
	memset(data + head, 'E', 40);
	harness_send(&h, fd, data, head + 40);
	while (h.rx_err < 1)
		harness_turn(&h);
	assert_int_equal(h.requests, 0);
	close(fd);
	harness_fini(&h);
}

/* ---- TCP ----------------------------------------------------------------- */

static void
tcp_takes_the_header_off(void **state)
{
	struct harness h;
	uint8_t data[256], reply[256];
	size_t head = make_header(data), len = head;
	bool eof;
	int fd;

	harness_proxied(&h, "127.0.0.1", true, &tcp_options);
	fd = harness_connect(&h, 0);
	len += make_request(data + len, 'E', 40);
	len += make_request(data + len, 'E', 30);
	harness_send(&h, fd, data, len);
	assert_int_equal(harness_receive(&h, fd, reply, len - head, &eof),
		len - head);
	assert_memory_equal(reply, data + head, len - head);
	expect_client(&h);
	/* A connection's header is for all its requests. */
	harness_send(&h, fd, data + head, len - head);
	assert_int_equal(harness_receive(&h, fd, reply, len - head, &eof),
		len - head);
	expect_client(&h);
	close(fd);
	/* LOCAL: the proxy speaks for itself. */
	data[12] = 0x20;
	fd = harness_connect(&h, 0);
	harness_send(&h, fd, data, len);
	assert_int_equal(harness_receive(&h, fd, reply, len - head, &eof),
		len - head);
	expect_proxy_itself(&h);
	close(fd);
	harness_fini(&h);
}

static void
tcp_joins_a_header_that_comes_octet_by_octet(void **state)
{
	struct harness h;
	uint8_t data[256], reply[256];
	size_t head = make_header(data);
	size_t len = head + make_request(data + head, 'E', 40);
	bool eof;
	int fd;

	harness_proxied(&h, "127.0.0.1", true, &tcp_options);
	fd = harness_connect(&h, 0);
	for (size_t i = 0; i < len; i++) {
		harness_send(&h, fd, data + i, 1);
		harness_turn(&h);
		assert_true(i + 1 == len || h.requests == 0);
	}
	assert_int_equal(harness_receive(&h, fd, reply, len - head, &eof),
		len - head);
	expect_client(&h);
	close(fd);
	harness_fini(&h);
}

/* The longest one, of which the additions come later; then a request. */
static void
tcp_takes_the_longest_header(void **state)
{
	uint8_t data[PROXY_HEADER_MAX + 64], reply[64];
	struct harness h;
	size_t len;
	bool eof;
	int fd;

	harness_proxied(&h, "127.0.0.1", true, &tcp_options);
	memset(data, 0, sizeof(data));
	make_header(data);
	octets_put_u16(data + 14, PROXY_HEADER_MAX - 16);
	octets_put_u16(data + 29, PROXY_HEADER_MAX - 31);
	len = make_request(data + PROXY_HEADER_MAX, 'E', 40);
	fd = harness_connect(&h, 0);
	harness_send(&h, fd, data, PROXY_HEADER_MAX - 1);
	harness_idle(&h, 20);
	assert_int_equal(h.rx_err, 0);
	harness_send(&h, fd, data + PROXY_HEADER_MAX - 1, len + 1);
	assert_int_equal(harness_receive(&h, fd, reply, len, &eof), len);
	expect_client(&h);
	close(fd);
	harness_fini(&h);
}

static void
tcp_closes_without_a_header(void **state)
{
	struct harness h;
	uint8_t data[256];
	size_t head = make_header(data), len;
	int fd;

	harness_proxied(&h, "127.0.0.1", true, &tcp_options);
	/* A request alone, the text of version 1, a family of UNIX. */
	fd = harness_connect(&h, 0);
	len = make_request(data + head, 'E', 40);
	harness_send(&h, fd, data + head, len);
	harness_expect_close(&h, fd);
	close(fd);
	fd = harness_connect(&h, 0);
	harness_send(&h, fd, "PROXY TCP4 192.0.2.7 127.0.0.1 9 53\r\n", 37);
	harness_expect_close(&h, fd);
	close(fd);
	fd = harness_connect(&h, 0);
	data[13] = 0x31;
	harness_send(&h, fd, data, head + len);
	harness_expect_close(&h, fd);
	close(fd);
	assert_int_equal(h.rx_err, 3);
	assert_int_equal(h.requests, 0);
	assert_int_equal(net_tcp_count(h.tcp), 0);
	harness_fini(&h);
}

static void
tcp_closes_what_comes_from_others(void **state)
{
	struct harness h;
	uint8_t data[256];
	size_t len = make_header(data);
	int fd;

	harness_proxied(&h, "127.0.0.1", true, &tcp_options);
	h.refuse_proxies = true;
	fd = harness_connect(&h, 0);
	len += make_request(data + len, 'E', 40);
	harness_send(&h, fd, data, len);
	harness_expect_close(&h, fd);
	assert_int_equal(h.rx_err, 1);
	assert_int_equal(h.requests, 0);
	close(fd);
	harness_fini(&h);
}

/* Half a header keeps no place for longer than silence does. */
static void
tcp_half_a_header_is_no_activity(void **state)
{
	struct net_tcp_options options = { .connections_max = 1,
		.timeout_sec = 120 };
	struct harness h;
	uint8_t data[256];
	size_t head = make_header(data), len;
	int half, fd;

	harness_proxied(&h, "127.0.0.1", true, &options);
	half = harness_connect(&h, 0);
	harness_send(&h, half, data, 20);
	while (net_tcp_count(h.tcp) < 1)
		harness_turn(&h);
	fd = harness_connect(&h, 0);
	len = head + make_request(data + head, 'E', 40);
	harness_send(&h, fd, data, len);
	harness_wait(&h, &h.requests, 1);
	harness_expect_close(&h, half);
	close(half);
	close(fd);
	harness_fini(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp_takes_the_header_off),
		cmocka_unit_test(udp_drops_what_has_no_whole_header),
		cmocka_unit_test(udp_drops_what_comes_from_others),
		cmocka_unit_test(tcp_takes_the_header_off),
		cmocka_unit_test(tcp_joins_a_header_that_comes_octet_by_octet),
		cmocka_unit_test(tcp_takes_the_longest_header),
		cmocka_unit_test(tcp_closes_without_a_header),
		cmocka_unit_test(tcp_closes_what_comes_from_others),
		cmocka_unit_test(tcp_half_a_header_is_no_activity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
