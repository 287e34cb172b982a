/* test_xfrd_members.c - a source of member zones gets those that it wants, and
 * touches no others. The changes themselves are played. */
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
#include "members.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_members.h"

#define CONF "pattern: name: p zonefile: a\npattern: name: q zonefile: b\n" \
	     "zone: name: fixed zonefile: c\n" \
	     "zone: name: a zonefile: c catalog: consumer\n" \
	     "zone: name: b zonefile: c catalog: consumer\n"
#define OPEN_MAX 4096u

/* ---- a source ------------------------------------------------------------ */

struct source {
	struct xfrd_members members;
	const char *suffix;
	enum xfrd_take take;
	unsigned ends, fails, rooms;
	char freed[64];
};

static struct source a, b;

static bool
owns(void *ctx, const struct xfrd_zone *zone, const char *id)
{
	const struct source *source = ctx;
	const char *dot = strchr(id, '.');

	return dot != NULL && strcmp(dot, source->suffix) == 0;
}

static enum xfrd_take
may_take(void *ctx, const struct xfrd_zone *zone, const char *id,
	const struct xfrd_member_ask *ask)
{
	return ((struct source *)ctx)->take;
}

static void
on_free(void *ctx, const struct xfrd_refused_member *refused)
{
	struct source *source = ctx;

	snprintf(source->freed, sizeof(source->freed), "%s",
		refused != NULL ? refused->id : "some");
}

static void
on_room(void *ctx)
{
	((struct source *)ctx)->rooms++;
}

static void
on_end(void *ctx, bool failed)
{
	struct source *source = ctx;

	source->ends++;
	source->fails += failed;
}

static const struct xfrd_source_hooks hooks = {owns, may_take, on_free, on_room,
	on_end};

static void
begin_source(struct source *source, const char *suffix)
{
	memset(source, 0, sizeof(*source));
	source->suffix = suffix;
	assert_int_equal(xfrd_members_init(&source->members, &fixture.xfrd,
		&hooks, source, "catalog a"), NSD_OK);
}

static int
begin(void **state)
{
	members_begin();
	fixture_begin(state);
	fixture_publish(CONF);
	fixture_open();
	begin_source(&a, ".zones.a.");
	begin_source(&b, ".zones.b.");
	return 0;
}

static int
end(void **state)
{
	xfrd_members_fini(&a.members);
	xfrd_members_fini(&b.members);
	fixture_close();
	return fixture_end(state);
}

static void
want(struct source *source, const char *name, const char *pattern,
	const char *id)
{
	uint8_t apex[NAME_MAX_LEN];
	const struct xfrd_member_ask ask = {apex, pattern, id};

	assert_true(conf_parse_zone_name(name, apex));
	xfrd_members_want(&source->members, &ask);
}

static void
drop(struct source *source, const char *name, const char *id)
{
	uint8_t apex[NAME_MAX_LEN];

	assert_true(conf_parse_zone_name(name, apex));
	xfrd_members_drop(&source->members, apex, id);
}

static void
turn(void)
{
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
}

/* Does all changes that were asked for, until the round ends. */
static void
finish(struct source *source)
{
	unsigned ends = source->ends;

	xfrd_members_end(&source->members);
	for (unsigned i = 0; i < 20 && source->ends == ends; i++) {
		turn();
		while (members_left() > 0)
			members_end_one(XFRD_CHANGED);
	}
	assert_int_equal(source->ends, ends + 1);
	assert_false(xfrd_members_is_busy(&source->members));
}

static void
assert_refused(const struct source *source, const char *expected)
{
	const struct xfrd_refused_member *refused;
	char text[1024] = "", reason[256];

	cds_list_for_each_entry(refused, &source->members.refused, node) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, "%s: %s\n",
			refused->id, xfrd_members_print_refusal(refused,
				reason, sizeof(reason)));
	}
	assert_string_equal(text, expected);
}

/* ---- tests --------------------------------------------------------------- */

