/* test_acl.c - which clients a list of addresses allows. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/chance.h"
#include "settings/acl.h"

static struct acl_element
element(const char *address, enum acl_kind kind, const char *other)
{
	struct acl_element e = { .kind = (uint8_t)kind, .family = 4 };

	if (strchr(address, ':') != NULL)
		e.family = 6;
	assert_int_equal(inet_pton(e.family == 4 ? AF_INET : AF_INET6,
		address, e.address), 1);
	if (other != NULL)
		assert_int_equal(inet_pton(e.family == 4 ? AF_INET : AF_INET6,
			other, e.other), 1);
	return e;
}

static bool
allows(const struct acl_element *elements, uint32_t count, const char *from,
	uint16_t port)
{
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	struct sockaddr_in *in = (struct sockaddr_in *)&peer;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&peer;

	if (strchr(from, ':') != NULL) {
		peer.ss_family = AF_INET6;
		inet_pton(AF_INET6, from, &in6->sin6_addr);
		in6->sin6_port = htons(port);
	} else {
		inet_pton(AF_INET, from, &in->sin_addr);
		in->sin_port = htons(port);
	}
	return acl_allows(elements, count, &peer);
}

static void
acl_elements_match(void **state)
{
	struct acl_element e = element("192.0.2.1", ACL_SINGLE, NULL);

	assert_true(allows(&e, 1, "192.0.2.1", 53));
	assert_false(allows(&e, 1, "192.0.2.2", 53));
	assert_false(allows(&e, 1, "::ffff:192.0.2.1", 53));
	assert_false(allows(&e, 0, "192.0.2.1", 53));
	e.port = 53;
	assert_true(allows(&e, 1, "192.0.2.1", 53));
	assert_false(allows(&e, 1, "192.0.2.1", 54));
	e = element("192.0.2.0", ACL_MASK, "255.255.255.240");
	assert_true(allows(&e, 1, "192.0.2.15", 1));
	assert_false(allows(&e, 1, "192.0.2.16", 1));
	e = element("192.0.2.9", ACL_RANGE, "192.0.3.1");
	assert_true(allows(&e, 1, "192.0.2.9", 1));
	assert_true(allows(&e, 1, "192.0.2.200", 1));
	assert_true(allows(&e, 1, "192.0.3.1", 1));
	assert_false(allows(&e, 1, "192.0.2.8", 1));
	assert_false(allows(&e, 1, "192.0.3.2", 1));
	e = element("2001:db8::", ACL_MASK, "ffff:ffff::");
	assert_true(allows(&e, 1, "2001:db8:1::1", 1));
	assert_false(allows(&e, 1, "2001:db9::1", 1));
	assert_false(allows(&e, 1, "32.1.13.184", 1));
	e = element("192.0.2.1", ACL_SINGLE, NULL);
	e.needs_key = 1;
	assert_false(allows(&e, 1, "192.0.2.1", 53));
}

static void
acl_blocked_wins(void **state)
{
	struct acl_element list[2] = {
		element("192.0.2.0", ACL_MASK, "255.255.255.0"),
		element("192.0.2.7", ACL_SINGLE, NULL),
	};

	list[1].blocked = 1;
	assert_true(allows(list, 2, "192.0.2.6", 1));
	assert_false(allows(list, 2, "192.0.2.7", 1));
	assert_false(allows(list, 2, "192.0.3.7", 1));
}

/* ---- by chance, beside a plain reference ------------------------------- */

/* Few addresses, so that lists and clients meet: 0 to 15, as the last octet. */
#define LAST 16u
#define ELEMENTS_MAX 6u

static void
make_element(uint64_t *seed, struct acl_element *e)
{
	unsigned len, last;

	memset(e, 0, sizeof(*e));
	e->family = chance_below(seed, 4) == 0 ? 6 : 4;
	e->kind = (uint8_t)chance_below(seed, 3);
	e->blocked = chance_below(seed, 4) == 0;
	e->needs_key = !e->blocked && chance_below(seed, 5) == 0;
	e->port = (uint16_t)(chance_below(seed, 3) == 0
			? 1 + chance_below(seed, 2)
			: 0);
	len = e->family == 4 ? 4 : 16;
	last = chance_below(seed, LAST);
	e->address[0] = 10;
	e->address[len - 1] = (uint8_t)last;
	if (e->kind == ACL_RANGE) {
		e->other[0] = 10;
		e->other[len - 1] = (uint8_t)chance_below(seed, LAST);
	} else if (e->kind == ACL_MASK) {
		memset(e->other, 0xff, len);
		e->other[len - 1] = (uint8_t)(0xf0 | chance_below(seed, LAST));
		e->address[len - 1] &= e->other[len - 1];
	}
}

/* What an element says of a client with that last octet, number by number. */
static bool
reference_matches(const struct acl_element *e, uint8_t family, unsigned last,
	unsigned port)
{
	unsigned at = family == 4 ? 3 : 15;
	unsigned low = e->address[at], other = e->other[at];

	if (family != e->family || (e->port != 0 && e->port != port))
		return false;
	if (e->kind == ACL_SINGLE)
		return last == low;
	if (e->kind == ACL_RANGE)
		return low <= last && last <= other;
	for (unsigned bit = 1; bit < 256; bit *= 2)
		if ((other & bit) != 0 && (last & bit) != (low & bit))
			return false;
	return true;
}

/* BLOCKED first of all, then anybody who is allowed without a key. */
static bool
reference_allows(const struct acl_element *list, unsigned count,
	uint8_t family, unsigned last, unsigned port)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i].blocked
			&& reference_matches(&list[i], family, last, port))
			return false;
	for (unsigned i = 0; i < count; i++)
		if (!list[i].blocked && !list[i].needs_key
			&& reference_matches(&list[i], family, last, port))
			return true;
	return false;
}

static void
lists_by_chance_allow_whom_the_reference_does(void **state)
{
	uint64_t seed = chance_setting("SEED", 1);
	unsigned allowed = 0, asked = 0;

	for (unsigned round = 0; round < 3000; round++) {
		struct acl_element list[ELEMENTS_MAX];
		uint32_t count = chance_below(&seed, ELEMENTS_MAX + 1);

		for (uint32_t i = 0; i < count; i++)
			make_element(&seed, &list[i]);
		for (unsigned who = 0; who < 2 * LAST; who++) {
			unsigned last = who / 2, port = 1
				+ chance_below(&seed, 3);
			char text[INET6_ADDRSTRLEN];
			bool expected = reference_allows(list, count,
				who % 2 == 0 ? 4 : 6, last, port);

			snprintf(text, sizeof(text),
				who % 2 == 0 ? "10.0.0.%u" : "a00::%x", last);
			assert_int_equal(allows(list, count, text,
						 (uint16_t)port),
				expected);
			allowed += expected;
			asked++;
		}
	}
	assert_in_range(allowed, asked / 10, asked / 2);
}

static void
port_zero_is_seen(void **state)
{
	struct sockaddr_storage peer = {.ss_family = AF_INET};

	assert_true(acl_peer_port_is_zero(&peer));
	((struct sockaddr_in *)&peer)->sin_port = htons(1);
	assert_false(acl_peer_port_is_zero(&peer));
	assert_false(acl_peer_port_is_zero(NULL));
	assert_false(acl_allows(NULL, 0, NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acl_elements_match),
		cmocka_unit_test(acl_blocked_wins),
		cmocka_unit_test(lists_by_chance_allow_whom_the_reference_does),
		cmocka_unit_test(port_zero_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
