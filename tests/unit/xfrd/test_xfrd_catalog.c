/* test_xfrd_catalog.c - versions of a catalog are compared with its members:
 * whole, or what has changed; and a bad version changes nothing. The changes
 * themselves are played. */
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
#include "lib/history_fixture.h"
#include "lib/zone_fixture.h"
#include "members.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "zone/table.h"
#include "zonedb/history_edit.h"

#define CATALOG(name, more) "zone: name: " name " zonefile: c " more \
	" catalog: consumer catalog-member-pattern: p\n"
#define CONF(more) "pattern: name: p zonefile: a\n" \
	"pattern: name: q zonefile: b\nzone: name: fixed zonefile: c\n" \
	CATALOG("cat", more) CATALOG("two", "") CATALOG("three", "")
/* Members have the pattern of their group, or none. */
#define CONF_GROUPS "pattern: name: p zonefile: a\n" \
	"zone: name: cat zonefile: c catalog: consumer\n" \
	"zone: name: two zonefile: c catalog: consumer\n"
#define SOA(serial) "@ 0 SOA . . " serial " 2 3 4 5\n"
#define HEAD "@ 0 NS invalid.\nversion 0 TXT 2\n"

static const struct history_limits limits = {100, 1u << 20};

/* ---- versions ------------------------------------------------------------ */

/* Serves a version of a catalog: SOA, NS and records. */
static void
serve(const char *name, const char *serial, const char *records)
{
	fixture_serve(name, serial, records);
	xfrd_catalog_hear(&fixture.xfrd, fixture_find(name));
}

/* The differences that lead to the next version are kept. */
static void
push(const char *removed, const char *added)
{
	store_ref ref;

	assert_int_equal(table_find_apex(fixture.store.view,
		zone_fixture_name("cat"), &ref), NSD_OK);
	history_fixture_push(fixture.store.writer, ref, &limits, removed,
		added);
}

/* Does all that there is to do, if that ends. Each change has that outcome. */
static void
rest_with(enum xfrd_changed outcome)
{
	for (unsigned i = 0; i < 200; i++) {
		event_base_loop(fixture.xfrd.role.base,
			EVLOOP_NONBLOCK | EVLOOP_ONCE);
		while (members_left() > 0)
			members_end_one(outcome);
	}
}

static void
rest(void)
{
	rest_with(XFRD_CHANGED);
}

static const struct xfrd_catalog *
catalog(const char *name)
{
	const struct xfrd_catalog *found = xfrd_catalog_find(&fixture.xfrd,
		zone_fixture_name(name));

	assert_non_null(found);
	assert_null(found->round);
	return found;
}

static void
assert_said(const char *expected)
{
	rest();
	assert_string_equal(members_said, expected);
	*members_said = '\0';
}

static void
assert_invalid(const char *expected)
{
	char text[256];

	assert_string_equal(xfrd_catalog_print_invalid(catalog("cat"), text,
		sizeof(text)), expected);
}

static int
begin_with(void **state, const char *conf)
{
	members_begin();
	fixture_begin(state);
	fixture_publish(conf);
	fixture_open();
	assert_int_equal(xfrd_catalog_init(&fixture.xfrd), NSD_OK);
	return 0;
}

static int
begin(void **state)
{
	return begin_with(state, CONF(""));
}

static int
end(void **state)
{
	struct xfrd *xfrd = &fixture.xfrd;

	for (uint32_t i = 0; i < xfrd->zones.table.end; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(&xfrd->zones.table, i);

		if (zone != NULL)
			xfrd_catalog_forget(xfrd, zone);
	}
	event_base_loop(xfrd->role.base, EVLOOP_NONBLOCK);
	assert_true(cds_list_empty(&xfrd->sources));
	event_free(xfrd->catalogs_event);
	fixture_close();
	return fixture_end(state);
}

/* ---- changes of a version ------------------------------------------------ */

