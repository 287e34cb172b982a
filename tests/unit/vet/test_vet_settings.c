/* test_vet_settings.c - settings are dropped before there are readers, and
 * looked through while there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/settings_fixture.h"
#include "lib/store_fixture.h"
#include "lib/zone_fixture.h"
#include "settings/acl_index.h"
#include "store/writer.h"
#include "vet/vet.h"

static unsigned told;
static const char *kind; /* of the last one */

static void
on_fault(void *ctx, const struct vet_fault *fault)
{
	told++;
	kind = fault->kind;
}

#define SETTINGS_AT 132u /* the root, in the header of the store */

/* Settings come from the configuration: what a file says of them is dropped,
 * whatever it is, and nothing of it is followed. */
static void
settings_of_a_file_are_never_looked_at(void **state)
{
	static const store_ref wild[] = {1, 0x7fffff00, STORE_NONE};
	const struct vet_options options = {.threads = 1, .key = {5, 6},
		.sweep = true, .on_fault = on_fault};
	const struct acl_element acl = {.family = 4};
	struct zone_fixture f;
	struct zone_entry *entry;
	uint64_t octets;
	store_ref ref;
	size_t faults;

	zone_fixture_init(&f);
	assert_int_equal(zone_fixture_load(&f, "a.", "@ 60 SOA n h 1 2 3 4 5\n"
		"@ 60 NS n.b.\n", &ref), NSD_OK);
	entry = store_edit(store_writer_heap(f.writer), ref);
	octets = store_fixture_reclaimed(f.writer);
	for (unsigned i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		const struct settings_setup setup = {.identity = "who"};
		struct settings *settings;

		settings_fixture_publish(f.writer, &setup);
		settings_fixture_set_acl(f.writer, ref, &acl, 1, NULL, 0);
		settings = store_edit(store_writer_heap(f.writer),
			store_root(f.view, STORE_ROOT_SETTINGS));
		memset(settings, 0xee, sizeof(*settings));
		if (wild[i] != STORE_NONE) {
			memcpy((uint8_t *)store_edit(store_writer_heap(
				f.writer), ref) - (size_t)ref * STORE_GRANULE
				+ SETTINGS_AT, &wild[i], sizeof(wild[i]));
			entry->options = wild[i];
		}
		told = 0;
		assert_int_equal(vet_store(f.writer, &options, &faults),
			NSD_OK);
		assert_int_equal(faults + told, 0);
		assert_int_equal(store_root(f.view, STORE_ROOT_SETTINGS),
			STORE_NONE);
		assert_int_equal(entry->options, STORE_NONE);
		assert_int_not_equal(entry->zone, STORE_NONE);
		assert_int_equal(store_fixture_reclaimed(f.writer), octets);
	}
	zone_fixture_fini(&f);
}

/* ---- while they are read ------------------------------------------------- */

struct world {
	struct zone_fixture f;
	struct zone_entry *entry;
	struct settings *settings;
	struct settings_options *options;
	uint32_t *index_at; /* of an index of the options */
	struct acl_index *index;
	struct settings_key *key;
};

/* A zone and a pattern with the same options, which name the one key. */
static void
world_init(struct world *w)
{
	struct acl_element acl[2] = {{.family = 4}, {.family = 6,
		.kind = ACL_RANGE, .needs_key = 1}};
	/* Enough for an index. */
	struct acl_element many[ACL_WALK_MAX + 1] = {{.family = 4}};
	const struct settings_xfr xfr = {.notify_tries = 1};
	struct settings_lists lists = {.lists = {acl}, .counts = {2},
		.xfr = &xfr};
	store_ref key, options, entry;
	const struct settings_setup setup = {.identity = "who",
		.keys = &key, .key_count = 1, .patterns = &options,
		.pattern_count = 1};
	struct store_heap *heap;
	struct settings_edit *edit;

	for (unsigned i = 0; i < ACL_WALK_MAX + 1; i++) {
		many[i].family = 4;
		many[i].address[0] = (uint8_t)(2 * i);
	}
	lists.lists[SETTINGS_ALLOW_NOTIFY] = many;
	lists.counts[SETTINGS_ALLOW_NOTIFY] = ACL_WALK_MAX + 1;
	zone_fixture_init(&w->f);
	heap = store_writer_heap(w->f.writer);
	assert_int_equal(zone_fixture_load(&w->f, "a.",
				 "@ 60 SOA n h 1 2 3 4 5\n@ 60 NS n.b.\n",
				 &entry),
		NSD_OK);
	assert_int_equal(settings_edit_begin(w->f.writer, &edit), NSD_OK);
	assert_int_equal(settings_edit_key(edit, (const uint8_t *)"\1k",
				 MAC_HMAC_SHA256, &key),
		NSD_OK);
	acl[1].key = key;
	assert_int_equal(settings_edit_options(edit, &lists, &options),
		NSD_OK);
	assert_int_equal(settings_edit_publish(edit, &setup), NSD_OK);
	settings_edit_end(edit);
	settings_fixture_set(w->f.writer, entry, &lists);
	w->entry = store_edit(heap, entry);
	w->options = store_edit(heap, options);
	w->index_at = &w->options->index_at[SETTINGS_ALLOW_NOTIFY];
	assert_int_not_equal(*w->index_at, 0);
	w->index = (struct acl_index *)((uint8_t *)w->options + *w->index_at);
	assert_int_equal(w->index->part_count, 1);
	assert_int_equal(w->index->parts[0].count, 2 * ACL_WALK_MAX + 1);
	w->key = store_edit(heap, key);
	w->settings = store_edit(heap,
		store_root(w->f.view, STORE_ROOT_SETTINGS));
}

