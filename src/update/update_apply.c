/* update_apply.c - makes the tries of the new version, and lets go of objects
 * without holders; or undoes all of it. */
#include <assert.h>
#include <string.h>

#include "compile/build.h"
#include "names/trie_edit.h"
#include "store/writer.h"
#include "update/update_pass.h"
#include "zone/objects.h"
#include "zonedb/garbage.h"
#include "zonedb/release.h"

/* ---- tries ------------------------------------------------------------- */

static enum nsd_err
trie_drop(struct zone_update *u, struct trie *trie, const struct owner *owner)
{
	struct trie_edit edit = update_edit(u);
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_name name;
	store_ref removed;

	trie_name_split(&name, owner->name, owner->name_len, label_at);
	return trie_remove(&edit, trie, &name, &removed);
}

static enum nsd_err
dirty_apply(struct zone_update *u, const struct dirty_name *t)
{
	struct trie_edit edit = update_edit(u);
	enum nsd_err err = NSD_OK;
	store_ref replaced;

	if (t->replaced && t->made != STORE_NONE)
		err = trie_put(&edit, &u->names, t->made, &replaced);
	else if (t->replaced)
		err = trie_drop(u, &u->names, &t->owner);
	if (err != NSD_OK || !t->changed)
		return err;
	if (t->made_hash != STORE_NONE)
		err = trie_put(&edit, &u->nsec3, t->made_hash, &replaced);
	else if (t->old_hash != STORE_NONE)
		err = trie_drop(u, &u->nsec3, &t->owner);
	return err;
}

/* ---- contents of old nodes --------------------------------------------- */

/* True if a node has the same signatures. */
static bool
node_has_sigs(const struct zone_update *u, store_ref ref,
	const struct node_rrset *sigs)
{
	const struct node_rrset *found;

	if (ref == STORE_NONE)
		return false;
	found = node_find_kind(store_get(u->view, ref), sigs->type,
		NODE_RRSET_SIGS);
	return found != NULL && found->ref == sigs->ref;
}

static enum nsd_err
sigs_list(struct zone_update *u, store_ref ref)
{
	const struct rrset_sigs *sigs = store_get(u->view, ref);
	const uint8_t *at = sigs->data;

	for (unsigned i = 0; i < sigs->count; i++) {
		const struct sig *sig = (const struct sig *)at;

		if (update_refs_add(u, &u->templates, sig->template_ref)
			!= NSD_OK)
			return NSD_E_MEMORY;
		at += sig_size(sig);
	}
	return update_refs_add(u, &u->sigs, ref);
}

