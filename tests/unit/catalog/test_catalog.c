/* test_catalog.c - members of a catalog, and what makes a version invalid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalog/catalog.h"
#include "dns/name.h"
#include "lib/failing.h"
#include "lib/history_fixture.h"
#include "lib/one_fixture.h"
#include "zonedb/history_edit.h"

#define APEX "cat.example."
#define HEAD "@ 0 SOA . . 1 2 3 4 5\n@ 0 NS invalid.\n"
#define VERSION "version 0 TXT \"2\"\n"

static const struct zone *zone;
static store_ref entry;
static char said[4096];

static void
load(const char *text)
{
	const struct zone_entry *served;

	assert_int_equal(zone_fixture_load(&f, APEX, text, &entry), NSD_OK);
	served = store_get(f.view, entry);
	zone = store_get(f.view, store_load_ref(&served->zone));
	*said = '\0';
}

__attribute__((format(printf, 1, 2))) static void
say(const char *format, ...)
{
	size_t len = strlen(said);
	va_list args;

	va_start(args, format);
	vsnprintf(said + len, sizeof(said) - len, format, args);
	va_end(args);
}

/* Prints "LABEL=NAME", with "!FAULT", "^COO" and "/GROUP". */
static bool
on_member(void *ctx, const struct catalog_member *member)
{
	char name[NAME_TEXT_MAX];
	unsigned *most = ctx;

	name_print_text(member->name, name);
	say("%.*s=%s", member->label[0], member->label + 1, name);
	if (member->fault != CATALOG_FAULT_NONE)
		say("!%d", (int)member->fault);
	if (member->has_coo) {
		name_print_text(member->coo, name);
		say("^%s", name);
	}
	for (unsigned i = 0; i < member->group_count; i++)
		say("/%s", member->groups[i]);
	say(" ");
	return most == NULL || --*most > 0;
}

/* Walks all members, some names at a time. */
static const char *
walk(unsigned most, unsigned members)
{
	struct catalog_walk at = {.has_last = false};

	*said = '\0';
	while (!at.is_over) {
		unsigned left = members;

		catalog_next(f.view, zone, zone_fixture_name(APEX), &at, most,
			on_member, &left);
	}
	return said;
}

static const char *
find(const char *label)
{
	struct catalog_member member;
	uint8_t wire[CATALOG_LABEL_SIZE];

	*said = '\0';
	*wire = (uint8_t)strlen(label);
	memcpy(wire + 1, label, *wire);
	if (catalog_find(f.view, zone, zone_fixture_name(APEX), wire, &member)
		!= NSD_OK)
		return "none";
	on_member(NULL, &member);
	return said;
}

static enum catalog_fault
check(const char *version)
{
	char text[1024];

	snprintf(text, sizeof(text), HEAD "%s", version);
	load(text);
	return catalog_check(f.view, zone, zone_fixture_name(APEX));
}

/* ---- tests --------------------------------------------------------------- */

/* RFC 9432 section 4.3.1 */
static void
version_is_2(void **state)
{
	assert_int_equal(check(VERSION), CATALOG_FAULT_NONE);
	assert_int_equal(check(""), CATALOG_FAULT_NO_VERSION);
	assert_int_equal(check("version 0 PTR x.\n"),
		CATALOG_FAULT_NO_VERSION);
	assert_int_equal(check("version 0 TXT \"2\"\nversion 0 TXT \"1\"\n"),
		CATALOG_FAULT_VERSIONS);
	assert_int_equal(check("version 0 TXT \"1\"\n"), CATALOG_FAULT_VERSION);
	assert_int_equal(check("version 0 TXT \"22\"\n"),
		CATALOG_FAULT_VERSION);
	assert_int_equal(check("version 0 TXT \"2\" \"2\"\n"),
		CATALOG_FAULT_VERSION);
	assert_int_equal(check("version 0 TXT \"\"\n"), CATALOG_FAULT_VERSION);
}

/* RFC 9432 section 4.1 and RFC 9432 section 4.2: names and properties that
 * are not known are ignored, as are those of RFC 9432 section 4.5. */
static void
members_are_found(void **state)
{
	static const char members[] = "a=one. b=two.example. c=three. ";

	load(HEAD VERSION "B.zones 0 PTR Two.Example.\nA.Zones 5 PTR one.\n"
		"c.zones 0 PTR three.\nc.zones 0 TXT no\n"
		"x.ext.c.zones 0 PTR no.\n\\.zones.c.zones 0 PTR no.\n"
		"zones 0 PTR no.\nd.zones 0 TXT no\nx.d.zones 0 PTR no.\n"
		"e.zones.more 0 PTR no.\ne.zonesx 0 PTR no.\ne 0 PTR no.\n"
		"group.f.zones 0 TXT no\nzz 0 PTR no.\n"
		"x.zone\\000 0 PTR no.\n");
	assert_string_equal(walk(1000, 1000), members);
	assert_string_equal(walk(1, 1000), members);
	assert_string_equal(walk(2, 1000), members);
	assert_string_equal(walk(1000, 1), members);
	assert_string_equal(find("a"), "a=one. ");
	assert_string_equal(find("b"), "b=two.example. ");
	assert_string_equal(find("d"), "none");
	assert_string_equal(find("f"), "none");
	assert_string_equal(find("nothing"), "none");
	/* Another label that ends with the same octets. */
	load(HEAD VERSION "a.zones 0 PTR one.\nb.zz\\005zones 0 PTR no.\n");
	assert_string_equal(walk(1000, 1000), "a=one. ");
	assert_string_equal(walk(1, 1000), "a=one. ");
	load(HEAD VERSION);
	assert_string_equal(walk(1000, 1000), "");
	load(HEAD VERSION "zz 0 TXT no\n");
	assert_string_equal(walk(1000, 1000), "");
}