static void
look(struct world *w, bool sound)
{
	const struct vet_options options = {.threads = 1, .key = {5, 6},
		.only_look = true, .on_fault = on_fault};
	size_t faults;
	enum nsd_err err;

	told = 0;
	err = vet_store(w->f.writer, &options, &faults);
	assert_int_equal(err == NSD_OK && faults == 0, sound);
	assert_int_equal(told > 0, !sound);
}

static void
settings_that_are_read_stay(void **state)
{
	struct world w;
	store_ref root;

	world_init(&w);
	root = store_root(w.f.view, STORE_ROOT_SETTINGS);
	for (unsigned i = 0; i < 3; i++)
		look(&w, true);
	assert_int_equal(store_root(w.f.view, STORE_ROOT_SETTINGS), root);
	assert_int_equal(w.settings->refs[1], w.entry->options);
	assert_int_equal(w.options->refs, 2);
	zone_fixture_fini(&w.f);
}

/* Everything that a reader or the writer would follow or count. */
static void
each_fault_of_what_is_read_is_told(void **state)
{
	struct world w;
	uint8_t was[8];

	world_init(&w);
#define FAULT(field, value, expected)                                        \
	memcpy(was, &(field), sizeof(field));                                \
	(field) = (value);                                                   \
	look(&w, false);                                                     \
	assert_string_equal(kind, expected);                                 \
	memcpy(&(field), was, sizeof(field));                                \
	look(&w, true)
	FAULT(w.entry->options, 1, "options of a zone");
	FAULT(w.entry->options, 0x7fffff00, "options of a zone");
	FAULT(w.entry->options, w.settings->refs[0], "options of a zone");
	FAULT(w.entry->options, STORE_NONE, "settings"); /* a holder less */
	FAULT(w.options->refs, 3, "settings");
	FAULT(w.options->ends[0], 3, "options of a zone");
	FAULT(w.options->ends[SETTINGS_LIST_COUNT - 1], 0x7fffffff,
		"options of a zone");
	FAULT(w.options->ends[SETTINGS_LIST_COUNT - 1], 100,
		"options of a zone");
	FAULT(w.options->len, 40, "options of a zone");
	FAULT(w.options->len, 0x7fffffff, "options of a zone");
	FAULT(*w.index_at, *w.index_at + 4, "options of a zone");
	FAULT(*w.index_at, 48, "options of a zone");
	FAULT(w.options->xfr_at, w.options->xfr_at + 4, "options of a zone");
	FAULT(w.options->xfr_at, 0xfffffff8, "options of a zone");
	FAULT(*w.index_at, w.options->len, "options of a zone");
	FAULT(*w.index_at, 0xfffffff8, "options of a zone");
	FAULT(w.index->len, w.index->len + 8, "options of a zone");
	FAULT(w.index->len, 0, "options of a zone");
	FAULT(w.index->len, 0xffffffff, "options of a zone");
	FAULT(w.index->part_count, 0xffffffff, "options of a zone");
	FAULT(w.index->parts[0].at, 4, "options of a zone");
	FAULT(w.index->parts[0].at, 0xfffffff8, "options of a zone");
	FAULT(w.index->parts[0].at, w.index->len, "options of a zone");
	FAULT(w.index->parts[0].count, 0, "options of a zone");
	FAULT(w.index->parts[0].count, 0xffffffff, "options of a zone");
	FAULT(w.index->parts[0].count, 2 * ACL_WALK_MAX + 32,
		"options of a zone");
	FAULT(w.index->walk_count, ACL_WALK_MAX + 2, "options of a zone");
	FAULT(w.options->acl[0].family, 5, "options of a zone");
	FAULT(w.options->acl[0].kind, 3, "options of a zone");
	FAULT(w.options->acl[1].key, 1, "key");
	FAULT(w.options->acl[1].key, w.entry->options, "key");
	FAULT(w.key->refs, 1, "settings");
	FAULT(w.key->name_len, 2, "key");
	FAULT(w.key->name_len, 255, "key");
	FAULT(w.key->name[0], 63, "key");
	FAULT(w.key->algorithm, 200, "key");
	FAULT(w.settings->len, 40, "settings");
	FAULT(w.settings->len, 0x7fffffff, "settings");
	FAULT(w.settings->key_count, 0x7fffffff, "settings");
	FAULT(w.settings->pattern_count, 0, "settings");
	FAULT(w.settings->identity.at, 4, "settings");
	FAULT(w.settings->identity.at, 0x7fffffff, "settings");
	FAULT(w.settings->identity.len, 4, "settings");
	FAULT(w.settings->nsid.at, 1, "settings");
	FAULT(w.settings->refs[0], 1, "key");
	FAULT(w.settings->refs[1], w.settings->refs[0], "options of a zone");
	zone_fixture_fini(&w.f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_of_a_file_are_never_looked_at),
		cmocka_unit_test(settings_that_are_read_stay),
		cmocka_unit_test(each_fault_of_what_is_read_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
