/* node.c - the pass that packs each name: its records become RRsets,
 * signatures and a node in the store. */
#include <string.h>

#include "build/build_pass.h"
#include "store/writer.h"

#define CHUNK 1024u         /* owners a worker takes at a time */
#define ITEMS_FIRST 64u
#define GROUPS_FIRST 32u

void *
packer_reserve(struct worker *w, void *array, size_t *room, size_t count,
	size_t size)
{
	if (count <= *room)
		return array;
	if (count < *room * 2)
		count = *room * 2;
	array = arena_alloc(&w->arena, count * size);
	*room = array != NULL ? count : 0;
	return array;
}

/* ---- records of a name ------------------------------------------------- */

static void
node_refuse_type(struct worker *w, const struct rrbatch_rr *rr)
{
	char type[RRTYPE_TEXT_MAX];

	rrtype_print(rr->type, type);
	findings_add(&w->findings, build_severity(w->build), rr,
		"%s cannot be in a zone", type);
}

static bool
item_is_chosen(const struct item *item, enum item_choice choice)
{
	bool nsec3 = item->key >> 1 == TYPE_NSEC3;

	return choice == ITEMS_ALL || nsec3 == (choice == ITEMS_CHAIN);
}

/* Lists the records of a run; those that no zone can hold are left out. */
static size_t
run_list_items(struct worker *w, const struct owner *run, size_t owners,
	enum item_choice choice)
{
	size_t n = 0;

	for (size_t o = 0; o < owners; o++) {
		const struct rrbatch_rr *rr = owner_get_rr(&run[o]);

		for (uint32_t i = 0; i < run[o].rr_count;
			i++, rr = rrbatch_next(rr)) {
			struct item *item = &w->items[n];

			item->rr = rr;
			item->order = (uint32_t)n;
			item->key = items_key(rr);
			if (rr->type == 0 || (rr->type >= 128
				    && rr->type < 256) || rr->type == TYPE_OPT) {
				if (choice != ITEMS_CHAIN)
					node_refuse_type(w, rr);
			} else if (item_is_chosen(item, choice)) {
				n++;
			}
		}
	}
	return n;
}

static bool
items_in_order(const struct item *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (items[i - 1].key >= items[i].key)
			return false;
	return true;
}

size_t
run_count(const struct build *b, const struct owner *run)
{
	const struct owner *end = b->names + b->name_count;
	size_t owners = 1;

	if (run >= b->hashes && run < b->hashes + b->hash_count)
		end = b->hashes + b->hash_count;
	while (run + owners < end && (__atomic_load_n(&run[owners].flags,
			__ATOMIC_RELAXED) & OWNER_AGAIN) != 0)
		owners++;
	return owners;
}

enum nsd_err
run_list_groups(struct worker *w, const struct owner *run,
	enum item_choice choice, size_t *count)
{
	size_t owners = run_count(w->build, run), total = 0;

	for (size_t i = 0; i < owners; i++)
		total += run[i].rr_count;
	if (total > UINT32_MAX / 2)
		return NSD_E_MEMORY;
	w->items = packer_reserve(w, w->items, &w->items_room, total * 2,
		sizeof(*w->items));
	if (w->items == NULL)
		return NSD_E_MEMORY;
	total = run_list_items(w, run, owners, choice);
	if (!items_in_order(w->items, total))
		items_sort(w->items, w->items + total, total);
	return items_group(w, run, w->items, total, count);
}

/* ---- the node ---------------------------------------------------------- */

static uint16_t
node_make_flags(const struct owner *owner, const struct group *groups,
	size_t count)
{
	unsigned flags = owner->labels == 0 ? NODE_APEX : 0;

	if ((owner->flags & OWNER_CUT) != 0)
		flags |= NODE_CUT;
	if ((owner->flags & OWNER_OCCLUDED) != 0)
		flags |= NODE_OCCLUDED;
	if ((owner->flags & OWNER_WILDCARD) != 0)
		flags |= NODE_WILDCARD;
	if ((owner->flags & OWNER_WILDCARD_CHILD) != 0)
		flags |= NODE_WILDCARD_CHILD;
	if (count == 0)
		flags |= NODE_EMPTY;
	for (size_t i = 0; i < count; i++) {
		if (groups[i].sigs)
			continue;
		if (groups[i].type == TYPE_DNAME)
			flags |= NODE_DNAME;
		else if (groups[i].type == TYPE_CNAME)
			flags |= NODE_CNAME;
		else if (groups[i].type == TYPE_DS)
			flags |= NODE_HAS_DS;
	}
	return (uint16_t)flags;
}

