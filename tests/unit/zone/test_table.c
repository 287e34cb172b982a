/* test_table.c - the set of served zones: looking up, adding, removing,
 * publishing versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/build.h"
#include "dns/name.h"
#include "lib/one_fixture.h"
#include "lib/settings_fixture.h"
#include "lib/table_remove.h"
#include "store/writer.h"
#include "zone/measure.h"
#include "zone/sources.h"
#include "zone/table.h"
#include "zonedb/mark.h"
#include "zonedb/retire.h"
#include "zonedb/sources_edit.h"
#include "zonedb/table_edit.h"

static uint64_t
reclaimed(void)
{
	return store_fixture_reclaimed(f.writer);
}

static enum nsd_err
add(const char *const *apexes, size_t count, store_ref *entries)
{
	struct zone_setup setups[8] = {{0}};

	for (size_t i = 0; i < count; i++) {
		setups[i].apex = zone_fixture_name(apexes[i]);
		setups[i].id = (uint32_t)i;
	}
	return table_add(f.writer, setups, count, entries);
}

static enum nsd_err
remove_zone(const char *apex)
{
	return table_remove(f.writer, zone_fixture_name(apex));
}

/* The apex of the zone found, as text; "" if there is none. */
static const char *
find(const char *text, bool parent_of)
{
	static char out[NAME_TEXT_MAX];
	uint8_t name[NAME_MAX_LEN], label_at[NAME_MAX_LABELS + 1];
	const struct zone_table *table = table_get(f.view);
	struct trie_walk walk = {.root = &table->apexes.root};
	const struct zone_entry *entry;
	store_ref ref;

	memcpy(name, zone_fixture_name(text),
		name_len(zone_fixture_name(text)));
	trie_name_split(&walk.name, name, (unsigned)name_len(name) - 1,
		label_at);
	trie_find(f.view, &walk);
	ref = walk.exact != STORE_NONE && !parent_of ? walk.exact
		: walk.encloser;
	if (ref == STORE_NONE)
		return "";
	assert_true(table_may_serve(table, name));
	entry = store_get(f.view, ref);
	name_print_text(entry->name, out);
	return out;
}

/* RFC 1034 section 4.3.2 step 2 */
static void
closest_enclosing_zone_is_found(void **state)
{
	static const char *const apexes[] = {"example.", "a.example.",
		"c.b.a.example.", "org."};
	store_ref entries[4];

	assert_int_equal(add(apexes, 4, entries), NSD_OK);
	assert_string_equal(find("example.", false), "example.");
	assert_string_equal(find("x.y.example.", false), "example.");
	assert_string_equal(find("a.example.", false), "a.example.");
	assert_string_equal(find("b.a.example.", false), "a.example.");
	assert_string_equal(find("x.c.b.a.example.", false),
		"c.b.a.example.");
	assert_string_equal(find("xa.example.", false), "example.");
	assert_string_equal(find("com.", false), "");
	assert_string_equal(find(".", false), "");
	/* RFC 4035 section 3.1.4.1: DS is the parent's */
	assert_string_equal(find("a.example.", true), "example.");
	assert_string_equal(find("c.b.a.example.", true), "a.example.");
	assert_string_equal(find("example.", true), "");
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(remove_zone(apexes[i]), NSD_OK);
	assert_string_equal(find("example.", false), "");
}

static void
lone_zone_is_found_by_the_same_rules(void **state)
{
	static const char *const apexes[] = {"a.example."};
	store_ref entry;

	assert_int_equal(add(apexes, 1, &entry), NSD_OK);
	assert_int_equal(table_get(f.view)->only, entry);
	assert_string_equal(find("a.example.", false), "a.example.");
	assert_string_equal(find("x.a.example.", false), "a.example.");
	assert_string_equal(find("x.a.example.", true), "a.example.");
	assert_string_equal(find("a.example.", true), "");
	assert_string_equal(find("example.", false), "");
	assert_string_equal(find("xa.example.", false), "");
	assert_string_equal(find("\\001a.example.", false), "");
	assert_string_equal(find(".", false), "");
	assert_int_equal(remove_zone("A.Example."), NSD_OK);
	assert_int_equal(table_get(f.view)->only, STORE_NONE);
}

