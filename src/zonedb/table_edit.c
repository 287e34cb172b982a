/* table_edit.c - changes the set of zones that are served. */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "names/owner.h"
#include "names/trie_edit.h"
#include "store/writer.h"
#include "zone/objects.h"
#include "zone/sources.h"
#include "zone/table.h"
#include "zonedb/garbage.h"
#include "zonedb/release.h"
#include "zonedb/retire.h"
#include "zonedb/sources_edit.h"
#include "zonedb/table_edit.h"

/* If more than one zone is added for every 16 in the table, the trie is made
 * anew. That costs less than a path copied for each. */
#define REBUILD_RATIO 16u
#define FILTER_REMAKE_MAX 1024u /* with more zones, stale bits stay */

static const uint8_t root_name[1] = {0};

/* A root zone sets all bits. Other zones hardly ever come to that. */
static void
filter_add(struct zone_table *table, const struct zone_entry *entry)
{
	unsigned bit;

	if (name_is_root(entry->name)) {
		memset(table->tld_filter, 0xff, sizeof(table->tld_filter));
		return;
	}
	bit = table_filter_bit(entry->name);
	table->tld_filter[bit / 64] |= (uint64_t)1 << (bit % 64);
}

struct table_change {
	struct store_writer *writer;
	struct store_heap *heap;
	const struct store_view *view;
	struct arena arena;
	struct garbage garbage;
	store_ref old_ref;
	const struct zone_table *old; /* NULL: none yet */
	struct zone_table *table;     /* the new one, private */
	store_ref ref;
	struct trie_owned owned;      /* the branches that were made */
	bool rebuilt;                 /* no branch is shared with the old */
	bool is_other;                /* there is something to publish */
	store_ref *removed;           /* entries, which readers still have */
	size_t removed_count, removed_room;
	uint64_t memory[1024];        /* the arena's first, for some zones */
};

static struct trie_edit
change_edit(struct table_change *c)
{
	return (struct trie_edit){c->heap, garbage_add, &c->garbage,
		&c->owned};
}

enum nsd_err
table_change_begin(struct store_writer *writer, struct table_change **change)
{
	struct table_change *c = malloc(sizeof(*c));

	if (c == NULL)
		return NSD_E_MEMORY;
	memset(c, 0, offsetof(struct table_change, memory));
	c->writer = writer;
	c->heap = store_writer_long_lived(writer);
	c->view = store_writer_view(writer);
	c->old_ref = store_root(c->view, STORE_ROOT_ZONES);
	if (c->old_ref != STORE_NONE)
		c->old = store_get(c->view, c->old_ref);
	c->table = store_alloc(c->heap, sizeof(*c->table), &c->ref);
	if (c->table == NULL) {
		free(c);
		return NSD_E_MEMORY;
	}
	memset(c->table, 0, sizeof(*c->table));
	if (c->old != NULL)
		*c->table = *c->old;
	arena_init(&c->arena, c->memory, sizeof(c->memory));
	c->garbage.arena = &c->arena;
	c->owned.arena = &c->arena;
	*change = c;
	return NSD_OK;
}

static void
change_abandon(struct table_change *c)
{
	trie_owned_free(&c->owned, c->heap);
	store_free(c->heap, c->ref, sizeof(*c->table));
	arena_fini(&c->arena);
	free(c);
}

/* Makes room to remember the objects that a step of the change replaces: no
 * step is half done for lack of memory. */
static enum nsd_err
change_reserve(struct table_change *c)
{
	return garbage_reserve(&c->garbage, TRIE_KEY_MAX + 1);
}

enum nsd_err
table_change_find(const struct table_change *c, const uint8_t *apex,
	store_ref *entry)
{
	return table_find_in(c->view, c->table, apex, entry);
}

/* ---- adding ------------------------------------------------------------ */

/* The entry becomes a holder of options or of a pattern, which begin with the
 * count of their holders. */
static void
entry_hold(struct store_heap *heap, store_ref ref)
{
	uint32_t *holders;

	if (ref == STORE_NONE)
		return;
	holders = store_edit(heap, ref);
	assert(*holders < UINT32_MAX);
	++*holders;
}

static size_t
own_size(const struct zone_setup *setup)
{
	return offsetof(struct zone_own, octets)
		+ (setup->name != NULL ? strlen(setup->name) + 1 : 0)
		+ (setup->file != NULL ? strlen(setup->file) + 1 : 0);
}

