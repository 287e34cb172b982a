/* nsec3_edit.c - changes an NSEC3 chain: copies the pages that changes lie in.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "store/writer.h"
#include "update/nsec3_edit.h"
#include "zone/objects.h"
#include "zonedb/nsec3_pages.h"
#include "zonedb/release.h"

#define SMALL 8u /* a changed page with fewer entries absorbs the next one */

/* The change of a record at a hash. */
struct nsec3_change {
	uint8_t hash[NSEC3_HASH_LEN];
	store_ref record;      /* none: nothing */
	store_ref old;         /* the record there was, or none */
	size_t order;
	size_t made_at;        /* index of record in made_records */
	const uint8_t *before; /* records there will be before and after; NULL:
				* the chain goes round */
	const uint8_t *after;
};

struct entry_list {
	struct nsec3_entry *items;
	size_t count;
	size_t room;
};

/* ---- lists ------------------------------------------------------------- */

static enum nsd_err
refs_add(struct nsec3_edit *e, struct nsec3_refs *list, store_ref ref)
{
	store_ref *items = grow_arena(e->arena, list->items, list->count,
		&list->room, sizeof(*items));

	if (items == NULL)
		return NSD_E_MEMORY;
	list->items = items;
	list->items[list->count++] = ref;
	return NSD_OK;
}

/* Makes room for one more reference, so that adding it cannot fail. */
static enum nsd_err
refs_reserve(struct nsec3_edit *e, struct nsec3_refs *list)
{
	enum nsd_err err = refs_add(e, list, STORE_NONE);

	if (err == NSD_OK)
		list->count--;
	return err;
}

static enum nsd_err
entries_add(struct nsec3_edit *e, struct entry_list *list,
	const uint8_t *hash, store_ref ref)
{
	struct nsec3_entry *items = grow_arena(e->arena, list->items,
		list->count, &list->room, sizeof(*items));

	if (items == NULL)
		return NSD_E_MEMORY;
	list->items = items;
	memcpy(items[list->count].hash, hash, NSEC3_HASH_LEN);
	items[list->count++].record = ref;
	return NSD_OK;
}

/* ---- noting ------------------------------------------------------------ */

void
nsec3_edit_begin(struct nsec3_edit *edit, struct store_heap *heap,
	struct arena *arena, store_ref chain)
{
	memset(edit, 0, sizeof(*edit));
	assert(chain != STORE_NONE);
	edit->heap = heap;
	edit->view = store_heap_view(heap);
	edit->arena = arena;
	edit->old = chain;
}

static enum nsd_err
edit_note(struct nsec3_edit *e, const uint8_t *hash, store_ref record)
{
	struct nsec3_change *changes = grow_arena(e->arena, e->changes,
		e->change_count, &e->change_room, sizeof(*changes));
	struct nsec3_change *c;

	if (changes == NULL)
		return NSD_E_MEMORY;
	e->changes = changes;
	c = &changes[e->change_count];
	memset(c, 0, sizeof(*c));
	memcpy(c->hash, hash, NSEC3_HASH_LEN);
	c->record = record;
	c->order = e->change_count++;
	c->made_at = e->made_records.count;
	return NSD_OK;
}

enum nsd_err
nsec3_edit_put(struct nsec3_edit *edit, const uint8_t hash[NSEC3_HASH_LEN],
	store_ref record)
{
	enum nsd_err err = refs_reserve(edit, &edit->made_records);

	if (err == NSD_OK)
		err = edit_note(edit, hash, record);
	if (err == NSD_OK)
		err = refs_add(edit, &edit->made_records, record);
	return err;
}

enum nsd_err
nsec3_edit_remove(struct nsec3_edit *edit, const uint8_t hash[NSEC3_HASH_LEN])
{
	return edit_note(edit, hash, STORE_NONE);
}

/* ---- the changes in order ---------------------------------------------- */

static const struct nsec3_chain *
edit_get_old(const struct nsec3_edit *e)
{
	return store_get(e->view, e->old);
}

static int
change_compare(const void *a, const void *b)
{
	const struct nsec3_change *x = a, *y = b;
	int c = memcmp(x->hash, y->hash, NSEC3_HASH_LEN);

	return c != 0 ? c : (x->order > y->order) - (x->order < y->order);
}