static void
root_zone_encloses_everything(void **state)
{
	static const char *const apexes[] = {".", "com."};
	store_ref entries[2];

	assert_int_equal(add(apexes, 2, entries), NSD_OK);
	assert_string_equal(find(".", false), ".");
	assert_string_equal(find("x.org.", false), ".");
	assert_string_equal(find("com.", true), ".");
	assert_string_equal(find(".", true), "");
	assert_int_equal(remove_zone("."), NSD_OK);
	assert_string_equal(find(".", false), "");
	assert_string_equal(find("x.com.", false), "com.");
	assert_false(table_may_serve(table_get(f.view),
		(const uint8_t *)"\3org"));
	assert_int_equal(remove_zone("com."), NSD_OK);
}

static void
zone_that_is_there_is_refused(void **state)
{
	static const char *const both[] = {"b.", "a."};
	static const char *const twice[] = {"c.", "d.", "C."};
	store_ref entries[3];
	uint64_t before;

	assert_int_equal(add(both + 1, 1, entries), NSD_OK);
	before = reclaimed();
	assert_int_equal(add(both + 1, 1, entries), NSD_E_ZONE);
	assert_int_equal(add(both, 2, entries), NSD_E_ZONE);
	assert_int_equal(add(twice, 3, entries), NSD_E_ZONE);
	assert_int_equal(reclaimed(), before);
	assert_int_equal(table_get(f.view)->zone_count, 1);
	assert_string_equal(find("b.", false), "");
	assert_int_equal(remove_zone("x."), NSD_E_NOT_FOUND);
	assert_int_equal(remove_zone("a."), NSD_OK);
	assert_int_equal(remove_zone("a."), NSD_E_NOT_FOUND);
}

/* However the zones are added, each is found; when all are removed, none is
 * left. */
static void
many_zones_come_and_go(void **state)
{
	enum { COUNT = 20000 };
	static uint8_t names[COUNT][24];
	static store_ref entries[COUNT];
	struct zone_setup *setups = calloc(COUNT, sizeof(*setups));
	uint64_t before = reclaimed();
	size_t at = 0;

	for (size_t i = 0; i < COUNT; i++) {
		char text[24];

		snprintf(text, sizeof(text), "z%u.%s.",
			(unsigned)(i * 7919 % COUNT), i % 2 ? "com" : "net");
		memcpy(names[i], zone_fixture_name(text),
			name_len(zone_fixture_name(text)));
		setups[i].apex = names[i];
	}
	for (size_t step = 10000; at < COUNT; step = at < 19000 ? 3000 : 1) {
		size_t n = step < COUNT - at ? step : COUNT - at;

		assert_int_equal(table_add(f.writer, setups + at, n,
			entries + at), NSD_OK);
		at += n;
		if (at == 19000)
			step = 1;
	}
	assert_int_equal(table_get(f.view)->zone_count, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		char want[NAME_TEXT_MAX];

		name_print_text(names[i], want);
		assert_string_equal(find(want, false), want);
	}
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(table_remove(f.writer, names[i]), NSD_OK);
	assert_int_equal(table_get(f.view)->zone_count, 0);
	assert_int_equal(reclaimed(), before);
	free(setups);
}

/* The lists of both ways to the zone: allow-query, then provide-xfr. */
static void
set_lists(store_ref entry, const struct acl_element *acl, uint32_t query,
	uint32_t provide)
{
	settings_fixture_set_acl(f.writer, entry, acl, query, acl + query,
		provide);
}