static void
whole_round_leaves_what_is_wanted(void **state)
{
	members_list("gone", "p", "1.zones.a.");
	members_list("other", "p", "2.zones.b.");
	members_list("hand", "p", NULL);
	members_list("same", "p", "3.zones.a.");
	members_list("pattern", "p", "4.zones.a.");
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	want(&a, "same", "p", "3.zones.a.");
	want(&a, "pattern", "q", "4.zones.a.");
	want(&a, "new", "q", "5.zones.a.");
	assert_string_equal(members_said, "=pattern:q:4.zones.a.?4.zones.a. "
		"+new:q:5.zones.a. ");
	finish(&a);
	assert_string_equal(members_said, "=pattern:q:4.zones.a.?4.zones.a. "
		"+new:q:5.zones.a. -gone?1.zones.a. ");
	assert_int_equal(a.members.unwanted, 1);
	assert_int_equal(a.fails, 0);
	assert_null(fixture_find("gone"));
	assert_non_null(fixture_find("other"));
	assert_non_null(fixture_find("hand"));
	/* Another round finds no difference. */
	*members_said = '\0';
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	want(&a, "same", "p", "3.zones.a.");
	want(&a, "pattern", "q", "4.zones.a.");
	want(&a, "new", "q", "5.zones.a.");
	finish(&a);
	assert_string_equal(members_said, "");
}

static void
part_deletes_what_it_drops(void **state)
{
	members_list("x", "p", "1.zones.a.");
	members_list("y", "p", "2.zones.a.");
	members_list("z", "p", "3.zones.b.");
	xfrd_members_begin(&a.members, XFRD_ROUND_PART);
	drop(&a, "x", "1.zones.a.");
	drop(&a, "y", "1.zones.a.");
	drop(&a, "z", "3.zones.b.");
	drop(&a, "none", "1.zones.a.");
	want(&a, "new", "p", "4.zones.a.");
	finish(&a);
	assert_string_equal(members_said, "-x?1.zones.a. +new:p:4.zones.a. ");
}

static void
stopped_and_counting_rounds_delete_nothing(void **state)
{
	members_list("x", "p", "1.zones.a.");
	members_list("y", "p", "2.zones.a.");
	members_list("z", "p", "3.zones.b.");
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	xfrd_members_stop(&a.members);
	for (unsigned i = 0; i < 3; i++)
		turn();
	assert_int_equal(a.ends, 1);
	xfrd_members_begin(&a.members, XFRD_ROUND_COUNT);
	finish(&a);
	assert_int_equal(a.members.unwanted, 2);
	assert_string_equal(members_said, "");
}

/* RFC 9432 section 5.4 */
static void
other_id_resets_the_zone(void **state)
{
	members_list("x", "p", "1.zones.a.");
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	want(&a, "x", "q", "2.zones.a.");
	finish(&a);
	assert_string_equal(members_said, "-x?1.zones.a. +x:q:2.zones.a. ");
	assert_string_equal(xfrd_zone_member(&fixture.xfrd.zones.table,
		fixture_find("x")), "2.zones.a.");
}

/* RFC 9432 section 5.2 */
static void
zones_of_others_are_refused(void **state)
{
	members_list("other", "p", "2.zones.b.");
	members_list("hand", "p", NULL);
	members_list("produced", "p", "2.zones.producer.");
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	want(&a, "other", "p", "1.zones.a.");
	want(&a, "hand", "p", "2.zones.a.");
	want(&a, "produced", "p", "3.zones.a.");
	want(&a, "fixed", "p", "4.zones.a.");
	finish(&a);
	assert_string_equal(members_said, "");
	assert_refused(&a,
		"1.zones.a.: the zone is a member of another source:"
		" 2.zones.b.\n"
		"2.zones.a.: the zone was added by hand\n"
		"3.zones.a.: the zone was added by hand, or by a source that is"
		" not there any more: 2.zones.producer.\n"
		"4.zones.a.: the zone is in nsd.conf\n");
	/* The source hears of a name that becomes free. */
	members_unlist("other");
	assert_string_equal(a.freed, "1.zones.a.");
	assert_string_equal(b.freed, "");
	xfrd_members_begin(&a.members, XFRD_ROUND_PART);
	want(&a, "other", "p", "1.zones.a.");
	drop(&a, "hand", "2.zones.a.");
	drop(&a, "fixed", "3.zones.a.");
	finish(&a);
	assert_string_equal(members_said, "+other:p:1.zones.a. ");
	assert_refused(&a, "3.zones.a.: the zone was added by hand, or by a"
		" source that is not there any more: 2.zones.producer.\n"
		"4.zones.a.: the zone is in nsd.conf\n");
}

