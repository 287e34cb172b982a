/* test_update.c - transactions on a zone: counts, refusals, published
 * versions; a change of most of a large zone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/build.h"
#include "dns/name.h"
#include "lib/one_fixture.h"
#include "lib/zone_check.h"
#include "store/writer.h"
#include "update/update.h"
#include "zonedb/mark.h"
#include "zonedb/release.h"
#include "zonedb/share.h"
#include "zonedb/table_edit.h"

#define HEAD "$TTL 3600\n@ SOA ns1 x 1 2 3 4 5\n@ NS ns1\nns1 A 192.0.2.1\n"

static store_ref entry;
static struct zone_update *update;
static struct zone_update_result result;
static struct zone_limits limits;
static char findings[2000];

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	size_t at = strlen(findings);

	(void)sink;
	snprintf(findings + at, sizeof(findings) - at, "%s\n", d->text);
}

static void
load(const char *text)
{
	assert_int_equal(zone_fixture_load(&f, "example.", text, &entry),
		NSD_OK);
}

static bool exact;

static void
begin(void)
{
	const struct zone_update_options options = {.threads = 2,
		.limits = limits, .exact = exact};

	assert_int_equal(update_begin(f.writer, entry, &options, &update),
		NSD_OK);
}

static enum nsd_err
commit(void)
{
	struct diag_sink sink = {.on_diag = on_diag};
	enum nsd_err err;

	findings[0] = '\0';
	memset(&result, 0, sizeof(result));
	err = update_commit(update, &sink, &result);
	store_reclaim(f.writer);
	assert_int_equal(err == NSD_E_ZONE, sink.errors > 0);
	return err;
}

static struct zone_rr
address(const char *owner, uint32_t ttl_sec, uint8_t last)
{
	static uint8_t rdata[4][4];
	static unsigned next;
	uint8_t *p = rdata[next++ % 4];

	memcpy(p, (uint8_t[]){192, 0, 2, last}, 4);
	return (struct zone_rr){.owner = zone_fixture_name(owner),
		.ttl_sec = ttl_sec, .type = TYPE_A, .rdlen = 4, .rdata = p};
}

static void
add(const char *owner, uint32_t ttl_sec, uint8_t last)
{
	struct zone_rr rr = address(owner, ttl_sec, last);

	assert_int_equal(update_add(update, &rr), NSD_OK);
}

static void
take(const char *owner, uint8_t last)
{
	struct zone_rr rr = address(owner, 0, last);

	assert_int_equal(update_remove(update, &rr), NSD_OK);
}

static store_ref
served(void)
{
	return ((const struct zone_entry *)store_get(f.view, entry))->zone;
}

static const struct node *
node(const char *name)
{
	return zone_fixture_find(&f, served(), "example.", name);
}

static const struct rrset *
rrset(const char *name, uint16_t type)
{
	const struct node_rrset *e = node_find_entry(node(name), type);

	return e == NULL ? NULL : store_get(f.view, e->ref);
}

/* Checks that the zone that is served equals one of this text. */
static void
check_text(const char *text)
{
	const char *wrong;
	store_ref fresh;

	assert_int_equal(zone_fixture_build(&f, "example.", text, &fresh),
		NSD_OK);
	wrong = zone_check_equal(f.view, served(), fresh);
	if (wrong == NULL)
		wrong = zone_check_sound(f.view, served(),
			zone_fixture_name("example."));
	if (wrong != NULL)
		fail_msg("%s", wrong);
	release_zone(store_writer_heap(f.writer), fresh);
}

/* ---- counts ------------------------------------------------------------ */

/* RFC 2136 section 3.4.2 */
static void
what_is_there_and_what_is_not_is_counted(void **state)
{
	load(HEAD "a A 192.0.2.2\na A 192.0.2.3\n");
	begin();
	add("a.example.", 3600, 2); /* there */
	add("a.example.", 3600, 4);
	add("a.example.", 3600, 4); /* again */
	take("a.example.", 3);
	take("a.example.", 9);
	take("b.example.", 9);
	assert_int_equal(commit(), NSD_OK);
	assert_int_equal(result.added, 1);
	assert_int_equal(result.removed, 1);
	assert_int_equal(result.absent, 2);
	assert_int_equal(result.present, 2);
	assert_int_equal(result.names, 1);
	check_text(HEAD "a A 192.0.2.2\na A 192.0.2.4\n");
}

/* A row is a change: removed and added records of "a" and "b", by the last
 * octet of their addresses; 0: none. RFC 1995 section 4. */