static void
options_are_the_zones(void **state)
{
	const struct acl_element acl[3] = {{.port = 1}, {.port = 2},
		{.port = 3}};
	struct zone_setup setup = {.apex = zone_fixture_name("a."),
		.flags = ZONE_ENTRY_FROM_XFRD, .id = 9};
	const struct settings_options *options;
	const struct acl_element *list;
	const struct zone_entry *entry;
	uint64_t before = reclaimed();
	uint32_t count;
	store_ref ref;

	assert_int_equal(table_add(f.writer, &setup, 1, &ref), NSD_OK);
	entry = store_get(f.view, ref);
	assert_int_equal(entry->id, 9);
	assert_int_equal(entry->flags, ZONE_ENTRY_FROM_XFRD);
	assert_int_equal(entry->zone, STORE_NONE);
	assert_int_equal(entry->options, STORE_NONE);
	set_lists(ref, acl, 1, 2);
	options = store_get(f.view, entry->options);
	assert_int_equal(options->refs, 1);
	list = settings_options_list(options, SETTINGS_ALLOW_QUERY, &count);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].port, 1);
	list = settings_options_list(options, SETTINGS_PROVIDE_XFR, &count);
	assert_int_equal(count, 2);
	assert_int_equal(list[1].port, 3);
	set_lists(ref, acl, 1, 0);
	options = store_get(f.view, entry->options);
	settings_options_list(options, SETTINGS_PROVIDE_XFR, &count);
	assert_int_equal(count, 0);
	set_lists(ref, acl, 0, 0);
	assert_int_equal(entry->options, STORE_NONE);
	table_set_changesets_stale(f.writer, ref, true);
	table_set_flags(f.writer, ref, ZONE_ENTRY_FROM_XFRD);
	assert_int_equal(entry->flags,
		ZONE_ENTRY_FROM_XFRD | ZONE_ENTRY_CHANGESETS_STALE);
	table_set_changesets_stale(f.writer, ref, false);
	assert_int_equal(entry->flags, ZONE_ENTRY_FROM_XFRD);
	set_lists(ref, acl, 1, 1);
	assert_int_equal(remove_zone("a."), NSD_OK);
	assert_int_equal(reclaimed(), before);
}

#define CHAIN_RECORDS 300
#define TEXT(serial, rest)                                                  \
	"$TTL 60\n@ SOA ns1 h " serial " 2 3 4 5\n@ NS ns1\nns1 A 192.0.2.1\n" \
	rest

static void
new_version_replaces_the_old_one(void **state)
{
	const struct zone_entry *entry;
	uint64_t empty, first;
	store_ref ref;

	table_get(f.view);
	empty = reclaimed();
	assert_int_equal(zone_fixture_load(&f, "a.", TEXT("1", ""), &ref),
		NSD_OK);
	first = reclaimed();
	entry = store_get(f.view, ref);
	assert_int_equal(((const struct zone *)store_get(f.view, entry->zone))
		->serial, 1);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(zone_fixture_load(&f, "a.", TEXT("2",
			"b MX 1 ns1\nc MX 1 ns1\n"), &ref), NSD_OK);
	assert_int_equal(((const struct zone *)store_get(f.view, entry->zone))
		->serial, 2);
	assert_true(reclaimed() > first);
	assert_int_equal(zone_fixture_load(&f, "a.", TEXT("3", ""), &ref),
		NSD_OK);
	assert_int_equal(reclaimed(), first);
	/* A build that fails leaves the old version. */
	assert_int_equal(zone_fixture_load(&f, "a.", "x A 192.0.2.1\n", &ref),
		NSD_E_ZONE);
	assert_int_equal(((const struct zone *)store_get(f.view, entry->zone))
		->serial, 3);
	table_set_zone(f.writer, ref, STORE_NONE);
	assert_int_equal(entry->zone, STORE_NONE);
	assert_int_equal(remove_zone("a."), NSD_OK);
	assert_int_equal(reclaimed(), empty);
}

/* Memory that a step frees is not looked at by the next steps. */
static void
version_is_retired_in_steps(const char *text)
{
	struct retiring *retiring;
	uint64_t empty = reclaimed();
	unsigned steps = 0;
	store_ref ref, zone;

	assert_int_equal(zone_fixture_load(&f, "r.", text, &ref), NSD_OK);
	zone = table_swap_zone(f.writer, ref, STORE_NONE);
	assert_int_not_equal(zone, STORE_NONE);
	assert_int_equal(table_swap_zone(f.writer, ref, STORE_NONE),
		STORE_NONE);
	retiring = retire_begin(zone);
	assert_non_null(retiring);
	while (retire_step(f.writer, retiring, 1)) {
		(void)reclaimed();
		steps++;
	}
	assert_true(steps > 4);
	assert_int_equal(remove_zone("r."), NSD_OK);
	assert_int_equal(reclaimed(), empty);
}

/* NSEC3 records enough for a chain with more than one level of pages. */
static void
chain_of_many_pages_is_retired_in_steps(void **state)
{
	char text[64 << 10] = TEXT("1", "@ NSEC3PARAM 1 0 0 -\n");
	size_t len = strlen(text);

	(void)state;
	for (int i = 0; i < CHAIN_RECORDS; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"%032d NSEC3 1 0 0 - %032d A\n", i,
			(i + 1) % CHAIN_RECORDS);
	assert_true(len < sizeof(text));
	version_is_retired_in_steps(text);
}