/* RFC 9432 section 4.4.1 */
static void
zone_moves_if_it_may(void **state)
{
	members_list("x", "p", "1.zones.b.");
	members_list("y", "p", "2.zones.b.");
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	a.take = XFRD_TAKE_KEEP;
	want(&a, "x", "q", "1.zones.a.");
	a.take = XFRD_TAKE_RESET;
	want(&a, "y", "q", "3.zones.a.");
	finish(&a);
	assert_string_equal(members_said, "=x:q:1.zones.a.?1.zones.b. "
		"-y?2.zones.b. +y:q:3.zones.a. ");
	assert_refused(&a, "");
	/* The source that had it hears of that. */
	assert_string_equal(b.freed, "2.zones.b.");
	assert_string_equal(a.freed, "");
}

static void
offer(const struct source *to, const char *name)
{
	uint8_t apex[NAME_MAX_LEN];

	assert_true(conf_parse_zone_name(name, apex));
	xfrd_members_on_offered(&to->members, apex);
}

/* Another source has nothing to do with it, nor has another reason. */
static void
source_hears_of_an_offer_that_it_waits_for(void **state)
{
	members_list("other", "p", "2.zones.b.");
	members_list("hand", "p", NULL);
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	want(&a, "other", "p", "1.zones.a.");
	want(&a, "fixed", "p", "2.zones.a.");
	want(&a, "hand", "p", "3.zones.a.");
	finish(&a);
	offer(&a, "fixed");
	offer(&a, "unknown");
	offer(&b, "other");
	assert_string_equal(a.freed, "");
	assert_string_equal(b.freed, "");
	offer(&a, "other");
	assert_string_equal(a.freed, "1.zones.a.");
	offer(&a, "hand");
	assert_string_equal(a.freed, "3.zones.a.");
	assert_string_equal(b.freed, "");
}

/* But not of one that has moved from it. */
static void
source_hears_of_a_member_that_has_come_anew(void **state)
{
	uint8_t apex[NAME_MAX_LEN];
	const struct xfrd_member_ask ask = {apex, "p", "2.zones.a."};

	members_list("x", "p", "1.zones.b.");
	members_list("y", "p", "2.zones.b.");
	assert_true(conf_parse_zone_name("y", apex));
	xfrd_members_begin(&a.members, XFRD_ROUND_PART);
	want(&a, "x", "p", "1.zones.a.");
	xfrd_members_refuse(&a.members, &ask, XFRD_REFUSAL_MOVED, "b", true);
	finish(&a);
	xfrd_members_begin(&b.members, XFRD_ROUND_PART);
	want(&b, "y", "p", "3.zones.b.");
	finish(&b);
	assert_string_equal(a.freed, "");
	xfrd_members_begin(&b.members, XFRD_ROUND_PART);
	want(&b, "x", "p", "4.zones.b.");
	finish(&b);
	assert_string_equal(a.freed, "1.zones.a.");
}

/* The name is free all the same. */
static void
source_hears_of_a_member_that_does_not_come_anew(void **state)
{
	members_list("x", "p", "1.zones.b.");
	xfrd_members_begin(&a.members, XFRD_ROUND_PART);
	want(&a, "x", "p", "1.zones.a.");
	finish(&a);
	xfrd_members_begin(&b.members, XFRD_ROUND_PART);
	want(&b, "x", "r", "2.zones.b.");
	members_end_one(XFRD_CHANGED);
	assert_string_equal(a.freed, "");
	members_end_one(XFRD_CHANGED_NO_PATTERN);
	assert_string_equal(a.freed, "1.zones.a.");
	finish(&b);
}

static void
refusal_takes_the_place_of_the_one_that_lends_it(void **state)
{
	uint8_t apex[NAME_MAX_LEN];
	struct xfrd_member_ask ask = {apex, "p", "1.zones.a."};
	const struct xfrd_refused_member *refused;

	assert_true(conf_parse_zone_name("x", apex));
	refused = xfrd_members_keep_refused(&a.members, &ask,
		XFRD_REFUSAL_MEMBER, "2.zones.b.");
	assert_non_null(refused);
	ask.apex = refused->apex;
	ask.id = refused->id;
	refused = xfrd_members_keep_refused(&a.members, &ask,
		XFRD_REFUSAL_MOVED, refused->text);
	assert_non_null(refused);
	assert_int_equal(a.members.refused_count, 1);
	assert_true(name_equal(refused->apex, apex));
	assert_string_equal(refused->id, "1.zones.a.");
	assert_string_equal(refused->text, "2.zones.b.");
}