/* Returns a catalog of so many members, in memory to be freed. */
static char *
make_records(unsigned count)
{
	char *text = malloc(count * 40 + 100), *at = text;

	assert_non_null(text);
	at += sprintf(at, HEAD);
	for (unsigned i = 0; i < count; i++)
		at += sprintf(at, "m%u.zones 0 PTR z%u.\n", i, i);
	return text;
}

/* Returns how many member nodes are looked at if one of so many comes and one
 * goes. */
static uint64_t
count_steps(unsigned count)
{
	char *text = make_records(count), *more;
	uint64_t steps;

	serve("cat", "1", text);
	rest();
	assert_int_equal(catalog("cat")->count, count);
	steps = catalog("cat")->steps;
	assert_int_equal(steps, 2 * count);
	*members_said = '\0';
	push(SOA("1") "m0.zones 0 PTR z0.\n", SOA("2") "x.zones 0 PTR x.\n");
	assert_true(asprintf(&more, "%s%sx.zones 0 PTR x.\n", HEAD,
		strstr(text, "m1.")) > 0);
	serve("cat", "2", more);
	assert_said("+x:p:x.zones.cat. -z0?m0.zones.cat. ");
	assert_int_equal(catalog("cat")->count, count);
	steps = catalog("cat")->steps - steps;
	free(text);
	free(more);
	return steps;
}

static void
steps_of_a_change_do_not_grow_with_the_catalog(void **state)
{
	uint64_t small = count_steps(10);

	end(state);
	begin(state);
	assert_int_equal(count_steps(300), small);
	assert_int_equal(small, 4);
}

/* Nodes beyond a limit are not looked up one by one. */
static void
many_changes_have_all_members_looked_at(void **state)
{
	size_t size = 20001 * 40u + 200;
	char *text = malloc(size), *at = text;

	assert_non_null(text);
	serve("cat", "1", HEAD "1.zones 0 PTR a.\n");
	rest();
	*members_said = '\0';
	at += sprintf(at, SOA("2") "2.zones 0 PTR b.\n");
	for (unsigned i = 0; i < 20000; i++)
		at += sprintf(at, "group.x%u.zones 0 TXT x\n", i);
	push(SOA("1"), text);
	serve("cat", "2", HEAD "1.zones 0 PTR a.\n2.zones 0 PTR b.\n");
	assert_said("+b:p:2.zones.cat. ");
	assert_int_equal(catalog("cat")->steps, 2 + 4);
	assert_int_equal(catalog("cat")->count, 2);
	free(text);
}

static void
without_a_history_all_members_are_looked_at(void **state)
{
	serve("cat", "1", HEAD "1.zones 0 PTR a.\n2.zones 0 PTR b.\n");
	assert_said("+a:p:1.zones.cat. +b:p:2.zones.cat. ");
	serve("cat", "2", HEAD "2.zones 0 PTR b.\n3.zones 0 PTR c.\n");
	assert_said("+c:p:3.zones.cat. -a?1.zones.cat. ");
	assert_int_equal(catalog("cat")->steps, 8);
	/* The same version is not looked at again. */
	xfrd_catalog_hear(&fixture.xfrd, fixture_find("cat"));
	assert_said("");
	assert_int_equal(catalog("cat")->steps, 8);
	/* Other records may have the same serial. */
	serve("cat", "2", HEAD "2.zones 0 PTR b.\n");
	assert_said("-c?3.zones.cat. ");
	xfrd_catalog_follow(&fixture.xfrd);
	assert_said("");
	assert_int_equal(catalog("cat")->steps, 12);
}

