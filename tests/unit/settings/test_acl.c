/* test_acl.c - which clients a list of addresses allows. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
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

/* A copy of a list with an index. */
static struct acl_list
make_list(const struct acl_element *elements, uint32_t count)
{
	struct acl_list list;

	assert_int_equal(acl_list_make(elements, count, &list), NSD_OK);
	assert_true(list.index->len <= acl_index_size_max(count));
	return list;
}

/* The verdict of a list, which must be the same with an index and without; and
 * so must be whether an element blocks. */
static bool
allows_either(const struct acl_element *elements, uint32_t count,
	const struct acl_client *client)
{
	struct acl_list plain = {elements, count, NULL};
	struct acl_list indexed = make_list(elements, count);
	bool allowed = acl_list_allows(&plain, client);
	struct acl_block block;

	assert_int_equal(acl_list_allows(&indexed, client), allowed);
	assert_int_equal(acl_list_find_block(&indexed, client, &block),
		acl_list_find_block(&plain, client, &block));
	acl_list_free(&indexed);
	return allowed;
}

/* key: of the request's signature; none: not signed. */
static bool
allows_signed(const struct acl_element *elements, uint32_t count,
	const char *from, uint16_t port, store_ref key)
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
	return allows_either(elements, count,
		&(struct acl_client){.peer = &peer, .key = key});
}

static bool
allows(const struct acl_element *elements, uint32_t count, const char *from,
	uint16_t port)
{
	return allows_signed(elements, count, from, port, STORE_NONE);
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

static void
acl_keys_match(void **state)
{
	struct acl_element e = element("192.0.2.1", ACL_SINGLE, NULL);

	/* An element for clients without a key. */
	assert_true(allows_signed(&e, 1, "192.0.2.1", 53, STORE_NONE));
	assert_false(allows_signed(&e, 1, "192.0.2.1", 53, 7));
	e.needs_key = 1;
	e.key = 7;
	assert_true(allows_signed(&e, 1, "192.0.2.1", 53, 7));
	assert_false(allows_signed(&e, 1, "192.0.2.2", 53, 7));
	assert_false(allows_signed(&e, 1, "192.0.2.1", 53, 8));
	assert_false(allows_signed(&e, 1, "192.0.2.1", 53, STORE_NONE));
	/* An element with a key that does not exist. */
	e.key = STORE_NONE;
	assert_false(allows_signed(&e, 1, "192.0.2.1", 53, 7));
	assert_false(allows_signed(&e, 1, "192.0.2.1", 53, STORE_NONE));
}

static void
acl_blocks_whoever_signed(void **state)
{
	struct acl_element list[2] = {
		element("192.0.2.0", ACL_MASK, "255.255.255.0"),
		element("192.0.2.7", ACL_SINGLE, NULL),
	};

	list[0].needs_key = 1;
	list[0].key = 7;
	list[1].blocked = 1;
	assert_true(allows_signed(list, 2, "192.0.2.6", 1, 7));
	assert_false(allows_signed(list, 2, "192.0.2.7", 1, 7));
}

/* True if a list allows a client behind a proxy at port 7 of an address. */
static bool
allows_behind(const struct acl_element *elements, uint32_t count,
	const char *from, const char *proxy)
{
	struct sockaddr_storage peer = {.ss_family = AF_INET};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(7)};

	assert_int_equal(inet_pton(AF_INET, from,
		&((struct sockaddr_in *)&peer)->sin_addr), 1);
	assert_int_equal(inet_pton(AF_INET, proxy, &in.sin_addr), 1);
	return allows_either(elements, count, &(struct acl_client){
		.peer = &peer, .proxy = (struct sockaddr *)&in});
}

static void
acl_blocks_proxies(void **state)
{
	struct acl_element list[] = {
		element("192.0.2.0", ACL_MASK, "255.255.255.0"),
		element("198.51.100.7", ACL_SINGLE, NULL),
		element("198.51.100.16", ACL_RANGE, "198.51.100.19"),
		/* An element that no index covers. */
		element("203.0.0.9", ACL_MASK, "255.255.0.255"),
		element("198.51.100.30", ACL_SINGLE, NULL),
		element("198.51.100.31", ACL_SINGLE, NULL),
		element("198.51.100.40", ACL_SINGLE, NULL),
	};

	for (unsigned i = 1; i < 6; i++)
		list[i].blocked = 1;
	list[4].port = 7;
	list[5].port = 8;
	assert_true(allows_behind(list, 7, "192.0.2.1", "198.51.100.8"));
	assert_false(allows_behind(list, 7, "192.0.2.1", "198.51.100.7"));
	assert_false(allows_behind(list, 7, "192.0.2.1", "198.51.100.19"));
	assert_false(allows_behind(list, 7, "192.0.2.1", "203.0.5.9"));
	assert_true(allows_behind(list, 7, "192.0.2.1", "203.0.5.8"));
	assert_false(allows_behind(list, 7, "192.0.2.1", "198.51.100.30"));
	assert_true(allows_behind(list, 7, "192.0.2.1", "198.51.100.31"));
	/* A proxy that may ask itself does not let others in. */
	assert_false(allows_behind(list, 7, "192.0.3.1", "198.51.100.40"));
	/* As before, the client itself. */
	assert_false(allows_behind(list, 7, "198.51.100.7", "192.0.2.1"));
}