/* Lists signatures, which belong to one node, unless the new node has them. */
static enum nsd_err
node_list(struct zone_update *u, const struct dirty_name *t, store_ref ref)
{
	const struct node *node = store_get(u->view, ref);
	const struct node_rrset *e = node_entries(node);

	for (unsigned i = 0; i < node->entry_count; i++) {
		enum nsd_err err = NSD_OK;

		if ((e[i].flags & NODE_RRSET_SIGS) == 0)
			err = update_refs_add(u, &u->rrsets, e[i].ref);
		else if (!node_has_sigs(u, t->made, &e[i])
			&& !node_has_sigs(u, t->made_hash, &e[i]))
			err = sigs_list(u, e[i].ref);
		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}

static enum nsd_err
list_reserve(struct zone_update *u, struct ref_list *list, size_t room)
{
	list->items = arena_alloc(&u->arena, room * sizeof(store_ref) + 1);
	list->room = room;
	return list->items == NULL ? NSD_E_MEMORY : NSD_OK;
}

static enum nsd_err
release_list(struct zone_update *u)
{
	for (size_t i = 0; i < u->dirty_count; i++) {
		const struct dirty_name *t = &u->dirty[i];
		enum nsd_err err = NSD_OK;

		if (t->replaced && t->old != STORE_NONE)
			err = node_list(u, t, t->old);
		if (err == NSD_OK && t->changed && t->old_hash != STORE_NONE)
			err = node_list(u, t, t->old_hash);
		if (err != NSD_OK)
			return err;
	}
	if (list_reserve(u, &u->dead_rrsets, u->rrsets.count) != NSD_OK)
		return NSD_E_MEMORY;
	return list_reserve(u, &u->dead_templates, u->templates.count);
}

/* Adds delta to the holders of the targets of RRsets that have no holder. */
static void
targets_count(struct zone_update *u, uint32_t delta)
{
	for (size_t i = 0; i < u->dead_rrsets.count; i++) {
		const struct rrset_tail *tail = rrset_get_tail(store_get(
			u->view, u->dead_rrsets.items[i]));

		for (unsigned n = 0; tail != NULL && n < tail->target_count;
			n++) {
			store_ref cell = rrset_tail_targets(tail)[n].glue;
			struct glue_target *t;

			if (cell == STORE_NONE)
				continue;
			t = store_edit(u->heap, cell - GLUE_CELL_GRANULES);
			assert(t->refs + delta <= UINT32_MAX / 2);
			t->refs += delta;
		}
	}
}

/* Takes back the holders that the old nodes were. Cannot fail. */
static void
release_count(struct zone_update *u)
{
	for (size_t i = 0; i < u->rrsets.count; i++) {
		struct rrset *r = store_edit(u->heap, u->rrsets.items[i]);

		assert(r->refs > 0);
		if (--r->refs == 0)
			u->dead_rrsets.items[u->dead_rrsets.count++] =
				u->rrsets.items[i];
	}
	for (size_t i = 0; i < u->templates.count; i++) {
		struct sig_template *t = store_edit(u->heap,
			u->templates.items[i]);

		assert(t->refs > 0);
		if (--t->refs == 0)
			u->dead_templates.items[u->dead_templates.count++] =
				u->templates.items[i];
	}
	targets_count(u, (uint32_t)-1);
	u->released = true;
}

static void
release_uncount(struct zone_update *u)
{
	targets_count(u, 1);
	for (size_t i = 0; i < u->rrsets.count; i++) {
		struct rrset *r = store_edit(u->heap, u->rrsets.items[i]);

		r->refs++;
	}
	for (size_t i = 0; i < u->templates.count; i++) {
		struct sig_template *t = store_edit(u->heap,
			u->templates.items[i]);

		t->refs++;
	}
}

/* Targets that no RRset refers to any more. */
static enum nsd_err
targets_drop(struct zone_update *u)
{
	for (size_t i = 0; i < u->dead_rrsets.count; i++) {
		const struct rrset_tail *tail = rrset_get_tail(store_get(
			u->view, u->dead_rrsets.items[i]));

		for (unsigned n = 0; tail != NULL && n < tail->target_count;
			n++) {
			store_ref ref = rrset_tail_targets(tail)[n].glue
				- GLUE_CELL_GRANULES;
			const struct glue_target *t;
			struct owner owner = {.flags = 0};
			enum nsd_err err;

			if (rrset_tail_targets(tail)[n].glue == STORE_NONE)
				continue;
			t = store_get(u->view, ref);
			if (t->refs > 0)
				continue;
			owner.name = t->name;
			owner.name_len = t->leaf.name_len;
			owner.labels = t->leaf.labels;
			err = trie_drop(u, &u->targets, &owner);
			if (err == NSD_E_NOT_FOUND)
				continue; /* was dropped before */
			if (err == NSD_OK)
				err = update_refs_add(u, &u->dead_targets, ref);
			if (err != NSD_OK)
				return err;
		}
	}
	return NSD_OK;
}

/* ---- the new version --------------------------------------------------- */

static void
zone_fill(struct zone_update *u, struct zone *zone)
{
	const struct dirty_name *apex = &u->dirty[0];

	*zone = *u->old;
	zone->version = (zone->version + 1) & ZONE_VERSION_MASK;
	zone->names = u->names;
	zone->nsec3 = u->nsec3;
	zone->targets = u->targets;
	if (apex->replaced)
		zone->apex = apex->made;
	zone->rr_count += (uint64_t)u->rr_delta;
	zone->node_count += (uint64_t)u->node_delta;
	zone->wildcard_count += (uint32_t)u->wildcard_delta;
	zone->dname_count += (uint32_t)u->dname_delta;
	zone->flags = 0;
	zone_read_apex(u->view, zone);
	zone->chain = u->chain;
	if (zone->chain != STORE_NONE)
		zone->flags |= ZONE_NSEC3;
	if (zone->wildcard_count > 0)
		zone->flags |= ZONE_WILDCARDS;
	if (zone->dname_count > 0)
		zone->flags |= ZONE_DNAMES;
}

static void
retire_nodes(struct zone_update *u)
{
	for (size_t i = 0; i < u->dirty_count; i++) {
		const struct dirty_name *t = &u->dirty[i];

		u->result.names += t->made != STORE_NONE;
		u->result.names += t->made_hash != STORE_NONE;
		if (t->replaced && t->old != STORE_NONE)
			store_retire(u->writer, t->old,
				node_size(store_get(u->view, t->old)));
		if (t->changed && t->old_hash != STORE_NONE)
			store_retire(u->writer, t->old_hash,
				node_size(store_get(u->view, t->old_hash)));
	}
}

static void
retire_contents(struct zone_update *u)
{
	struct share *share = &u->zone.share;

	for (size_t i = 0; i < u->dead_rrsets.count; i++) {
		store_ref ref = u->dead_rrsets.items[i];

		share_index_remove_rrset(share, ref);
		store_retire(u->writer, ref,
			rrset_size(store_get(u->view, ref)));
	}
	for (size_t i = 0; i < u->sigs.count; i++)
		store_retire(u->writer, u->sigs.items[i], rrset_sigs_size(
			store_get(u->view, u->sigs.items[i])));
	for (size_t i = 0; i < u->dead_templates.count; i++) {
		store_ref ref = u->dead_templates.items[i];
		const struct sig_template *t = store_get(u->view, ref);

		share_index_remove(share, share_hash_template(share, t), ref);
		store_retire(u->writer, ref, sig_template_size(t));
	}
	for (size_t i = 0; i < u->dead_targets.count; i++) {
		store_ref ref = u->dead_targets.items[i];

		update_forget_cell(u, ref + GLUE_CELL_GRANULES);
		store_retire(u->writer, ref,
			glue_target_size(store_get(u->view, ref)));
	}
}

static void
update_retire_chain(struct zone_update *u)
{
	struct releaser r = {u->view, u->heap, u->writer, &u->zone.share};

	if (u->chain_begun)
		nsec3_edit_release(&u->chain_edit, &r);
}

/* Lists the dirty names in a candidate. */
static enum nsd_err
candidate_list(struct zone_update *u, struct update_candidate *candidate)
{
	candidate->owners = arena_alloc(&u->arena, (u->dirty_count + 1)
		* sizeof(*candidate->owners));
	if (candidate->owners == NULL)
		return NSD_E_MEMORY;
	for (size_t i = 0; i < u->dirty_count; i++)
		if (u->dirty[i].changed || u->dirty[i].chain_changed
			|| u->dirty[i].replaced)
			candidate->owners[candidate->owner_count++] =
				u->dirty[i].owner.name;
	return NSD_OK;
}

enum nsd_err
update_check(struct zone_update *u, struct zone *zone, bool anew)
{
	struct update_candidate candidate = {.served = u->old, .zone = zone};
	enum nsd_err err = NSD_OK;

	zone->data_count = 0;
	if (u->options.check == NULL)
		return NSD_OK;
	if (!anew)
		err = candidate_list(u, &candidate);
	if (err == NSD_OK)
		err = u->options.check(u->options.check_ctx, &candidate);
	if (candidate.is_verified)
		zone->flags |= ZONE_VERIFIED;
	zone->data_count = candidate.data_count;
	return err;
}

enum nsd_err
update_apply(struct zone_update *u)
{
	struct zone *zone;
	store_ref ref;
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < u->dirty_count && err == NSD_OK; i++)
		err = dirty_apply(u, &u->dirty[i]);
	if (err == NSD_OK)
		err = release_list(u);
	if (err != NSD_OK)
		return err;
	release_count(u);
	err = targets_drop(u);
	if (err != NSD_OK)
		return err;
	zone = u->garbage.lost ? NULL
		: store_alloc(u->heap, sizeof(*zone), &ref);
	if (zone == NULL)
		return NSD_E_MEMORY;
	zone_fill(u, zone);
	err = update_check(u, zone, false);
	if (err != NSD_OK) {
		store_free(u->heap, ref, sizeof(*zone));
		return err;
	}
	u->made = ref;
	return NSD_OK;
}