static void
source_may_refuse_its_own(void **state)
{
	uint8_t apex[NAME_MAX_LEN];
	const struct xfrd_member_ask ask = {apex, NULL, "1.zones.a."};

	members_list("x", "p", "1.zones.a.");
	assert_true(conf_parse_zone_name("x", apex));
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	xfrd_members_refuse(&a.members, &ask, XFRD_REFUSAL_PATTERN, "none",
		true);
	finish(&a);
	assert_string_equal(members_said, "");
	assert_refused(&a, "1.zones.a.: no pattern none\n");
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	xfrd_members_refuse(&a.members, &ask, XFRD_REFUSAL_ALLOW, NULL, false);
	finish(&a);
	assert_string_equal(members_said, "-x?1.zones.a. ");
	assert_refused(&a, "1.zones.a.: not in catalog-allow\n");
}

static void
failed_changes_are_told(void **state)
{
	members_list("x", "p", "1.zones.a.");
	members_list("y", "p", "2.zones.a.");
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	want(&a, "new", "p", "3.zones.a.");
	want(&a, "y", "p", "4.zones.a.");
	want(&a, "bad", "r", "5.zones.a.");
	xfrd_members_end(&a.members);
	members_end_one(XFRD_CHANGED_UNLISTED);
	members_end_one(XFRD_CHANGED_FAILED);
	members_end_one(XFRD_CHANGED_NO_PATTERN);
	turn();
	turn();
	/* The deletion of x fails, too. */
	members_end_one(XFRD_CHANGED_UNLISTED);
	turn();
	assert_int_equal(members_asked, 4);
	assert_int_equal(a.ends, 1);
	assert_int_equal(a.fails, 1);
	assert_refused(&a, "3.zones.a.: why\n4.zones.a.: why\n"
		"5.zones.a.: no pattern r\n");
}

static void
zone_that_came_meanwhile_is_looked_at_again(void **state)
{
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	want(&a, "x", "p", "1.zones.a.");
	members_list("x", "q", NULL);
	members_end_one(XFRD_CHANGED_EXISTS);
	finish(&a);
	assert_string_equal(members_said, "+x:p:1.zones.a. ");
	assert_int_equal(a.fails, 0);
	assert_refused(&a, "1.zones.a.: the zone was added by hand\n");
}

static void
source_may_end_amid_changes(void **state)
{
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	want(&a, "x", "p", "1.zones.a.");
	want(&a, "fixed", "p", "2.zones.a.");
	xfrd_members_fini(&a.members);
	members_end_one(XFRD_CHANGED);
	assert_non_null(fixture_find("x"));
	begin_source(&a, ".zones.a.");
}

static void
changes_under_way_have_a_bound(void **state)
{
	char name[32], id[32];
	unsigned i;

	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	for (i = 0; !xfrd_members_is_full(&a.members); i++) {
		snprintf(name, sizeof(name), "z%u", i);
		snprintf(id, sizeof(id), "%u.zones.a.", i);
		want(&a, name, "p", id);
	}
	assert_int_equal(i, OPEN_MAX);
	turn();
	assert_int_equal(a.rooms, 0);
	members_end_one(XFRD_CHANGED_NO_NAME);
	turn();
	assert_int_equal(a.rooms, 1);
	while (members_left() > 0)
		members_end_one(XFRD_CHANGED_NO_NAME);
	finish(&a);
	/* Refusals have one, too. */
	assert_int_equal(a.members.refused_count, XFRD_REFUSED_MAX);
	assert_int_equal(a.members.refused_more, OPEN_MAX - XFRD_REFUSED_MAX);
	members_list("hand", "p", NULL);
	members_unlist("hand");
	assert_string_equal(a.freed, "some");
	xfrd_members_begin(&a.members, XFRD_ROUND_WHOLE);
	finish(&a);
	assert_int_equal(a.members.refused_count + a.members.refused_more, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(whole_round_leaves_what_is_wanted),
		TEST(part_deletes_what_it_drops),
		TEST(stopped_and_counting_rounds_delete_nothing),
		TEST(other_id_resets_the_zone),
		TEST(zones_of_others_are_refused),
		TEST(zone_moves_if_it_may),
		TEST(source_hears_of_an_offer_that_it_waits_for),
		TEST(source_hears_of_a_member_that_has_come_anew),
		TEST(source_hears_of_a_member_that_does_not_come_anew),
		TEST(refusal_takes_the_place_of_the_one_that_lends_it),
		TEST(source_may_refuse_its_own),
		TEST(failed_changes_are_told),
		TEST(zone_that_came_meanwhile_is_looked_at_again),
		TEST(source_may_end_amid_changes),
		TEST(changes_under_way_have_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
