/* test_xfrd_zones.c - the machine's view of a zone follows from the published
 * options. */
#include "config.h"

#include <event2/event.h>
#include <search.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fixture.h"
#include "xfrd/xfrd.h"

#define BASE "request-xfr: 192.0.2.1 NOKEY notify: 192.0.2.7 NOKEY "
#define TLS "tls-auth: name: t auth-domain-name: t.example\n"
#define SEC INT64_C(1000)

/* xfrd knows of a zone that is not published. */
static void
know(const char *name)
{
	uint8_t apex[NAME_MAX_LEN];
	struct xfrd_zone *zone;

	assert_true(conf_parse_zone_name(name, apex));
	assert_int_equal(xfrd_zone_add(&fixture.xfrd.zones.table, apex, &zone),
		NSD_OK);
}

static struct xfrd_zone *
zone(const char *name)
{
	struct xfrd_zone *found = fixture_find(name);

	assert_non_null(found);
	return found;
}

static uint32_t
config(const char *name)
{
	uint32_t id;

	assert_int_equal(xfrd_zones_get_config(&fixture.xfrd, zone(name), &id),
		NSD_OK);
	return id;
}

static void
expect_unpublished(const char *name)
{
	uint32_t id;

	assert_int_equal(xfrd_zones_get_config(&fixture.xfrd, zone(name), &id),
		NSD_E_NOT_FOUND);
}

/* ---- tests --------------------------------------------------------------- */

static void
zones_that_say_the_same_share_it(void **state)
{
	static const char text[] =
		"key: name: k algorithm: sha256 secret: AAAA\n"
		"pattern: name: p zonefile: f " BASE "\n"
		"zone: name: a include-pattern: p\n"
		"zone: name: b include-pattern: p\n"
		"zone: name: own zonefile: other " BASE "\n"
		"zone: name: signed zonefile: f request-xfr: 192.0.2.1 k"
		" notify: 192.0.2.7 k\n"
		"zone: name: asked zonefile: f allow-query: ::1 NOKEY"
		" provide-xfr: ::2 NOKEY " BASE "\n"
		"zone: name: none zonefile: f allow-query: ::1 NOKEY\n"
		"zone: name: bare zonefile: f\n";

	fixture_publish(text);
	fixture_open();
	assert_int_equal(config("a"), config("b"));
	assert_int_equal(config("a"), config("own"));
	assert_int_equal(config("a"), config("signed"));
	assert_int_equal(config("a"), config("asked"));
	assert_int_equal(config("none"), XFR_NONE);
	assert_int_equal(config("bare"), XFR_NONE);
	fixture_close();
}

/* An option that matters makes another config: a zone has it beside the options
 * of zone "base". */
static void
each_option_that_counts_makes_another(void **state)
{
	static const char *const options[] = {
		BASE "notify-retry: 9",
		BASE "min-refresh-time: 9",
		BASE "max-refresh-time: 9",
		BASE "min-retry-time: 9",
		BASE "max-retry-time: 9",
		BASE "min-expire-time: 9",
		BASE "min-expire-time: refresh+retry+1",
		BASE "allow-axfr-fallback: no",
		BASE "multi-primary-check: yes",
		BASE "outgoing-interface: 192.0.2.9",
		BASE "outgoing-interface: 192.0.2.9@9",
		BASE "request-xfr: 192.0.2.2 NOKEY",
		BASE "notify: 192.0.2.8 NOKEY",
		"request-xfr: 192.0.2.1 NOKEY",
		"notify: 192.0.2.7 NOKEY",
		/* The same elements, and the lists end elsewhere. */
		"request-xfr: 192.0.2.1 NOKEY request-xfr: 192.0.2.7 NOKEY",
		"notify: 192.0.2.1 NOKEY notify: 192.0.2.7 NOKEY",
		"request-xfr: 192.0.2.1 NOKEY outgoing-interface: 192.0.2.7",
		"request-xfr: 192.0.2.1@9 NOKEY notify: 192.0.2.7 NOKEY",
		"request-xfr: AXFR 192.0.2.1 NOKEY notify: 192.0.2.7 NOKEY",
		"request-xfr: UDP 192.0.2.1 NOKEY notify: 192.0.2.7 NOKEY",
		"request-xfr: 192.0.2.1 NOKEY t notify: 192.0.2.7 NOKEY",
	};
	enum { COUNT = sizeof(options) / sizeof(*options) };
	static char text[COUNT * 200];
	uint32_t seen[COUNT + 1];
	char name[16];
	size_t at;

	at = (size_t)snprintf(text, sizeof(text), TLS
		"zone: name: base zonefile: f " BASE "\n");
	for (unsigned i = 0; i < COUNT; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
			"zone: name: z%u zonefile: f %s\n", i, options[i]);
	assert_in_range(at, 1, sizeof(text) - 1);
	fixture_publish(text);
	fixture_open();
	seen[COUNT] = config("base");
	for (unsigned i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "z%u", i);
		seen[i] = config(name);
		assert_int_not_equal(seen[i], seen[COUNT]);
		for (unsigned k = 0; k < i; k++)
			assert_int_not_equal(seen[i], seen[k]);
	}
	fixture_close();
}