static void
exact_update_must_fit(void **state)
{
	static const struct {
		uint8_t take[2], add[2];
		bool elsewhere; /* "b" in place of "a" */
		bool fits;
	} rows[] = {
		{{0}, {0}, false, true}, {{2}, {4}, false, true},
		{{2}, {2}, false, true}, {{2, 3}, {2, 3}, false, true},
		{{2, 3}, {0}, false, true}, {{0}, {4, 5}, false, true},
		{{0}, {4, 5}, true, true}, {{0}, {2}, false, false},
		{{9}, {0}, false, false}, {{9}, {9}, false, false},
		{{2, 2}, {0}, false, false}, {{2, 2}, {4}, false, false},
		{{0}, {4, 4}, false, false}, {{2}, {2, 2}, false, false},
		{{2}, {0}, true, false}, {{2}, {2}, true, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *name = rows[i].elsewhere ? "b.example."
			: "a.example.";
		store_ref before;

		load(HEAD "a A 192.0.2.2\na A 192.0.2.3\n");
		before = served();
		exact = true;
		begin();
		exact = false;
		for (unsigned k = 0; k < 2; k++) {
			if (rows[i].take[k] != 0)
				take(name, rows[i].take[k]);
			if (rows[i].add[k] != 0)
				add(name, 60, rows[i].add[k]);
		}
		if (commit() != (rows[i].fits ? NSD_OK : NSD_E_INEXACT))
			fail_msg("row %zu", i);
		if (!rows[i].fits)
			assert_int_equal(served(), before);
	}
}

/* Which is built anew, as the parameters of NSEC3 change. */
static void
exact_update_that_is_a_build_must_fit(void **state)
{
	static const uint8_t param[] = {1, 0, 0, 0, 0};
	const struct zone_rr rr = {.owner = zone_fixture_name("example."),
		.ttl_sec = 60, .type = TYPE_NSEC3PARAM, .rdlen = sizeof(param),
		.rdata = param};

	for (unsigned i = 0; i < 2; i++) {
		load(HEAD "a A 192.0.2.2\n");
		exact = true;
		begin();
		exact = false;
		assert_int_equal(update_add(update, &rr), NSD_OK);
		take("a.example.", i == 0 ? 9 : 2);
		assert_int_equal(commit(), i == 0 ? NSD_E_INEXACT : NSD_OK);
	}
}

static void
removed_and_added_stays_in_any_order(void **state)
{
	store_ref before;

	load(HEAD "a A 192.0.2.2\n");
	before = served();
	begin();
	add("a.example.", 3600, 2);
	take("a.example.", 2);
	assert_int_equal(commit(), NSD_OK);
	assert_int_equal(result.present, 1);
	assert_int_equal(result.removed, 0);
	/* Without a change no version is published. */
	assert_int_equal(served(), before);
}

/* RFC 2181 section 5.2 */
static void
the_lowest_ttl_counts(void **state)
{
	load(HEAD "a A 192.0.2.2\na A 192.0.2.3\n");
	begin();
	add("a.example.", 60, 2);
	assert_int_equal(commit(), NSD_OK);
	assert_int_equal(rrset("a.example.", TYPE_A)->ttl_sec, 60);
	assert_int_equal(rrset("a.example.", TYPE_A)->count, 2);
	begin();
	take("a.example.", 2);
	take("a.example.", 3);
	add("a.example.", 7200, 2);
	add("a.example.", 7200, 3);
	assert_int_equal(commit(), NSD_OK);
	assert_int_equal(rrset("a.example.", TYPE_A)->ttl_sec, 7200);
}

static void
rrsets_and_names_go_whole(void **state)
{
	load(HEAD "a A 192.0.2.2\na A 192.0.2.3\na TXT x\nb.c A 192.0.2.4\n");
	begin();
	assert_int_equal(update_remove_rrset(update,
		zone_fixture_name("a.example."), TYPE_A), NSD_OK);
	assert_int_equal(update_remove_rrset(update,
		zone_fixture_name("b.c.example."), TYPE_ANY), NSD_OK);
	assert_int_equal(update_remove_rrset(update,
		zone_fixture_name("d.example."), TYPE_ANY), NSD_OK);
	/* Removals that find nothing count, each; two may find the same. */
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(update_remove_rrset(update,
			zone_fixture_name("a.example."), TYPE_MX), NSD_OK);
		assert_int_equal(update_remove_rrset(update,
			zone_fixture_name("a.example."), TYPE_A), NSD_OK);
	}
	assert_int_equal(commit(), NSD_OK);
	assert_int_equal(result.removed, 3);
	assert_int_equal(result.absent, 1 + 2);
	assert_null(node("c.example.")); /* the empty non-terminal, too */
	check_text(HEAD "a TXT x\n");
}