/* The kinds add up to all that is in the store, but for what is lost in
 * rounding the parts of shared objects. */
static void
assert_measured(void)
{
	struct zone_measuring step = {.in_zone = false};
	struct zone_measure measure, stepped;
	uint64_t sum = 0;
	unsigned steps = 0;

	zone_measure(f.view, &measure);
	while (zone_measure_step(f.view, &step, 1))
		steps++;
	zone_measure_get(&step, &stepped);
	assert_memory_equal(&stepped, &measure, sizeof(measure));
	/* Names, hashes, addresses and zones took steps of their own. */
	assert_true(steps > 10);
	for (unsigned i = 0; i < ZONE_KIND_COUNT; i++) {
		print_message("%s %u\n", zone_kind_name(i),
			(unsigned)measure.octets[i]);
		/* The index for sharing comes with the first update, and so
		 * does what is kept of that. */
		assert_true(measure.octets[i] > 0 || i == ZONE_KIND_sharing
			|| i == ZONE_KIND_history);
		sum += measure.octets[i];
	}
	assert_in_range(sum, reclaimed() - ZONE_KIND_COUNT - 8, reclaimed());
}

/* Zones measured one by one have together what they have together, but for the
 * table, settings, files and what only the writer may look at. */
static void
assert_measured_apart(void)
{
	static const uint8_t apexes[2][3] = {"\1A", "\1b"};
	static const enum zone_kind kinds[] = {ZONE_KIND_names,
		ZONE_KIND_rrsets, ZONE_KIND_signatures, ZONE_KIND_nsec3,
		ZONE_KIND_addresses, ZONE_KIND_history};
	uint64_t sums[ZONE_KIND_COUNT] = {0};
	struct zone_measure all, one;
	struct zone_measuring step;

	for (unsigned i = 0; i < 2; i++) {
		unsigned steps = 0;

		zone_measure_begin_one(&step, apexes[i]);
		while (zone_measure_step_one(f.view, &step, 1))
			steps++;
		assert_true(steps > 1);
		zone_measure_get(&step, &one);
		for (unsigned k = 0; k < ZONE_KIND_COUNT; k++)
			sums[k] += one.octets[k];
		assert_true(one.octets[ZONE_KIND_zones]
			>= sizeof(struct zone) + sizeof(struct zone_entry));
		assert_int_equal(one.octets[ZONE_KIND_sharing], 0);
	}
	zone_measure(f.view, &all);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		assert_in_range(sums[kinds[i]] + 2, all.octets[kinds[i]],
			all.octets[kinds[i]] + 4);
	assert_true(sums[ZONE_KIND_zones] < all.octets[ZONE_KIND_zones]);
	zone_measure_begin_one(&step, (const uint8_t *)"\1c");
	assert_false(zone_measure_step_one(f.view, &step, 1));
}

static char first_path[] = "a.zone", second_path[] = "included";
static const struct zonefile_source two_sources[] = {
	{.path = first_path, .mtime = {5, 6}, .ctime = {3, 4}, .size = 7,
		.inode = 8, .device = 2},
	{.path = second_path, .mtime = {9, 999999999}, .size = 1},
};

