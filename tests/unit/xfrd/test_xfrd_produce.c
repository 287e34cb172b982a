/* test_xfrd_produce.c - catalogs that are produced here: comparisons with a
 * served version, which take more than one turn of the loop. The journal and
 * the loader are played. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "lib/zone_fixture.h"
#include "xfrd/xfrd_edit.h"
#include "xfrd/xfrd_produce.h"

#define PRODUCER "zone: name: cat catalog: producer\n"
#define NO_PRODUCER "zone: name: cat zonefile: c\n"
#define HEAD "@ 0 NS invalid.\nversion 0 TXT 2\n"
/* More than three turns have. */
#define MEMBERS 1600u
/* Zones that are members: more than a version has names. */
#define ZONES 600u
/* More turns than any test needs. */
#define TURNS_MAX 50u

/* The edit that was asked for; on_end NULL: there is none. */
static struct xfrd_edit_ask asked;
static uint8_t asked_records[1u << 17];

/* ---- stand-ins ----------------------------------------------------------- */

enum nsd_err
xfrd_edit(struct xfrd *xfrd, const struct xfrd_edit_ask *ask)
{
	assert_null(asked.on_end);
	assert_true(ask->len <= sizeof(asked_records));
	memcpy(asked_records, ask->records, ask->len);
	asked = *ask;
	return NSD_OK;
}

enum nsd_err
xfrd_edit_resume(struct xfrd *xfrd, const uint8_t *apex,
	xfrd_edit_on_end *on_end, void *ctx)
{
	return NSD_E_NOT_FOUND;
}

bool
xfrd_keep_is_lost(struct xfrd *xfrd)
{
	return false;
}

enum nsd_err
xfrd_loader_expire(struct xfrd *xfrd, const uint8_t *apex, uint64_t left_msec)
{
	return NSD_OK;
}

/* ---- helpers ------------------------------------------------------------- */

/* Serves a version of the catalog: SOA and records. */
static void
serve(const char *serial, const char *records)
{
	fixture_serve("cat", serial, records);
}

/* Serves a version with members that are no zones here. */
static void
serve_members(const char *serial)
{
	char *text = malloc(MEMBERS * 40 + 100), *at = text;

	assert_non_null(text);
	at += sprintf(at, HEAD);
	for (unsigned i = 0; i < MEMBERS; i++)
		at += sprintf(at, "m%u.zones 0 PTR z%u.\n", i, i);
	serve(serial, text);
	free(text);
}

/* Serves a version with all zones, whose member nodes have records that they
 * are not to have: odd, with %s for the node. */
static void
serve_zones(const char *odd, const char *more)
{
	char *text = malloc(ZONES * 600 + 200), *at = text;
	char name[16], node[NAME_TEXT_MAX];
	uint8_t owner[NAME_MAX_LEN];

	assert_non_null(text);
	at += sprintf(at, HEAD "%s", more);
	for (unsigned i = 0; i < ZONES; i++) {
		snprintf(name, sizeof(name), "zone%u", i);
		assert_true(xfrd_produce_find_owner(&fixture.xfrd,
			fixture_find(name), zone_fixture_name("cat"), owner));
		name_print_text(owner, node);
		at += sprintf(at, "%s 0 PTR %s.\ngroup.%s 0 TXT p\n", node,
			name, node);
		for (const char *c = odd; *c != '\0'; c++)
			at += *c == '%' ? sprintf(at, "%s", node)
					: sprintf(at, "%c", *c);
	}
	serve("1", text);
	free(text);
}

static struct produce_zone *
find_catalog(void)
{
	return xfrd_produce_find(&fixture.xfrd, zone_fixture_name("cat"));
}

static void
turn(void)
{
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
}

/* Has some records of the served version compared. */
static void
begin_comparison(void)
{
	const struct produce_zone *z = NULL;

	xfrd_produce_look(&fixture.xfrd);
	for (unsigned i = 0; i < TURNS_MAX
		&& (z == NULL || z->cursor == NULL); i++) {
		turn();
		z = find_catalog();
	}
	assert_true(z != NULL && z->cursor != NULL);
}

/* Goes on until all of the served version is compared. Returns its members. */
static uint64_t
count_compared(void)
{
	bool found = false;
	uint64_t count = 0;

	for (unsigned i = 0; i < TURNS_MAX && !found; i++) {
		turn();
		found = xfrd_produce_find_count(&fixture.xfrd,
			zone_fixture_name("cat"), &count);
	}
	assert_true(found);
	return count;
}

static void
run_until_asked(void)
{
	for (unsigned i = 0; i < TURNS_MAX && asked.on_end == NULL; i++)
		turn();
	assert_non_null(asked.on_end);
}

/* The edit ends. */
static void
end_edit(enum nsd_err err)
{
	const struct xfrd_edit_end end = {.err = err, .why = "because"};
	xfrd_edit_on_end *on_end = asked.on_end;

	asked.on_end = NULL;
	on_end(asked.ctx, &end);
}

static void
begin_with(void **state, const char *conf)
{
	(void)fixture_begin(state);
	fixture_publish(conf);
	fixture_open();
	fixture.xfrd.journal = (struct journal *)&asked;
	assert_int_equal(xfrd_produce_init(&fixture.xfrd), NSD_OK);
	asked.on_end = NULL;
}

static int
begin(void **state)
{
	begin_with(state, PRODUCER);
	return 0;
}

static int
begin_zones(void **state)
{
	char *text = malloc(ZONES * 60 + 200), *at = text;

	assert_non_null(text);
	at += sprintf(at, PRODUCER "pattern: name: p zonefile: p"
		" catalog-producer-zone: cat\n");
	for (unsigned i = 0; i < ZONES; i++)
		at += sprintf(at, "zone: name: zone%u include-pattern: p\n",
			i);
	begin_with(state, text);
	free(text);
	return 0;
}

