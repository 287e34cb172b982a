/* test_xfrd_handover.c - state that a zone keeps when it begins anew. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "fixture.h"
#include "xfrd/xfrd.h"

#define CONF "pattern: name: p zonefile: z notify: 192.0.2.%d NOKEY\n"       \
	     "zone: name: a include-pattern: p\n"                            \
	     "zone: name: b include-pattern: p\n"                            \
	     "zone: name: c include-pattern: p\n"                            \
	     "zone: name: d zonefile: z request-xfr: 192.0.2.9 NOKEY\n"

/* target: the target of NOTIFY. */
static void
publish(int target)
{
	char text[512];

	snprintf(text, sizeof(text), CONF, target);
	fixture_publish(text);
}

static struct xfrd_zone *
find(const char *name)
{
	struct xfrd_zone *zone = fixture_find(name);

	assert_non_null(zone);
	return zone;
}

static void
begin_zone(struct xfrd_zone *zone, const struct xfr_start *start)
{
	uint32_t config;

	assert_int_equal(xfrd_zones_get_config(&fixture.xfrd, zone, &config),
		NSD_OK);
	assert_int_equal(xfrd_zones_begin(&fixture.xfrd, zone, config, start),
		NSD_OK);
}

/* With serial 7; as xfrd_turn.c does it. */
static struct xfrd_zone *
begin(const char *name, bool is_told)
{
	struct xfrd_zone *zone = find(name);
	const struct xfr_start start = {.has_data = true, .soa.serial = 7,
		.check_at = XFR_NEVER, .expire_at = XFR_NEVER,
		.is_told = is_told};

	begin_zone(zone, &start);
	xfrd_handover_get_written(&fixture.xfrd, zone);
	xfrd_zone_drop_past(&fixture.xfrd.zones.table, zone);
	return zone;
}

static void
suspend(const char *name)
{
	xfrd_detach_suspend(&fixture.xfrd, find(name));
	assert_int_equal(find(name)->handle, XFR_NONE);
}

/* Zones are suspended: a was told and written; b was written; c, nothing. */
static void
hand_over(void)
{
	publish(1);
	fixture_open();
	begin("a", true)->written = (struct xfrd_written){
		.at_sec = 1000, .serial = 6};
	begin("b", false)->written = (struct xfrd_written){
		.at_sec = 1001, .serial = 6};
	begin("c", false);
	suspend("a");
	suspend("b");
	suspend("c");
}

/* True if the zone's targets have been told of a serial. */
static bool
is_told(const char *name, uint32_t serial)
{
	struct xfr_start start = {.has_data = true, .soa.serial = serial};

	xfrd_handover_get_start(&fixture.xfrd, find(name), &start);
	return start.is_told;
}

static int64_t
written_at(const char *name)
{
	return begin(name, false)->written.at_sec;
}

static void
zone_that_begins_anew_knows_what_was_handed_over(void **state)
{
	hand_over();
	assert_true(is_told("a", 7));
	assert_false(is_told("a", 8));
	assert_false(is_told("b", 7));
	assert_false(is_told("c", 7));
	assert_int_equal(written_at("a"), 1000);
	assert_int_equal(written_at("b"), 1001);
	assert_int_equal(written_at("c"), 0);
	fixture_close();
}

/* Targets that are published by now have not been told. */
static void
zone_with_other_targets_begins_without(void **state)
{
	hand_over();
	publish(2);
	assert_false(is_told("a", 7));
	assert_int_equal(written_at("a"), 0);
	/* And back: it has begun with others since. */
	suspend("a");
	publish(1);
	assert_false(is_told("a", 7));
	/* Zone b has not begun in between, so its state is kept. */
	assert_int_equal(written_at("b"), 1001);
	fixture_close();
}

static void
zone_that_takes_a_free_number_begins_without(void **state)
{
	struct xfrd_zone_table *table = &fixture.xfrd.zones.table;
	struct xfrd_zone *zone;
	uint8_t apex[NAME_MAX_LEN];
	uint32_t number;

	hand_over();
	number = find("a")->number;
	assert_true(conf_parse_zone_name("a", apex));
	xfrd_zone_drop_past(table, find("a"));
	xfrd_zone_remove(table, find("a"));
	assert_int_equal(xfrd_zone_add(table, apex, &zone), NSD_OK);
	assert_int_equal(zone->number, number);
	assert_false(is_told("a", 7));
	assert_int_equal(written_at("a"), 0);
	assert_int_equal(written_at("b"), 1001);
	fixture_close();
}

static int64_t
expires_at(const char *name, uint32_t serial)
{
	struct xfr_start start = {.has_data = true, .soa.serial = serial,
		.expire_at = XFR_NEVER};

	xfrd_handover_get_start(&fixture.xfrd, find(name), &start);
	return start.expire_at;
}

/* However long it takes, whoever has it begin. */
static void
suspended_zone_keeps_how_long_it_is_answered_from(void **state)
{
	const struct xfr_start start = {.has_data = true, .soa.serial = 7,
		.acquired_at = 5, .check_at = XFR_NEVER, .expire_at = 7000,
		.lifetime_msec = 0};

	hand_over();
	begin_zone(find("d"), &start);
	suspend("d");
	assert_int_equal(expires_at("d", 7), 7000);
	/* The time says nothing about another version. */
	assert_true(expires_at("d", 8) == XFR_NEVER);
	/* The zone gets other options once more. */
	suspend("d");
	assert_int_equal(expires_at("d", 7), 7000);
	/* A removed zone's state is removed too. */
	xfrd_detach_remove(&fixture.xfrd, find("d"));
	assert_null(fixture_find("d"));
	fixture_close();
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)
	const struct CMUnitTest tests[] = {
		TEST(zone_that_begins_anew_knows_what_was_handed_over),
		TEST(zone_with_other_targets_begins_without),
		TEST(zone_that_takes_a_free_number_begins_without),
		TEST(suspended_zone_keeps_how_long_it_is_answered_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