static void
sources_are_kept_beside_the_zone(void **state)
{
	const struct zone_entry *entry;
	const struct zone_sources *sources;
	const struct zone_source *s;
	uint64_t empty, without;
	store_ref ref;

	(void)table_get(f.view);
	empty = reclaimed();
	assert_int_equal(zone_fixture_load(&f, "a.", TEXT("1", ""), &ref),
		NSD_OK);
	without = reclaimed();
	assert_null(zone_sources_get(f.view, ref));
	entry = store_get(f.view, ref);
	assert_int_equal(entry->flags, 0);
	for (unsigned i = 0; i < 3; i++)
		sources_set(f.writer, ref, two_sources, 2,
			ZONE_SOURCES_FAILED);
	sources = zone_sources_get(f.view, ref);
	assert_int_equal(sources->count, 2);
	assert_int_equal(sources->flags, ZONE_SOURCES_FAILED);
	assert_int_equal(entry->flags, ZONE_ENTRY_FILE_FAILED);
	s = zone_sources_first(sources);
	assert_string_equal(s->path, "a.zone");
	assert_true(s->mtime_sec == 5 && s->mtime_nsec == 6);
	assert_true(s->ctime_sec == 3 && s->ctime_nsec == 4);
	assert_true(s->size == 7 && s->inode == 8 && s->device == 2);
	s = zone_sources_next(s);
	assert_string_equal(s->path, "included");
	assert_true(s->mtime_sec == 9 && s->mtime_nsec == 999999999);
	/* The serial is that of the last good try. */
	sources_set(f.writer, ref, two_sources, 1, 0);
	sources_set_serial(f.writer, ref, 7);
	sources_set(f.writer, ref, two_sources, 2, ZONE_SOURCES_FAILED);
	sources = zone_sources_get(f.view, ref);
	assert_int_equal(sources->serial, 7);
	assert_int_equal(sources->flags,
		ZONE_SOURCES_FAILED | ZONE_SOURCES_SERIAL);
	sources_set(f.writer, ref, two_sources, 1, 0);
	assert_int_equal(entry->flags, 0);
	/* Without another record, too. */
	sources_set_failed(f.writer, ref, true);
	assert_int_equal(entry->flags, ZONE_ENTRY_FILE_FAILED);
	assert_int_equal(zone_sources_get(f.view, ref)->flags, 0);
	sources_set_failed(f.writer, ref, false);
	assert_int_equal(entry->flags, 0);
	assert_int_equal(zone_sources_get(f.view, ref)->count, 1);
	sources_set(f.writer, ref, NULL, 0, 0);
	assert_null(zone_sources_get(f.view, ref));
	sources_set_serial(f.writer, ref, 7);
	assert_null(zone_sources_get(f.view, ref));
	assert_int_equal(reclaimed(), without);
	sources_set(f.writer, ref, two_sources, 2, 0);
	assert_int_equal(remove_zone("a."), NSD_OK);
	assert_int_equal(reclaimed(), empty);
}

static void
zone_that_is_there_is_adopted(void **state)
{
	const struct acl_element acl = {.port = 1};
	const struct settings_lists lists = {.lists = {&acl}, .counts = {1}};
	struct zone_setup setup = {.apex = zone_fixture_name("A.b."),
		.id = 9};
	const struct settings_options *options;
	const struct zone_entry *entry;
	store_ref ref, again = STORE_NONE;
	struct settings_edit *edit;
	uint64_t empty;

	assert_int_equal(table_adopt(f.writer, &setup, &again),
		NSD_E_NOT_FOUND);
	(void)table_get(f.view);
	empty = reclaimed();
	assert_int_equal(table_add(f.writer, &setup, 1, &ref), NSD_OK);
	entry = store_get(f.view, ref);
	table_set_expiry(f.writer, ref, 77);
	setup.id = 3;
	setup.flags = ZONE_ENTRY_FROM_XFRD;
	assert_int_equal(settings_edit_begin(f.writer, &edit), NSD_OK);
	assert_int_equal(settings_edit_options(edit, &lists, &setup.options),
		NSD_OK);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(table_adopt(f.writer, &setup, &again),
			NSD_OK);
	settings_edit_end(edit);
	assert_int_equal(again, ref);
	assert_int_equal(entry->id, 3);
	assert_int_equal(entry->flags, ZONE_ENTRY_FROM_XFRD);
	assert_int_equal(entry->expires_sec, 77);
	assert_int_equal(entry->options, setup.options);
	options = store_get(f.view, entry->options);
	assert_int_equal(options->refs, 1);
	setup.options = STORE_NONE;
	assert_int_equal(table_adopt(f.writer, &setup, &again), NSD_OK);
	assert_int_equal(entry->options, STORE_NONE);
	/* Fields that the configuration does not set stay, unless the zone gets
	 * other sources. */
	sources_set(f.writer, ref, two_sources, 2, ZONE_SOURCES_FAILED);
	assert_int_equal(table_adopt(f.writer, &setup, &again), NSD_OK);
	assert_int_equal(entry->flags,
		ZONE_ENTRY_FROM_XFRD | ZONE_ENTRY_FILE_FAILED);
	assert_int_equal(entry->expires_sec, 77);
	setup.flags = 0;
	assert_int_equal(table_adopt(f.writer, &setup, &again), NSD_OK);
	assert_int_equal(entry->flags, 0);
	assert_int_equal(entry->expires_sec, 0);
	setup.apex = zone_fixture_name("x.A.b.");
	assert_int_equal(table_adopt(f.writer, &setup, &again),
		NSD_E_NOT_FOUND);
	assert_int_equal(remove_zone("a.b."), NSD_OK);
	assert_int_equal(reclaimed(), empty);
}

