/* test_load_follow.c - another configuration, while zones are being read. */
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

#include "loader/load_follow.h"
#include "loader/load_list.h"
#include "settings/pattern.h"
#include "store/writer.h"
#include "zone/table.h"
#include "zonedb/retire.h"

#define PATTERN "pattern: name: p zonefile: %s\n"
#define ZONE(name, file) "zone: name: " name " zonefile: " file "\n"

static struct fixture {
	struct store *store;
	struct store_writer *writer;
	struct conf *conf;  /* the one in use */
	struct conf *first;
	struct load_set set;
	struct load_follow follow;
	unsigned removed, files;
} f;

static void
on_removed(void *ctx, store_ref ref)
{
	const struct zone_entry *entry = store_get(
		store_writer_view(f.writer), ref);

	f.removed++;
	retire_zone(f.writer, entry->zone);
}

static struct load_batch
begin(void)
{
	return (struct load_batch){
		.set = &f.set,
		.writer = f.writer,
		.conf = f.conf,
		.on_removed = on_removed,
	};
}

static void
on_file(void *ctx, struct load_zone *zone)
{
	f.files++;
}

static struct conf *
read_conf(const char *text)
{
	struct conf *conf;

	assert_int_equal(conf_load_text("test", text, strlen(text), false,
				 NULL, &conf),
		NSD_OK);
	return conf;
}

static int
open_fixture(void **state)
{
	struct store_options options = {
		.reservation = (size_t)1 << 30,
		.reader_max = 1,
	};
	struct load_list_result result;

	memset(&f, 0, sizeof(f));
	assert_int_equal(store_create(&options, &f.store), NSD_OK);
	assert_int_equal(store_writer_open(f.store, &f.writer), NSD_OK);
	f.first = f.conf = read_conf(PATTERN ZONE("a", "a") ZONE("b", "b"));
	assert_int_equal(load_set_init(&f.set, f.conf->zone_count), NSD_OK);
	assert_int_equal(load_list_publish(f.writer, f.conf, f.set.zones,
				 &result),
		NSD_OK);
	f.follow = (struct load_follow){.set = &f.set, .writer = f.writer,
		.on_removed = on_removed, .on_file = on_file, .kept = f.first};
	return 0;
}

static int
close_fixture(void **state)
{
	assert_null(f.follow.formers);
	free(f.follow.behind);
	store_writer_close(f.writer);
	store_destroy(f.store);
	if (f.conf != f.first)
		conf_destroy(f.conf);
	conf_destroy(f.first);
	return 0;
}

static void
follow(const char *text)
{
	struct conf *new = read_conf(text);

	assert_int_equal(load_follow_begin(&f.follow, f.conf, new, false),
		NSD_OK);
	f.conf = new;
}

static void
follow_up(void)
{
	assert_int_equal(load_follow_up(&f.follow, f.conf, false), NSD_OK);
}

static struct load_zone *
find(const char *name)
{
	const struct conf_zone *conf = conf_find_zone_text(f.conf, name);

	return conf == NULL ? NULL
		: load_set_find(&f.set, store_writer_view(f.writer), conf);
}

static const char *
file_of(const struct load_zone *zone)
{
	const struct store_view *view = store_writer_view(f.writer);

	return zone_entry_file(view, store_get(view, zone->entry));
}

static bool
is_listed(const char *apex)
{
	store_ref ref;

	return table_find_apex(store_writer_view(f.writer),
		       (const uint8_t *)apex, &ref) == NSD_OK;
}

static void
zones_stay_come_and_go(void **state)
{
	struct load_zone *a = find("a"), *zone;
	struct load_batch batch = begin();

	assert_int_equal(load_batch_add(&batch, "run.time", "p", &zone),
		NSD_OK);
	load_batch_publish(&batch);
	follow(PATTERN ZONE("a", "other") ZONE("c", "c"));
	assert_ptr_equal(find("a"), a);
	assert_string_equal(file_of(a), "other");
	assert_ptr_equal(a->conf, conf_find_zone_text(f.conf, "a"));
	assert_string_equal(file_of(find("c")), "c");
	assert_ptr_equal(find("run.time"), zone);
	assert_false(is_listed("\1b"));
	assert_int_equal(f.removed, 1);
	assert_int_equal(f.follow.count, 0);
	/* The place of a removed zone is used again. */
	follow(PATTERN ZONE("a", "a") ZONE("b", "b") ZONE("c", "c"));
	assert_true(f.set.count <= 4);
	/* Zones that were added with a pattern go with it. */
	follow(ZONE("a", "a"));
	assert_false(is_listed("\3run\4time"));
	assert_int_equal(f.removed, 4);
}

