/* test_proxy.c - headers of the PROXY protocol, as octets. */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/octets.h"
#include "net/proxy.h"

/* ---- making headers ------------------------------------------------------ */

#define LOCAL 0x20u
#define PROXY 0x21u

struct made {
	size_t len;
	uint8_t data[PROXY_HEADER_MAX + 64];
};

static const uint8_t ip4[12] = { 192, 0, 2, 7, 198, 51, 100, 1, 0x12, 0x34,
	0, 53 };
static const uint8_t ip6[36] = { 0x20, 1, 0xd, 0xb8, [15] = 9,
	[16] = 0x20, 1, 0xd, 0xb8, [31] = 1, [32] = 0xab, 0xcd, 0, 53 };

static void
make(struct made *made, unsigned command, unsigned family,
	const void *addresses, size_t len)
{
	memcpy(made->data, "\r\n\r\n\0\r\nQUIT\n", 12);
	made->data[12] = (uint8_t)command;
	made->data[13] = (uint8_t)family;
	octets_put_u16(made->data + 14, (uint16_t)len);
	memcpy(made->data + 16, addresses, len);
	made->len = 16 + len;
}

static void
set_len(struct made *made, size_t len)
{
	octets_put_u16(made->data + 14, (uint16_t)len);
}

static void
add(struct made *made, unsigned type, const void *data, size_t len)
{
	uint8_t *at = made->data + made->len;

	at[0] = (uint8_t)type;
	octets_put_u16(at + 1, (uint16_t)len);
	memcpy(at + 3, data, len);
	made->len += 3 + len;
	set_len(made, made->len - 16);
}

static enum proxy_outcome
read_made(const struct made *made, struct proxy_header *header)
{
	return proxy_read_header(made->data, made->len, header);
}

static void
expect_malformed(const struct made *made)
{
	struct proxy_header header;

	assert_int_equal(read_made(made, &header), PROXY_MALFORMED);
}

/* ---- headers that are right ---------------------------------------------- */

static void
proxy_names_the_client(void **state)
{
	static const uint8_t protocols[] = { 1, 2 };
	struct proxy_header h;
	struct made made;
	char text[INET6_ADDRSTRLEN];

	for (unsigned i = 0; i < 2; i++) {
		const struct sockaddr_in *in
			= (const struct sockaddr_in *)&h.client;
		const struct sockaddr_in6 *in6
			= (const struct sockaddr_in6 *)&h.client;

		make(&made, PROXY, 0x10u | protocols[i], ip4, sizeof(ip4));
		assert_int_equal(read_made(&made, &h), PROXY_WHOLE);
		assert_int_equal(h.len, 28);
		assert_true(h.has_client);
		assert_int_equal(in->sin_family, AF_INET);
		assert_int_equal(ntohs(in->sin_port), 0x1234);
		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
		assert_string_equal(text, "192.0.2.7");
		assert_int_equal(h.server.ip4.sin_family, AF_INET);
		assert_int_equal(ntohs(h.server.ip4.sin_port), 53);
		inet_ntop(AF_INET, &h.server.ip4.sin_addr, text, sizeof(text));
		assert_string_equal(text, "198.51.100.1");

		make(&made, PROXY, 0x20u | protocols[i], ip6, sizeof(ip6));
		assert_int_equal(read_made(&made, &h), PROXY_WHOLE);
		assert_int_equal(h.len, 52);
		assert_int_equal(in6->sin6_family, AF_INET6);
		assert_int_equal(ntohs(in6->sin6_port), 0xabcd);
		inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
		assert_string_equal(text, "2001:db8::9");
		assert_int_equal(h.server.ip6.sin6_family, AF_INET6);
		assert_int_equal(ntohs(h.server.ip6.sin6_port), 53);
		inet_ntop(AF_INET6, &h.server.ip6.sin6_addr, text,
			sizeof(text));
		assert_string_equal(text, "2001:db8::1");
	}
}