/* ---- by chance, beside a plain reference ------------------------------- */

/* Few addresses, so that lists and clients meet: they differ in one octet,
 * which is 0 to 15, or in another one, which is 0 or 1. */
#define VALUES 16u
#define ELEMENTS_MAX 24u

struct plan {
	unsigned at[2];    /* which octets, by family: 4, 6 */
	unsigned other[2];
};

static unsigned
put_address(const struct plan *plan, uint8_t family, unsigned value,
	unsigned other, uint8_t out[16])
{
	memset(out, 0, 16);
	out[plan->other[family == 6]] = (uint8_t)other;
	out[plan->at[family == 6]] = (uint8_t)value;
	return plan->at[family == 6];
}

static void
make_element(uint64_t *seed, const struct plan *plan, struct acl_element *e)
{
	unsigned at;

	memset(e, 0, sizeof(*e));
	e->family = chance_below(seed, 3) == 0 ? 6 : 4;
	e->kind = (uint8_t)chance_below(seed, 3);
	e->blocked = chance_below(seed, 4) == 0;
	e->needs_key = !e->blocked && chance_below(seed, 5) == 0;
	e->port = (uint16_t)(chance_below(seed, 3) == 0
			? 1 + chance_below(seed, 2)
			: 0);
	at = put_address(plan, e->family, chance_below(seed, VALUES),
		chance_below(seed, 2), e->address);
	if (e->kind == ACL_RANGE) {
		put_address(plan, e->family, chance_below(seed, VALUES),
			chance_below(seed, 2), e->other);
	} else if (e->kind == ACL_MASK) {
		memset(e->other, 0xff, e->family == 4 ? 4 : 16);
		e->other[at] = (uint8_t)(0xf0 | chance_below(seed, VALUES));
		e->address[at] &= e->other[at];
	}
}

/* The verdict of an element on a client, octet by octet. */
static bool
reference_matches(const struct acl_element *e, uint8_t family,
	const uint8_t address[16], unsigned port)
{
	int from = 0, to = 0; /* as memcmp */

	if (family != e->family || (e->port != 0 && e->port != port))
		return false;
	for (unsigned i = 0; i < (family == 4 ? 4 : 16); i++) {
		if (e->kind == ACL_SINGLE && address[i] != e->address[i])
			return false;
		if (e->kind == ACL_MASK
			&& (address[i] & e->other[i])
				!= (e->address[i] & e->other[i]))
			return false;
		if (from == 0)
			from = address[i] - e->address[i];
		if (to == 0)
			to = address[i] - e->other[i];
	}
	return e->kind != ACL_RANGE || (from >= 0 && to <= 0);
}

/* BLOCKED first of all, then anybody who is allowed without a key. */
static bool
reference_allows(const struct acl_element *list, unsigned count,
	uint8_t family, const uint8_t address[16], unsigned port)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i].blocked
			&& reference_matches(&list[i], family, address,
				port))
			return false;
	for (unsigned i = 0; i < count; i++)
		if (!list[i].blocked && !list[i].needs_key
			&& reference_matches(&list[i], family, address,
				port))
			return true;
	return false;
}

/* Octets of an address, as who asks. */
static void
put_peer(uint8_t family, const uint8_t address[16], unsigned port,
	struct sockaddr_storage *peer)
{
	struct sockaddr_in *in = (struct sockaddr_in *)peer;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)peer;

	/* Octets behind the address must not matter. */
	memset(peer, 0xee, sizeof(*peer));
	if (family == 4) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)port);
		memcpy(&in->sin_addr, address, 4);
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)port);
		memcpy(&in6->sin6_addr, address, 16);
	}
}

static bool
allows_octets(const struct acl_element *list, uint32_t count, uint8_t family,
	const uint8_t address[16], unsigned port)
{
	struct sockaddr_storage peer;

	put_peer(family, address, port, &peer);
	return allows_either(list, count,
		&(struct acl_client){.peer = &peer});
}