/* Sorts the changes. Of several at one hash the last stays; what changes
 * nothing goes. Looks up what the chain has at each hash. */
static enum nsd_err
changes_resolve(struct nsec3_edit *e)
{
	size_t n = 0;

	if (e->change_count > 0)
		qsort(e->changes, e->change_count, sizeof(e->changes[0]),
			change_compare);
	for (size_t i = 0; i < e->change_count; i++) {
		struct nsec3_change *c = &e->changes[i];
		struct nsec3_place place;
		store_ref unused = STORE_NONE;

		if (i + 1 < e->change_count && memcmp(c->hash, c[1].hash,
				NSEC3_HASH_LEN) == 0) {
			unused = c->record;
		} else {
			nsec3_place_find(e->view, edit_get_old(e), c->hash,
				&place);
			unused = c->old = place.record;
			c->before = place.before;
			c->after = place.after;
			if (c->record != STORE_NONE || c->old != STORE_NONE)
				e->changes[n++] = *c;
		}
		if (unused != STORE_NONE
			&& refs_add(e, &e->old_records, unused) != NSD_OK)
			return NSD_E_MEMORY;
	}
	e->change_count = n;
	return NSD_OK;
}

/* Makes room for the record before each change, which may join the list: its
 * hashes are pointed to from now on, so it must not move. */
static enum nsd_err
changes_reserve_neighbours(struct nsec3_edit *e)
{
	size_t room = 2 * e->change_count;
	struct nsec3_change *changes;

	if (room <= e->change_room)
		return NSD_OK;
	changes = arena_grow(e->arena, e->changes,
		e->change_room * sizeof(*changes), room * sizeof(*changes));
	if (changes == NULL)
		return NSD_E_MEMORY;
	e->changes = changes;
	e->change_room = room;
	return NSD_OK;
}

/* Turns the hashes that were before and after each change into those that will
 * be. */
static void
changes_link(struct nsec3_edit *e)
{
	struct nsec3_change *c = e->changes;
	size_t n = e->change_count;

	for (size_t i = 1; i < n; i++)
		if (c[i].before == NULL || memcmp(c[i - 1].hash, c[i].before,
				NSEC3_HASH_LEN) >= 0)
			c[i].before = c[i - 1].record != STORE_NONE
				? c[i - 1].hash : c[i - 1].before;
	for (size_t i = n - 1; i-- > 0;)
		if (c[i].after == NULL || memcmp(c[i + 1].hash, c[i].after,
				NSEC3_HASH_LEN) <= 0)
			c[i].after = c[i + 1].record != STORE_NONE
				? c[i + 1].hash : c[i + 1].after;
}

/* The first and the last hash that there will be; false: none. */
static bool
changes_find_ends(const struct nsec3_edit *e, const uint8_t **first,
	const uint8_t **last)
{
	static const uint8_t lowest[NSEC3_HASH_LEN];
	uint8_t highest[NSEC3_HASH_LEN];
	const struct nsec3_change *c = &e->changes[0];
	const struct nsec3_change *z = &e->changes[e->change_count - 1];
	struct nsec3_place place;

	nsec3_place_find(e->view, edit_get_old(e), lowest, &place);
	*first = place.page->hashes;
	if (memcmp(c->hash, *first, NSEC3_HASH_LEN) <= 0)
		*first = c->record != STORE_NONE ? c->hash : c->after;
	memset(highest, 0xff, sizeof(highest));
	nsec3_place_find(e->view, edit_get_old(e), highest, &place);
	*last = nsec3_page_hash(place.page, place.page->count - 1u);
	if (memcmp(z->hash, *last, NSEC3_HASH_LEN) >= 0)
		*last = z->record != STORE_NONE ? z->hash : z->before;
	return *first != NULL;
}

/* ---- next hashes ------------------------------------------------------- */

/*
 * Copies a record; the copy keeps the next hash, or none if it is NULL. taken:
 * the old record goes, and its holders pass to the copy; else they are counted.
 */
