/* test_load_batch.c - zones of the loader that come, go and change. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/build.h"
#include "lib/failing.h"
#include "lib/history_fixture.h"
#include "loader/load_batch.h"
#include "loader/load_history.h"
#include "loader/load_list.h"
#include "settings/pattern.h"
#include "store/writer.h"
#include "zone/table.h"
#include "zonedb/retire.h"
#include "zonedb/table_edit.h"

static struct fixture {
	struct store *store;
	struct store_writer *writer;
	struct conf *conf;
	struct load_set set;
	unsigned removed;
} f;

static int
open_fixture(void **state)
{
	static const char text[] = "pattern: name: p zonefile: %s"
				   " allow-query: ::1 NOKEY\n"
				   "pattern: name: zk zonefile: %s"
				   " store-ixfr: yes\n"
				   "zone: name: a zonefile: a\n"
				   "zone: name: b zonefile: b\n";
	struct store_options options = {
		.reservation = (size_t)1 << 30,
		.reader_max = 1,
	};
	struct load_list_result result;

	f.removed = 0;
	assert_int_equal(store_create(&options, &f.store), NSD_OK);
	assert_int_equal(store_writer_open(f.store, &f.writer), NSD_OK);
	assert_int_equal(conf_load_text("test", text, strlen(text), false,
				 NULL, &f.conf),
		NSD_OK);
	assert_int_equal(load_set_init(&f.set, f.conf->zone_count), NSD_OK);
	assert_int_equal(load_list_publish(f.writer, f.conf,
				 f.set.zones, &result),
		NSD_OK);
	return 0;
}

static int
close_fixture(void **state)
{
	store_writer_close(f.writer);
	store_destroy(f.store);
	conf_destroy(f.conf);
	return 0;
}

static const struct zone_entry *
find(const uint8_t *apex)
{
	const struct store_view *view = store_writer_view(f.writer);
	store_ref ref;

	return table_find_apex(view, apex, &ref) == NSD_OK
		? store_get(view, ref)
		: NULL;
}

static void
on_removed(void *ctx, store_ref ref)
{
	const struct zone_entry *entry = store_get(
		store_writer_view(f.writer), ref);

	f.removed++;
	retire_zone(f.writer, entry->zone);
}

static struct load_batch
begin(bool pass)
{
	return (struct load_batch){
		.set = &f.set,
		.writer = f.writer,
		.conf = f.conf,
		.pass = pass,
		.on_removed = on_removed,
	};
}

static enum nsd_err
add(const char *name, struct load_zone **zone)
{
	struct load_batch batch = begin(false);
	enum nsd_err err = load_batch_add(&batch, name, "p", zone);

	load_batch_publish(&batch);
	return err;
}

static enum nsd_err
drop(const char *name, bool pass)
{
	struct load_batch batch = begin(pass);
	enum nsd_err err = load_batch_remove(&batch, name);

	load_batch_publish(&batch);
	return err;
}

static uint64_t
live(void)
{
	struct store_stats stats;

	while (store_reclaim(f.writer) > 0)
		;
	store_get_stats(f.writer, &stats);
	return stats.live;
}

static void
zone_is_in_all_three_or_in_none(void **state)
{
	const struct store_view *view = store_writer_view(f.writer);
	const struct settings_options *options;
	const struct zone_entry *entry;
	struct load_batch batch = begin(false);
	struct load_zone *zone;
	char text[NAME_TEXT_MAX];

	assert_int_equal(add("C.d", &zone), NSD_OK);
	entry = find((const uint8_t *)"\1c\1d");
	assert_non_null(entry);
	assert_ptr_equal(store_get(view, zone->entry), entry);
	assert_ptr_equal(&f.set.zones[entry->id], zone);
	assert_ptr_equal(zone->conf, conf_find_zone_text(f.conf, "c.d"));
	assert_int_equal(entry->flags, ZONE_ENTRY_LISTED);
	assert_int_equal(entry->zone, STORE_NONE);
	options = store_get(view, entry->options);
	assert_int_equal(options->ends[SETTINGS_ALLOW_QUERY], 1);
	/* The entry has the pattern of the settings, whose options all its
	 * zones share. */
	assert_int_equal(entry->pattern,
		settings_patterns(settings_get(view))[0]);
	assert_int_equal(entry->options, ((const struct settings_pattern *)
		store_get(view, entry->pattern))->options);
	assert_int_equal(options->refs, 2);
	assert_string_equal(zone_entry_name(view, entry, text), "C.d");
	assert_string_equal(zone_entry_file(view, entry), "%s");
	assert_int_equal(add("c.d", &zone), NSD_E_ZONE);
	assert_int_equal(add("a", &zone), NSD_E_ZONE);
	assert_int_equal(add("d..", &zone), NSD_E_SYNTAX);
	assert_int_equal(load_batch_add(&batch, "e", "q", &zone),
		NSD_E_NOT_FOUND);
	assert_int_equal(f.conf->zone_count, 3);
	assert_int_equal(drop("c.D.", false), NSD_OK);
	assert_null(find((const uint8_t *)"\1c\1d"));
	assert_null(conf_find_zone_text(f.conf, "c.d"));
	assert_int_equal(drop("c.d", false), NSD_E_NOT_FOUND);
	assert_int_equal(drop("a", false), NSD_OK);
	assert_null(find((const uint8_t *)"\1a"));
	assert_non_null(find((const uint8_t *)"\1b"));
	assert_int_equal(table_get(view)->zone_count, 1);
	assert_int_equal(f.conf->zone_count, 1);
}

