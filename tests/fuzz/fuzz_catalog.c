/*
 * fuzz_catalog.c - two texts of a zone file, with a line "---" between them:
 * the first one is a version of a catalog, and becomes the second one by what
 * the two differ by. A walk over all members and the look-up of each find the
 * same; and each member that differs is among the changes of the history.
 *
 * The first octet: 1 as a secondary's, 2 the first version is walked in turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/catalog.h"
#include "compile/build.h"
#include "fuzz/mutate_tokens.h"
#include "fuzz/text_changes.h"
#include "lib/chance.h"
#include "lib/zone_fixture.h"
#include "store/writer.h"
#include "target.h"
#include "update/diff_history.h"
#include "update/update.h"
#include "zone/history.h"
#include "zonedb/history_edit.h"

#define APEX "cat."
#define WIRE ((const uint8_t *)"\3cat")
#define TEXT_MAX 8192u
#define MEMBERS_MAX 2048u

static const struct history_limits limits = {5, 0};
static struct zone_fixture f;

/* The members of a version, in the order of the walk. */
struct members {
	bool over; /* there are more than there is room for */
	unsigned count;
	struct catalog_member *all;
};

/* A member that differs, and what the changes have of it. */
struct difference {
	const struct catalog_member *before, *after; /* NULL: not there */
	bool touched, removed, added;
};

struct differences {
	struct members *before, *after;
	unsigned count;
	struct difference all[2 * MEMBERS_MAX];
};

/* ---- members of a version ------------------------------------------------ */

static bool
members_take(void *ctx, const struct catalog_member *member)
{
	struct members *members = ctx;

	members->over = members->count == MEMBERS_MAX;
	if (!members->over)
		members->all[members->count++] = *member;
	return !members->over;
}

static bool
member_is_same(const struct catalog_member *a, const struct catalog_member *b)
{
	unsigned kept = a->group_count < CATALOG_GROUPS_MAX ? a->group_count
							   : CATALOG_GROUPS_MAX;

	if (memcmp(a->label, b->label, 1u + a->label[0]) != 0
		|| a->fault != b->fault || a->has_coo != b->has_coo
		|| a->group_count != b->group_count
		|| !name_equal(a->name, b->name)
		|| (a->has_coo && !name_equal(a->coo, b->coo)))
		return false;
	for (unsigned i = 0; i < kept; i++)
		if (strcmp(a->groups[i], b->groups[i]) != 0)
			return false;
	return true;
}

/* Walks over all members, `most` names at a time, and looks each up. */
static void
members_read(struct members *members, const struct zone *zone, unsigned most)
{
	struct catalog_walk walk = {.has_last = false};
	static struct catalog_member found;

	(void)catalog_check(f.view, zone, WIRE);
	members->count = 0;
	members->over = false;
	while (!walk.is_over && !members->over)
		catalog_next(f.view, zone, WIRE, &walk, most, members_take,
			members);
	for (unsigned i = 0; i < members->count; i++) {
		MUST(catalog_find(f.view, zone, WIRE, members->all[i].label,
			&found) == NSD_OK);
		MUST(member_is_same(&found, &members->all[i]));
	}
}

/* ---- differences of two versions ----------------------------------------- */

static const struct catalog_member *
members_find(const struct members *members, const uint8_t *label)
{
	for (unsigned i = 0; i < members->count; i++)
		if (memcmp(members->all[i].label, label, 1u + label[0]) == 0)
			return &members->all[i];
	return NULL;
}

static void
differences_find(struct differences *d)
{
	d->count = 0;
	for (unsigned i = 0; i < d->before->count; i++) {
		const struct catalog_member *was = &d->before->all[i];
		const struct catalog_member *is = members_find(d->after,
			was->label);

		if (is == NULL || !member_is_same(was, is))
			d->all[d->count++] = (struct difference){was, is,
				false, false, false};
	}
	for (unsigned i = 0; i < d->after->count; i++) {
		const struct catalog_member *is = &d->after->all[i];

		if (members_find(d->before, is->label) == NULL)
			d->all[d->count++] = (struct difference){NULL, is,
				false, false, false};
	}
}

static bool
differences_take(void *ctx, const struct catalog_change *change)
{
	struct differences *d = ctx;

	for (unsigned i = 0; i < d->count; i++) {
		struct difference *one = &d->all[i];
		const struct catalog_member *any = one->before != NULL
			? one->before : one->after;
		const uint8_t *label = any->label;

		if (memcmp(label, change->label, 1u + label[0]) != 0)
			continue;
		one->touched = true;
		if (!change->is_ptr)
			continue;
		one->removed |= change->is_removed && one->before != NULL
			&& name_equal(one->before->name, change->target);
		one->added |= !change->is_removed && one->after != NULL
			&& name_equal(one->after->name, change->target);
	}
	return true;
}