static void
nodes_that_change_are_compared(void **state)
{
	serve("cat", "1", HEAD "1.zones 0 PTR a.\n2.zones 0 PTR b.\n"
		"3.zones 0 PTR c.\n");
	rest();
	*members_said = '\0';
	/* Another label, another name, a group, and a node that comes and goes
	 * again. */
	push(SOA("1") "1.zones 0 PTR a.\n2.zones 0 PTR b.\n", SOA("2")
		"9.zones 0 PTR a.\n2.zones 0 PTR d.\n8.zones 0 PTR x.\n"
		"group.3.zones 0 TXT q\n");
	push(SOA("2") "8.zones 0 PTR x.\n", SOA("3") "x.ext 0 TXT no\n");
	serve("cat", "3", HEAD "9.zones 0 PTR a.\n2.zones 0 PTR d.\n"
		"3.zones 0 PTR c.\ngroup.3.zones 0 TXT q\nx.ext 0 TXT no\n");
	/* RFC 9432 section 5.4: another label resets the zone. */
	assert_said("-a?1.zones.cat. -b?2.zones.cat. +d:p:2.zones.cat."
		" =c:q:3.zones.cat.?3.zones.cat. -a?1.zones.cat."
		" +a:p:9.zones.cat. ");
	assert_int_equal(catalog("cat")->count, 3);
	assert_int_equal(catalog("cat")->members.refused_count, 0);
}

/* A serial that was compared may come again, with other members: a version with
 * a lower one was forced between. */
static void
serial_that_comes_again_has_all_members_looked_at(void **state)
{
	serve("cat", "5", HEAD "1.zones 0 PTR a.\n2.zones 0 PTR b.\n");
	rest();
	*members_said = '\0';
	serve("cat", "4", HEAD "1.zones 0 PTR a.\n");
	push(SOA("4"), SOA("5") "3.zones 0 PTR c.\n");
	serve("cat", "5", HEAD "1.zones 0 PTR a.\n3.zones 0 PTR c.\n");
	push(SOA("5"), SOA("6") "4.zones 0 PTR d.\n");
	serve("cat", "6", HEAD "1.zones 0 PTR a.\n3.zones 0 PTR c.\n"
		"4.zones 0 PTR d.\n");
	assert_said("+c:p:3.zones.cat. +d:p:4.zones.cat. -b?2.zones.cat. ");
	assert_int_equal(catalog("cat")->count, 3);
}

/* ---- versions that are not valid ----------------------------------------- */

static void
bad_version_changes_nothing(void **state)
{
	serve("cat", "1", HEAD "1.zones 0 PTR a.\n2.zones 0 PTR b.\n");
	rest();
	*members_said = '\0';
	push(SOA("1") "1.zones 0 PTR a.\nversion 0 TXT 2\n", SOA("2"));
	serve("cat", "2", "@ 0 NS invalid.\n2.zones 0 PTR b.\n");
	assert_said("");
	assert_invalid("'version.cat.' TXT RRset not found");
	push(SOA("2"), SOA("3") "version 0 TXT 2\n3.zones 0 PTR b.\n");
	serve("cat", "3", HEAD "2.zones 0 PTR b.\n3.zones 0 PTR b.\n");
	assert_said("");
	assert_invalid("'3.zones.cat.' and another member node have the same"
		" name 'b.'");
	/* The changes since the last valid version count. */
	push(SOA("3") "3.zones 0 PTR b.\n", SOA("4"));
	serve("cat", "4", HEAD "2.zones 0 PTR b.\n");
	assert_said("-a?1.zones.cat. ");
	assert_invalid("");
	assert_int_equal(catalog("cat")->count, 1);
}

static void
members_are_counted_without_a_valid_version(void **state)
{
	members_list("a", "p", "1.zones.cat.");
	members_list("b", "p", "2.zones.cat.");
	members_list("c", "p", "2.zones.two.");
	xfrd_catalog_hear(&fixture.xfrd, fixture_find("cat"));
	assert_said("");
	assert_int_equal(xfrd_catalog_count(catalog("cat")), 2);
	serve("cat", "1", "@ 0 NS invalid.\n");
	assert_said("");
	assert_int_equal(xfrd_catalog_count(catalog("cat")), 2);
	serve("cat", "2", HEAD "2.zones 0 PTR b.\n");
	assert_said("-a?1.zones.cat. ");
	assert_int_equal(xfrd_catalog_count(catalog("cat")), 1);
}