/* ---- refused ----------------------------------------------------------- */

static void
what_a_build_refuses_changes_nothing(void **state)
{
	struct zone_rr cname = {.type = TYPE_CNAME, .rdlen = 1,
		.rdata = (const uint8_t *)""};
	store_ref before;

	load(HEAD "a A 192.0.2.2\n");
	before = served();
	begin();
	cname.owner = zone_fixture_name("a.example.");
	add("b.example.", 3600, 1);
	assert_int_equal(update_add(update, &cname), NSD_OK);
	assert_int_equal(commit(), NSD_E_ZONE);
	assert_non_null(strstr(findings, "CNAME and other data"));
	begin();
	assert_int_equal(update_remove_rrset(update,
		zone_fixture_name("example."), TYPE_SOA), NSD_OK);
	assert_int_equal(commit(), NSD_E_ZONE);
	assert_non_null(strstr(findings, "no SOA record"));
	assert_int_equal(served(), before);
	check_text(HEAD "a A 192.0.2.2\n");
}

static void
names_elsewhere_and_zones_not_loaded(void **state)
{
	const struct zone_update_options options = {.threads = 1};
	const struct zone_setup setup = {.apex = zone_fixture_name("empty.")};
	struct zone_rr rr = address("a.other.", 3600, 1);
	store_ref other;

	load(HEAD);
	begin();
	assert_int_equal(update_add(update, &rr), NSD_E_ZONE);
	rr.owner = zone_fixture_name("xexample.");
	assert_int_equal(update_remove(update, &rr), NSD_E_ZONE);
	update_abort(update);
	check_text(HEAD);
	assert_int_equal(table_add(f.writer, &setup, 1, &other), NSD_OK);
	assert_int_equal(update_begin(f.writer, other, &options, &update),
		NSD_E_NOT_FOUND);
}

static enum nsd_err
commit_types(const char *owner, unsigned first, unsigned count)
{
	begin();
	for (unsigned i = 0; i < count; i++) {
		const struct zone_rr rr = {.owner = zone_fixture_name(owner),
			.ttl_sec = 60, .type = (uint16_t)(first + i),
			.rdlen = 1, .rdata = (const uint8_t *)"x"};

		assert_int_equal(update_add(update, &rr), NSD_OK);
	}
	return commit();
}

static enum nsd_err
commit_addresses(const char *owner, uint8_t first, uint8_t last)
{
	begin();
	for (uint8_t i = first; i <= last; i++)
		add(owner, 60, i);
	return commit();
}

/* Records that do not change, such as those of a file, do not count. */
static void
limits_hold_for_what_changes(void **state)
{
	load(HEAD "big A 192.0.2.1\nbig A 192.0.2.2\nbig A 192.0.2.3\n");
	limits = (struct zone_limits){3, 4};
	assert_int_equal(commit_addresses("a.example.", 1, 4), NSD_E_ZONE);
	assert_string_equal(findings, "a.example. has 4 A records, which is "
		"more than allowed\n");
	assert_int_equal(commit_addresses("a.example.", 1, 3), NSD_OK);
	assert_int_equal(commit_addresses("a.example.", 4, 4), NSD_E_ZONE);
	assert_int_equal(rrset("a.example.", TYPE_A)->count, 3);
	limits.records_per_type = 2;
	assert_int_equal(commit_types("big.example.", 1000, 3), NSD_OK);
	assert_int_equal(commit_types("big.example.", 1003, 1), NSD_E_ZONE);
	assert_string_equal(findings, "big.example. has 5 types, which is "
		"more than allowed\n");
	assert_null(rrset("big.example.", 1003));
	begin();
	take("big.example.", 1);
	assert_int_equal(commit(), NSD_OK);
	assert_int_equal(rrset("big.example.", TYPE_A)->count, 2);
	limits = (struct zone_limits){0, 0};
	assert_int_equal(commit_addresses("a.example.", 4, 100), NSD_OK);
}