static int
end(void **state)
{
	struct xfrd *xfrd = &fixture.xfrd;

	assert_null(asked.on_end);
	fixture_publish(NO_PRODUCER);
	xfrd_produce_look(xfrd);
	for (unsigned i = 0; i < TURNS_MAX && xfrd->produce.looking; i++)
		turn();
	assert_null(find_catalog());
	assert_int_equal(fixture_count_pins(), 0);
	event_free(xfrd->produce.event);
	fixture_close();
	return fixture_end(state);
}

/* ---- tests --------------------------------------------------------------- */

static void
version_that_is_replaced_is_compared_to_its_end(void **state)
{
	serve_members("1");
	begin_comparison();
	serve("2", HEAD);
	assert_int_equal(count_compared(), MEMBERS);
	assert_int_equal(fixture_count_pins(), 0);
}

static void
version_that_is_let_go_is_compared_no_more(void **state)
{
	serve_members("1");
	begin_comparison();
	serve("2", HEAD "x.zones 0 PTR x.\n");
	xfrd_produce_let_go(&fixture.xfrd, 0);
	assert_int_equal(fixture_count_pins(), 1);
	xfrd_produce_let_go(&fixture.xfrd, UINT64_MAX);
	assert_int_equal(fixture_count_pins(), 0);
	assert_int_equal(count_compared(), 1);
}

static void
zone_that_is_no_catalog_any_more_is_not_pinned(void **state)
{
	serve_members("1");
	begin_comparison();
	assert_int_equal(fixture_count_pins(), 1);
	fixture_publish(NO_PRODUCER);
	turn();
	assert_int_equal(fixture_count_pins(), 0);
}

/* A file was read over the version. */
static void
version_that_comes_during_a_comparison_is_compared(void **state)
{
	static const uint8_t owner[] = "\1x\5zones\3cat";

	serve_members("1");
	begin_comparison();
	serve("2", HEAD "x.zones 0 PTR x.\n");
	xfrd_produce_look_at_served(&fixture.xfrd);
	run_until_asked();
	assert_int_equal(asked.from, 2);
	assert_non_null(memmem(asked_records, asked.len, owner,
		sizeof(owner)));
	end_edit(NSD_OK);
}

static void
comparison_after_a_failure_pauses_once(void **state)
{
	static const struct timeval now = {.tv_sec = 0};

	serve_members("1");
	xfrd_produce_look(&fixture.xfrd);
	run_until_asked();
	/* Pauses grow, to a minute here: no turn takes as long. */
	for (unsigned i = 0; i < 8; i++) {
		/* Another zone has come meanwhile. */
		event_add(find_catalog()->event, &now);
		end_edit(NSD_E_ZONE);
		for (unsigned j = 0; i == 7 && j < TURNS_MAX; j++)
			turn();
		assert_null(asked.on_end);
		/* The pause is over. */
		event_active(find_catalog()->event, EV_TIMEOUT, 1);
		run_until_asked();
	}
	end_edit(NSD_OK);
}

static bool
asked_has(const char *text, size_t len)
{
	return memmem(asked_records, asked.len, text, len) != NULL;
}

/* Ends all versions, none of which is served: they change no record that the
 * zones are to have. Returns how many there are. */
static unsigned
end_versions(void)
{
	unsigned count = 0;
	char name[16];

	xfrd_produce_look(&fixture.xfrd);
	for (unsigned i = 0; i < TURNS_MAX; i++) {
		turn();
		if (asked.on_end == NULL)
			continue;
		for (unsigned j = 0; j < ZONES; j++) {
			int len = snprintf(name, sizeof(name), "%czone%u",
				j < 10 ? 5 : j < 100 ? 6 : 7, j);

			assert_false(asked_has(name, (size_t)len + 1));
		}
		assert_false(asked_has("\5group\40", 7));
		count++;
		end_edit(NSD_OK);
	}
	return count;
}

/* Whether they are before or behind the group in canonical order, and whatever
 * they are called. */
static void
odd_properties_go_alone(void **state)
{
	serve_zones("group.aaa.% 0 TXT x\nzzz.% 0 PTR x.\n", "");
	assert_int_equal(end_versions(), 3);
}

static void
zone_keeps_a_node_that_has_other_names_too(void **state)
{
	serve_zones("% 0 PTR a.\n% 0 PTR zzzzzzzzz.\n", "");
	assert_true(end_versions() > 1);
}

static void
group_of_no_member_node_goes(void **state)
{
	static const char owner[] = "\5group\1a\1b\3cat";

	serve_zones("", "group.a.b 0 TXT p\n");
	xfrd_produce_look(&fixture.xfrd);
	run_until_asked();
	assert_true(asked_has(owner, sizeof(owner)));
	end_edit(NSD_OK);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define TEST_ZONES(name) cmocka_unit_test_setup_teardown(name, begin_zones, end)
	const struct CMUnitTest tests[] = {
		TEST(version_that_is_replaced_is_compared_to_its_end),
		TEST(version_that_is_let_go_is_compared_no_more),
		TEST(zone_that_is_no_catalog_any_more_is_not_pinned),
		TEST(version_that_comes_during_a_comparison_is_compared),
		TEST(comparison_after_a_failure_pauses_once),
		TEST_ZONES(odd_properties_go_alone),
		TEST_ZONES(zone_keeps_a_node_that_has_other_names_too),
		TEST_ZONES(group_of_no_member_node_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