static void
two_nodes_with_one_name_are_found(void **state)
{
	/* Whether or not there is such a zone. */
	serve("cat", "1", HEAD "1.zones 0 PTR fixed.\n2.zones 0 PTR FIXED.\n");
	assert_said("");
	assert_invalid("'2.zones.cat.' and another member node have the same"
		" name 'fixed.'");
	serve("cat", "2", HEAD);
	rest();
	assert_invalid("");
	push(SOA("2"), SOA("3") "1.zones 0 PTR a.\n2.zones 0 PTR a.\n");
	serve("cat", "3", HEAD "1.zones 0 PTR a.\n2.zones 0 PTR a.\n");
	assert_said("");
	assert_invalid("'2.zones.cat.' and another member node have the same"
		" name 'a.'");
}

/* The member that was there before was refused, so there is no zone of it. */
static void
second_node_of_a_refused_name_is_found(void **state)
{
	serve("cat", "1", HEAD "1.zones 0 PTR fixed.\n");
	rest();
	*members_said = '\0';
	push(SOA("1"), SOA("2") "2.zones 0 PTR fixed.\n3.zones 0 PTR c.\n");
	serve("cat", "2", HEAD "1.zones 0 PTR fixed.\n"
		"2.zones 0 PTR fixed.\n3.zones 0 PTR c.\n");
	assert_said("");
	assert_invalid("'2.zones.cat.' and another member node have the same"
		" name 'fixed.'");
	push(SOA("2") "1.zones 0 PTR fixed.\n", SOA("3"));
	serve("cat", "3", HEAD "2.zones 0 PTR fixed.\n3.zones 0 PTR c.\n");
	assert_said("+c:p:3.zones.cat. ");
	assert_invalid("");
}

static int
begin_max(void **state)
{
	return begin_with(state, CONF("catalog-max: 2"));
}

static void
members_beyond_catalog_max_do_not_come(void **state)
{
	serve("cat", "1", HEAD "1.zones 0 PTR a.\n2.zones 0 PTR b.\n");
	assert_said("+a:p:1.zones.cat. +b:p:2.zones.cat. ");
	/* A name that changes is none more. */
	push(SOA("1") "1.zones 0 PTR a.\n", SOA("2") "1.zones 0 PTR c.\n");
	serve("cat", "2", HEAD "1.zones 0 PTR c.\n2.zones 0 PTR b.\n");
	assert_said("-a?1.zones.cat. +c:p:1.zones.cat. ");
	push(SOA("2"), SOA("3") "3.zones 0 PTR d.\n");
	serve("cat", "3", HEAD "1.zones 0 PTR c.\n2.zones 0 PTR b.\n"
		"3.zones 0 PTR d.\n");
	assert_said("");
	assert_invalid("there are more than 2 members"
		" (catalog-max)");
	push(SOA("3") "2.zones 0 PTR b.\n", SOA("4"));
	serve("cat", "4", HEAD "1.zones 0 PTR c.\n3.zones 0 PTR d.\n");
	assert_said("-b?2.zones.cat. +d:p:3.zones.cat. ");
	assert_invalid("");
}

static void
catalog_that_becomes_empty_keeps_its_members(void **state)
{
	serve("cat", "1", HEAD "1.zones 0 PTR a.\n");
	rest();
	*members_said = '\0';
	push(SOA("1") "1.zones 0 PTR a.\n", SOA("2"));
	serve("cat", "2", HEAD);
	assert_said("");
	assert_invalid("there are no members, and 1 are kept (catalog-empty)");
	assert_int_equal(xfrd_catalog_count(catalog("cat")), 1);
	push(SOA("2"), SOA("3") "2.zones 0 PTR b.\n");
	serve("cat", "3", HEAD "2.zones 0 PTR b.\n");
	rest();
	assert_non_null(fixture_find("b"));
	assert_invalid("");
	/* And the member that was kept goes with the next version. */
	assert_null(fixture_find("a"));
}

/* The first of the changes of a node does not say whether it was a member: a
 * PTR record comes in a version that is not valid, and the one before goes in
 * the next. */
