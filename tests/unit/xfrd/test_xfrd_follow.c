/* test_xfrd_follow.c - xfrd has the zones of another configuration, once it is
 * published. */
#include "config.h"

#include <event2/event.h>
#include <search.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "lib/store_fixture.h"
#include "load/load_list.h"
#include "xfrd/xfrd.h"

#define MANY 1200u
#define HEAD "server: zonefiles-write: 0\n" \
	     "pattern: name: p zonefile: f\npattern: name: q zonefile: f\n"
#define BASE "request-xfr: 192.0.2.1 NOKEY "

static struct server server;
static struct store_fixture store;
static struct xfrd xfrd;
static struct ipc_channel from_main;

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
}

/* zones: behind HEAD. added: a zone of the zone list, or NULL. */
static struct conf *
load(const char *zones, const char *added)
{
	static char text[100 * MANY];
	const struct conf_zone *zone;
	struct conf *conf;
	int len = snprintf(text, sizeof(text), HEAD "%s", zones);

	assert_int_equal(conf_load_text("t", text, (size_t)len, false, NULL,
		&conf), NSD_OK);
	if (added != NULL)
		assert_int_equal(conf_add_zone(conf, added, "p", &zone),
			NSD_OK);
	return conf;
}

static void
publish(const char *text, const char *added)
{
	struct conf *conf = load(text, added);
	struct load_zone *zones = calloc(conf->zone_count + 1, sizeof(*zones));
	struct load_list_result result;

	assert_non_null(zones);
	assert_int_equal(load_list_publish(store.writer, conf, zones, &result),
		NSD_OK);
	free(zones);
	conf_destroy(conf);
}

static void
open_xfrd(const char *zones, const char *added)
{
	static const struct link_calls calls;

	publish(zones, added);
	memset(&xfrd, 0, sizeof(xfrd));
	xfrd.role.server = &server;
	server.conf = load(zones, added);
	xfrd.role.base = event_base_new();
	xfrd.role.link.calls = &calls;
	CDS_INIT_LIST_HEAD(&xfrd.jobs);
	assert_int_equal(store_reader_open(store.store, 0, "xfrd",
		&xfrd.reader), NSD_OK);
	assert_int_equal(xfrd_zones_init(&xfrd), NSD_OK);
	xfrd.zones.event = event_new(xfrd.role.base, -1, 0, on_event, NULL);
	assert_int_equal(xfrd_follow_init(&xfrd), NSD_OK);
	assert_int_equal(ipc_channel_open_pair(ROLE_XFRD, ROLE_MAIN,
		&xfrd.role.link.channel, &from_main), NSD_OK);
	assert_true(link_open(&xfrd.role.link, xfrd.role.base));
}

static void
close_xfrd(void)
{
	link_close(&xfrd.role.link);
	ipc_channel_close(&from_main);
	event_free(xfrd.zones.event);
	event_free(xfrd.follow.event);
	event_base_free(xfrd.role.base);
	store_reader_close(xfrd.reader);
	for (uint32_t i = 0; i < xfrd.zones.table.end; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(&xfrd.zones.table, i);

		if (zone != NULL)
			xfrd_said_forget(&zone->said);
	}
	xfr_machine_destroy(xfrd.zones.machine);
	tdestroy(xfrd.zones.configs, free);
	xfrd_zone_table_fini(&xfrd.zones.table);
	conf_destroy(server.conf);
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

	xfrd_follow(&xfrd, 7);
	for (; xfrd.follow.step != XFRD_FOLLOW_NONE; turns++) {
		assert_false(was_obeyed());
		event_base_loop(xfrd.role.base, EVLOOP_ONCE);
	}
	assert_true(was_obeyed());
	return turns;
}

static struct xfrd_zone *
find(const char *name)
{
	return xfrd_zone_find_text(&xfrd.zones.table, name);
}

static int
start(void **state)
{
	store_fixture_init(&store, 1);
	return 0;
}

static int
end(void **state)
{
	store_fixture_fini(&store);
	return 0;
}

/* ---- tests --------------------------------------------------------------- */

static void
zones_go_come_and_get_their_options(void **state)
{
	open_xfrd("zone: name: a zonefile: f " BASE "\n"
		  "zone: name: b zonefile: f " BASE "\n"
		  "zone: name: c zonefile: f\n", NULL);
	for (unsigned i = 0; i < 2; i++)
		xfrd_turn_join(&xfrd, find(i == 0 ? "a" : "b"));
	assert_int_not_equal(find("b")->handle, XFR_NONE);
	assert_int_equal(xfrd.zones.secondary_count, 2);
	publish("zone: name: a zonefile: f\n"
		"zone: name: c zonefile: f " BASE "\n"
		"zone: name: New.Name zonefile: f " BASE "\n", NULL);
	(void)follow();
	assert_int_equal(find("a")->handle, XFR_NONE);
	assert_null(find("b"));
	assert_int_not_equal(find("c")->handle, XFR_NONE);
	assert_string_equal(find("new.name")->conf->name, "New.Name");
	assert_null(find("new.name")->conf->pattern_name);
	assert_int_not_equal(find("new.name")->handle, XFR_NONE);
	assert_int_equal(xfrd.zones.table.count, 3);
	assert_int_equal(server.conf->zone_count, 3);
	assert_int_equal(xfrd.zones.secondary_count, 2);
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
		assert_non_null(find(name));
	}
	close_xfrd();
	open_xfrd(text, NULL);
	publish("", NULL);
	assert_in_range(follow(), 3, 8);
	assert_int_equal(xfrd.zones.table.count, 0);
	close_xfrd();
}

/* One that comes meanwhile is followed from the start. */
static void
second_order_begins_anew(void **state)
{
	open_xfrd("zone: name: a zonefile: f\n", NULL);
	xfrd_follow(&xfrd, 6);
	event_base_loop(xfrd.role.base, EVLOOP_ONCE);
	publish("zone: name: b zonefile: f\n", NULL);
	(void)follow();
	assert_null(find("a"));
	assert_non_null(find("b"));
	close_xfrd();
}

static void
zone_of_the_list_comes_into_nsd_conf_and_back(void **state)
{
	open_xfrd("", "x");
	assert_string_equal(find("x")->conf->pattern_name, "p");
	publish("zone: name: x zonefile: f\n", NULL);
	(void)follow();
	assert_null(find("x")->conf->pattern_name);
	close_xfrd();
	open_xfrd("zone: name: x zonefile: f\n", NULL);
	publish("", "x");
	(void)follow();
	assert_string_equal(find("x")->conf->pattern_name, "p");
	close_xfrd();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

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