/* A socket for both families has such clients. They are those of IPv4, for
 * whoever has lists of these. */
static void
proxy_names_a_mapped_client(void **state)
{
	uint8_t mapped[36] = { [10] = 0xff, 0xff, 192, 0, 2, 7,
		[32] = 0xab, 0xcd, 0, 53 };
	struct proxy_header h;
	struct made made;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&h.client;
	char text[INET6_ADDRSTRLEN];

	make(&made, PROXY, 0x21, mapped, sizeof(mapped));
	assert_int_equal(read_made(&made, &h), PROXY_WHOLE);
	assert_int_equal(h.len, 52);
	assert_int_equal(in->sin_family, AF_INET);
	assert_int_equal(ntohs(in->sin_port), 0xabcd);
	inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	assert_string_equal(text, "192.0.2.7");
	for (unsigned i = 0; i < 12; i++) {
		mapped[i] ^= 1;
		make(&made, PROXY, 0x21, mapped, sizeof(mapped));
		assert_int_equal(read_made(&made, &h), PROXY_WHOLE);
		assert_int_equal(h.client.ss_family, AF_INET6);
		mapped[i] ^= 1;
	}
}

/* "must accept this connection and use the real endpoints". What follows is
 * skipped, whatever it is. */
static void
proxy_may_speak_for_itself(void **state)
{
	static const unsigned families[] = { 0x00, 0x11, 0x22, 0x31, 0xff };
	struct proxy_header h;
	struct made made;

	for (unsigned i = 0; i < sizeof(families) / sizeof(*families); i++) {
		make(&made, LOCAL, families[i], "\1\xff\xff", 3);
		assert_int_equal(read_made(&made, &h), PROXY_WHOLE);
		assert_int_equal(h.len, 19);
		assert_false(h.has_client);
	}
	make(&made, PROXY, 0x00, "", 0);
	assert_int_equal(read_made(&made, &h), PROXY_WHOLE);
	assert_int_equal(h.len, 16);
	assert_false(h.has_client);
}

static void
proxy_additions_are_skipped(void **state)
{
	static const uint8_t zeros[1024];
	struct proxy_header h;
	struct made made;

	make(&made, PROXY, 0x12, ip4, sizeof(ip4));
	add(&made, 0xe0, "", 0);
	add(&made, 0x01, "h2", 2);
	add(&made, 0x20, zeros, sizeof(zeros));
	add(&made, 0x04, zeros, 5);
	assert_int_equal(read_made(&made, &h), PROXY_WHOLE);
	assert_int_equal(h.len, made.len);
	/* Octets behind the header are not looked at. */
	made.data[made.len] = 0x20;
	assert_int_equal(proxy_read_header(made.data, made.len + 1, &h),
		PROXY_WHOLE);
	assert_int_equal(h.len, made.len);
}

/* The sum was made with another program (Python's, bit by bit). */
static void
proxy_checks_a_crc32c(void **state)
{
	static const uint8_t sum[4] = { 0x57, 0x3e, 0x60, 0x85 };
	struct proxy_header h;
	struct made made;

	make(&made, PROXY, 0x12, ip4, sizeof(ip4));
	add(&made, 0x03, sum, 4);
	assert_int_equal(read_made(&made, &h), PROXY_WHOLE);
	for (size_t i = 16; i < made.len; i++) {
		if (i >= 28 && i < 31)
			continue; /* type and length of the sum itself */
		made.data[i] ^= 1;
		expect_malformed(&made);
		made.data[i] ^= 1;
	}
	add(&made, 0x03, sum, 4);
	expect_malformed(&made);
	make(&made, PROXY, 0x12, ip4, sizeof(ip4));
	add(&made, 0x03, sum, 3);
	expect_malformed(&made);
}

/* ---- headers that are wrong (faults 40) ---------------------------------- */