/* out: *ref, none if the setup has nothing for it. */
static enum nsd_err
own_create(struct store_heap *heap, const struct zone_setup *setup,
	store_ref *ref)
{
	size_t size = own_size(setup);
	struct zone_own *own;
	char *at;

	*ref = STORE_NONE;
	if (setup->name == NULL && setup->file == NULL)
		return NSD_OK;
	if (size > STORE_OBJECT_MAX)
		return NSD_E_MEMORY;
	own = store_alloc(heap, size, ref);
	if (own == NULL)
		return NSD_E_MEMORY;
	own->len = (uint32_t)size;
	own->has_name = setup->name != NULL;
	at = own->octets;
	if (setup->name != NULL)
		at = stpcpy(at, setup->name) + 1;
	if (setup->file != NULL)
		strcpy(at, setup->file);
	return NSD_OK;
}

static bool
text_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* True if the entry has the setup's facts that are its own. */
static bool
own_equals(const struct store_view *view, const struct zone_entry *entry,
	const struct zone_setup *setup)
{
	const struct zone_own *own = entry->own == STORE_NONE ? NULL
		: store_get(view, entry->own);

	return text_equal(setup->name, zone_own_name(own))
		&& text_equal(setup->file, zone_own_file(own));
}

static void
entry_release_own(struct releaser *r, store_ref ref)
{
	if (ref != STORE_NONE)
		release_object(r, ref, zone_own_size(store_get(r->view, ref)));
}

/* Lets go of an entry, but not of the zone's version. */
static void
entry_release(struct releaser *r, store_ref ref)
{
	const struct zone_entry *entry = store_get(r->view, ref);

	if (entry->options != STORE_NONE)
		release_options(r, entry->options);
	if (entry->pattern != STORE_NONE)
		release_pattern(r, entry->pattern);
	entry_release_own(r, entry->own);
	if (entry->sources != STORE_NONE) {
		const struct zone_sources *sources = store_get(r->view,
			entry->sources);

		release_object(r, entry->sources, sources->len);
	}
	release_history(r, entry->history);
	release_object(r, ref, zone_entry_size(entry));
}

static enum nsd_err
entry_create(struct store_heap *heap, const struct zone_setup *setup,
	store_ref *ref)
{
	size_t len = name_len(setup->apex);
	struct zone_entry *entry;
	store_ref own;

	if (own_create(heap, setup, &own) != NSD_OK)
		return NSD_E_MEMORY;
	entry = store_alloc(heap, sizeof(*entry) + len, ref);
	if (entry == NULL) {
		entry_release_own(&(struct releaser){store_heap_view(heap),
			heap, NULL, NULL}, own);
		return NSD_E_MEMORY;
	}
	entry->leaf.name_len = (uint8_t)(len - 1);
	entry->leaf.labels = (uint8_t)name_count_labels(setup->apex);
	entry->leaf.name_at = offsetof(struct zone_entry, name);
	entry->crash_count = 0;
	entry->flags = setup->flags;
	entry->zone = STORE_NONE;
	entry->sources = STORE_NONE;
	entry->id = setup->id;
	entry->expires_sec = 0;
	entry->group = 0;
	entry->history = STORE_NONE;
	entry->candidate = STORE_NONE;
	entry->options = setup->options;
	entry_hold(heap, setup->options);
	entry->pattern = setup->pattern;
	entry_hold(heap, setup->pattern);
	entry->own = own;
	memcpy(entry->name, setup->apex, len);
	name_lower(entry->name);
	return NSD_OK;
}

static void
entries_free(struct store_heap *heap, const store_ref *entries, size_t count)
{
	struct releaser r = {store_heap_view(heap), heap, NULL, NULL};

	for (size_t i = 0; i < count; i++)
		entry_release(&r, entries[i]);
}

static enum nsd_err
entries_create(struct store_heap *heap, const struct zone_setup *setups,
	size_t count, store_ref *entries)
{
	for (size_t i = 0; i < count; i++)
		if (entry_create(heap, &setups[i], &entries[i]) != NSD_OK) {
			entries_free(heap, entries, i);
			return NSD_E_MEMORY;
		}
	return NSD_OK;
}

/* Makes an owner of an entry, to sort entries by name. Owners of a build count
 * records; here rr_count is the reference of the entry. */
static void
entry_measure(const struct store_view *view, store_ref ref,
	struct owner *owner)
{
	const struct zone_entry *entry = store_get(view, ref);

	owner->flags = 0;
	owner->rr_count = ref;
	owner_measure(owner, entry->name, entry->leaf.name_len + 1u,
		root_name, sizeof(root_name));
}

/* Sorts the entries. returns NSD_OK; NSD_E_ZONE if two have the same name;
 * NSD_E_MEMORY. */