static void
place_is_used_again_but_not_in_the_pass(void **state)
{
	struct load_zone *first, *second, *third;

	assert_int_equal(add("c", &first), NSD_OK);
	assert_int_equal(drop("c", true), NSD_OK);
	assert_null(first->conf);
	assert_true(first->removed);
	assert_int_equal(add("d", &second), NSD_OK);
	assert_ptr_not_equal(second, first);
	load_set_end_pass(&f.set);
	assert_int_equal(add("e", &third), NSD_OK);
	assert_ptr_equal(third, first);
	assert_false(third->removed);
	assert_int_equal(drop("d", false), NSD_OK);
	assert_int_equal(add("c", &first), NSD_OK);
	assert_ptr_equal(first, second);
	assert_int_equal(f.set.count, 4);
}

static void
zone_that_is_being_read_stays_until_then(void **state)
{
	struct load_zone *zone;

	assert_int_equal(add("c", &zone), NSD_OK);
	zone->reading = true;
	assert_int_equal(drop("c", true), NSD_E_AGAIN);
	assert_non_null(find((const uint8_t *)"\1c"));
	assert_true(zone->removed); /* no thread begins to */
	assert_int_equal(drop("c", true), NSD_E_AGAIN);
	zone->reading = false;
	assert_int_equal(drop("c", true), NSD_OK);
	assert_null(find((const uint8_t *)"\1c"));
}

static void
zones_come_and_go_without_a_trace(void **state)
{
	struct load_zone *zone;
	uint64_t before = 0;
	char name[16];

	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 500; i++) {
			snprintf(name, sizeof(name), "n%u.x", i);
			assert_int_equal(add(name, &zone), NSD_OK);
		}
		for (unsigned i = 0; i < 500; i++) {
			snprintf(name, sizeof(name), "n%u.x", i * 7 % 500);
			assert_int_equal(drop(name, false), NSD_OK);
		}
		if (round == 0)
			before = live();
	}
	assert_int_equal(live(), before);
	assert_int_equal(f.set.count, 502);
}

/* A version without a record, but for its serial. */
static void
serve(const struct load_zone *zone, uint32_t serial)
{
	store_ref ref;
	struct zone *version = store_alloc(store_writer_heap(f.writer),
		sizeof(*version), &ref);

	assert_non_null(version);
	memset(version, 0, sizeof(*version));
	version->serial = serial;
	table_set_zone(f.writer, zone->entry, ref);
}

/* store-ixfr, ixfr-number */
static void
differences_go_with_their_option(void **state)
{
	struct load_batch batch = begin(false);
	struct load_zone *zone;
	struct history_limits limits;

	assert_int_equal(load_batch_add(&batch, "c", "zk", &zone), NSD_OK);
	load_batch_publish(&batch);
	limits = load_zone_get_history(zone);
	assert_int_equal(limits.number, 5);
	assert_int_equal(limits.octets, 1048576);
	for (uint32_t i = 1; i < 3; i++) {
		char texts[2][60];

		sprintf(texts[0], "@ 60 SOA a b %u 2 3 4 5\n", (unsigned)i);
		sprintf(texts[1], "@ 60 SOA a b %u 2 3 4 5\n",
			(unsigned)i + 1);
		history_fixture_push(f.writer, zone->entry, &limits, texts[0],
			texts[1]);
	}
	serve(zone, 3);
	load_history_prune(f.writer, zone);
	assert_int_not_equal(find(zone->conf->wire)->history, STORE_NONE);
	assert_int_equal(load_batch_change(&batch, "c", "p", &zone), NSD_OK);
	assert_int_equal(load_zone_get_history(zone).number, 0);
	assert_int_equal(find(zone->conf->wire)->history, STORE_NONE);
}

/* Zones that come have what their files say before anybody finds them. */
static void
readers_see_all_of_a_batch_or_nothing(void **state)
{
	const struct store_view *view = store_writer_view(f.writer);
	const struct zone_table *before = table_get(view);
	struct load_batch batch = begin(false);
	struct load_zone *c, *d;

	assert_int_equal(load_batch_add(&batch, "c", "p", &c), NSD_OK);
	serve(c, 7);
	assert_int_equal(load_batch_remove(&batch, "a"), NSD_OK);
	assert_int_equal(load_batch_add(&batch, "d", "zk", &d), NSD_OK);
	assert_int_equal(load_batch_change(&batch, "d", "p", &d), NSD_OK);
	assert_ptr_equal(table_get(view), before);
	assert_non_null(find((const uint8_t *)"\1a"));
	assert_null(find((const uint8_t *)"\1c"));
	assert_null(find((const uint8_t *)"\1d"));
	assert_int_equal(f.removed, 0);
	load_batch_publish(&batch);
	assert_null(find((const uint8_t *)"\1a"));
	assert_int_equal(f.removed, 1);
	assert_ptr_equal(find((const uint8_t *)"\1d"),
		store_get(view, d->entry));
	assert_int_equal(load_zone_published(view, c)->serial, 7);
	assert_ptr_equal(find((const uint8_t *)"\1c"),
		store_get(view, c->entry));
	assert_int_equal(table_get(view)->zone_count, 3);
	assert_int_equal(table_get(view)->only, STORE_NONE);
}

