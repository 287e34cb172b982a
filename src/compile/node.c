/* node.c - makes the node of a name: its groups of records become RRsets and
 * signatures in the store. */
#include <string.h>

#include "base/assert.h"
#include "compile/pack_parts.h"
#include "store/writer.h"

static uint16_t
node_make_flags(const struct owner *owner, const struct item_group *groups,
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
node_create(struct packer *p, const struct owner *owner, size_t entries,
	uint16_t flags, store_ref *ref)
{
	size_t names = (sizeof(struct node) + owner->name_len + 3u)
		& ~(size_t)3;
	size_t size = names + entries * sizeof(struct node_rrset);
	unsigned hashes = (p->hashes[0] != NULL) + (p->hashes[1] != NULL);
	struct node *node = store_alloc(p->heap,
		size + hashes * NSEC3_PREFIX_LEN, ref);
	uint8_t *at = (uint8_t *)node + size;

	ASSERT_HOT(entries <= UINT16_MAX);
	if (node == NULL)
		return NSD_E_MEMORY;
	node->leaf.name_len = owner->name_len;
	node->leaf.labels = owner->labels;
	node->leaf.name_at = offsetof(struct node, name);
	node->unused = 0;
	node->flags = flags;
	node->entry_count = (uint16_t)entries;
	memcpy(node->name, owner->name, owner->name_len);
	memcpy((uint8_t *)node + names, p->entries,
		entries * sizeof(struct node_rrset));
	for (unsigned i = 0; i < 2; i++) {
		if (p->hashes[i] == NULL)
			continue;
		node->flags |= i == 0 ? NODE_HASHED : NODE_WILDCARD_HASHED;
		memcpy(at, p->hashes[i], NSEC3_PREFIX_LEN);
		at += NSEC3_PREFIX_LEN;
	}
	return NSD_OK;
}

bool
node_fill_hashes(struct packer *p, store_ref ref)
{
	static const uint16_t flags[2] = {NODE_HASHED, NODE_WILDCARD_HASHED};
	struct node *node = store_edit(p->heap, ref);
	uint8_t *at = (uint8_t *)node + ((const uint8_t *)(node_entries(node)
		+ node->entry_count) - (const uint8_t *)node);

	for (unsigned i = 0; i < 2; i++) {
		if ((p->hashes[i] != NULL) != ((node->flags & flags[i]) != 0))
			return false;
		if (p->hashes[i] == NULL)
			continue;
		memcpy(at, p->hashes[i], NSEC3_PREFIX_LEN);
		at += NSEC3_PREFIX_LEN;
	}
	return true;
}

/* In an update: true if the old node has the entry, and it stays. Entries are
 * asked for in order; *at goes along. */
static bool
node_keep_group(struct packer *p, struct node_rrset *e, size_t *at)
{
	while (*at < p->kept_count
		&& node_entry_key(&p->kept[*at]) < node_entry_key(e))
		++*at;
	if (*at == p->kept_count
		|| node_entry_key(&p->kept[*at]) != node_entry_key(e))
		return false;
	e->ref = p->kept[*at].ref;
	if ((e->flags & NODE_RRSET_SIGS) == 0)
		pack_hold_rrset(p, e->ref);
	return true;
}

/* Packs each group into an entry of p->entries. p->packed counts the entries
 * that hold something, also after a failure. */
static enum nsd_err
node_pack_entries(struct packer *p, const struct owner *owner, size_t count)
{
	size_t kept_at = 0;

	for (size_t i = 0; i < count; i++) {
		const struct item_group *g = &p->groups[i];
		struct node_rrset *e = &p->entries[p->packed];
		enum nsd_err err;

		e->type = g->type;
		e->flags = g->sigs ? NODE_RRSET_SIGS : 0;
		if (node_keep_group(p, e, &kept_at)) {
			p->packed++;
			continue;
		}
		err = g->sigs ? pack_sigs(p, g, &e->ref)
			      : pack_rrset(p, owner, g, &e->ref);
		if (err != NSD_OK)
			return err;
		if (e->ref == STORE_NONE) /* told */
			continue;
		p->packed++;
		p->rr_count += g->count;
	}
	return p->err;
}

/* After a failure p->packed entries are left. They are let go of later, when no
 * other worker can find their RRsets any more. */
static enum nsd_err
node_make(struct packer *p, const struct owner *owner, size_t count,
	store_ref *ref)
{
	enum nsd_err err;

	p->entries = packer_reserve(p, p->entries, &p->entries_room, count,
		sizeof(*p->entries));
	if (p->entries == NULL)
		return NSD_E_MEMORY;
	err = node_pack_entries(p, owner, count);
	if (err == NSD_OK)
		err = node_create(p, owner, p->packed,
			node_make_flags(owner, p->groups, count), ref);
	if (err == NSD_OK)
		p->packed = 0;
	return err;
}

enum nsd_err
node_pack_groups(struct packer *p, const struct owner *run, size_t count,
	store_ref *ref)
{
	check_node(p, run, p->groups, count);
	if (count > UINT16_MAX) {
		findings_add(&p->findings, DIAG_ERROR, p->groups[0].items->rr,
			"too many types at one name");
		return NSD_OK;
	}
	/* With an error there will be no zone: only look for more errors. */
	if (p->findings.count[DIAG_ERROR] > 0)
		return NSD_OK;
	return node_make(p, run, count, ref);
}

enum nsd_err
node_pack_items(struct packer *p, const struct owner *owner,
	struct item *items, size_t item_count, store_ref *ref)
{
	size_t count;
	enum nsd_err err = items_group(p, owner, items, item_count, &count);

	return err != NSD_OK ? err : node_pack_groups(p, owner, count, ref);
}