static enum nsd_err
entries_sort(struct table_change *c, const store_ref *entries, size_t count,
	struct owner **sorted)
{
	struct owner *items = arena_alloc(&c->arena, count * sizeof(*items));
	struct owner *tmp = arena_alloc(&c->arena, count * sizeof(*tmp));

	if (items == NULL || tmp == NULL)
		return NSD_E_MEMORY;
	for (size_t i = 0; i < count; i++)
		entry_measure(c->view, entries[i], &items[i]);
	owner_sort(items, tmp, count);
	for (size_t i = 1; i < count; i++)
		if (owner_compare(&items[i - 1], &items[i]) == 0)
			return NSD_E_ZONE;
	*sorted = items;
	return NSD_OK;
}

static void
change_count_in(struct table_change *c, store_ref entry)
{
	c->is_other = true;
	c->table->zone_count++;
	filter_add(c->table, store_get(c->view, entry));
}

/* Makes a new trie from the old entries and the new ones. */
static enum nsd_err
change_rebuild(struct table_change *c, const store_ref *entries, size_t count)
{
	size_t old_count = c->old != NULL ? c->old->zone_count : 0, n = 0;
	store_ref *all = arena_alloc(&c->arena,
		(old_count + count) * sizeof(*all));
	struct owner *sorted;
	struct trie_iter iter;
	size_t at = 0;
	store_ref ref;
	enum nsd_err err = entries_sort(c, entries, count, &sorted);

	assert(!c->is_other);
	if (err != NSD_OK)
		return err;
	if (all == NULL)
		return NSD_E_MEMORY;
	trie_iter_init(&iter, c->view, &c->table->apexes.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		struct owner old;
		int order = -1;

		entry_measure(c->view, ref, &old);
		while (at < count
			&& (order = owner_compare(&sorted[at], &old)) < 0)
			all[n++] = sorted[at++].rr_count;
		if (at < count && order == 0)
			return NSD_E_ZONE;
		all[n++] = ref;
	}
	while (at < count)
		all[n++] = sorted[at++].rr_count;
	if (trie_build(c->heap, all, n, &c->table->apexes) != NSD_OK)
		return NSD_E_MEMORY;
	c->rebuilt = c->old != NULL;
	for (size_t i = 0; i < count; i++)
		change_count_in(c, entries[i]);
	return NSD_OK;
}

static enum nsd_err
change_put(struct table_change *c, store_ref ref)
{
	const struct zone_entry *entry = store_get(c->view, ref);
	struct trie_edit edit = change_edit(c);
	store_ref other;
	enum nsd_err err;

	if (table_change_find(c, entry->name, &other) == NSD_OK)
		return NSD_E_ZONE;
	err = change_reserve(c);
	if (err == NSD_OK)
		err = trie_put(&edit, &c->table->apexes, ref, &other);
	assert(!c->garbage.lost);
	if (err != NSD_OK)
		return err;
	assert(other == STORE_NONE);
	change_count_in(c, ref);
	return NSD_OK;
}

enum nsd_err
table_change_add(struct table_change *c, const struct zone_setup *setup,
	store_ref *entry)
{
	enum nsd_err err = entry_create(c->heap, setup, entry);

	if (err != NSD_OK)
		return err;
	err = change_put(c, *entry);
	if (err != NSD_OK)
		entries_free(c->heap, entry, 1);
	return err;
}

static enum nsd_err
change_add_many(struct table_change *c, const store_ref *entries, size_t count)
{
	size_t old_count = c->old != NULL ? c->old->zone_count : 0;
	enum nsd_err err = NSD_OK;

	if (count > 1 + old_count / REBUILD_RATIO)
		err = change_rebuild(c, entries, count);
	else
		for (size_t i = 0; i < count && err == NSD_OK; i++)
			err = change_put(c, entries[i]);
	return err;
}

enum nsd_err
table_add(struct store_writer *writer, const struct zone_setup *setups,
	size_t count, store_ref *entries)
{
	struct store_heap *heap = store_writer_long_lived(writer);
	struct table_change *c;
	enum nsd_err err;

	if (count == 0)
		return NSD_OK;
	err = entries_create(heap, setups, count, entries);
	if (err != NSD_OK)
		return err;
	err = table_change_begin(writer, &c);
	if (err == NSD_OK) {
		err = change_add_many(c, entries, count);
		if (err == NSD_OK)
			table_change_publish(c, NULL, NULL);
		else
			change_abandon(c);
	}
	if (err != NSD_OK)
		entries_free(heap, entries, count);
	return err;
}