static void
zone_in_reading_follows_later(void **state)
{
	struct load_zone *a = find("a");
	const struct conf_zone *before = a->conf;

	assert_true(load_zone_claim(a, false));
	follow(PATTERN ZONE("a", "other") ZONE("b", "b"));
	/* Readers know already, its thread does not. */
	assert_string_equal(file_of(a), "other");
	assert_ptr_equal(a->conf, before);
	assert_ptr_equal(find("a"), a);
	follow_up();
	assert_ptr_equal(a->conf, before);
	/* Two at once: the zone goes to the last one. */
	follow(PATTERN ZONE("a", "third") ZONE("b", "b"));
	assert_ptr_equal(a->conf, before);
	assert_non_null(f.follow.formers);
	assert_int_equal(f.first->zone_count, 2);
	assert_false(load_zone_release(a));
	follow_up();
	/* The first one is kept, and takes no room for zones. */
	assert_int_equal(f.first->zone_count, 0);
	assert_ptr_equal(a->conf, conf_find_zone_text(f.conf, "a"));
	assert_string_equal(file_of(a), "third");
	assert_int_equal(f.files, 1); /* the zone may have another file */
	assert_false(a->reading);
}

static void
zone_in_reading_goes_later(void **state)
{
	struct load_zone *a = find("a");

	assert_true(load_zone_claim(a, false));
	follow(ZONE("b", "b"));
	assert_true(a->removed); /* no thread begins to read it */
	assert_true(is_listed("\1a"));
	follow_up();
	assert_true(is_listed("\1a"));
	(void)load_zone_release(a);
	follow_up();
	assert_false(is_listed("\1a"));
	assert_int_equal(f.removed, 1);
}

/* A zone that is being read is removed and added again before it is gone. */
static void
zone_in_reading_comes_back(void **state)
{
	struct load_zone *a = find("a");

	assert_true(load_zone_claim(a, false));
	follow(ZONE("b", "b"));
	follow(ZONE("a", "again") ZONE("b", "b"));
	assert_false(a->removed);
	(void)load_zone_release(a);
	follow_up();
	assert_ptr_equal(find("a"), a);
	assert_string_equal(file_of(a), "again");
	assert_int_equal(f.removed, 0);
}

/* The flags of a zone change only after the thread that reads it is done. */
static void
zone_in_reading_keeps_its_role(void **state)
{
	const struct store_view *view = store_writer_view(f.writer);
	struct load_zone *a = find("a");
	const struct zone_entry *entry = store_get(view, a->entry);

	assert_true(load_zone_claim(a, false));
	follow("zone: name: a zonefile: a request-xfr: ::1 NOKEY\n");
	assert_int_equal(entry->flags & ZONE_ENTRY_FROM_XFRD, 0);
	(void)load_zone_release(a);
	follow_up();
	assert_int_not_equal(entry->flags & ZONE_ENTRY_FROM_XFRD, 0);
	follow(ZONE("a", "a"));
	assert_int_equal(entry->flags & ZONE_ENTRY_FROM_XFRD, 0);
	assert_true(a->conf->was_from_xfrd);
	follow("zone: name: a catalog: producer\n");
	assert_int_not_equal(entry->flags & ZONE_ENTRY_FROM_XFRD, 0);
	assert_false(a->conf->was_from_xfrd);
}

/* A pass has left it out meanwhile. */
static void
file_that_a_pass_has_left_out_is_looked_at(void **state)
{
	struct load_zone *a = find("a");

	__atomic_store_n(&a->skipped, true, __ATOMIC_SEQ_CST);
	follow(ZONE("a", "a") ZONE("b", "b"));
	assert_int_equal(f.files, 1);
}

/* The place of the removed zone may be another zone's by then. */
static void
zone_that_was_removed_by_another_way_is_forgotten(void **state)
{
	struct load_batch batch = begin();
	struct load_zone *zone;

	assert_int_equal(load_batch_add(&batch, "z", "p", &zone), NSD_OK);
	load_batch_publish(&batch);
	assert_true(load_zone_claim(zone, false));
	follow(PATTERN ZONE("a", "a"));
	(void)load_zone_release(zone);
	batch = begin();
	assert_int_equal(load_batch_remove(&batch, "z"), NSD_OK);
	load_batch_publish(&batch);
	follow_up();
	assert_int_equal(f.follow.count, 0);
	assert_int_equal(f.removed, 2); /* b, too */
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(zones_stay_come_and_go),
		TEST(zone_in_reading_follows_later),
		TEST(zone_in_reading_goes_later),
		TEST(zone_in_reading_comes_back),
		TEST(zone_in_reading_keeps_its_role),
		TEST(file_that_a_pass_has_left_out_is_looked_at),
		TEST(zone_that_was_removed_by_another_way_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