/* Types are put in and taken out among many; all others stay. */
static void
a_name_with_very_many_types(void **state)
{
	load(HEAD);
	assert_int_equal(commit_types("a.example.", 1000, 60000), NSD_OK);
	assert_int_equal(node("a.example.")->entry_count, 60000);
	for (unsigned i = 0; i < 20; i++) {
		begin();
		assert_int_equal(update_remove_rrset(update,
			zone_fixture_name("a.example."),
			(uint16_t)(1000 + 3000 * i)), NSD_OK);
		assert_int_equal(commit(), NSD_OK);
		assert_null(rrset("a.example.", (uint16_t)(1000 + 3000 * i)));
		assert_non_null(rrset("a.example.",
			(uint16_t)(1001 + 3000 * i)));
	}
	assert_int_equal(node("a.example.")->entry_count, 60000 - 20);
	assert_int_equal(commit_types("a.example.", 1000, 60000), NSD_OK);
	assert_int_equal(result.added, 20);
	assert_int_equal(result.present, 60000 - 20);
	assert_int_equal(node("a.example.")->entry_count, 60000);
	/* Very many at a time: not each with each. */
	begin();
	for (unsigned i = 0; i < 60000; i += 2)
		assert_int_equal(update_remove_rrset(update,
			zone_fixture_name("a.example."),
			(uint16_t)(1000 + i)), NSD_OK);
	assert_int_equal(commit(), NSD_OK);
	assert_int_equal(result.removed, 30000);
	assert_int_equal(node("a.example.")->entry_count, 30000);
}

/* ---- cuts and glue ----------------------------------------------------- */

/* RFC 1034 section 4.2.1; RFC 1034 section 4.3.2 step 6 */
static void
a_cut_above_existing_names_hides_them(void **state)
{
	static const uint8_t ns[] = "\2ns\3sub\7example";
	const char *names = HEAD "m MX 1 ns.sub\nns.sub A 192.0.2.9\n"
		"deep.x.sub TXT x\n";
	struct zone_rr rr = {.ttl_sec = 3600, .type = TYPE_NS,
		.rdlen = sizeof(ns), .rdata = ns};
	char text[500];

	load(names);
	begin();
	rr.owner = zone_fixture_name("sub.example.");
	assert_int_equal(update_add(update, &rr), NSD_OK);
	assert_int_equal(commit(), NSD_OK);
	assert_int_equal(node("deep.x.sub.example.")->flags, NODE_OCCLUDED);
	snprintf(text, sizeof(text), "%ssub NS ns.sub\n", names);
	check_text(text);
	begin();
	assert_int_equal(update_remove(update, &rr), NSD_OK);
	assert_int_equal(commit(), NSD_OK);
	assert_int_equal(node("deep.x.sub.example.")->flags, 0);
	check_text(names);
}

/* ---- the whole store --------------------------------------------------- */

/* RRsets of the root have sent offsets of their own, so they are nobody else's;
 * and cells that lead as far as may be. */
static void
the_root_zone_and_large_rrsets_are_sound(void **state)
{
	static char text[100000];
	size_t at = (size_t)snprintf(text, sizeof(text), "$TTL 60\n"
		". SOA ns.a.z. x. 1 2 3 4 5\n. NS ns.a.z.\n. NS ns2.a.z.\n"
		"z. NS ns.a.z.\nz. NS ns2.a.z.\nns.a.z. A 192.0.2.1\n"
		". MX 1 a.else.\n. MX 1 b.else.\n"
		"x. MX 1 a.else.\nx. MX 1 b.else.\n");
	const struct rrset *of_root, *of_x;

	for (unsigned i = 0; i < 1000; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
			"y. MX 1 h%04u.else.\ny. MX 2 h%04u.else.\n", i, i);
	assert_int_equal(zone_fixture_load(&f, ".", text, &entry), NSD_OK);
	assert_null(zone_check_sound(f.view, served(), zone_fixture_name(".")));
	for (unsigned i = 0; i < 2; i++) {
		of_root = store_get(f.view, node_find_entry(zone_fixture_find(
			&f, served(), ".", "."), TYPE_MX)->ref);
		of_x = store_get(f.view, node_find_entry(zone_fixture_find(&f,
			served(), ".", "x."), TYPE_MX)->ref);
		assert_int_equal(of_root->refs, 1);
		assert_int_equal(rrset_rr_head(of_root), 9);
		assert_int_equal(rrset_rr_head(of_x), 10);
		assert_int_equal(rrset_get_tail(of_root)->fixups[0] + 2,
			rrset_get_tail(of_x)->fixups[0]);
		assert_int_equal(commit_addresses(".", 1, 2), NSD_OK);
		assert_int_equal(commit_addresses("y.", 1, 2), NSD_OK);
		assert_null(zone_check_sound(f.view, served(),
			zone_fixture_name(".")));
	}
}

/* ---- much at once ------------------------------------------------------ */

static void
a_change_of_most_of_a_large_zone(void **state)
{
	size_t room = 4000000, len;
	char *text = malloc(room);

	load(HEAD "a A 192.0.2.2\n");
	begin();
	len = (size_t)snprintf(text, room, "%s", HEAD);
	for (unsigned i = 0; i < 101000; i++) {
		char name[40];

		snprintf(name, sizeof(name), "h%06u.example.", i);
		add(name, 3600, (uint8_t)i);
		len += (size_t)snprintf(text + len, room - len,
			"h%06u A 192.0.2.%u\n", i, i & 255);
	}
	take("a.example.", 2);
	assert_int_equal(commit(), NSD_OK);
	assert_int_equal(result.added, 101000);
	assert_int_equal(result.removed, 1);
	check_text(text);
	free(text);
}