/* Until then nothing is done for the zone. */
static void
zone_waits_until_its_options_are_published(void **state)
{
	fixture_publish("zone: name: a zonefile: f " BASE "\n");
	fixture_open();
	know("new");
	expect_unpublished("new");
	xfrd_turn_add(&fixture.xfrd, zone("new"));
	assert_int_equal(zone("new")->handle, XFR_NONE);
	fixture_publish("zone: name: a zonefile: f request-xfr: 192.0.2.2 NOKEY "
		BASE "\n"
		"zone: name: new zonefile: f " BASE "\n");
	assert_int_not_equal(config("a"), config("new"));
	xfrd_turn_add(&fixture.xfrd, zone("new"));
	assert_int_not_equal(zone("new")->handle, XFR_NONE);
	fixture_close();
}

static struct xfr_status
status_of(const char *name)
{
	struct xfr_status status;

	xfr_get_status(fixture.xfrd.zones.machine, zone(name)->handle,
		clock_now_msec(), &status);
	return status;
}

/* A zone with bounds that its SOA does not keep. */
static void
zone_that_has_begun_follows_what_is_published(void **state)
{
	static const struct xfr_start begin = {.has_data = true,
		.soa = {7, 5000, 4000, 1000000}, .check_at = XFR_NEVER,
		.expire_at = XFR_NEVER};
	static const char text[] = "zone: name: a zonefile: f " BASE "\n";
	int64_t now = clock_now_msec();

	fixture_publish(text);
	fixture_open();
	assert_int_equal(xfrd_zones_begin(&fixture.xfrd, zone("a"), config("a"),
		&begin), NSD_OK);
	assert_true(status_of("a").check_at > now + 4000 * SEC);
	assert_int_equal(status_of("a").lifetime_msec, 1000000 * SEC);
	xfrd_turn_add(&fixture.xfrd, zone("a"));
	assert_true(status_of("a").has_data);
	fixture_publish("zone: name: a zonefile: f max-refresh-time: 100 max-retry-time: 100 "
		"min-expire-time: 2000000 " BASE "\n");
	xfrd_turn_add(&fixture.xfrd, zone("a"));
	/* The zone has begun anew: without data, as nothing is served here. */
	assert_false(status_of("a").has_data);
	xfrd_zones_end(&fixture.xfrd, zone("a"));
	assert_int_equal(xfrd_zones_begin(&fixture.xfrd, zone("a"), config("a"),
		&begin), NSD_OK);
	assert_true(status_of("a").check_at <= now + 200 * SEC);
	assert_int_equal(status_of("a").lifetime_msec, 2000000 * SEC);
	fixture_close();
}

/* A zone that is about to leave: the machine's index of a primary has no server
 * any more. */
static void
zone_that_has_lost_its_servers_is_let_alone(void **state)
{
	static const char text[] = "zone: name: a zonefile: f " BASE "\n";
	static const struct xfr_start begin = {.check_at = XFR_NEVER,
		.expire_at = XFR_NEVER};
	struct xfr_action action = {.act = XFR_PROBE};
	struct xfrd_job *job;

	fixture_publish(text);
	fixture_open();
	assert_int_equal(xfrd_zones_begin(&fixture.xfrd, zone("a"), config("a"),
		&begin), NSD_OK);
	action.zone = zone("a")->handle;
	job = xfrd_job_create(&fixture.xfrd, &action);
	assert_non_null(job);
	assert_string_equal(job->whom.spec, "192.0.2.1");
	assert_string_equal(job->name, "a");
	xfrd_job_free(job);
	action.primary = 1;
	assert_null(xfrd_job_create(&fixture.xfrd, &action));
	fixture_publish("zone: name: a zonefile: f\n");
	action.primary = 0;
	assert_null(xfrd_job_create(&fixture.xfrd, &action));
	xfrd_turn_add(&fixture.xfrd, zone("a"));
	assert_int_equal(zone("a")->handle, XFR_NONE);
	assert_null(zone("a")->past);
	fixture_close();
}

