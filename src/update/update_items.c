/* update_items.c - lists the records of a dirty name as they will be: those
 * of the old node, less those to be removed, plus those to be added. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "update/update_changes.h"
#include "update/update_pass.h"

/* ---- putting them together --------------------------------------------- */

/* The records as they will be. */
struct merge {
	struct zone_update *u;
	struct dirty_name *dirty; /* NULL: all records are asked for */
	struct name_changes *changes;
	struct item *items;
	size_t count;
	size_t room;
};

static enum nsd_err
merge_put(struct merge *m, const struct item *item)
{
	m->items = grow_arena(&m->u->scratch, m->items, m->count, &m->room,
		sizeof(m->items[0]));
	if (m->items == NULL)
		return NSD_E_MEMORY;
	m->items[m->count] = *item;
	/* New records come after all old ones. */
	if (item->order < UPDATE_ORDER_NEW)
		m->items[m->count].order = (uint32_t)m->count;
	m->count++;
	return NSD_OK;
}

static enum nsd_err
merge_put_all(struct merge *m, const struct item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (merge_put(m, &items[i]) != NSD_OK)
			return NSD_E_MEMORY;
	return NSD_OK;
}

/* Keeps an entry as it is: one of its records stands for all. */
static enum nsd_err
merge_keep(struct merge *m, const struct entry_items *e)
{
	struct dirty_name *t = m->dirty;
	size_t at;

	if (t == NULL)
		return merge_put_all(m, e->items, e->count);
	if (e->count == 0)
		return NSD_OK;
	assert(e->entry != NULL);
	/* The entries come in order, but NSEC3 comes last. */
	for (at = t->kept_count++; at > 0
		&& node_entry_key(&t->kept[at - 1]) > e->key; at--)
		t->kept[at] = t->kept[at - 1];
	t->kept[at] = *e->entry;
	return merge_put(m, &e->items[0]);
}

static bool
rr_is_same(const struct rrbatch_rr *a, const struct rrbatch_rr *b)
{
	return a->ttl_sec == b->ttl_sec && a->rdlen == b->rdlen
		&& memcmp(rrbatch_rr_rdata(a), rrbatch_rr_rdata(b), a->rdlen)
			== 0;
}

/*
 * The record of sorted items that is equal in canonical form, or NULL; goes on
 * from *at, as the items looked for are sorted, too.
 */
static const struct item *
items_find_equal(const struct item *items, size_t count, size_t *at,
	const struct rrbatch_rr *rr)
{
	int c = 1;

	while (*at < count
		&& (c = items_compare_rr(rr->type, items[*at].rr, rr)) < 0)
		++*at;
	return *at < count && c == 0 ? &items[*at] : NULL;
}

/* Old records that no change names stay. A record to be added replaces an equal
 * old one, as it may have another TTL or letter case. */
static enum nsd_err
part_take_old(struct merge *m, struct update_part *p,
	const struct entry_items *e)
{
	struct zone_update_result *result = &m->u->result;
	size_t add_at = 0, remove_at = 0, absent_at = 0;

	for (size_t i = 0; i < e->count; i++) {
		const struct rrbatch_rr *rr = e->items[i].rr;
		const struct item *add = items_find_equal(p->adds,
			p->add_count, &add_at, rr);
		bool remove = items_find_equal(p->removes, p->remove_count,
				      &remove_at, rr) != NULL;

		m->u->misfits += items_find_equal(p->absents, p->absent_count,
			&absent_at, rr) != NULL;
		if (add != NULL) {
			bool same = rr_is_same(add->rr, rr);

			m->u->misfits += !remove;
			result->present += same;
			result->added += !same;
			result->removed += !same;
			p->changed = p->changed || !same;
		} else if (remove || p->remove_all) {
			result->removed++;
			p->changed = true;
		} else if (merge_put(m, &e->items[i]) != NSD_OK) {
			return NSD_E_MEMORY;
		}
	}
	return NSD_OK;
}

/* Counts what is new among the additions, and what was not there to be
 * removed. */
