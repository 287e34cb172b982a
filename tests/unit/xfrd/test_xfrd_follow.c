/* test_xfrd_follow.c - xfrd has the zones of another configuration, once it is
 * published. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "fixture.h"
#include "xfrd/xfrd.h"

#define MANY 1200u
#define HEAD "server: zonefiles-write: 0\n" \
	     "pattern: name: p zonefile: f\npattern: name: q zonefile: f\n"
#define BASE "request-xfr: 192.0.2.1 NOKEY "

static struct ipc_channel from_main;

/* zones: behind HEAD. added: a zone of the zone list, or NULL. */
static void
publish(const char *zones, const char *added)
{
	static char text[200 * MANY];

	snprintf(text, sizeof(text), HEAD "%s", zones);
	fixture_publish(text);
	if (added != NULL)
		assert_int_equal(fixture_list(added, "p"), NSD_OK);
}

static void
open_xfrd(const char *zones, const char *added)
{
	static const struct link_calls calls;
	struct xfrd *xfrd = &fixture.xfrd;

	publish(zones, added);
	fixture_open();
	xfrd->role.link.calls = &calls;
	assert_int_equal(xfrd_follow_init(xfrd), NSD_OK);
	assert_int_equal(ipc_channel_open_pair(ROLE_XFRD, ROLE_MAIN,
		&xfrd->role.link.channel, &from_main), NSD_OK);
	assert_true(link_open(&xfrd->role.link, xfrd->role.base));
}

static void
close_xfrd(void)
{
	link_close(&fixture.xfrd.role.link);
	ipc_channel_close(&from_main);
	event_free(fixture.xfrd.follow.event);
	event_free(fixture.xfrd.follow.release_event);
	fixture_close();
}

static bool
was_obeyed(void)
{
	uint8_t octet;

	return recv(from_main.fd, &octet, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

/* Returns turns of the loop. */
static unsigned
follow(void)
{
	unsigned turns = 0;

	xfrd_follow(&fixture.xfrd, 7);
	for (; fixture.xfrd.follow.step != XFRD_FOLLOW_NONE; turns++) {
		assert_false(was_obeyed());
		event_base_loop(fixture.xfrd.role.base, EVLOOP_ONCE);
	}
	assert_true(was_obeyed());
	return turns;
}

/* ---- tests --------------------------------------------------------------- */

static void
zones_go_come_and_get_their_options(void **state)
{
	char name[NAME_TEXT_MAX];

	open_xfrd("zone: name: a zonefile: f " BASE "\n"
		  "zone: name: b zonefile: f " BASE "\n"
		  "zone: name: c zonefile: f\n", NULL);
	for (unsigned i = 0; i < 2; i++)
		xfrd_turn_add(&fixture.xfrd, fixture_find(i == 0 ? "a" : "b"));
	assert_int_not_equal(fixture_find("b")->handle, XFR_NONE);
	assert_int_equal(fixture.xfrd.zones.secondary_count, 2);
	publish("zone: name: a zonefile: f\n"
		"zone: name: c zonefile: f " BASE "\n"
		"zone: name: New.Name zonefile: f " BASE "\n", NULL);
	(void)follow();
	assert_int_equal(fixture_find("a")->handle, XFR_NONE);
	assert_null(fixture_find("b"));
	assert_int_not_equal(fixture_find("c")->handle, XFR_NONE);
	assert_string_equal(xfrd_zone_print_name(&fixture.xfrd,
		fixture_find("new.name"), name), "New.Name");
	assert_false(fixture_find("new.name")->is_listed);
	assert_int_not_equal(fixture_find("new.name")->handle, XFR_NONE);
	assert_int_equal(fixture.xfrd.zones.table.count, 3);
	assert_int_equal(fixture.xfrd.zones.secondary_count, 2);
	close_xfrd();
}

static void
many_zones_take_many_turns(void **state)
{
	static char text[100 * MANY];
	char name[16];
	size_t len = 0;

	for (unsigned i = 0; i < MANY; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"zone: name: n%u zonefile: f\n", i);
	open_xfrd("", NULL);
	publish(text, NULL);
	assert_in_range(follow(), 3, 8);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_non_null(fixture_find(name));
	}
	close_xfrd();
	open_xfrd(text, NULL);
	publish("", NULL);
	assert_in_range(follow(), 3, 8);
	assert_int_equal(fixture.xfrd.zones.table.count, 0);
	close_xfrd();
}

/* A configuration that arrives meanwhile is followed from the start. */
static void
second_order_begins_anew(void **state)
{
	open_xfrd("zone: name: a zonefile: f\n", NULL);
	xfrd_follow(&fixture.xfrd, 6);
	event_base_loop(fixture.xfrd.role.base, EVLOOP_ONCE);
	publish("zone: name: b zonefile: f\n", NULL);
	(void)follow();
	assert_null(fixture_find("a"));
	assert_non_null(fixture_find("b"));
	close_xfrd();
}

static void
zone_of_the_list_comes_into_nsd_conf_and_back(void **state)
{
	open_xfrd("", "x");
	assert_true(fixture_find("x")->is_listed);
	publish("zone: name: x zonefile: f\n", NULL);
	(void)follow();
	assert_false(fixture_find("x")->is_listed);
	close_xfrd();
	open_xfrd("zone: name: x zonefile: f\n", NULL);
	publish("", "x");
	(void)follow();
	assert_true(fixture_find("x")->is_listed);
	close_xfrd();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, \
	fixture_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(zones_go_come_and_get_their_options),
		TEST(many_zones_take_many_turns),
		TEST(second_order_begins_anew),
		TEST(zone_of_the_list_comes_into_nsd_conf_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