/* ---- removing ---------------------------------------------------------- */

static void
filter_remake(struct table_change *c)
{
	struct trie_iter iter;
	store_ref ref;

	if (c->table->zone_count > FILTER_REMAKE_MAX)
		return;
	memset(c->table->tld_filter, 0, sizeof(c->table->tld_filter));
	trie_iter_init(&iter, c->view, &c->table->apexes.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE)
		filter_add(c->table, store_get(c->view, ref));
}

enum nsd_err
table_change_remove(struct table_change *c, const uint8_t *apex)
{
	uint8_t name[NAME_MAX_LEN], label_at[NAME_MAX_LABELS + 1];
	struct trie_edit edit = change_edit(c);
	struct trie_name key;
	store_ref *removed;
	enum nsd_err err;

	table_split_apex(apex, name, label_at, &key);
	removed = grow_arena(&c->arena, c->removed, c->removed_count,
		&c->removed_room, sizeof(*removed));
	if (removed == NULL)
		return NSD_E_MEMORY;
	c->removed = removed;
	if (change_reserve(c) != NSD_OK)
		return NSD_E_MEMORY;
	err = trie_remove(&edit, &c->table->apexes, &key,
		&removed[c->removed_count]);
	assert(!c->garbage.lost);
	if (err != NSD_OK)
		return err;
	assert(c->table->zone_count > 0);
	c->table->zone_count--;
	c->removed_count++;
	c->is_other = true;
	return NSD_OK;
}

/* ---- publishing -------------------------------------------------------- */

static void
retire_branch(void *ctx, store_ref ref, size_t len)
{
	store_retire(ctx, ref, len);
}

static void
change_let_go(struct table_change *c, table_on_removed *on_removed, void *ctx)
{
	struct releaser r = {c->view, store_writer_heap(c->writer), c->writer,
		NULL};

	for (size_t i = 0; i < c->removed_count; i++) {
		on_removed(ctx, c->removed[i]);
		entry_release(&r, c->removed[i]);
	}
}

void
table_change_publish(struct table_change *c, table_on_removed *on_removed,
	void *ctx)
{
	assert(store_root(c->view, STORE_ROOT_ZONES) == c->old_ref);
	if (!c->is_other) {
		change_abandon(c);
		return;
	}
	if (c->removed_count > 0)
		filter_remake(c);
	c->table->only = STORE_NONE;
	if (c->table->zone_count == 1) {
		struct trie_iter iter;

		trie_iter_init(&iter, c->view, &c->table->apexes.root);
		c->table->only = trie_iter_next(&iter);
		assert(c->table->only != STORE_NONE);
		assert(trie_iter_next(&iter) == STORE_NONE);
	}
	store_publish(c->writer, STORE_ROOT_ZONES, c->ref);
	garbage_retire(&c->garbage, c->writer);
	if (c->rebuilt)
		trie_visit(c->view, &c->old->apexes, retire_branch, c->writer);
	if (c->old != NULL)
		store_retire(c->writer, c->old_ref, sizeof(*c->old));
	change_let_go(c, on_removed, ctx);
	arena_fini(&c->arena);
	free(c);
}

/* ---- entries ----------------------------------------------------------- */

store_ref
table_swap_zone(struct store_writer *writer, store_ref ref, store_ref zone)
{
	struct zone_entry *entry = store_edit(store_writer_heap(writer), ref);
	store_ref old = entry->zone;

	store_publish_ref(writer, &entry->zone, zone);
	if (entry->candidate != STORE_NONE && entry->candidate == zone)
		store_publish_ref(writer, &entry->candidate, STORE_NONE);
	return old;
}

void
table_set_zone(struct store_writer *writer, store_ref ref, store_ref zone)
{
	retire_zone(writer, table_swap_zone(writer, ref, zone));
}

void
table_set_candidate(struct store_writer *writer, store_ref ref,
	store_ref candidate)
{
	struct zone_entry *entry = store_edit(store_writer_heap(writer), ref);

	store_publish_ref(writer, &entry->candidate, candidate);
}

void
table_set_flags(struct store_writer *writer, store_ref ref, uint32_t flags)
{
	struct zone_entry *entry = store_edit(store_writer_heap(writer), ref);

	flags |= entry->flags
		& (ZONE_ENTRY_FILE_FAILED | ZONE_ENTRY_CHANGESETS_STALE
			| ZONE_ENTRY_FILE_WAITS);
	if (flags != entry->flags)
		__atomic_store_n(&entry->flags, flags, __ATOMIC_RELEASE);
}