/* The verdict of a list that has an index already. */
static bool
list_allows_octets(const struct acl_list *list, uint8_t family,
	const uint8_t address[16], unsigned port)
{
	struct sockaddr_storage peer;

	put_peer(family, address, port, &peer);
	return acl_list_allows(list, &(struct acl_client){.peer = &peer});
}

static void
lists_by_chance_allow_whom_the_reference_does(void **state)
{
	uint64_t seed = chance_setting("SEED", 1);
	unsigned allowed = 0, asked = 0;

	for (unsigned round = 0; round < 3000; round++) {
		struct acl_element list[ELEMENTS_MAX];
		uint32_t count = chance_below(&seed, round % 4 == 0
				? ELEMENTS_MAX + 1 : 7);
		struct plan plan = {
			.at = {chance_below(&seed, 4),
				chance_below(&seed, 16)},
			.other = {chance_below(&seed, 4),
				chance_below(&seed, 16)},
		};

		for (uint32_t i = 0; i < count; i++)
			make_element(&seed, &plan, &list[i]);
		for (unsigned who = 0; who < 4 * VALUES; who++) {
			uint8_t family = who % 2 == 0 ? 4 : 6, address[16];
			unsigned port = 1 + chance_below(&seed, 3);
			bool expected;

			put_address(&plan, family, who / 4, who / 2 % 2,
				address);
			expected = reference_allows(list, count, family,
				address, port);
			assert_int_equal(allows_octets(list, count, family,
						 address, port),
				expected);
			allowed += expected;
			asked++;
		}
	}
	assert_in_range(allowed, asked / 20, asked / 2);
}

/* ---- long ones --------------------------------------------------------- */

#define LONG_MAX 6000u

/* Makes the next address, or the one before; the first follows the last. */
static void
step(uint8_t family, uint8_t address[16], bool up)
{
	for (unsigned i = family == 4 ? 4 : 16; i-- > 0;) {
		address[i] = (uint8_t)(address[i] + (up ? 1 : -1));
		if (address[i] != (up ? 0 : 0xff))
			return;
	}
}

/* Addresses differ in two octets in a row, at the end most of the time. Those
 * before are all zero or all one, and in IPv6 by chance, too. */
static void
make_long_element(uint64_t *seed, uint8_t family, struct acl_element *e)
{
	unsigned size = family == 4 ? 4 : 16;
	unsigned at = chance_below(seed, 4) == 0
		? chance_below(seed, size - 1)
		: size - 2;
	uint8_t fill = chance_below(seed, 2) == 0 ? 0 : 0xff;
	unsigned value = chance_below(seed, 65536), end;

	memset(e, 0, sizeof(*e));
	e->family = family;
	e->kind = (uint8_t)chance_below(seed, 3);
	e->blocked = chance_below(seed, 8) == 0;
	e->port = (uint16_t)(chance_below(seed, 4) == 0
			? 1 + chance_below(seed, 2)
			: 0);
	memset(e->address, fill, size);
	if (family == 6)
		e->address[7] = (uint8_t)chance_below(seed, 3);
	memcpy(e->other, e->address, size);
	end = value + chance_below(seed, 24);
	end = end > 65535 ? 65535 : end;
	e->address[at] = (uint8_t)(value >> 8);
	e->address[at + 1] = (uint8_t)value;
	e->other[at] = (uint8_t)(end >> 8);
	e->other[at + 1] = (uint8_t)end;
	if (e->kind != ACL_MASK)
		return;
	memset(e->other, 0xff, size);
	e->other[size - 1] = (uint8_t)(0xffu << chance_below(seed, 6));
}

/* Compares the verdicts at the ends of ranges, and beside them. */
static unsigned
compare_long_list(uint64_t *seed, const struct acl_element *elements,
	uint32_t count)
{
	struct acl_list list = make_list(elements, count);
	unsigned allowed = 0;

	for (unsigned asked = 0; asked < 400; asked++) {
		const struct acl_element *e = &elements[chance_below(seed,
			count)];
		unsigned port = 1 + chance_below(seed, 3);
		uint8_t address[16];
		bool expected;

		memcpy(address, e->kind == ACL_RANGE && asked % 2 == 0
				? e->other : e->address, sizeof(address));
		for (unsigned i = asked / 2 % 3; i > 0; i--)
			step(e->family, address, asked % 2 == 0);
		expected = reference_allows(elements, count, e->family,
			address, port);
		assert_int_equal(list_allows_octets(&list, e->family, address,
					 port),
			expected);
		allowed += expected;
	}
	acl_list_free(&list);
	return allowed;
}

