/* node.c - makes the node of a name: its groups of records become RRsets and
 * signatures in the store. */
#include <string.h>

#include "build/build_pass.h"
#include "store/writer.h"

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
node_pack_entries(struct worker *w, const struct owner *owner, size_t count)
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
	err = node_pack_entries(w, owner, count);
	if (err == NSD_OK)
		err = node_create(w, owner, w->packed,
			node_make_flags(owner, w->groups, count), ref);
	if (err == NSD_OK)
		w->packed = 0;
	return err;
}

enum nsd_err
node_pack_groups(struct worker *w, const struct owner *run, size_t count,
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

enum nsd_err
node_pack_items(struct worker *w, const struct owner *owner,
	struct item *items, size_t item_count, store_ref *ref)
{
	size_t count;
	enum nsd_err err = items_group(w, owner, items, item_count, &count);

	return err != NSD_OK ? err : node_pack_groups(w, owner, count, ref);
}