static void
proxy_waits_for_what_is_cut(void **state)
{
	struct proxy_header h;
	struct made made;

	make(&made, PROXY, 0x21, ip6, sizeof(ip6));
	add(&made, 0x01, "dot", 3);
	for (size_t len = 0; len < made.len; len++)
		assert_int_equal(proxy_read_header(made.data, len, &h),
			PROXY_INCOMPLETE);
	assert_int_equal(read_made(&made, &h), PROXY_WHOLE);
}

static void
proxy_sees_at_once_what_is_no_header(void **state)
{
	static const char v1[] = "PROXY TCP4 192.0.2.7 198.51.100.1 1 53\r\n";
	struct proxy_header h;
	struct made made;

	for (size_t len = 1; len < sizeof(v1); len++)
		assert_int_equal(proxy_read_header((const uint8_t *)v1, len,
			&h), PROXY_MALFORMED);
	make(&made, PROXY, 0x12, ip4, sizeof(ip4));
	for (size_t i = 0; i < 12; i++) {
		made.data[i] ^= 0x20;
		for (size_t len = i + 1; len <= made.len; len++)
			assert_int_equal(proxy_read_header(made.data, len,
				&h), PROXY_MALFORMED);
		made.data[i] ^= 0x20;
	}
}

static void
proxy_refuses_odd_heads(void **state)
{
	static const unsigned commands[] = { 0x01, 0x11, 0x31, 0xf1, 0x22,
		0x2f };
	static const unsigned families[] = { 0x10, 0x13, 0x1f, 0x20, 0x23,
		0x31, 0x32, 0x41, 0xf1 };
	uint8_t octets[300] = { 0 };
	struct made made;

	for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		make(&made, commands[i], 0x12, ip4, sizeof(ip4));
		expect_malformed(&made);
	}
	for (unsigned i = 0; i < sizeof(families) / sizeof(*families); i++) {
		make(&made, PROXY, families[i], octets, sizeof(octets));
		expect_malformed(&made);
	}
}

static void
proxy_refuses_wrong_lengths(void **state)
{
	struct proxy_header h;
	struct made made;

	for (size_t len = 0; len < sizeof(ip4); len++) {
		make(&made, PROXY, 0x12, ip4, len);
		expect_malformed(&made);
	}
	for (size_t len = 0; len < sizeof(ip6); len++) {
		make(&made, PROXY, 0x22, ip6, len);
		expect_malformed(&made);
	}
	/* A header longer than the buffer can never become whole. */
	make(&made, PROXY, 0x12, ip4, sizeof(ip4));
	set_len(&made, PROXY_HEADER_MAX - 16);
	assert_int_equal(read_made(&made, &h), PROXY_INCOMPLETE);
	set_len(&made, PROXY_HEADER_MAX - 15);
	expect_malformed(&made);
	set_len(&made, 65535);
	expect_malformed(&made);
}

static void
proxy_refuses_additions_that_run_over(void **state)
{
	struct made made;

	make(&made, PROXY, 0x12, ip4, sizeof(ip4));
	add(&made, 0x01, "abcdef", 6);
	for (size_t cut = 1; cut < 9; cut++) {
		made.len--;
		set_len(&made, made.len - 16);
		expect_malformed(&made);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proxy_names_the_client),
		cmocka_unit_test(proxy_names_a_mapped_client),
		cmocka_unit_test(proxy_may_speak_for_itself),
		cmocka_unit_test(proxy_additions_are_skipped),
		cmocka_unit_test(proxy_checks_a_crc32c),
		cmocka_unit_test(proxy_waits_for_what_is_cut),
		cmocka_unit_test(proxy_sees_at_once_what_is_no_header),
		cmocka_unit_test(proxy_refuses_odd_heads),
		cmocka_unit_test(proxy_refuses_wrong_lengths),
		cmocka_unit_test(proxy_refuses_additions_that_run_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