void
table_set_changesets_stale(struct store_writer *writer, store_ref ref,
	bool stale)
{
	struct zone_entry *entry = store_edit(store_writer_heap(writer), ref);
	uint32_t flags = entry->flags & ~(uint32_t)ZONE_ENTRY_CHANGESETS_STALE;

	if (stale)
		flags |= ZONE_ENTRY_CHANGESETS_STALE;
	if (flags != entry->flags)
		__atomic_store_n(&entry->flags, flags, __ATOMIC_RELEASE);
}

void
table_set_file_waits(struct store_writer *writer, store_ref ref, bool waits)
{
	struct zone_entry *entry = store_edit(store_writer_heap(writer), ref);
	uint32_t flags = entry->flags & ~(uint32_t)ZONE_ENTRY_FILE_WAITS;

	if (waits)
		flags |= ZONE_ENTRY_FILE_WAITS;
	if (flags != entry->flags)
		__atomic_store_n(&entry->flags, flags, __ATOMIC_RELEASE);
}

void
table_set_expiry(struct store_writer *writer, store_ref ref,
	uint32_t expires_sec)
{
	struct zone_entry *entry = store_edit(store_writer_heap(writer), ref);

	__atomic_store_n(&entry->expires_sec, expires_sec, __ATOMIC_RELEASE);
}

void
table_set_group(struct store_writer *writer, store_ref ref, uint32_t group)
{
	struct zone_entry *entry = store_edit(store_writer_heap(writer), ref);

	if (entry->group != group)
		__atomic_store_n(&entry->group, group, __ATOMIC_RELEASE);
}

/* Publishes other options, or another pattern, in an entry, which becomes their
 * holder, and lets go of what was there. */
static void
entry_swap(struct store_writer *writer, store_ref *field, store_ref to,
	void (*release)(struct releaser *r, store_ref ref))
{
	struct releaser r = {store_writer_view(writer),
		store_writer_heap(writer), writer, NULL};
	store_ref old = *field;

	if (old == to)
		return;
	entry_hold(r.heap, to);
	store_publish_ref(writer, field, to);
	if (old != STORE_NONE)
		release(&r, old);
}

void
table_set_options(struct store_writer *writer, store_ref ref,
	store_ref options)
{
	struct zone_entry *entry = store_edit(store_writer_heap(writer), ref);

	entry_swap(writer, &entry->options, options, release_options);
}

void
table_set_pattern(struct store_writer *writer, store_ref ref,
	store_ref pattern)
{
	struct zone_entry *entry = store_edit(store_writer_heap(writer), ref);

	entry_swap(writer, &entry->pattern, pattern, release_pattern);
}

static enum nsd_err
entry_set_own(struct store_writer *writer, struct zone_entry *entry,
	const struct zone_setup *setup)
{
	struct releaser r = {store_writer_view(writer),
		store_writer_heap(writer), writer, NULL};
	store_ref old = entry->own, own;

	if (own_equals(r.view, entry, setup))
		return NSD_OK;
	if (own_create(r.heap, setup, &own) != NSD_OK)
		return NSD_E_MEMORY;
	store_publish_ref(writer, &entry->own, own);
	entry_release_own(&r, old);
	return NSD_OK;
}

enum nsd_err
table_set_up(struct store_writer *writer, store_ref ref,
	const struct zone_setup *setup)
{
	struct zone_entry *entry = store_edit(store_writer_heap(writer), ref);

	if (entry_set_own(writer, entry, setup) != NSD_OK)
		return NSD_E_MEMORY;
	entry->id = setup->id;
	/* A secondary zone's data need not be in the file that was read once:
	 * as a primary zone it has not been read from any. */
	if ((entry->flags & ~setup->flags & ZONE_ENTRY_FROM_XFRD) != 0)
		sources_set(writer, ref, NULL, 0, 0);
	/* A primary zone does not expire. */
	if ((setup->flags & ZONE_ENTRY_FROM_XFRD) == 0
		&& entry->expires_sec != 0)
		table_set_expiry(writer, ref, 0);
	table_set_flags(writer, ref, setup->flags);
	table_set_options(writer, ref, setup->options);
	table_set_pattern(writer, ref, setup->pattern);
	return NSD_OK;
}

enum nsd_err
table_adopt(struct store_writer *writer, const struct zone_setup *setup,
	store_ref *ref)
{
	if (table_find_apex(store_writer_view(writer), setup->apex, ref)
		!= NSD_OK)
		return NSD_E_NOT_FOUND;
	return table_set_up(writer, *ref, setup);
}