/* Checks the changes that lead from one version to another. */
static void
differences_check(struct differences *d, const struct zone_entry *entry,
	const struct history_draft *draft)
{
	struct history_path path;
	bool listed;
	enum nsd_err err = catalog_changes(f.view, entry, WIRE, draft->from,
		draft->to, differences_take, d);

	listed = history_find(f.view, entry, draft->from, draft->to, &path)
		== NSD_OK;
	if (listed)
		free(path.changesets);
	MUST(err == NSD_OK || err == NSD_E_NOT_FOUND);
	MUST(err != NSD_OK || listed);
	for (unsigned i = 0; i < d->count && err == NSD_OK; i++) {
		const struct difference *one = &d->all[i];

		MUST(one->touched);
		if (one->before == NULL)
			MUST(one->added);
		else if (one->after == NULL)
			MUST(one->removed);
	}
}

/* ---- from one version to the next ---------------------------------------- */

static enum nsd_err
apply(store_ref entry, const struct diff_change *changes, size_t count)
{
	const struct zone_update_options options = {.threads = 1,
		.secondary = f.secondary};
	struct zone_update *update;
	struct diag_sink sink = {0};

	MUST(update_begin(f.writer, entry, &options, &update) == NSD_OK);
	for (size_t i = 0; i < count; i++)
		MUST((changes[i].add ? update_add(update, &changes[i].rr)
			: update_remove(update, &changes[i].rr)) == NSD_OK);
	return update_commit(update, &sink, NULL);
}

static void
change_to(store_ref entry, const char *text, struct differences *d)
{
	const struct zone_entry *e = store_get(f.view, entry);
	const struct diff_change *changes;
	struct history_draft draft;
	enum nsd_err err;
	size_t count;
	struct diff *diff = find_changes(&f, store_get(f.view, e->zone), WIRE,
		text, &changes, &count);

	if (diff == NULL)
		return;
	history_draft_init(&draft, WIRE, &limits);
	diff_history_fill(&draft, changes, count);
	history_push(f.writer, entry, &draft);
	err = apply(entry, changes, count);
	history_prune(f.writer, entry, &limits);
	if (err == NSD_OK) {
		members_read(d->after, store_get(f.view, e->zone),
			MEMBERS_MAX);
		differences_find(d);
		if (!draft.lost && !d->before->over && !d->after->over)
			differences_check(d, e, &draft);
	}
	history_draft_fini(&draft);
	diff_destroy(diff);
}

static void
fuzz_init(struct differences *d)
{
	static struct members before, after;

	zone_fixture_init(&f);
	before.all = calloc(MEMBERS_MAX, sizeof(*before.all));
	after.all = calloc(MEMBERS_MAX, sizeof(*after.all));
	MUST(before.all != NULL && after.all != NULL);
	d->before = &before;
	d->after = &after;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct differences d;
	char first[TEXT_MAX + 1], *second;
	const struct zone_entry *e;
	store_ref entry;

	if (d.before == NULL)
		fuzz_init(&d);
	if (size == 0 || size > TEXT_MAX)
		return 0;
	memcpy(first, data + 1, size - 1);
	first[size - 1] = '\0';
	second = strstr(first, "---\n");
	if (second != NULL)
		*second = '\0';
	f.secondary = (data[0] & 1) != 0;
	if (zone_fixture_load(&f, APEX, first, &entry) == NSD_OK) {
		history_clear(f.writer, entry);
		e = store_get(f.view, entry);
		members_read(d.before, store_get(f.view, e->zone),
			(data[0] & 2) != 0 ? 1 : MEMBERS_MAX);
		if (second != NULL)
			change_to(entry, second + 4, &d);
	}
	store_reclaim(f.writer);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

static void
put_word(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const words[] = {"a.example.", "b.example.",
		"A.EXAMPLE.", "cat.", "other.", ".", "zones", "m1.zones",
		"\"2\"", "\"1\"", "\"\"", "\"g\" \"h\"", "\"g\"", "\"h\"",
		"\\# 4 03613162", "192.0.2.1", "0", "1", "PTR", "TXT", "NS",
		"DNAME", "CNAME", "A", "SOA", "x.y.zones"};

	mutate_pick(out, words, sizeof(words) / sizeof(*words), chance);
}

static void
put_first(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const firsts[] = {"m1.zones 0 PTR a.example.",
		"m2.zones 0 PTR b.example.", "m1.zones 0 PTR b.example.",
		"M2.zones 0 PTR a.example.", "coo.m1.zones 0 PTR other.",
		"group.m1.zones 0 TXT \"g\"", "group.m2.zones 0 TXT \"h\"",
		"version 0 TXT \"2\"", "version 0 TXT \"1\"",
		"@ 0 SOA . . 1 1 1 1 1", "@ 0 SOA . . 2 1 1 1 1", "@ 0 NS .",
		"zones 0 NS .", "m1.zones 0 NS .", "zones 0 DNAME x.",
		"*.zones 0 PTR c.example.", "zones 0 PTR z.example.",
		"x.m1.zones 0 PTR x.example.", "zonf 0 PTR a.", "---",
		"b.zz\\005zones 0 PTR x.example.",
		"m3.ext.m1.zones 0 TXT \"x\"", "coo.m1.zones 0 PTR cat."};

	mutate_pick(out, firsts, sizeof(firsts) / sizeof(*firsts), chance);
}

static const struct mutate_text words_catalog = {
	.prefix = 1,
	.put_word = put_word,
	.put_first = put_first,
};

TOKENS_FOR_FUZZER(&words_catalog)