static void
members_are_counted_over_bad_versions(void **state)
{
	serve("cat", "1", HEAD "1.zones 0 PTR a.\n");
	rest();
	push(SOA("1"), SOA("2") "1.zones 0 PTR b.\n");
	serve("cat", "2", HEAD "1.zones 0 PTR a.\n1.zones 0 PTR b.\n");
	rest();
	assert_int_equal(catalog("cat")->count, 1);
	push(SOA("2") "1.zones 0 PTR a.\n", SOA("3"));
	serve("cat", "3", HEAD "1.zones 0 PTR b.\n");
	rest();
	assert_int_equal(catalog("cat")->count, 1);
	*members_said = '\0';
	/* The version without members is known as one. */
	push(SOA("3") "1.zones 0 PTR b.\n", SOA("4"));
	serve("cat", "4", HEAD);
	assert_said("");
	assert_non_null(fixture_find("b"));
}

static int
begin_empty(void **state)
{
	return begin_with(state, CONF("catalog-empty: delete"));
}

static void
catalog_that_becomes_empty_may_delete_its_members(void **state)
{
	serve("cat", "1", HEAD "1.zones 0 PTR a.\n");
	rest();
	*members_said = '\0';
	push(SOA("1") "1.zones 0 PTR a.\n", SOA("2"));
	serve("cat", "2", HEAD);
	assert_said("-a?1.zones.cat. ");
	assert_invalid("");
}

/* ---- members of others --------------------------------------------------- */

/* RFC 9432 section 5.2 */
static void
refused_member_comes_when_its_name_is_free(void **state)
{
	members_list("a", "p", NULL);
	serve("cat", "1", HEAD "1.zones 0 PTR a.\n2.zones 0 PTR b.\n");
	assert_said("+b:p:2.zones.cat. ");
	assert_int_equal(catalog("cat")->members.refused_count, 1);
	assert_int_equal(xfrd_catalog_count(catalog("cat")), 1);
	members_unlist("a");
	assert_said("+a:p:1.zones.cat. ");
	assert_int_equal(catalog("cat")->members.refused_count, 0);
	assert_int_equal(xfrd_catalog_count(catalog("cat")), 2);
	/* Only one node was looked at. */
	assert_int_equal(catalog("cat")->steps, 6);
}

/* RFC 9432 section 4.4.1 */
static void
member_moves_when_both_catalogs_say_so(void **state)
{
	serve("cat", "1", HEAD "1.zones 0 PTR a.\n2.zones 0 PTR b.\n");
	rest();
	serve("two", "1", HEAD "1.zones 0 PTR a.\n3.zones 0 PTR b.\n");
	rest();
	assert_int_equal(catalog("two")->members.refused_count, 2);
	*members_said = '\0';
	/* The same label keeps the zone, another one resets it. */
	push(SOA("1"), SOA("2") "coo.1.zones 0 PTR two.\n"
		"coo.2.zones 0 PTR two.\n");
	serve("cat", "2", HEAD "1.zones 0 PTR a.\n2.zones 0 PTR b.\n"
		"coo.1.zones 0 PTR two.\ncoo.2.zones 0 PTR two.\n");
	assert_said("=a:p:1.zones.two.?1.zones.cat. -b?2.zones.cat."
		" +b:p:3.zones.two. ");
	assert_int_equal(catalog("two")->members.refused_count, 0);
	/* The old catalog gets a zone again that the new one gives up. */
	xfrd_catalog_follow(&fixture.xfrd);
	assert_said("");
	assert_int_equal(xfrd_catalog_count(catalog("cat")), 0);
	assert_int_equal(xfrd_catalog_count(catalog("two")), 2);
	serve("two", "2", HEAD "1.zones 0 PTR a.\n");
	assert_said("-b?3.zones.two. +b:p:2.zones.cat. ");
	assert_int_equal(xfrd_catalog_count(catalog("cat")), 1);
	/* RFC 9432 section 5.3: a zone goes with its own catalog alone. */
	push(SOA("2") "1.zones 0 PTR a.\n2.zones 0 PTR b.\n"
		"coo.1.zones 0 PTR two.\ncoo.2.zones 0 PTR two.\n",
		SOA("3") "4.zones 0 PTR c.\n");
	serve("cat", "3", HEAD "4.zones 0 PTR c.\n");
	rest();
	assert_non_null(fixture_find("a"));
	assert_null(fixture_find("b"));
}