/* ---- the index of contents --------------------------------------------- */

/* Does what a loader does that takes over: then the index is gone. */
static void
take_over(void)
{
	struct store_sweep *sweep;
	uint64_t octets;

	assert_int_equal(store_sweep_begin(f.writer, &sweep), NSD_OK);
	mark_roots(f.writer, sweep);
	assert_int_equal(store_sweep_end(sweep, &octets), NSD_OK);
	store_reclaim(f.writer);
}

static uint32_t
index_used(void)
{
	const struct zone *zone = store_get(f.view, served());
	const struct share_index *index = store_get(f.view, zone->share);

	return index->used;
}

static void
index_made_in_steps_is_whole(void **state)
{
	static char text[200000];
	size_t at = (size_t)snprintf(text, sizeof(text), HEAD);
	struct zone_prepare prepare;
	uint32_t used;
	unsigned steps = 1;

	for (unsigned i = 0; i < 1000; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
			"n%u NS ns%u.example.net.\nn%u.n%u.x TXT \"%u\"\n",
			i, i / 2, i, i % 7, i / 3);
	load(text);
	take_over();
	assert_int_equal(update_prepare(f.writer, entry), NSD_OK);
	used = index_used();
	assert_true(used >= 500 + 334);
	take_over();
	assert_int_equal(update_prepare_begin(f.writer, entry, &prepare),
		NSD_OK);
	assert_int_equal(index_used(), 0);
	while (update_prepare_step(f.writer, &prepare, 7) == NSD_E_AGAIN)
		steps++;
	assert_int_equal(index_used(), used);
	assert_true(steps > 2000 / 7);
}

/* A zone that is made anew is another version with the same contents. A large
 * zone stays. */
static void
a_zone_is_made_anew_as_it_is(void **state)
{
	static const char text[] = HEAD "cut NS ns.cut\nns.cut A 192.0.2.7\n"
		"*.w TXT \"a\"\nd DNAME elsewhere.org.\nm MX 5 new\n"
		"a.b.c TXT \"b\"\nnew 300 A 192.0.2.9\n";
	const struct zone_update_options options = {.threads = 1};
	char large[1u << 18] = HEAD;
	uint64_t records = 0;
	store_ref old;
	size_t len;

	load(HEAD "cut NS ns.cut\nns.cut A 192.0.2.7\n*.w TXT \"a\"\n"
		  "d DNAME elsewhere.org.\nm MX 5 new\na.b.c TXT \"b\"\n");
	begin();
	add("new.example.", 300, 9);
	assert_int_equal(commit(), NSD_OK);
	old = served();
	assert_int_equal(update_compact(f.writer, entry, &options, &records),
		NSD_OK);
	store_reclaim(f.writer);
	assert_int_equal(records, 10);
	assert_int_not_equal(served(), old);
	check_text(text);
	len = strlen(large);
	for (unsigned i = 0; i < 4000; i++)
		len += (size_t)snprintf(large + len, sizeof(large) - len,
			"n%u A 192.0.2.1\n", i);
	load(large);
	old = served();
	assert_int_equal(update_compact(f.writer, entry, &options, &records),
		NSD_OK);
	assert_int_equal(records, 10);
	assert_int_equal(served(), old);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_and_what_is_not_is_counted),
		cmocka_unit_test(exact_update_must_fit),
		cmocka_unit_test(exact_update_that_is_a_build_must_fit),
		cmocka_unit_test(removed_and_added_stays_in_any_order),
		cmocka_unit_test(the_lowest_ttl_counts),
		cmocka_unit_test(rrsets_and_names_go_whole),
		cmocka_unit_test(what_a_build_refuses_changes_nothing),
		cmocka_unit_test(names_elsewhere_and_zones_not_loaded),
		cmocka_unit_test(limits_hold_for_what_changes),
		cmocka_unit_test(a_name_with_very_many_types),
		cmocka_unit_test(a_cut_above_existing_names_hides_them),
		cmocka_unit_test(the_root_zone_and_large_rrsets_are_sound),
		cmocka_unit_test(a_change_of_most_of_a_large_zone),
		cmocka_unit_test(index_made_in_steps_is_whole),
		cmocka_unit_test(a_zone_is_made_anew_as_it_is),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