static void
zone_is_found_as_the_batch_has_left_it(void **state)
{
	const struct store_view *view = store_writer_view(f.writer);
	struct load_batch batch = begin(false);
	struct load_zone *c, *a, *twice;
	char text[NAME_TEXT_MAX];

	assert_int_equal(load_batch_add(&batch, "c", "zk", &c), NSD_OK);
	assert_int_equal(load_batch_add(&batch, "c", "zk", &twice),
		NSD_E_ZONE);
	assert_int_equal(load_batch_change(&batch, "c", "p", &twice), NSD_OK);
	assert_ptr_equal(c, twice);
	assert_int_equal(load_batch_remove(&batch, "c"), NSD_OK);
	assert_int_equal(load_batch_remove(&batch, "c"), NSD_E_NOT_FOUND);
	assert_int_equal(load_batch_add(&batch, "c", "p", &c), NSD_OK);
	assert_int_equal(load_batch_remove(&batch, "a"), NSD_OK);
	assert_int_equal(load_batch_add(&batch, "A.", "p", &a), NSD_OK);
	serve(a, 3);
	load_batch_publish(&batch);
	assert_int_equal(f.removed, 2);
	assert_string_equal(zone_entry_name(view, find((const uint8_t *)"\1a"),
		text), "A.");
	assert_int_equal(load_zone_published(view, a)->serial, 3);
	assert_ptr_equal(find((const uint8_t *)"\1c"),
		store_get(view, c->entry));
	assert_int_equal(table_get(view)->zone_count, 3);
	assert_int_equal(f.conf->zone_count, 3);
}

/* Wherever memory runs out, the others of the batch are done. */
static void
zone_that_fails_leaves_the_others(void **state)
{
	struct load_zone *b = &f.set.zones[find((const uint8_t *)"\1b")->id];
	struct load_zone *zone;
	enum nsd_err err = NSD_E_MEMORY, gone = NSD_E_MEMORY;
	uint64_t before = live();
	unsigned n;

	for (n = 0; err != NSD_OK || gone != NSD_OK; n++) {
		struct load_batch batch = begin(false);

		assert_int_equal(load_batch_add(&batch, "x", "p", &zone),
			NSD_OK);
		assert_int_equal(load_batch_add(&batch, "y", "p", &zone),
			NSD_OK);
		b->reading = true;
		assert_int_equal(load_batch_remove(&batch, "b"), NSD_E_AGAIN);
		b->reading = false;
		assert_int_equal(load_batch_add(&batch, "z", "no", &zone),
			NSD_E_NOT_FOUND);
		failing_once((int)n);
		err = load_batch_add(&batch, "z", "p", &zone);
		gone = FAILING_ONCE((int)n, load_batch_remove(&batch, "y"));
		assert_true(err == NSD_OK || err == NSD_E_MEMORY);
		assert_true(gone == NSD_OK || gone == NSD_E_MEMORY);
		assert_int_equal(load_batch_add(&batch, "w", "p", &zone),
			NSD_OK);
		load_batch_publish(&batch);
		assert_non_null(find((const uint8_t *)"\1b"));
		assert_non_null(find((const uint8_t *)"\1w"));
		assert_non_null(find((const uint8_t *)"\1x"));
		assert_true((find((const uint8_t *)"\1y") == NULL)
			== (gone == NSD_OK));
		assert_true((find((const uint8_t *)"\1z") != NULL)
			== (err == NSD_OK));
		assert_int_equal(drop("w", false), NSD_OK);
		assert_int_equal(drop("x", false), NSD_OK);
		assert_int_equal(drop("y", false), gone == NSD_OK
			? NSD_E_NOT_FOUND : NSD_OK);
		assert_int_equal(drop("z", false), err == NSD_OK ? NSD_OK
			: NSD_E_NOT_FOUND);
		assert_int_equal(live(), before);
	}
	assert_true(n > 3);
	/* Places are used again. */
	assert_true(f.set.count <= 6);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
	const struct CMUnitTest tests[] = {
		TEST(zone_is_in_all_three_or_in_none),
		TEST(place_is_used_again_but_not_in_the_pass),
		TEST(zone_that_is_being_read_stays_until_then),
		TEST(zones_come_and_go_without_a_trace),
		TEST(differences_go_with_their_option),
		TEST(readers_see_all_of_a_batch_or_nothing),
		TEST(zone_is_found_as_the_batch_has_left_it),
		TEST(zone_that_fails_leaves_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