static void
part_count_new(struct merge *m, struct update_part *p,
	const struct entry_items *e)
{
	struct zone_update_result *result = &m->u->result;
	size_t at = 0;

	for (size_t i = 0; i < p->add_count; i++) {
		const struct rrbatch_rr *rr = p->adds[i].rr;

		if (items_find_equal(e->items, e->count, &at, rr) == NULL) {
			result->added++;
			p->changed = true;
		}
	}
	at = 0;
	for (size_t i = 0; i < p->remove_count; i++)
		if (items_find_equal(e->items, e->count, &at,
			    p->removes[i].rr) == NULL) {
			result->absent++;
			m->u->misfits++;
		}
}

static enum nsd_err
merge_part(struct merge *m, struct update_part *p, const struct entry_items *e)
{
	size_t start = m->count;

	if (part_take_old(m, p, e) != NSD_OK)
		return NSD_E_MEMORY;
	part_count_new(m, p, e);
	if (!p->changed) {
		m->count = start;
		return merge_keep(m, e);
	}
	if (m->dirty != NULL)
		m->dirty->changed = true;
	m->u->rr_delta -= (int64_t)e->count;
	return merge_put_all(m, p->adds, p->add_count);
}

static enum nsd_err
merge_entry(struct merge *m, const struct node_rrset *entry)
{
	uint32_t key = node_entry_key(entry);
	struct entry_items e;
	struct update_part p;

	if (!update_changes_get_part(m->changes, key, true, &p)) {
		if (update_unpack_entry(m->u, entry, 1, &e) != NSD_OK)
			return NSD_E_MEMORY;
		return merge_keep(m, &e);
	}
	if (update_unpack_entry(m->u, entry, SIZE_MAX, &e) != NSD_OK)
		return NSD_E_MEMORY;
	return merge_part(m, &p, &e);
}

/* Keys in ascending order. */
struct keys {
	uint32_t *items;
	size_t count;
};

/* Adds a key; there is room. Moves nothing if no greater key is there. */
static void
keys_add(struct keys *keys, uint32_t key)
{
	size_t at = keys->count++;

	for (; at > 0 && keys->items[at - 1] > key; at--)
		keys->items[at] = keys->items[at - 1];
	keys->items[at] = key;
}

