/* transfer_walk.c - goes over what a transfer sends. */
#include "query/transfer_state.h"

/* ---- owners -------------------------------------------------------------- */

/* The place of the next owner. The one before is of use to it if it is in the
 * message. */
static struct transfer_name *
turn_owner(struct transfer *t)
{
	struct transfer_name *owner = t->owner;

	if (owner->is_placed) {
		t->owner = t->last;
		t->last = owner;
		owner = t->owner;
	}
	owner->is_placed = false;
	return owner;
}

/* count: of labels, if it is 0 or 1; more: they have yet to be found. */
static inline void
set_labels(struct transfer_name *owner, const uint8_t *labels, unsigned len,
	unsigned count)
{
	owner->labels = labels;
	owner->len = (uint8_t)len;
	owner->label_at[0] = 0;
	if (count > 1) {
		struct trie_name split;

		trie_name_split(&split, labels, len, owner->label_at);
		count = split.count;
	}
	owner->count = (uint8_t)count;
	owner->label_at[count] = (uint8_t)len;
}

static void
set_item(struct transfer *t, enum item_kind kind, const void *object)
{
	t->kind = kind;
	t->object = object;
	t->sent = 0;
}

/* ---- parts --------------------------------------------------------------- */

static bool
fetch_soa(struct transfer *t)
{
	switch (t->soa_items++) {
	case 0:
		set_labels(turn_owner(t), t->apex, 0, 0);
		set_item(t, ITEM_RRSET, store_get(t->view, t->zone->soa));
		return true;
	case 1:
		if (t->part == TRANSFER_LAST_SOA || t->path.changesets != NULL
			|| t->zone->soa_sigs == STORE_NONE)
			return false;
		set_item(t, ITEM_SIGS, store_get(t->view, t->zone->soa_sigs));
		return true;
	default:
		return false;
	}
}

/* The changesets lie from the newest to the oldest, which is sent first. */
static bool
fetch_from_changesets(struct transfer *t)
{
	const struct zone_changeset *next;

	while (cursor_left(&t->changeset) == 0) {
		if (t->path.count == 0)
			return false;
		next = store_get(t->view, t->path.changesets[--t->path.count]);
		cursor_init(&t->changeset, next->data, next->len);
	}
	if (history_read(&t->changeset, &t->record) != NSD_OK)
		return false;
	set_labels(turn_owner(t), t->record.labels, t->record.labels_len,
		t->record.labels_len == 0 ? 0 : NAME_MAX_LABELS);
	set_item(t, ITEM_STEP, &t->record);
	return true;
}

static inline bool
fetch_from_node(struct transfer *t)
{
	while (t->entry != t->entry_end) {
		const struct node_rrset *e = t->entry++;

		/* The apex's SOA is sent first and last. */
		if (e->type == TYPE_SOA)
			continue;
		set_item(t, (e->flags & NODE_RRSET_SIGS) != 0 ? ITEM_SIGS
			: ITEM_RRSET, store_get(t->view, e->ref));
		return true;
	}
	return false;
}

/* Prefetches the objects that a node refers to. The node is in the cache
 * itself. */
static void
prefetch_entries(const struct store_view *view, store_ref ref)
{
	const struct node *node = store_get(view, ref);
	const struct node_rrset *entries = node_entries(node);

	for (unsigned i = 0; i < node->entry_count && i < 4; i++)
		store_prefetch(view, entries[i].ref);
}

/* The next node. Nodes behind it are being prefetched, and, half as far, the
 * objects that they refer to. */
static store_ref
next_node(struct transfer *t)
{
	store_ref *ahead = t->ahead;
	unsigned at = t->ahead_at++ % TRANSFER_AHEAD;
	store_ref ref = ahead[at], half;

	ahead[at] = trie_iter_next(&t->nodes);
	if (ahead[at] != STORE_NONE)
		store_prefetch(t->view, ahead[at]);
	half = ahead[(at + TRANSFER_AHEAD / 2) % TRANSFER_AHEAD];
	if (half != STORE_NONE)
		prefetch_entries(t->view, half);
	return ref;
}

static void
begin_nodes(struct transfer *t, const struct trie *names)
{
	trie_iter_init(&t->nodes, t->view, &names->root);
	t->ahead_at = 0;
	for (unsigned i = 0; i < TRANSFER_AHEAD; i++)
		t->ahead[i] = trie_iter_next(&t->nodes);
}

static bool
fetch_from_trie(struct transfer *t)
{
	const struct node *node;
	store_ref ref;

	do {
		ref = next_node(t);
		if (ref == STORE_NONE)
			return false;
		node = store_get(t->view, ref);
		if (node->entry_count == 0)
			continue;
		t->entry = node_entries(node);
		t->entry_end = t->entry + node->entry_count;
		set_labels(turn_owner(t), trie_leaf_name(&node->leaf),
			node->leaf.name_len, node->leaf.labels);
	} while (!fetch_from_node(t));
	return true;
}

static bool
fetch_from_chain(struct transfer *t)
{
	const struct nsec3_record *record = t->records.record;
	struct transfer_name *owner;

	if (t->has_sent_record && record->sigs.count > 0) {
		t->has_sent_record = false;
		set_item(t, ITEM_SIGS, &record->sigs);
		return true;
	}
	if (!nsec3_iter_next(&t->records))
		return false;
	record = t->records.record;
	owner = turn_owner(t);
	owner->hashed[0] = NSEC3_LABEL_LEN;
	nsec3_print_label(t->records.hash, owner->hashed + 1);
	set_labels(owner, owner->hashed, 1 + NSEC3_LABEL_LEN, 1);
	t->has_sent_record = true;
	if ((record->flags & NSEC3_RRSET) != 0)
		set_item(t, ITEM_RRSET, store_get(t->view, record->template));
	else
		set_item(t, ITEM_NSEC3, record);
	return true;
}

/* ---- the walk ------------------------------------------------------------ */

static void
begin_next_part(struct transfer *t)
{
	if (t->changeset.failed)
		t->part = TRANSFER_NONE; /* a store that is damaged */
	else if (t->part == TRANSFER_CHANGESETS && t->path.changesets != NULL)
		t->part = TRANSFER_LAST_SOA;
	else
		t->part++;
	t->entry = t->entry_end = NULL;
	t->soa_items = 0;
	if (t->part == TRANSFER_NAMES)
		begin_nodes(t, &t->zone->names);
	else if (t->part == TRANSFER_OTHERS)
		begin_nodes(t, &t->zone->nsec3);
	else if (t->part == TRANSFER_CHAIN)
		nsec3_iter_init(&t->records, t->view,
			t->zone->chain == STORE_NONE ? NULL
				: store_get(t->view, t->zone->chain));
}

void
transfer_walk_next(struct transfer *t)
{
	static bool (*const fetchers[])(struct transfer *t) = {
		[TRANSFER_FIRST_SOA] = fetch_soa,
		[TRANSFER_CHANGESETS] = fetch_from_changesets,
		[TRANSFER_NAMES] = fetch_from_trie,
		[TRANSFER_OTHERS] = fetch_from_trie,
		[TRANSFER_CHAIN] = fetch_from_chain,
		[TRANSFER_LAST_SOA] = fetch_soa,
	};

	if (fetch_from_node(t))
		return; /* mostly; and without a call */
	while (t->part != TRANSFER_NONE && !fetchers[t->part](t))
		begin_next_part(t);
}

void
transfer_walk_begin(struct transfer *t)
{
	t->owner = &t->names[0];
	t->last = &t->names[1];
	transfer_walk_next(t);
}