#define OFFER(label, to) HEAD label ".zones 0 PTR z.\ncoo." label ".zones 0" \
	" PTR " to ".\n"

/* A catalog would take the zone from the one before it. */
static void
zone_that_is_offered_in_a_ring_rests(void **state)
{
	uint64_t steps;

	serve("cat", "1", OFFER("1", "two"));
	assert_said("+z:p:1.zones.cat. ");
	serve("three", "1", OFFER("3", "cat"));
	assert_said("");
	steps = catalog("cat")->steps;
	serve("two", "1", OFFER("2", "three"));
	assert_said("-z?1.zones.cat. +z:p:2.zones.two. ");
	/* The one that had it need not look. */
	assert_int_equal(catalog("cat")->steps, steps);
	assert_int_equal(catalog("cat")->members.refused_count, 1);
	assert_int_equal(catalog("two")->members.refused_count, 0);
	assert_int_equal(catalog("three")->members.refused_count, 1);
	/* A zone that goes for good comes to one of the others. */
	serve("two", "2", HEAD "4.zones 0 PTR x.\n");
	rest();
	assert_non_null(fixture_find("z"));
}

static int
begin_groups(void **state)
{
	return begin_with(state, CONF_GROUPS);
}

/* RFC 9432 section 4.4.1: the property is for another catalog. */
static void
refused_member_with_coo_is_looked_at_once_a_version(void **state)
{
	uint64_t steps;

	serve("cat", "1", HEAD "1.zones 0 PTR a.\ngroup.1.zones 0 TXT p\n");
	assert_said("+a:p:1.zones.cat. ");
	push(SOA("1") "group.1.zones 0 TXT p\n", SOA("2")
		"group.1.zones 0 TXT x\ncoo.1.zones 0 PTR other.\n");
	serve("cat", "2", HEAD "1.zones 0 PTR a.\ngroup.1.zones 0 TXT x\n"
		"coo.1.zones 0 PTR other.\n");
	assert_said("");
	assert_int_equal(catalog("cat")->members.refused_count, 1);
	steps = catalog("cat")->steps;
	push(SOA("2") "group.1.zones 0 TXT x\n", SOA("3")
		"group.1.zones 0 TXT y\n");
	serve("cat", "3", HEAD "1.zones 0 PTR a.\ngroup.1.zones 0 TXT y\n"
		"coo.1.zones 0 PTR other.\n");
	assert_said("");
	assert_int_equal(catalog("cat")->members.refused_count, 1);
	assert_int_equal(catalog("cat")->steps, steps + 2);
}

/* Returns a catalog that refuses more members than it keeps, and offers one to
 * another catalog; in memory to be freed. */
static char *
make_offer(const char *name, const char *to)
{
	char *refused = make_records(XFRD_REFUSED_MAX + 1), *text;

	assert_true(asprintf(&text, "%sy.zones 0 PTR %s.\n"
		"group.y.zones 0 TXT p\ncoo.y.zones 0 PTR %s.\n", refused,
		name, to) > 0);
	free(refused);
	return text;
}

/* A member that is offered may be one of those that were only counted: so all
 * are looked at, but once for each version that offers it, and once when
 * another catalog is known for the first time. */
