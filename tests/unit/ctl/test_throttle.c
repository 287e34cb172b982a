/* test_throttle.c - how many TLS handshakes strangers get. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/throttle.h"

static struct sockaddr_storage
parse(const char *text)
{
	struct sockaddr_storage peer;
	struct sockaddr_in *v4 = (struct sockaddr_in *)&peer;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&peer;

	memset(&peer, 0, sizeof(peer));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		peer.ss_family = AF_INET;
		return peer;
	}
	assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
	peer.ss_family = AF_INET6;
	return peer;
}

/* How many of so many it takes. */
static unsigned
take(struct ctl_throttle *t, const char *from, unsigned count, int64_t msec)
{
	struct sockaddr_storage peer = parse(from);
	unsigned taken = 0;

	for (unsigned i = 0; i < count; i++)
		taken += throttle_take(t, &peer, msec);
	return taken;
}

static void
give(struct ctl_throttle *t, const char *to, unsigned count, int64_t msec)
{
	struct sockaddr_storage peer = parse(to);

	throttle_give(t, &peer, count, msec);
}

static void
network_has_its_burst_and_then_its_rate(void **state)
{
	static const char *const nets[][2] = {
		{"192.0.2.1", "192.0.2.255"},
		{"2001:db8::1", "2001:db8::ffff:0:0:1"},
	};

	for (unsigned i = 0; i < 2; i++) {
		struct ctl_throttle t = {.seed = 5};

		assert_int_equal(take(&t, nets[i][0], 15, 1000), 15);
		assert_int_equal(take(&t, nets[i][1], 15, 1000), 5);
		assert_int_equal(take(&t, nets[i][0], 9, 1199), 0);
		assert_int_equal(take(&t, nets[i][0], 9, 1200), 1);
		assert_int_equal(take(&t, nets[i][0], 99, 11200), 20);
		assert_int_equal(take(&t, nets[i][0], 99, 1000 << 20), 20);
	}
}

static void
all_networks_share_what_strangers_get(void **state)
{
	struct ctl_throttle t = {.seed = 5};
	unsigned taken = 0;
	char from[40];

	for (unsigned i = 0; i < 200; i++) {
		inet_ntop(AF_INET, &(uint32_t){htonl(0x0a000000 + (i << 8))},
			from, sizeof(from));
		taken += take(&t, from, 20, 1000);
	}
	assert_int_equal(taken, THROTTLE_ALL_BURST);
	/* In a second, with some of each. */
	taken = 0;
	for (unsigned i = 0; i < 200; i++) {
		inet_ntop(AF_INET, &(uint32_t){htonl(0x0a000000 + (i << 8))},
			from, sizeof(from));
		taken += take(&t, from, 1, 2000);
	}
	assert_int_equal(taken, THROTTLE_ALL_RATE);
}

static void
those_who_are_known_get_theirs_back_and_pass_by_strangers(void **state)
{
	struct ctl_throttle t = {.seed = 5};
	char from[40];

	/* A known client may make any number of handshakes, one after the
	 * other. */
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(take(&t, "2001:db8::1", 2, 1000), 2);
		give(&t, "2001:db8::1", 2, 1000);
	}
	for (unsigned i = 0; i < 100; i++) {
		inet_ntop(AF_INET, &(uint32_t){htonl(0x0a000000 + (i << 8))},
			from, sizeof(from));
		(void)take(&t, from, 20, 1000);
	}
	assert_int_equal(take(&t, "192.0.2.1", 1, 1000), 0);
	assert_int_equal(take(&t, "2001:db8::2", 99, 1000), 20);
	/* Not for ever. */
	assert_int_equal(take(&t, "2001:db8::1", 99,
				 1000 + THROTTLE_KNOWN_MSEC - 1), 20);
	for (unsigned i = 0; i < 100; i++) {
		inet_ntop(AF_INET, &(uint32_t){htonl(0x0a000000 + (i << 8))},
			from, sizeof(from));
		(void)take(&t, from, 20, 1000 + THROTTLE_KNOWN_MSEC);
	}
	assert_int_equal(take(&t, "2001:db8::1", 1,
				 1000 + THROTTLE_KNOWN_MSEC), 0);
}

/* Clients on 127.0.0.1 and ::1 may be the operator. */
static void
this_host_is_known(void **state)
{
	static const struct {
		const char *text;
		bool known;
	} rows[] = {{"127.0.0.1", true}, {"::1", true}, {"127.0.1.1", false},
		{"192.0.2.1", false}, {"2001:db8::1", false}};
	struct ctl_throttle t = {.seed = 5};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sockaddr_storage peer = parse(rows[i].text);

		assert_int_equal(throttle_knows(&t, &peer, 1), rows[i].known);
	}
}

static void
the_latest_who_were_known_are(void **state)
{
	struct ctl_throttle t = {.seed = 5};
	char from[40];

	for (unsigned i = 0; i <= THROTTLE_KNOWN; i++) {
		inet_ntop(AF_INET, &(uint32_t){htonl(0x0b000000 + (i << 8))},
			from, sizeof(from));
		give(&t, from, 1, 1000 + i);
	}
	for (unsigned i = 0; i < 100; i++) {
		inet_ntop(AF_INET, &(uint32_t){htonl(0x0a000000 + (i << 8))},
			from, sizeof(from));
		(void)take(&t, from, 20, 2000);
	}
	assert_int_equal(take(&t, "11.0.0.1", 1, 2000), 0);
	assert_int_equal(take(&t, "11.0.1.1", 1, 2000), 1);
	assert_int_equal(take(&t, "11.0.16.1", 1, 2000), 1);
}

/* All users of the machine share the loopback address, so it has a limit of its
 * own. */
static void
loopback_has_as_many_as_all_strangers_of_its_own(void **state)
{
	static const char *const addresses[] = {"127.0.0.1", "127.0.0.9",
		"::1"};
	char from[40];

	for (unsigned i = 0; i < 3; i++) {
		struct ctl_throttle t = {.seed = 5};

		for (unsigned j = 0; j < 100; j++) {
			inet_ntop(AF_INET, &(uint32_t){
				htonl(0x0a000000 + (j << 8))}, from,
				sizeof(from));
			(void)take(&t, from, 20, 1000);
		}
		assert_int_equal(take(&t, addresses[i], 99, 1000), 99);
		assert_int_equal(take(&t, addresses[i], 99, 1000), 1);
		assert_int_equal(take(&t, addresses[i], 99, 2000), 50);
		give(&t, addresses[i], 7, 2000);
		assert_int_equal(take(&t, addresses[i], 99, 2000), 7);
		/* The tokens of all strangers are untouched. */
		assert_int_equal(take(&t, "127.0.1.1", 99, 5000), 20);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(network_has_its_burst_and_then_its_rate),
		cmocka_unit_test(all_networks_share_what_strangers_get),
		cmocka_unit_test(
			those_who_are_known_get_theirs_back_and_pass_by_strangers),
		cmocka_unit_test(this_host_is_known),
		cmocka_unit_test(the_latest_who_were_known_are),
		cmocka_unit_test(
			loopback_has_as_many_as_all_strangers_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