/* RFC 9432 section 4.4.1 and RFC 9432 section 4.4.2; several records where
 * there may be one (RFC 9432 section 4.1) */
static void
properties_are_read(void **state)
{
	static const char members[] = "a=one.^other.example./g "
		"b=two./1/2 c=three. d=four.!5^x. e=six.!4 ";

	load(HEAD VERSION "a.zones 0 PTR one.\ncoo.a.zones 0 PTR "
		"Other.Example.\ngroup.a.zones 0 TXT g\n"
		"b.zones 0 PTR two.\ngroup.b.zones 0 TXT 1\n"
		"group.b.zones 0 TXT 2\ngroup.b.zones 0 TXT 3 4\n"
		"c.zones 0 PTR three.\ncoo.c.zones 0 TXT no\n"
		"group.c.zones 0 PTR no.\nx.group.c.zones 0 TXT no\n"
		"d.zones 0 PTR four.\ncoo.d.zones 0 PTR x.\n"
		"coo.d.zones 0 PTR y.\n"
		"e.zones 0 PTR five.\ne.zones 0 PTR six.\n");
	assert_string_equal(walk(1000, 1000), members);
	assert_string_equal(walk(1, 1000), members);
	assert_string_equal(find("a"), "a=one.^other.example./g ");
	assert_string_equal(find("d"), "d=four.!5^x. ");
}

static void
names_below_a_cut_are_hidden(void **state)
{
	load(HEAD VERSION "a.zones 0 PTR one.\nb.zones 0 PTR two.\n"
		"b.zones 0 NS x.\ncoo.b.zones 0 PTR no.\n");
	assert_string_equal(find("a"), "a=one. ");
	load(HEAD VERSION "a.zones 0 PTR one.\nzones 0 NS x.\n");
	assert_string_equal(walk(1000, 1000), "");
	assert_string_equal(find("a"), "none");
}

static bool
on_change(void *ctx, const struct catalog_change *change)
{
	char name[NAME_TEXT_MAX] = "";
	unsigned *most = ctx;

	if (change->is_ptr)
		name_print_text(change->target, name);
	say("%c%.*s%s%s ", change->is_removed ? '-' : '+', change->label[0],
		change->label + 1, change->is_ptr ? "=" : "", name);
	return --*most > 0;
}

static enum nsd_err
changes(uint32_t from, uint32_t to, unsigned most)
{
	*said = '\0';
	return catalog_changes(f.view, store_get(f.view, entry),
		zone_fixture_name(APEX), from, to, on_change, &most);
}

static void
changes_touch_members(void **state)
{
	static const struct history_limits limits = {5, 1u << 20};

	load(HEAD VERSION "a.zones 0 PTR one.\n");
	history_fixture_push(f.writer, entry, &limits,
		"@ 0 SOA . . 1 2 3 4 5\nA.zones 0 PTR One.\n"
		"x 0 PTR no.\n",
		"@ 0 SOA . . 2 2 3 4 5\nb.Zones 0 PTR b." APEX "\n"
		"version 0 TXT 3\n");
	history_fixture_push(f.writer, entry, &limits,
		"@ 0 SOA . . 2 2 3 4 5\ncoo.b.zones 0 PTR x.\n",
		"@ 0 SOA . . 3 2 3 4 5\na.zones 0 PTR two.\n");
	assert_int_equal(changes(1, 3, 100), NSD_OK);
	assert_string_equal(said, "-a=one. +b=b." APEX " -b +a=two. ");
	assert_int_equal(changes(2, 3, 100), NSD_OK);
	assert_string_equal(said, "-b +a=two. ");
	assert_int_equal(changes(1, 3, 2), NSD_E_LIMIT);
	assert_int_equal(changes(5, 3, 100), NSD_E_NOT_FOUND);
}