static enum nsd_err
record_copy(struct nsec3_edit *e, store_ref old, const uint8_t *next,
	bool taken, store_ref *ref)
{
	const struct nsec3_record *from = store_get(e->view, old);
	size_t body = offsetof(struct nsec3_record, sigs)
		+ rrset_sigs_size(&from->sigs);
	size_t len = body + (next != NULL ? NSEC3_HASH_LEN : 0);
	struct nsec3_record *record;
	const uint8_t *at;

	if (refs_reserve(e, &e->made_records) != NSD_OK)
		return NSD_E_MEMORY;
	record = store_alloc(e->heap, len, ref);
	if (record == NULL)
		return NSD_E_MEMORY;
	memcpy(record, from, body);
	record->flags = next != NULL ? NSEC3_OWN_NEXT : 0;
	if (next != NULL)
		memcpy((uint8_t *)record + body, next, NSEC3_HASH_LEN);
	if (taken)
		return NSD_OK;
	((struct nsec3_template *)store_edit(e->heap,
		record->template))->refs++;
	at = record->sigs.data;
	for (unsigned i = 0; i < record->sigs.count; i++) {
		const struct sig *sig = (const struct sig *)at;

		((struct sig_template *)store_edit(e->heap,
			sig->template_ref))->refs++;
		at += sig_size(sig);
	}
	return refs_add(e, &e->made_records, *ref);
}

/* A record that was put need not keep its next hash if that is the hash of the
 * record that follows. */
static enum nsd_err
change_drop_next(struct nsec3_edit *e, struct nsec3_change *c,
	const uint8_t *first)
{
	const struct nsec3_record *record = store_get(e->view, c->record);
	const uint8_t *follows = c->after != NULL ? c->after : first;
	size_t len = nsec3_record_size(record);
	store_ref ref, put = c->record;

	if ((record->flags & NSEC3_OWN_NEXT) == 0
		|| memcmp(nsec3_record_own_next(record), follows,
			   NSEC3_HASH_LEN) != 0)
		return NSD_OK;
	if (record_copy(e, put, NULL, true, &ref) != NSD_OK)
		return NSD_E_MEMORY;
	c->record = ref;
	e->made_records.items[c->made_at] = ref;
	store_free(e->heap, put, len);
	return NSD_OK;
}

static const struct nsec3_change *
changes_find(const struct nsec3_edit *e, size_t count, const uint8_t *hash)
{
	size_t low = 0;

	while (low < count) {
		size_t half = low + (count - low) / 2;
		int c = memcmp(e->changes[half].hash, hash, NSEC3_HASH_LEN);

		if (c == 0)
			return &e->changes[half];
		if (c < 0)
			low = half + 1;
		else
			count = half;
	}
	return NULL;
}

/* The record at a hash is not changed itself, but is followed by another one
 * than before. */
static enum nsd_err
neighbour_keep_next(struct nsec3_edit *e, const uint8_t *hash,
	const uint8_t *follows)
{
	const struct nsec3_chain *old = edit_get_old(e);
	const struct nsec3_record *record;
	struct nsec3_place place;
	const uint8_t *next;
	bool own, leads;
	store_ref ref;

	nsec3_place_find(e->view, old, hash, &place);
	record = store_get(e->view, place.record);
	if ((record->flags & NSEC3_RRSET) != 0)
		return NSD_OK;
	own = (record->flags & NSEC3_OWN_NEXT) != 0;
	next = own ? nsec3_record_own_next(record) : place.after;
	if (next == NULL) {
		static const uint8_t lowest[NSEC3_HASH_LEN];
		struct nsec3_place start;

		nsec3_place_find(e->view, old, lowest, &start);
		next = start.page->hashes;
	}
	leads = memcmp(next, follows, NSEC3_HASH_LEN) == 0;
	if (leads != own)
		return NSD_OK; /* the record is as it should be */
	assert(e->change_count < e->change_room);
	if (record_copy(e, place.record, leads ? NULL : next, false, &ref)
			!= NSD_OK
		|| refs_add(e, &e->old_records, place.record) != NSD_OK
		|| edit_note(e, hash, ref) != NSD_OK)
		return NSD_E_MEMORY;
	e->changes[e->change_count - 1].old = place.record;
	return NSD_OK;
}

/* Corrects the next hashes of the records that were put, and of the records
 * before each change. The latter become changes, too. */