void
update_retire(struct zone_update *u)
{
	struct zone *zone = store_edit(u->heap, u->made);

	u->zone.share.index = &zone->share;
	retire_nodes(u);
	retire_contents(u);
	update_retire_chain(u);
	garbage_retire(&u->garbage, u->writer);
	store_retire(u->writer, u->old_ref, sizeof(*zone));
}

/* ---- undoing ----------------------------------------------------------- */

/* Retires what some reader may have seen, and frees what none has. */
static struct releaser
undo_releaser(struct zone_update *u)
{
	return (struct releaser){u->view, u->heap,
		u->was_shown ? u->writer : NULL, &u->zone.share};
}

/* Lets go of entries that were made, except for signatures of the old node.
 * Both lists ascend. */
static void
undo_entries(struct zone_update *u, const struct node_rrset *made,
	size_t count, const struct node_rrset *old, size_t old_count)
{
	struct releaser r = undo_releaser(u);
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		while (at < old_count && node_entry_key(&old[at])
			< node_entry_key(&made[i]))
			at++;
		if ((made[i].flags & NODE_RRSET_SIGS) == 0)
			release_rrset(&r, made[i].ref);
		else if (at == old_count || old[at].ref != made[i].ref)
			release_sigs(&r, made[i].ref);
	}
}