/* Members that the changesets do not have come and go with a cut. */
static void
changes_of_cuts_are_no_help(void **state)
{
	static const struct history_limits limits = {5, 1u << 20};

	load(HEAD VERSION "a.zones 0 PTR one.\n");
	history_fixture_push(f.writer, entry, &limits,
		"@ 0 SOA . . 1 2 3 4 5\n",
		"@ 0 SOA . . 2 2 3 4 5\nzones 0 NS x.\n");
	history_fixture_push(f.writer, entry, &limits,
		"@ 0 SOA . . 2 2 3 4 5\nx.y 0 DNAME x.\n",
		"@ 0 SOA . . 3 2 3 4 5\n@ 0 NS x.\n");
	history_fixture_push(f.writer, entry, &limits,
		"@ 0 SOA . . 3 2 3 4 5\n@ 0 NS x.\n",
		"@ 0 SOA . . 4 2 3 4 5\n");
	assert_int_equal(changes(1, 4, 100), NSD_E_NOT_FOUND);
	assert_int_equal(changes(2, 4, 100), NSD_E_NOT_FOUND);
	assert_int_equal(changes(3, 4, 100), NSD_OK);
	history_fixture_push(f.writer, entry, &limits,
		"@ 0 SOA . . 4 2 3 4 5\n",
		"@ 0 SOA . . 5 2 3 4 5\n@ 0 DNAME x.\n");
	assert_int_equal(changes(4, 5, 100), NSD_E_NOT_FOUND);
}

/* The records of changesets that are read at a time have a limit. */
static void
changes_have_a_limit(void **state)
{
	static const struct history_limits limits = {5, 1u << 26};
	size_t size = (CATALOG_CHANGES_MAX + 1) * 32u;
	char *text = malloc(size), *at = text;

	assert_non_null(text);
	load(HEAD VERSION);
	at += sprintf(at, "@ 0 SOA . . 2 2 3 4 5\n");
	for (unsigned i = 0; i < CATALOG_CHANGES_MAX - 1; i++)
		at += sprintf(at, "x%u 0 PTR x.\n", i);
	history_fixture_push(f.writer, entry, &limits,
		"@ 0 SOA . . 1 2 3 4 5\n", text);
	assert_int_equal(changes(1, 2, 100), NSD_E_LIMIT);
	history_fixture_push(f.writer, entry, &limits,
		"@ 0 SOA . . 2 2 3 4 5\nx0 0 PTR x.\n",
		"@ 0 SOA . . 3 2 3 4 5\na.zones 0 PTR a.\n");
	assert_int_equal(changes(2, 3, 100), NSD_OK);
	assert_string_equal(said, "+a=a. ");
	free(text);
}

/* More groups than are read, and records that are no groups. */
static void
groups_have_a_limit(void **state)
{
	char text[1024], *at = text;

	at += sprintf(at, HEAD VERSION "a.zones 0 PTR one.\n"
		"group.a.zones 0 TXT 0 0\ngroup.a.zones 0 TXT \"\\000\"\n");
	for (unsigned i = 1; i <= CATALOG_GROUPS_MAX + 2; i++)
		at += sprintf(at, "group.a.zones 0 TXT %02u\n", i);
	load(text);
	assert_string_equal(find("a"),
		"a=one./01/02/03/04/05/06/07/08 ");
	assert_string_equal(walk(1, 1), "a=one./01/02/03/04/05/06/07/08 ");
}

/* Memory that runs out anywhere is told of, and nothing is left behind. */
static void
changes_want_memory(void **state)
{
	static const struct history_limits limits = {5, 1u << 20};
	enum nsd_err err = NSD_E_MEMORY;
	int n;

	load(HEAD VERSION "a.zones 0 PTR one.\n");
	history_fixture_push(f.writer, entry, &limits,
		"@ 0 SOA . . 1 2 3 4 5\na.zones 0 PTR one.\n",
		"@ 0 SOA . . 2 2 3 4 5\nb.zones 0 PTR b.\n");
	for (n = 0; err == NSD_E_MEMORY; n++) {
		err = FAILING_ONCE(n, changes(1, 2, 100));
		assert_string_equal(said, err == NSD_OK ? "-a=one. +b=b. "
							: "");
	}
	assert_int_equal(err, NSD_OK);
	assert_true(n > 2);
}

/* Labels and names as long as they may be. */
static void
long_names_have_room(void **state)
{
	char label[64], text[2048], expected[1024];

	memset(label, 'l', 63);
	label[63] = '\0';
	snprintf(text, sizeof(text), HEAD VERSION "%s.zones 0 PTR %s.%s.%s"
		".%.61s.\ngroup.%s.zones 0 TXT \"%s%s%s%s\"\n", label, label,
		label, label, label, label, label, label, label, label);
	snprintf(expected, sizeof(expected), "%s=%s.%s.%s.%.61s./%s%s%s%s ",
		label, label, label, label, label, label, label, label, label);
	load(text);
	assert_string_equal(walk(1, 1000), expected);
	assert_string_equal(find(label), expected);
}

#define TEST(name)                                                        \
	cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(version_is_2),
		TEST(members_are_found),
		TEST(properties_are_read),
		TEST(names_below_a_cut_are_hidden),
		TEST(changes_touch_members),
		TEST(changes_of_cuts_are_no_help),
		TEST(changes_have_a_limit),
		TEST(groups_have_a_limit),
		TEST(changes_want_memory),
		TEST(long_names_have_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
