/* test_xfrd_left.c - what a zone that begins anew has left to itself. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/store_fixture.h"
#include "loader/load_list.h"
#include "xfrd/xfrd.h"

#define CONF "pattern: name: p zonefile: z notify: 192.0.2.%d NOKEY\n"       \
	     "zone: name: a include-pattern: p\n"                            \
	     "zone: name: b include-pattern: p\n"                            \
	     "zone: name: c include-pattern: p\n"                            \
	     "zone: name: d zonefile: z request-xfr: 192.0.2.9 NOKEY\n"
#define SECONDARY 3u /* d */
#define ZONES 3u     /* the others */

static struct server server;
static struct store_fixture store;

/* The loader has this, too. */
static struct conf *
publish(int target)
{
	char text[512];
	int len = snprintf(text, sizeof(text), CONF, target);
	struct load_list_result result;
	struct load_zone *zones;
	struct conf *conf;

	assert_int_equal(conf_load_text("t", text, (size_t)len, false, NULL,
		&conf), NSD_OK);
	zones = calloc(conf->zone_count, sizeof(*zones));
	assert_non_null(zones);
	assert_int_equal(load_list_publish(store.writer, conf, zones,
		&result), NSD_OK);
	free(zones);
	return conf;
}

static void
open_xfrd(struct xfrd *xfrd, int target)
{
	memset(xfrd, 0, sizeof(*xfrd));
	xfrd->role.server = &server;
	server.conf = publish(target);
	assert_int_equal(store_reader_open(store.store, 0, "xfrd",
		&xfrd->reader), NSD_OK);
	assert_int_equal(xfrd_zones_init(xfrd), NSD_OK);
}

static void
close_xfrd(struct xfrd *xfrd)
{
	xfr_machine_destroy(xfrd->zones.machine);
	xfrd_zone_table_fini(&xfrd->zones.table);
	store_reader_close(xfrd->reader);
	conf_destroy(server.conf);
}

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
}

/* For what has the machine go on. */
static void
open_events(struct xfrd *xfrd)
{
	xfrd->role.base = event_base_new();
	xfrd->zones.event = event_new(xfrd->role.base, -1, 0, on_event, NULL);
	assert_non_null(xfrd->zones.event);
	CDS_INIT_LIST_HEAD(&xfrd->jobs);
}

static void
close_events(struct xfrd *xfrd)
{
	event_free(xfrd->zones.event);
	event_base_free(xfrd->role.base);
}

static void
begin_zone(struct xfrd *xfrd, struct xfrd_zone *zone,
	const struct xfr_start *start)
{
	static const uint8_t flags[1];
	const struct xfr_config options = {.primaries = flags,
		.primary_count = xfrd_zone_count(xfrd, zone,
			SETTINGS_REQUEST_XFR),
		.target_count = xfrd_zone_count(xfrd, zone, SETTINGS_NOTIFY)};
	uint32_t config;

	assert_int_equal(xfr_add_config(xfrd->zones.machine, &options,
		&config), NSD_OK);
	assert_int_equal(xfrd_zones_begin(xfrd, zone, config, start), NSD_OK);
}

/* A zone with serial 7. */
static struct xfrd_zone *
add_zone(struct xfrd *xfrd, uint32_t number, bool is_told)
{
	struct xfrd_zone *zone = xfrd_zone_at(&xfrd->zones.table, number);
	const struct xfr_start start = {.has_data = true, .soa.serial = 7,
		.check_at = XFR_NEVER, .expire_at = XFR_NEVER,
		.is_told = is_told};

	begin_zone(xfrd, zone, &start);
	xfrd_left_get_written(xfrd, zone);
	xfrd_zone_drop_past(&xfrd->zones.table, zone);
	return zone;
}

static int
begin(void **state)
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

/* Zones rest: a was told and written; b was written; c, nothing. */
static void
leave(struct xfrd *xfrd)
{
	open_xfrd(xfrd, 1);
	open_events(xfrd);
	for (uint32_t i = 0; i < ZONES; i++) {
		struct xfrd_zone *zone = add_zone(xfrd, i, i == 0);

		if (i < 2)
			zone->written = (struct xfrd_written){
				.at_sec = 1000 + i, .serial = 6};
		xfrd_come_rest(xfrd, zone);
		assert_int_equal(zone->handle, XFR_NONE);
	}
}

static void
close_all(struct xfrd *xfrd)
{
	close_events(xfrd);
	close_xfrd(xfrd);
}

/* With this serial. */
static bool
is_told(struct xfrd *xfrd, uint32_t number, uint32_t serial)
{
	struct xfr_start start = {.has_data = true, .soa.serial = serial};

	xfrd_left_get_start(xfrd, xfrd_zone_at(&xfrd->zones.table, number),
		&start);
	return start.is_told;
}