/* A job has what was published when it began. */
static void
job_keeps_its_copies(void **state)
{
	static const char text[] = TLS
		"key: name: k algorithm: sha256 secret: AAAA\n"
		"zone: name: A.B zonefile: f size-limit-xfr: 77 "
		"request-xfr: 192.0.2.1@5 k t notify: ::7 NOKEY "
		"outgoing-interface: 192.0.2.8 outgoing-interface: ::8@9\n";
	static const struct xfr_start begin = {.check_at = XFR_NEVER,
		.expire_at = XFR_NEVER};
	struct xfr_action action = {.act = XFR_PROBE};
	struct xfrd_job *asks, *tells;

	fixture_publish(text);
	fixture_open();
	assert_int_equal(xfrd_zones_begin(&fixture.xfrd, zone("a.b"),
		config("a.b"), &begin), NSD_OK);
	action.zone = zone("a.b")->handle;
	asks = xfrd_job_create(&fixture.xfrd, &action);
	action.act = XFR_NOTIFY;
	tells = xfrd_job_create(&fixture.xfrd, &action);
	assert_non_null(asks);
	assert_non_null(tells);
	fixture_publish("zone: name: a.b zonefile: f\n");
	assert_string_equal(asks->name, "A.B");
	assert_memory_equal(asks->apex, "\1a\1b", 5);
	assert_string_equal(asks->whom.spec, "192.0.2.1@5");
	assert_string_equal(asks->whom.key_name, "k");
	assert_true(asks->has_key);
	assert_memory_equal(asks->key.name, "\1k", 3);
	assert_string_equal(asks->whom.tls_auth_name, "t");
	assert_int_equal(asks->whom.port, 5);
	assert_int_equal(asks->size_limit, 77);
	assert_int_equal(asks->ours_count, 1);
	assert_int_equal(asks->ours[0].address[3], 8);
	assert_string_equal(tells->name, "A.B");
	assert_string_equal(tells->whom.spec, "::7");
	assert_null(tells->whom.key_name);
	assert_false(tells->has_key);
	assert_null(tells->whom.tls_auth_name);
	assert_int_equal(tells->whom.family, 6);
	assert_int_equal(tells->ours_count, 1);
	assert_int_equal(tells->ours[0].port, 9);
	xfrd_job_free(asks);
	xfrd_job_free(tells);
	fixture_close();
}

static void
texts_are_those_that_are_published(void **state)
{
	struct xfrd_options options;
	char name[NAME_TEXT_MAX];

	fixture_publish("zone: name: Dot. zonefile: f " BASE "\n");
	fixture_open();
	know("new");
	options = xfrd_options_begin(&fixture.xfrd, zone("dot"));
	assert_string_equal(xfrd_options_file(&options), "f");
	assert_null(xfrd_options_pattern(&options));
	assert_string_equal(xfrd_options_texts(&options, SETTINGS_NOTIFY,
		0).spec, "192.0.2.7");
	assert_null(xfrd_options_texts(&options, SETTINGS_NOTIFY, 1).spec);
	assert_string_equal(xfrd_zone_print_name(&fixture.xfrd, zone("dot"),
		name), "Dot.");
	xfrd_read_end(&fixture.xfrd);
	assert_true(xfrd_zone_is_secondary(&fixture.xfrd, zone("dot")));
	options = xfrd_options_begin(&fixture.xfrd, zone("new"));
	assert_null(options.entry);
	assert_null(xfrd_options_lists(&options));
	assert_null(xfrd_options_file(&options));
	assert_null(xfrd_options_pattern(&options));
	assert_string_equal(xfrd_zone_print_name(&fixture.xfrd, zone("new"),
		name), "new");
	xfrd_read_end(&fixture.xfrd);
	fixture_close();
}

/* However they came to be there; in the order of the store. */
static void
zones_are_those_that_are_published(void **state)
{
	static const char *const names[] = {"a", "b.a", "c", "x"};

	fixture_publish("pattern: name: p zonefile: f\n"
		"zone: name: c zonefile: f\nzone: name: A zonefile: f\n"
		"zone: name: b.a. zonefile: f\n");
	assert_int_equal(fixture_list("X", "p"), NSD_OK);
	fixture_open();
	assert_int_equal(fixture.xfrd.zones.table.count, 4);
	assert_int_equal(fixture.xfrd.zones.table.listed_count, 1);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(zone(names[i])->number, i);
		assert_int_equal(zone(names[i])->is_listed, i == 3);
		assert_int_equal(zone(names[i])->listed_at, 0);
	}
	fixture_close();
}

static void
xfrd_begins_without_zones(void **state)
{
	fixture_publish("pattern: name: p zonefile: f\n");
	fixture_open();
	assert_int_equal(fixture.xfrd.zones.table.count, 0);
	fixture_close();
}

static void
patterns_are_those_that_are_published(void **state)
{
	fixture_publish("pattern: name: p zonefile: f\n");
	fixture_open();
	assert_true(xfrd_has_pattern(&fixture.xfrd, "p"));
	assert_false(xfrd_has_pattern(&fixture.xfrd, "q"));
	fixture_publish("pattern: name: q zonefile: f\n");
	assert_false(xfrd_has_pattern(&fixture.xfrd, "p"));
	assert_true(xfrd_has_pattern(&fixture.xfrd, "q"));
	fixture_close();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, \
	fixture_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(zones_that_say_the_same_share_it),
		TEST(each_option_that_counts_makes_another),
		TEST(zone_waits_until_its_options_are_published),
		TEST(zone_that_has_begun_follows_what_is_published),
		TEST(zone_that_has_lost_its_servers_is_let_alone),
		TEST(job_keeps_its_copies),
		TEST(texts_are_those_that_are_published),
		TEST(zones_are_those_that_are_published),
		TEST(xfrd_begins_without_zones),
		TEST(patterns_are_those_that_are_published),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