static enum nsd_err
changes_keep_next(struct nsec3_edit *e, const uint8_t *first,
	const uint8_t *last)
{
	size_t n = e->change_count;
	const uint8_t *done = NULL, *wrapped = NULL;

	for (size_t i = 0; i < n; i++) {
		struct nsec3_change *c = &e->changes[i];
		const uint8_t *before = c->before != NULL ? c->before : last;
		const uint8_t *follows = c->record != STORE_NONE ? c->hash
			: c->after != NULL ? c->after : first;

		if (c->record != STORE_NONE
			&& change_drop_next(e, c, first) != NSD_OK)
			return NSD_E_MEMORY;
		if (before == done || before == wrapped
			|| changes_find(e, n, before) != NULL)
			continue;
		done = before;
		if (c->before == NULL)
			wrapped = before;
		if (neighbour_keep_next(e, before, follows) != NSD_OK)
			return NSD_E_MEMORY;
	}
	/* Pointers to hashes in the list are void behind this. */
	if (e->change_count > n)
		qsort(e->changes, e->change_count, sizeof(e->changes[0]),
			change_compare);
	return NSD_OK;
}

/* ---- pages ------------------------------------------------------------- */

/* Makes pages for entries of a level; their entries go to out. */
static enum nsd_err
chain_pages_make(struct nsec3_edit *e, const struct entry_list *list,
	unsigned height, struct entry_list *out)
{
	size_t max = height == 0 ? NSEC3_LEAF_MAX : NSEC3_INNER_MAX;
	size_t fill = height == 0 ? NSEC3_LEAF_FILL : NSEC3_INNER_FILL;
	size_t pages = list->count <= max ? 1
					  : (list->count + fill - 1) / fill;

	for (size_t i = 0; i < pages; i++) {
		size_t start = list->count * i / pages;
		size_t end = list->count * (i + 1) / pages;
		store_ref ref;

		if (refs_reserve(e, &e->made_pages) != NSD_OK
			|| nsec3_page_make(e->heap, list->items + start,
				   (unsigned)(end - start), height, &ref)
				!= NSD_OK)
			return NSD_E_MEMORY;
		e->made_pages.items[e->made_pages.count++] = ref;
		if (entries_add(e, out, list->items[start].hash, ref)
			!= NSD_OK)
			return NSD_E_MEMORY;
	}
	return NSD_OK;
}

/* A stretch of the changes, in order. */
struct stretch {
	const struct nsec3_change *from;
	const struct nsec3_change *end;
};

/* The part of the stretch below a hash (NULL: all); the rest stays. */
static struct stretch
stretch_take(struct stretch *s, const uint8_t *below)
{
	struct stretch taken = {s->from, s->from};

	while (taken.end < s->end && (below == NULL
		|| memcmp(taken.end->hash, below, NSEC3_HASH_LEN) < 0))
		taken.end++;
	s->from = taken.end;
	return taken;
}

static enum nsd_err
leaf_collect(struct nsec3_edit *e, const struct nsec3_page *page,
	struct stretch s, struct entry_list *out)
{
	enum nsd_err err = NSD_OK;

	for (unsigned i = 0; err == NSD_OK && (i < page->count
			|| s.from < s.end);) {
		int c = i == page->count ? 1 : s.from == s.end ? -1
			: memcmp(nsec3_page_hash(page, i), s.from->hash,
				  NSEC3_HASH_LEN);

		if (c < 0)
			err = entries_add(e, out, nsec3_page_hash(page, i),
				nsec3_page_refs(page)[i]);
		else if (s.from->record != STORE_NONE)
			err = entries_add(e, out, s.from->hash,
				s.from->record);
		i += c <= 0;
		s.from += c >= 0;
	}
	return err;
}

/*
 * Takes apart a page that is not needed any more. Its entries after the changes
 * in its stretch go to out: records, or the pages below. The depth of the
 * recursion is the height of the tree.
 */
static enum nsd_err
page_collect(struct nsec3_edit *e, store_ref ref, struct stretch s,
	struct entry_list *out)
{
	const struct nsec3_page *page = store_get(e->view, ref);
	struct entry_list below = {NULL, 0, 0};