static int64_t
written_at(struct xfrd *xfrd, uint32_t number)
{
	return add_zone(xfrd, number, false)->written.at_sec;
}

static void
zone_that_begins_anew_knows_what_was_left(void **state)
{
	struct xfrd xfrd;

	leave(&xfrd);
	assert_true(is_told(&xfrd, 0, 7));
	assert_false(is_told(&xfrd, 0, 8));
	assert_false(is_told(&xfrd, 1, 7));
	assert_false(is_told(&xfrd, 2, 7));
	assert_int_equal(written_at(&xfrd, 0), 1000);
	assert_int_equal(written_at(&xfrd, 1), 1001);
	assert_int_equal(written_at(&xfrd, 2), 0);
	close_all(&xfrd);
}

/* What it has told, it has not told those that are published by now. */
static void
zone_with_other_targets_begins_without(void **state)
{
	struct xfrd xfrd;

	leave(&xfrd);
	conf_destroy(publish(2));
	assert_false(is_told(&xfrd, 0, 7));
	assert_int_equal(written_at(&xfrd, 0), 0);
	/* And back: it has begun with others since. */
	xfrd_come_rest(&xfrd, xfrd_zone_at(&xfrd.zones.table, 0));
	conf_destroy(publish(1));
	assert_false(is_told(&xfrd, 0, 7));
	/* What has not begun meanwhile has told those. */
	assert_int_equal(written_at(&xfrd, 1), 1001);
	close_all(&xfrd);
}

static void
zone_that_takes_a_free_number_begins_without(void **state)
{
	struct xfrd xfrd;
	struct xfrd_zone *zone;

	leave(&xfrd);
	zone = xfrd_zone_at(&xfrd.zones.table, 0);
	xfrd_zone_drop_past(&xfrd.zones.table, zone);
	xfrd_zone_remove(&xfrd.zones.table, zone);
	assert_int_equal(xfrd_zone_add(&xfrd.zones.table,
		(const uint8_t *)"\1a", &zone), NSD_OK);
	assert_int_equal(zone->number, 0);
	assert_false(is_told(&xfrd, 0, 7));
	assert_int_equal(written_at(&xfrd, 0), 0);
	assert_int_equal(written_at(&xfrd, 1), 1001);
	close_all(&xfrd);
}

static void
begin_secondary(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	const struct xfr_start start = {.has_data = true, .soa.serial = 7,
		.acquired_at = 5, .check_at = XFR_NEVER, .expire_at = 7000,
		.lifetime_msec = 0};

	begin_zone(xfrd, zone, &start);
}

static int64_t
expires_at(struct xfrd *xfrd, const struct xfrd_zone *zone,
	uint32_t serial)
{
	struct xfr_start start = {.has_data = true, .soa.serial = serial,
		.expire_at = XFR_NEVER};

	xfrd_left_get_start(xfrd, zone, &start);
	return start.expire_at;
}

/* However long it takes, whoever has it begin. */
static void
zone_that_rests_keeps_how_long_it_is_answered_from(void **state)
{
	struct xfrd xfrd;
	struct xfrd_zone *zone;

	open_xfrd(&xfrd, 1);
	open_events(&xfrd);
	zone = xfrd_zone_at(&xfrd.zones.table, SECONDARY);
	begin_secondary(&xfrd, zone);
	xfrd_come_rest(&xfrd, zone);
	assert_int_equal(zone->handle, XFR_NONE);
	assert_int_equal(expires_at(&xfrd, zone, 7), 7000);
	/* Of another version it says nothing. */
	assert_true(expires_at(&xfrd, zone, 8) == XFR_NEVER);
	/* It gets other options once more. */
	xfrd_come_rest(&xfrd, zone);
	assert_int_equal(expires_at(&xfrd, zone, 7), 7000);
	/* What counts with the same options stays, too. */
	add_zone(&xfrd, 0, true)->written.at_sec = 1000;
	xfrd_come_rest(&xfrd, xfrd_zone_at(&xfrd.zones.table, 0));
	assert_true(is_told(&xfrd, 0, 7));
	assert_int_equal(written_at(&xfrd, 0), 1000);
	/* What it knew of itself goes with it. */
	xfrd_come_remove(&xfrd, zone);
	assert_null(xfrd_zone_at(&xfrd.zones.table, SECONDARY));
	close_events(&xfrd);
	close_xfrd(&xfrd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zone_that_begins_anew_knows_what_was_left),
		cmocka_unit_test(zone_with_other_targets_begins_without),
		cmocka_unit_test(zone_that_takes_a_free_number_begins_without),
		cmocka_unit_test(
			zone_that_rests_keeps_how_long_it_is_answered_from),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