static void
catalogs_that_offer_each_other_members_rest(void **state)
{
	const uint64_t all = 2 * (XFRD_REFUSED_MAX + 2);
	char *cat = make_offer("a", "two"), *two = make_offer("b", "cat");

	serve("cat", "1", cat);
	assert_said("+a:p:y.zones.cat. ");
	serve("two", "1", two);
	assert_said("+b:p:y.zones.two. ");
	assert_int_equal(catalog("cat")->steps, 2 * all);
	assert_int_equal(catalog("two")->steps, all);
	serve("cat", "2", cat);
	assert_said("");
	assert_int_equal(catalog("cat")->steps, 3 * all);
	assert_int_equal(catalog("two")->steps, 2 * all);
	serve("two", "2", two);
	assert_said("");
	assert_int_equal(catalog("cat")->steps, 4 * all);
	assert_int_equal(catalog("two")->steps, 3 * all);
	free(cat);
	free(two);
}

static void
version_that_is_let_go_is_looked_at_anew(void **state)
{
	char *text = make_records(9000);

	serve("cat", "1", text);
	/* Some members are asked for. */
	for (unsigned i = 0; i < 12; i++)
		event_base_loop(fixture.xfrd.role.base,
			EVLOOP_NONBLOCK | EVLOOP_ONCE);
	assert_in_range(members_asked, 3, 8999);
	for (unsigned i = 0; i < 3; i++)
		members_end_one(XFRD_CHANGED);
	assert_non_null(fixture_find("z0"));
	while (members_left() > 0)
		members_end_one(XFRD_CHANGED_NO_PATTERN);
	xfrd_catalog_let_go(&fixture.xfrd, UINT64_MAX);
	serve("cat", "2", HEAD "m1.zones 0 PTR z1.\nx.zones 0 PTR x.\n");
	rest();
	assert_non_null(fixture_find("x"));
	assert_non_null(fixture_find("z1"));
	assert_null(fixture_find("z0"));
	assert_int_equal(catalog("cat")->count, 2);
	free(text);
}

static void
large_catalog_does_not_hold_up_others(void **state)
{
	char *text = make_records(9000);

	serve("cat", "1", text);
	serve("two", "1", HEAD "1.zones 0 PTR x.\n");
	for (unsigned i = 0; i < 1000 && fixture_find("x") == NULL; i++) {
		event_base_loop(fixture.xfrd.role.base,
			EVLOOP_NONBLOCK | EVLOOP_ONCE);
		if (members_left() > 0)
			members_end_one(XFRD_CHANGED);
	}
	assert_non_null(fixture_find("x"));
	assert_in_range(members_asked, 1, 9000);
	/* A list of so many zones is published slowly. */
	rest_with(XFRD_CHANGED_NO_PATTERN);
	free(text);
}

#define TEST_OF(name, begin)                                              \
	cmocka_unit_test_setup_teardown(name, begin, end)
#define TEST(name) TEST_OF(name, begin)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(steps_of_a_change_do_not_grow_with_the_catalog),
		TEST(many_changes_have_all_members_looked_at),
		TEST(without_a_history_all_members_are_looked_at),
		TEST(nodes_that_change_are_compared),
		TEST(serial_that_comes_again_has_all_members_looked_at),
		TEST(bad_version_changes_nothing),
		TEST(members_are_counted_without_a_valid_version),
		TEST(two_nodes_with_one_name_are_found),
		TEST(second_node_of_a_refused_name_is_found),
		TEST_OF(members_beyond_catalog_max_do_not_come, begin_max),
		TEST(catalog_that_becomes_empty_keeps_its_members),
		TEST(members_are_counted_over_bad_versions),
		TEST_OF(catalog_that_becomes_empty_may_delete_its_members,
			begin_empty),
		TEST(refused_member_comes_when_its_name_is_free),
		TEST(member_moves_when_both_catalogs_say_so),
		TEST(zone_that_is_offered_in_a_ring_rests),
		TEST_OF(refused_member_with_coo_is_looked_at_once_a_version,
			begin_groups),
		TEST_OF(catalogs_that_offer_each_other_members_rest,
			begin_groups),
		TEST(version_that_is_let_go_is_looked_at_anew),
		TEST(large_catalog_does_not_hold_up_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