static void
long_lists_by_chance_allow_whom_the_reference_does(void **state)
{
	struct acl_element *list = calloc(LONG_MAX, sizeof(*list));
	uint64_t seed = chance_setting("SEED", 1);
	unsigned allowed = 0;

	assert_non_null(list);
	for (unsigned round = 0; round < 60; round++) {
		uint32_t count = 1 + chance_below(&seed,
			round % 3 == 0 ? LONG_MAX : 300);

		for (uint32_t i = 0; i < count; i++)
			make_long_element(&seed, round % 2 == 0 ? 4 : 6,
				&list[i]);
		for (uint32_t i = 0; i < count && round % 5 == 0; i += 2)
			make_long_element(&seed, round % 2 == 0 ? 6 : 4,
				&list[i]);
		allowed += compare_long_list(&seed, list, count);
	}
	assert_in_range(allowed, 60 * 400 / 4, 60 * 400 * 3 / 4);
	free(list);
}

/* ---- the index ----------------------------------------------------------- */

/* How many ranges an index has. */
static unsigned
count_ranges(const struct acl_index *index)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < index->part_count; i++)
		count += (index->parts[i].count + 1) / 2;
	return count;
}

/* Ranges that touch are one, up to the last address there is. */
static void
index_joins_what_touches(void **state)
{
	struct acl_element list[] = {
		element("192.0.2.128", ACL_MASK, "255.255.255.128"),
		element("192.0.2.1", ACL_SINGLE, NULL),
		element("192.0.2.2", ACL_RANGE, "192.0.2.127"),
		element("192.0.2.9", ACL_SINGLE, NULL),
		element("255.255.255.255", ACL_SINGLE, NULL),
		element("::ffff:ffff:ffff:ffff", ACL_SINGLE, NULL),
		element("0:0:0:1::", ACL_MASK, "ffff:ffff:ffff:ffff::"),
		element("ffff::", ACL_MASK, "ffff::"),
		/* The third is as far on as the second, 2^64 later. */
		element("2001:db8::1", ACL_SINGLE, NULL),
		element("2001:db8::2", ACL_SINGLE, NULL),
		element("2001:db8:0:1::3", ACL_SINGLE, NULL),
	};
	struct acl_list made = make_list(list, 11);

	assert_int_equal(count_ranges(made.index), 6);
	assert_false(made.index->has_blocked);
	assert_false(made.index->has_ports);
	acl_list_free(&made);
	assert_false(allows(list, 11, "2001:db8::3", 1));
	assert_true(allows(list, 8, "192.0.2.255", 1));
	assert_false(allows(list, 8, "192.0.2.0", 1));
	assert_false(allows(list, 8, "192.0.3.0", 1));
	assert_true(allows(list, 8, "::1:ffff:ffff:ffff:ffff", 1));
	assert_false(allows(list, 8, "::2:0:0:0:0", 1));
	assert_false(allows(list, 8, "::ffff:ffff:ffff:fffe", 1));
	assert_true(allows(list, 8,
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 1));
}

/* An index finds every range, and no address between two. The counts are those
 * at which the tree gets another node or level. Octet: where the addresses
 * differ. */
static void
index_finds_each_range(void **state)
{
	static const struct {
		uint8_t family, octet;
	} ways[] = { {4, 2}, {4, 1}, {6, 6}, {6, 7}, {6, 14} };
	static struct acl_element elements[LONG_MAX];

	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		uint8_t octet = ways[i].octet, address[16] = {10};
		uint32_t count = 0;

		while (count < LONG_MAX) {
			struct acl_list list;

			memset(elements, 0, sizeof(elements));
			for (unsigned n = 0; n < count; n++) {
				struct acl_element *e = &elements[n];

				e->family = ways[i].family;
				e->address[0] = 10;
				e->address[octet] = (uint8_t)(n >> 7);
				e->address[octet + 1] = (uint8_t)(2 * n + 1);
			}
			list = make_list(elements, count);
			for (unsigned n = 0; n <= 2 * count; n++) {
				address[octet] = (uint8_t)(n >> 8);
				address[octet + 1] = (uint8_t)n;
				assert_int_equal(list_allows_octets(&list,
						ways[i].family, address, 1),
					n % 2);
			}
			acl_list_free(&list);
			count += count < 140 ? 1 : count * 2 / 7;
		}
	}
}