/* A loader dies while it builds one version and lets go of another. Its
 * successor keeps what is published, and no more. */
static void
sweep_keeps_what_is_published_and_no_more(void **state)
{
	static const char signed_text[] = TEXT("2", "b MX 1 ns1\nc MX 1 ns1\n"
		"d NS ns.d\nns.d A 192.0.2.7\nh NSEC3 1 0 1 ab "
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom A\n"
		"h RRSIG NSEC3 8 2 60 20300101000000 20200101000000 1 a. AAAA\n"
		"@ NSEC3PARAM 1 0 0 -\n"
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom NSEC3 1 0 0 - "
		"1p9mhaveqvm6t7vbl5lop2u3t2rp3tom A\n"
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom RRSIG NSEC3 8 2 60 "
		"20300101000000 20200101000000 1 a. AAAA\n"
		"1p9mhaveqvm6t7vbl5lop2u3t2rp3tom NSEC3 1 0 0 - "
		"1p9mhaveqvm6t7vbl5lop2u3t2rp3tom A\n"
		"2p9mhaveqvm6t7vbl5lop2u3t2rp3tom NSEC3 1 0 0 - "
		"2p9mhaveqvm6t7vbl5lop2u3t2rp3tom A\n"
		"2p9mhaveqvm6t7vbl5lop2u3t2rp3tom NSEC3 1 0 0 - "
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom A\n"
		"b RRSIG MX 8 2 60 20300101000000 20200101000000 1 a. AAAA\n"
		"c RRSIG MX 8 2 60 20300101000000 20200101000000 1 a. AAAA\n");
	const struct acl_element acl = {.port = 1};
	struct store_sweep *sweep;
	store_ref first, second, lost;
	uint64_t empty, published, octets;
	const struct zone *zone;
	const struct zone_entry *entry;
	struct rrset *soa;

	(void)table_get(f.view);
	empty = reclaimed();
	assert_int_equal(zone_fixture_load(&f, "a.", signed_text, &first),
		NSD_OK);
	assert_int_equal(zone_fixture_load(&f, "b.", TEXT("1", ""), &second),
		NSD_OK);
	set_lists(second, &acl, 1, 0);
	sources_set(f.writer, second, two_sources, 2, 0);
	published = reclaimed();
	assert_measured();
	assert_measured_apart();
	version_is_retired_in_steps(signed_text);
	assert_int_equal(reclaimed(), published);
	assert_int_equal(zone_fixture_build(&f, "a.", signed_text, &lost),
		NSD_OK);
	entry = store_get(f.view, first);
	zone = store_get(f.view, entry->zone);
	soa = store_edit(store_writer_heap(f.writer), zone->soa);
	soa->refs += 7;
	assert_int_equal(store_sweep_begin(f.writer, &sweep), NSD_OK);
	mark_roots(f.writer, sweep);
	assert_int_equal(store_sweep_end(sweep, &octets), NSD_OK);
	assert_true(octets > 500);
	assert_int_equal(reclaimed(), published);
	assert_int_equal(soa->refs, 1);
	assert_int_equal(remove_zone("a."), NSD_OK);
	assert_int_equal(remove_zone("b."), NSD_OK);
	assert_int_equal(reclaimed(), empty);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closest_enclosing_zone_is_found),
		cmocka_unit_test(lone_zone_is_found_by_the_same_rules),
		cmocka_unit_test(root_zone_encloses_everything),
		cmocka_unit_test(zone_that_is_there_is_refused),
		cmocka_unit_test(many_zones_come_and_go),
		cmocka_unit_test(options_are_the_zones),
		cmocka_unit_test(sources_are_kept_beside_the_zone),
		cmocka_unit_test(zone_that_is_there_is_adopted),
		cmocka_unit_test(new_version_replaces_the_old_one),
		cmocka_unit_test(chain_of_many_pages_is_retired_in_steps),
		cmocka_unit_test(sweep_keeps_what_is_published_and_no_more),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