enum nsd_err
node_create(struct worker *w, const struct owner *owner, size_t entries,
	uint16_t flags, store_ref *ref)
{
	size_t names = (sizeof(struct node) + owner->name_len + 3u)
		& ~(size_t)3;
	size_t size = names + entries * sizeof(struct node_rrset);
	unsigned hashes = (w->hashes[0] != NULL) + (w->hashes[1] != NULL);
	struct node *node = store_alloc(w->heap,
		size + hashes * NSEC3_PREFIX_LEN, ref);
	uint8_t *at = (uint8_t *)node + size;

	if (node == NULL)
		return NSD_E_MEMORY;
	node->leaf.name_len = owner->name_len;
	node->leaf.labels = owner->labels;
	node->leaf.name_at = offsetof(struct node, name);
	node->unused = 0;
	node->flags = flags;
	node->entry_count = (uint16_t)entries;
	memcpy(node->name, owner->name, owner->name_len);
	memcpy((uint8_t *)node + names, w->entries,
		entries * sizeof(struct node_rrset));
	for (unsigned i = 0; i < 2; i++) {
		if (w->hashes[i] == NULL)
			continue;
		node->flags |= i == 0 ? NODE_HASHED : NODE_WILDCARD_HASHED;
		memcpy(at, w->hashes[i], NSEC3_PREFIX_LEN);
		at += NSEC3_PREFIX_LEN;
	}
	return NSD_OK;
}

/* In an update, an entry that the old node has, too. */
static bool
node_keep_group(struct worker *w, struct node_rrset *e)
{
	for (size_t i = 0; i < w->kept_count; i++) {
		if (w->kept[i].type != e->type || w->kept[i].flags != e->flags)
			continue;
		e->ref = w->kept[i].ref;
		if ((e->flags & NODE_RRSET_SIGS) == 0)
			pack_hold_rrset(w, e->ref);
		return true;
	}
	return false;
}

/* Packs each group into an entry of w->entries; w->packed of them hold
 * something, also on failure. */
static enum nsd_err
node_pack_groups(struct worker *w, const struct owner *owner, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct group *g = &w->groups[i];
		struct node_rrset *e = &w->entries[w->packed];
		enum nsd_err err;

		e->type = g->type;
		e->flags = g->sigs ? NODE_RRSET_SIGS : 0;
		if (node_keep_group(w, e)) {
			w->packed++;
			continue;
		}
		err = g->sigs ? pack_sigs(w, g, &e->ref)
			      : pack_rrset(w, owner, g, &e->ref);
		if (err != NSD_OK)
			return err;
		if (e->ref == STORE_NONE) /* told */
			continue;
		w->packed++;
		w->rr_count += g->count;
	}
	return w->err;
}

/* On failure the worker stops with w->packed entries in its hands, which are
 * let go of when no other worker can find their RRsets any more. */
static enum nsd_err
node_make(struct worker *w, const struct owner *owner, size_t count,
	store_ref *ref)
{
	enum nsd_err err;

	w->entries = packer_reserve(w, w->entries, &w->entries_room, count,
		sizeof(*w->entries));
	if (w->entries == NULL)
		return NSD_E_MEMORY;
	err = node_pack_groups(w, owner, count);
	if (err == NSD_OK)
		err = node_create(w, owner, w->packed,
			node_make_flags(owner, w->groups, count), ref);
	if (err == NSD_OK)
		w->packed = 0;
	return err;
}

/* Makes the node of count groups in w->groups. */
static enum nsd_err
node_finish(struct worker *w, const struct owner *run, size_t count,
	store_ref *ref)
{
	check_node(w, run, w->groups, count);
	if (count > UINT16_MAX) {
		findings_add(&w->findings, DIAG_ERROR, w->groups[0].items->rr,
			"too many types at one name");
		return NSD_OK;
	}
	/* With an error there will be no zone: only look for more of them. */
	if (w->findings.count[DIAG_ERROR] > 0)
		return NSD_OK;
	return node_make(w, run, count, ref);
}