static bool
keys_have(const struct keys *keys, uint32_t key)
{
	size_t low = 0, high = keys->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (keys->items[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < keys->count && keys->items[low] == key;
}

/* Additions of types that the name has not had, and removals of such. */
static enum nsd_err
merge_new_types(struct merge *m, const struct keys *keys)
{
	struct name_changes *changes = m->changes;
	const struct entry_items none = {0};
	size_t count;

	for (size_t i = 0; i < changes->add_count; i += count) {
		struct update_part p = {.adds = &changes->adds[i]};

		(void)update_find_key(changes->adds, changes->add_count,
			changes->adds[i].key, &p.add_count);
		count = p.add_count;
		if (keys_have(keys, changes->adds[i].key))
			continue;
		if (merge_part(m, &p, &none) != NSD_OK)
			return NSD_E_MEMORY;
	}
	for (size_t i = 0; i < changes->remove_count; i++)
		if (!keys_have(keys, changes->removes[i].key)) {
			m->u->result.absent++;
			m->u->misfits++;
		}
	for (size_t i = 0; i < changes->set_count; i++)
		if (!changes->sets[i].found)
			m->u->result.absent += changes->sets[i].times;
	return NSD_OK;
}

/* ---- NSEC3 in a zone that has a chain ---------------------------------- */

/* The NSEC3 RRset of a name and its RRSIGs. They come from the node or from the
 * chain, and go together to either of them. */
struct nsec3_items {
	struct entry_items of[2]; /* RRset, RRSIGs */
	struct update_part parts[2];
};

/* False: no change of NSEC3 records is asked for. */
static bool
nsec3_get_parts(struct name_changes *changes, struct nsec3_items *n)
{
	bool asked = false;

	for (unsigned i = 0; i < 2; i++) {
		asked |= update_changes_get_part(changes, nsec3_key(i),
			n->of[i].count > 0, &n->parts[i]);
	}
	return asked;
}

static enum nsd_err
nsec3_merge_parts(struct merge *m, struct nsec3_items *n, bool *changed)
{
	*changed = false;
	for (unsigned i = 0; i < 2; i++) {
		struct update_part *p = &n->parts[i];

		if (part_take_old(m, p, &n->of[i]) != NSD_OK)
			return NSD_E_MEMORY;
		part_count_new(m, p, &n->of[i]);
		if (merge_put_all(m, p->adds, p->add_count) != NSD_OK)
			return NSD_E_MEMORY;
		*changed = *changed || p->changed;
	}
	return NSD_OK;
}

/* Copies a list of scratch to the arena, and the old records in it; those to be
 * added lie there. */
static struct item *
items_keep(struct zone_update *u, const struct item *items, size_t count)
{
	struct item *kept = arena_alloc(&u->arena, count * sizeof(*kept));

	for (size_t i = 0; i < count && kept != NULL; i++) {
		const struct rrbatch_rr *rr = items[i].rr;
		size_t size = sizeof(*rr) + rr->rdlen;
		struct rrbatch_rr *copy;

		kept[i] = items[i];
		if (items[i].order >= UPDATE_ORDER_NEW)
			continue;
		assert(rr->owner_len == 0);
		copy = arena_alloc(&u->arena, size);
		if (copy == NULL)
			return NULL;
		memcpy(copy, rr, size);
		kept[i].rr = copy;
	}
	return kept;
}

/* The merged records from start on stay with the node, or go to the chain. */
static enum nsd_err
nsec3_place_items(struct merge *m, size_t start)
{
	struct zone_update *u = m->u;
	struct dirty_name *t = m->dirty;
	size_t count = m->count - start;
	struct item *tmp = arena_alloc(&u->scratch, count * sizeof(*tmp) + 1);

	t->chain_changed = t->was_chained;
	if (count == 0)
		return NSD_OK;
	if (tmp == NULL)
		return NSD_E_MEMORY;
	if (!nsec3_items_are_chained(store_get(u->view, u->old->chain),
			&t->owner, m->items + start, count, t->hash)) {
		t->changed = true;
		return NSD_OK;
	}
	t->chain_changed = true;
	items_sort(m->items + start, tmp, count);
	t->chain_item_count = count;
	t->chain_items = items_keep(u, m->items + start, count);
	m->count = start;
	return t->chain_items == NULL ? NSD_E_MEMORY : NSD_OK;
}

static enum nsd_err
merge_nsec3(struct merge *m, struct nsec3_items *n)
{
	size_t start = m->count;
	bool changed = false;
	enum nsd_err err = NSD_OK;

	if (nsec3_get_parts(m->changes, n))
		err = nsec3_merge_parts(m, n, &changed);
	if (err != NSD_OK)
		return err;
	if (!changed) {
		m->count = start;
		for (unsigned i = 0; i < 2 && !m->dirty->was_chained; i++)
			if (merge_keep(m, &n->of[i]) != NSD_OK)
				return NSD_E_MEMORY;
		return NSD_OK;
	}
	m->u->rr_delta -= (int64_t)(n->of[0].count + n->of[1].count);
	if (!m->dirty->was_chained && n->of[0].count + n->of[1].count > 0)
		m->dirty->changed = true;
	return nsec3_place_items(m, start);
}

/* ---- a name ------------------------------------------------------------ */

static enum nsd_err
merge_node(struct merge *m, const struct node *old)
{
	unsigned count = old == NULL ? 0 : old->entry_count;
	bool chain = m->u->old->chain != STORE_NONE;
	struct keys keys = {.items = arena_alloc(&m->u->scratch,
		(count + 2) * sizeof(*keys.items))};
	struct nsec3_items nsec3 = {.of = {{.key = 0}}};
	const struct node_rrset *e;
	enum nsd_err err = NSD_OK;

	m->dirty->kept = arena_alloc(&m->u->arena,
		count * sizeof(m->dirty->kept[0]) + 1);
	if (m->dirty->kept == NULL || keys.items == NULL)
		return NSD_E_MEMORY;
	for (unsigned i = 0; i < count && err == NSD_OK; i++) {
		e = &node_entries(old)[i];
		keys_add(&keys, node_entry_key(e));
		if (chain && e->type == TYPE_NSEC3)
			err = update_unpack_entry(m->u, e, SIZE_MAX,
				&nsec3.of[node_entry_key(e) & 1]);
		else
			err = merge_entry(m, e);
	}
	if (err == NSD_OK && chain) {
		keys_add(&keys, nsec3_key(0));
		keys_add(&keys, nsec3_key(1));
		err = update_unpack_chain(m->u, m->dirty, nsec3.of);
		if (err == NSD_OK)
			err = merge_nsec3(m, &nsec3);
	}
	return err == NSD_OK ? merge_new_types(m, &keys) : err;
}

static uint16_t
items_owner_flags(const struct item *items, size_t count)
{
	uint16_t flags = 0;

	for (size_t i = 0; i < count; i++)
		flags |= owner_flags_of_rr(items[i].rr);
	return flags;
}

/* Lists the records, and keeps what the update needs of them. */
static enum nsd_err
name_list_items(struct zone_update *u, struct dirty_name *t,
	const struct owner *run, size_t count)
{
	const struct node *old = NULL;
	struct merge m = {.u = u, .dirty = t};
	struct name_changes changes;
	struct item *tmp;

	if (t->old != STORE_NONE)
		old = store_get(u->view, t->old);
	if ((old == NULL || old->entry_count == 0)
		&& t->old_hash != STORE_NONE)
		old = store_get(u->view, t->old_hash);
	if (update_changes_make(u, &changes, run, count) != NSD_OK)
		return NSD_E_MEMORY;
	m.changes = &changes;
	if (merge_node(&m, old) != NSD_OK)
		return NSD_E_MEMORY;
	tmp = arena_alloc(&u->scratch, m.count * sizeof(*tmp) + 1);
	if (tmp == NULL)
		return NSD_E_MEMORY;
	if (m.count > 1)
		items_sort(m.items, tmp, m.count);
	t->item_count = m.count;
	t->records = items_owner_flags(m.items, m.count);
	if (m.count == 0)
		return NSD_OK;
	t->items = items_keep(u, m.items, m.count);
	return t->items == NULL ? NSD_E_MEMORY : NSD_OK;
}

enum nsd_err
update_list_items(struct zone_update *u, struct dirty_name *t,
	const struct owner *run, size_t count)
{
	struct arena_mark mark = arena_mark(&u->scratch);
	enum nsd_err err = name_list_items(u, t, run, count);

	arena_rewind(&u->scratch, &mark);
	return err;
}

/* Canonical order of records, but SOAs stay in the order of the input: the
 * first one counts. */
static int
item_compare_print(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int c;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	c = x->rr->type == TYPE_SOA ? 0 : items_compare_rr(x->rr->type, x->rr,
		y->rr);
	if (c != 0)
		return c;
	return x->order < y->order ? -1 : x->order > y->order;
}

enum nsd_err
update_merge_items(struct zone_update *u, const struct owner *run,
	size_t count, struct item *items, size_t item_count,
	struct item **merged, size_t *merged_count)
{
	struct merge m = {.u = u};
	struct keys keys = {.items = arena_alloc(&u->scratch,
		item_count * sizeof(*keys.items) + 1)};
	struct name_changes changes;
	size_t n;

	if (keys.items == NULL
		|| update_changes_make(u, &changes, run, count) != NSD_OK)
		return NSD_E_MEMORY;
	m.changes = &changes;
	for (size_t i = 0; i < item_count; i += n) {
		struct entry_items e = {.key = items[i].key,
			.items = &items[i]};
		enum nsd_err err;
		struct update_part p;

		(void)update_find_key(&items[i], item_count - i, e.key,
			&e.count);
		n = e.count;
		keys_add(&keys, e.key);
		err = update_changes_get_part(&changes, e.key, true, &p)
			? merge_part(&m, &p, &e) : merge_keep(&m, &e);
		if (err != NSD_OK)
			return err;
	}
	*merged = NULL;
	if (merge_new_types(&m, &keys) != NSD_OK)
		return NSD_E_MEMORY;
	if (m.count > 1)
		qsort(m.items, m.count, sizeof(m.items[0]),
			item_compare_print);
	*merged = m.items;
	*merged_count = m.count;
	return NSD_OK;
}
