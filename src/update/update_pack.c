/* update_pack.c - makes new nodes for the names that change. */
#include <assert.h>
#include <string.h>

#include "update/update_pass.h"

/* ---- nodes ------------------------------------------------------------- */

#define PLACE_FLAGS (NODE_CUT | NODE_OCCLUDED | NODE_WILDCARD \
	| NODE_WILDCARD_CHILD)

static uint16_t
dirty_place_flags(const struct dirty_name *t)
{
	unsigned flags = 0;

	if ((t->owner.flags & OWNER_CUT) != 0)
		flags |= NODE_CUT;
	if ((t->owner.flags & OWNER_OCCLUDED) != 0)
		flags |= NODE_OCCLUDED;
	if ((t->owner.flags & OWNER_WILDCARD) != 0)
		flags |= NODE_WILDCARD;
	if ((t->owner.flags & OWNER_WILDCARD_CHILD) != 0)
		flags |= NODE_WILDCARD_CHILD;
	return (uint16_t)flags;
}

/* Makes a node that differs from the old one in its flags and hashes alone. */
static enum nsd_err
dirty_copy_node(struct zone_update *u, struct dirty_name *t, uint16_t flags)
{
	const struct node *old = store_get(u->view, t->old);
	struct packer *p = &u->packer;
	enum nsd_err err;

	p->entries = packer_reserve(p, p->entries, &p->entries_room,
		old->entry_count, sizeof(*p->entries));
	if (p->entries == NULL)
		return NSD_E_MEMORY;
	memcpy(p->entries, node_entries(old),
		old->entry_count * sizeof(*p->entries));
	p->kept = node_entries(old);
	p->kept_count = p->packed = old->entry_count;
	for (unsigned i = 0; i < old->entry_count; i++)
		if ((p->entries[i].flags & NODE_RRSET_SIGS) == 0)
			pack_hold_rrset(p, p->entries[i].ref);
	err = node_create(p, &t->owner, old->entry_count, flags, &t->made);
	if (err == NSD_OK)
		p->kept_count = p->packed = 0;
	return err;
}

/* Owners of nothing but NSEC3 are no names: nothing is above or below. */
static enum nsd_err
dirty_pack_items(struct zone_update *u, struct dirty_name *t, store_ref *ref)
{
	struct packer *p = &u->packer;
	struct owner hash = t->owner;
	enum nsd_err err;

	hash.flags &= OWNER_KEY_WHOLE;
	p->kept = t->kept;
	p->kept_count = t->kept_count;
	p->former = t->old == STORE_NONE ? NULL : store_get(u->view, t->old);
	err = node_pack_items(p, ref == &t->made_hash ? &hash : &t->owner,
		t->items, t->item_count, ref);
	p->former = NULL;
	if (err == NSD_OK)
		p->kept_count = 0;
	return err;
}

/* True if the name gets a node that is not the old one. */
static bool
dirty_needs_node(const struct zone_update *u, const struct dirty_name *t)
{
	const struct node *old;

	if (!t->exists)
		return false;
	if (t->old == STORE_NONE || (t->changed
			&& (t->records & OWNER_OTHER) != 0))
		return true;
	old = store_get(u->view, t->old);
	return (t->changed && old->entry_count > 0)
		|| (old->flags & PLACE_FLAGS) != dirty_place_flags(t);
}

/* p->hashes are those of the name. */
static enum nsd_err
dirty_pack_name(struct zone_update *u, struct dirty_name *t)
{
	const struct node *old = t->old == STORE_NONE ? NULL
		: store_get(u->view, t->old);

	t->replaced = true;
	u->result.hashed += (u->packer.hashes[0] != NULL)
		+ (u->packer.hashes[1] != NULL);
	if (t->changed && (t->records & OWNER_OTHER) != 0)
		return dirty_pack_items(u, t, &t->made);
	/* A name without records is an empty non-terminal, if the records are
	 * new. */
	if (old == NULL || (t->changed && old->entry_count > 0))
		return node_pack_items(&u->packer, &t->owner, NULL, 0,
			&t->made);
	return dirty_copy_node(u, t, (uint16_t)((old->flags & ~(PLACE_FLAGS
		| NODE_HASHED | NODE_WILDCARD_HASHED))
		| dirty_place_flags(t)));
}

/* Names that get a node: they are queued, so that many are hashed together. */
struct pack_queue {
	struct owner owners[HASHER_OWNERS];
	struct dirty_name *dirty[HASHER_OWNERS];
	size_t count;
};

static enum nsd_err
queue_flush(struct zone_update *u, struct pack_queue *q)
{
	struct packer *p = &u->packer;
	enum nsd_err err = q->count == 0 ? NSD_OK
		: hasher_run(p, q->owners, q->count);

	for (size_t i = 0; i < q->count && err == NSD_OK; i++) {
		hasher_get(p, i);
		err = dirty_pack_name(u, q->dirty[i]);
	}
	p->hashes[0] = p->hashes[1] = NULL;
	q->count = 0;
	return err;
}

static enum nsd_err
dirty_pack(struct zone_update *u, struct dirty_name *t, struct pack_queue *q)
{
	enum nsd_err err = NSD_OK;

	if (t->changed && t->item_count > 0
		&& (t->records & OWNER_OTHER) == 0)
		err = dirty_pack_items(u, t, &t->made_hash);
	if (err != NSD_OK)
		return err;
	if (!t->exists) {
		t->replaced = t->old != STORE_NONE;
		return NSD_OK;
	}
	if (!dirty_needs_node(u, t))
		return NSD_OK;
	if (q->count == HASHER_OWNERS)
		err = queue_flush(u, q);
	assert(q->count < HASHER_OWNERS);
	q->owners[q->count] = t->owner;
	q->dirty[q->count++] = t;
	return err;
}

enum nsd_err
update_pack(struct zone_update *u)
{
	struct packer *p = &u->packer;
	struct pack_queue *q = arena_alloc(&u->arena, sizeof(*q));
	enum nsd_err err = q == NULL ? NSD_E_MEMORY : NSD_OK;

	if (q != NULL)
		q->count = 0;
	for (size_t i = 0; i < u->dirty_count && err == NSD_OK; i++)
		err = dirty_pack(u, &u->dirty[i], q);
	if (err == NSD_OK)
		err = queue_flush(u, q);
	pack_sigs_flush(p);
	if (err == NSD_OK && p->findings.count[DIAG_ERROR] > 0)
		err = NSD_E_ZONE;
	u->rr_delta += (int64_t)p->rr_count;
	return err;
}