/* An address lies in a range that has no address before it, or none behind. */
static void
index_knows_the_first_and_the_last_address(void **state)
{
	static const char *const ends[][4] = {
		{"0.0.0.0", "0.0.0.1", "255.255.255.254", "255.255.255.255"},
		{"::", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe",
			"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	};

	for (unsigned i = 0; i < 2; i++) {
		const char *const *at = ends[i];
		struct acl_element list[] = {
			element(at[0], ACL_SINGLE, NULL),
			element(at[3], ACL_SINGLE, NULL),
			element(at[0], ACL_RANGE, at[3]),
		};

		assert_true(allows(list, 2, at[0], 1));
		assert_false(allows(list, 2, at[1], 1));
		assert_false(allows(list, 2, at[2], 1));
		assert_true(allows(list, 2, at[3], 1));
		assert_false(allows(list + 1, 1, at[0], 1));
		assert_false(allows(list, 1, at[3], 1));
		for (unsigned n = 0; n < 4; n++) {
			assert_true(allows(list + 2, 1, at[n], 1));
			assert_false(allows(list + 2, 1, ends[!i][n], 1));
		}
	}
}

/* Ranges of different kinds stay apart. */
static void
index_keeps_kinds_apart(void **state)
{
	struct acl_element list[6];
	struct acl_list made;

	for (unsigned i = 0; i < 6; i++)
		list[i] = element("192.0.2.0", ACL_MASK, "255.255.255.0");
	list[1].port = 5;
	list[2].needs_key = 1;
	list[2].key = 9;
	list[3].blocked = 1;
	list[3].port = 6;
	list[4].needs_key = 1; /* a key that is not there */
	made = make_list(list, 6);
	assert_int_equal(made.index->part_count, 4);
	assert_true(made.index->has_blocked);
	assert_true(made.index->has_ports);
	assert_true((made.index->parts[0].kind & ACL_KIND_ALLOWS) == 0);
	acl_list_free(&made);
	assert_true(allows_signed(list, 6, "192.0.2.1", 5, 9));
	assert_false(allows_signed(list, 6, "192.0.2.1", 6, 9));
	assert_false(allows_signed(list, 6, "192.0.2.1", 5, 8));
	assert_true(allows(list, 6, "192.0.2.1", 7));
}

static void
index_covers_masks_that_are_prefixes(void **state)
{
	static const char *const no[] = { "255.0.255.0", "0.0.0.1",
		"127.0.0.0", "255.255.254.128", "ffff::1",
		"ffff:ffff:ffff:ffff:7fff::", "0:0:0:0:ffff::" };
	struct acl_element e;
	char text[INET6_ADDRSTRLEN];
	uint8_t mask[16] = { 0 };

	for (unsigned i = 0; i < sizeof(no) / sizeof(*no); i++) {
		e = element(strchr(no[i], ':') != NULL ? "::" : "0.0.0.0",
			ACL_MASK, no[i]);
		assert_false(acl_index_covers(&e));
	}
	for (unsigned i = 0; i <= 128; i++) {
		inet_ntop(AF_INET6, mask, text, sizeof(text));
		e = element("::", ACL_MASK, text);
		assert_true(acl_index_covers(&e));
		if (i < 128)
			mask[i / 8] |= (uint8_t)(0x80u >> i % 8);
	}
	e = element("0.0.0.0", ACL_MASK, "0.0.0.0");
	assert_true(acl_index_covers(&e));
	e = element("0.0.0.0", ACL_MASK, "255.255.255.255");
	assert_true(acl_index_covers(&e));
}

static void
port_zero_is_seen(void **state)
{
	struct sockaddr_storage peer = {.ss_family = AF_INET};

	assert_true(acl_peer_port_is_zero(&peer));
	((struct sockaddr_in *)&peer)->sin_port = htons(1);
	assert_false(acl_peer_port_is_zero(&peer));
	assert_false(acl_peer_port_is_zero(NULL));
	assert_false(acl_list_allows(&(struct acl_list){NULL, 0, NULL},
		&(struct acl_client){.peer = NULL}));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acl_elements_match),
		cmocka_unit_test(acl_blocked_wins),
		cmocka_unit_test(acl_keys_match),
		cmocka_unit_test(acl_blocks_whoever_signed),
		cmocka_unit_test(acl_blocks_proxies),
		cmocka_unit_test(lists_by_chance_allow_whom_the_reference_does),
		cmocka_unit_test(
			long_lists_by_chance_allow_whom_the_reference_does),
		cmocka_unit_test(index_joins_what_touches),
		cmocka_unit_test(index_finds_each_range),
		cmocka_unit_test(index_knows_the_first_and_the_last_address),
		cmocka_unit_test(index_keeps_kinds_apart),
		cmocka_unit_test(index_covers_masks_that_are_prefixes),
		cmocka_unit_test(port_zero_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