/* Packs the records of a name, the run of owners with its name. */
static enum nsd_err
node_pack(struct worker *w, const struct owner *run, bool hashed,
	store_ref *ref)
{
	size_t count = 0;
	enum item_choice choice = (run->flags & OWNER_CHAINED) != 0
		? ITEMS_REST : ITEMS_ALL;

	if (run->rr_count > 0
		&& run_list_groups(w, run, choice, &count) != NSD_OK)
		return NSD_E_MEMORY;
	w->node_count += !hashed;
	return node_finish(w, run, count, ref);
}

enum nsd_err
node_pack_items(struct worker *w, const struct owner *owner,
	struct item *items, size_t item_count, store_ref *ref)
{
	size_t count;
	enum nsd_err err = items_group(w, owner, items, item_count, &count);

	return err != NSD_OK ? err : node_finish(w, owner, count, ref);
}

/* ---- ranges ------------------------------------------------------------ */

/* Packs the names of a range, or the owners of NSEC3 that are in no chain. */
static enum nsd_err
pack_range(struct worker *w, const struct owner *owners, store_ref *nodes,
	size_t start, size_t end, size_t total, bool hashed)
{
	for (size_t i = start; i < end; i++) {
		size_t n = end - i < HASHER_OWNERS ? end - i : HASHER_OWNERS;
		size_t place = (i - start) % HASHER_OWNERS;
		enum nsd_err err = NSD_OK;

		nodes[i] = STORE_NONE;
		owner_prefetch_records(owners, i, total);
		if (!hashed && place == 0)
			err = hasher_run(w, &owners[i], n);
		if (err != NSD_OK)
			return err;
		if ((owners[i].flags & OWNER_AGAIN) != 0
			|| (hashed && (owners[i].flags & OWNER_CHAINED) != 0))
			continue;
		w->hashes[0] = w->hashes[1] = NULL;
		if (!hashed)
			hasher_get(w, place);
		err = node_pack(w, &owners[i], hashed, &nodes[i]);
		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}

static enum nsd_err
pack_chunk(struct worker *w, size_t start, size_t end)
{
	struct build *b = w->build;
	size_t names_end = end < b->name_count ? end : b->name_count;
	enum nsd_err err = NSD_OK;

	if (start < names_end)
		err = pack_range(w, b->names, b->name_nodes, start, names_end,
			b->name_count, false);
	if (err != NSD_OK || end <= b->name_count)
		return err;
	start = start > b->name_count ? start - b->name_count : 0;
	return pack_range(w, b->hashes, b->hash_nodes, start,
		end - b->name_count, b->hash_count, true);
}

enum nsd_err
packer_prepare(struct worker *w)
{
	if (w->entries != NULL)
		return NSD_OK;
	w->items = packer_reserve(w, NULL, &w->items_room, ITEMS_FIRST,
		sizeof(*w->items));
	w->groups = packer_reserve(w, NULL, &w->groups_room, GROUPS_FIRST,
		sizeof(*w->groups));
	w->entries = packer_reserve(w, NULL, &w->entries_room, GROUPS_FIRST,
		sizeof(*w->entries));
	return w->items == NULL || w->groups == NULL || w->entries == NULL
		? NSD_E_MEMORY : NSD_OK;
}

static enum nsd_err
pack_worker(struct worker *w)
{
	struct build *b = w->build;
	size_t total = b->name_count + b->hash_count;
	enum nsd_err err = packer_prepare(w);

	while (err == NSD_OK && !__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
		size_t start = __atomic_fetch_add(&b->next_chunk, CHUNK,
			__ATOMIC_RELAXED);
		size_t end = start + CHUNK < total ? start + CHUNK : total;

		if (start >= total)
			break;
		if (w->number == 0 && b->input->on_progress != NULL)
			b->input->on_progress(b->input->progress_ctx, "pack",
				start, total);
		err = pack_chunk(w, start, end);
	}
	if (err != NSD_OK)
		__atomic_store_n(&b->stop, true, __ATOMIC_RELAXED);
	return err;
}

enum nsd_err
pack_build(struct build *b)
{
	enum nsd_err err;

	b->name_nodes = arena_alloc_zero(build_part(b),
		b->name_count * sizeof(*b->name_nodes) + 1);
	b->hash_nodes = arena_alloc_zero(build_part(b),
		b->hash_count * sizeof(*b->hash_nodes) + 1);
	if (b->name_nodes == NULL || b->hash_nodes == NULL)
		return NSD_E_MEMORY;
	b->next_chunk = 0;
	err = workers_run(b, pack_worker);
	for (unsigned i = 0; i < b->worker_count; i++)
		pack_sigs_flush(&b->workers[i]);
	return err;
}