static void
undo_node(struct zone_update *u, const struct dirty_name *t, store_ref ref)
{
	struct releaser r = undo_releaser(u);
	const struct node *node, *old = NULL;
	const struct node_rrset *kept = t->kept;
	size_t kept_count = t->kept_count;

	if (ref == STORE_NONE)
		return;
	node = store_get(u->view, ref);
	if (!t->changed && t->old != STORE_NONE) {
		old = store_get(u->view, t->old);
		kept = node_entries(old);
		kept_count = old->entry_count;
	}
	undo_entries(u, node_entries(node), node->entry_count, kept,
		kept_count);
	release_object(&r, ref, node_size(node));
}

/* Takes back the holders of targets that new RRsets are: these go next. */
static void
undo_uses(struct zone_update *u)
{
	for (const struct target_use *use = u->packer.uses; use != NULL;
		use = use->next) {
		const struct rrset_tail *tail = rrset_get_tail(store_get(
			u->view, use->rrset));
		store_ref cell = rrset_tail_targets(tail)[use->index].glue;
		struct glue_target *t;

		if (cell == STORE_NONE)
			continue;
		t = store_edit(u->heap, cell - GLUE_CELL_GRANULES);
		assert(t->refs > 0);
		t->refs--;
	}
}

void
update_undo(struct zone_update *u)
{
	struct releaser r = undo_releaser(u);
	struct packer *p = &u->packer;

	if (u->made != STORE_NONE)
		release_object(&r, u->made, sizeof(struct zone));
	u->made = STORE_NONE;
	pack_sigs_flush(p);
	if (u->chain_begun)
		nsec3_edit_abandon(&u->chain_edit, &r);
	if (u->released)
		release_uncount(u);
	undo_uses(u);
	undo_entries(u, p->entries, p->packed, p->kept, p->kept_count);
	for (size_t i = 0; i < u->dirty_count; i++) {
		undo_node(u, &u->dirty[i], u->dirty[i].made);
		undo_node(u, &u->dirty[i], u->dirty[i].made_hash);
	}
	for (size_t i = 0; i < u->cell_change_count; i++)
		release_object(&r, u->cell_changes[i].change,
			sizeof(struct glue_change));
	for (size_t i = 0; i < u->made_targets.count; i++)
		release_object(&r, u->made_targets.items[i],
			glue_target_size(store_get(u->view,
				u->made_targets.items[i])));
	trie_owned_release(&u->owned, release_branch, &r);
}