	if (refs_add(e, &e->old_pages, ref) != NSD_OK)
		return NSD_E_MEMORY;
	if (page->height == 0)
		return leaf_collect(e, page, s, out);
	for (unsigned i = 0; i < page->count; i++) {
		bool is_last = i + 1u == page->count;
		struct stretch part = stretch_take(&s, is_last ? NULL
			: nsec3_page_hash(page, i + 1));
		store_ref child = nsec3_page_refs(page)[i];
		enum nsd_err err;

		if (below.count == 0 && part.from == part.end) {
			err = entries_add(e, out, nsec3_page_hash(page, i),
				child);
		} else {
			err = page_collect(e, child, part, &below);
			/* A small page absorbs the next one. */
			if (err == NSD_OK && below.count > 0
				&& (below.count >= SMALL || is_last)) {
				err = chain_pages_make(e, &below, page->height
					- 1u, out);
				below.count = 0;
			}
		}
		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}

static enum nsd_err
tree_make(struct nsec3_edit *e, store_ref *root, uint32_t *count)
{
	const struct nsec3_chain *old = edit_get_old(e);
	const struct nsec3_page *page = store_get(e->view, old->index);
	struct stretch all = {e->changes, e->changes + e->change_count};
	struct entry_list level = {NULL, 0, 0}, above;
	unsigned height = page->height;
	int64_t delta = 0;

	for (size_t i = 0; i < e->change_count; i++)
		delta += (e->changes[i].record != STORE_NONE)
			- (e->changes[i].old != STORE_NONE);
	*count = (uint32_t)((int64_t)old->count + delta);
	if (page_collect(e, old->index, all, &level) != NSD_OK)
		return NSD_E_MEMORY;
	while (height == 0 || level.count > 1) {
		above = (struct entry_list){NULL, 0, 0};
		if (chain_pages_make(e, &level, height, &above) != NSD_OK)
			return NSD_E_MEMORY;
		level = above;
		height++;
	}
	assert(level.count == 1); /* changes_find_ends: a record stays */
	*root = level.items[0].record;
	return NSD_OK;
}

/* ---- the new chain ----------------------------------------------------- */

static enum nsd_err
chain_make(struct nsec3_edit *e, store_ref *ref)
{
	const struct nsec3_chain *old = edit_get_old(e);
	struct nsec3_chain *chain;
	store_ref root;
	uint32_t count;

	if (tree_make(e, &root, &count) != NSD_OK)
		return NSD_E_MEMORY;
	chain = store_alloc(e->heap, nsec3_chain_size(old), ref);
	if (chain == NULL)
		return NSD_E_MEMORY;
	memcpy(chain, old, nsec3_chain_size(old));
	chain->count = count;
	chain->index = root;
	e->made = *ref;
	return NSD_OK;
}

enum nsd_err
nsec3_edit_end(struct nsec3_edit *edit, store_ref *chain)
{
	const uint8_t *first, *last;
	enum nsd_err err;

	assert(edit->made == STORE_NONE);
	err = changes_resolve(edit);
	if (err != NSD_OK)
		return err;
	if (edit->change_count == 0) {
		*chain = edit->old;
		return NSD_OK;
	}
	err = changes_reserve_neighbours(edit);
	if (err != NSD_OK)
		return err;
	changes_link(edit);
	if (!changes_find_ends(edit, &first, &last))
		return NSD_E_AGAIN;
	err = changes_keep_next(edit, first, last);
	return err != NSD_OK ? err : chain_make(edit, chain);
}

static size_t
page_size(const struct nsec3_edit *e, store_ref ref)
{
	const struct nsec3_page *page = store_get(e->view, ref);

	return nsec3_page_size(page->count);
}

void
nsec3_edit_release(struct nsec3_edit *edit, struct releaser *releaser)
{
	for (size_t i = 0; i < edit->old_records.count; i++)
		release_nsec3_record(releaser, edit->old_records.items[i]);
	if (edit->made == STORE_NONE)
		return;
	for (size_t i = 0; i < edit->old_pages.count; i++)
		release_object(releaser, edit->old_pages.items[i],
			page_size(edit, edit->old_pages.items[i]));
	release_object(releaser, edit->old,
		nsec3_chain_size(edit_get_old(edit)));
}

void
nsec3_edit_abandon(struct nsec3_edit *edit, struct releaser *releaser)
{
	for (size_t i = 0; i < edit->made_pages.count; i++)
		release_object(releaser, edit->made_pages.items[i],
			page_size(edit, edit->made_pages.items[i]));
	for (size_t i = 0; i < edit->made_records.count; i++)
		release_nsec3_record(releaser, edit->made_records.items[i]);
	if (edit->made != STORE_NONE)
		release_object(releaser, edit->made,
			nsec3_chain_size(edit_get_old(edit)));
}
