/* update_cells.c - the names that RRsets have as targets, and their addresses:
 * makes new targets, and changes the cells whose addresses change. */
#include <assert.h>
#include <string.h>

#include "base/grow.h"
#include "names/trie_edit.h"
#include "store/writer.h"
#include "update/update_pass.h"
#include "zonedb/target.h"

/* ---- addresses of a cell ----------------------------------------------- */

static void
cell_read_node(struct glue_cell *cell, const struct node *node)
{
	node_read_addresses(node, cell);
	if ((cell->a != STORE_NONE || cell->aaaa != STORE_NONE)
		&& (node->flags & (NODE_CUT | NODE_OCCLUDED)) != 0)
		cell->link = GLUE_CELL_HIDDEN;
}

/* The node that a dirty name has in the new version, or none. */
static store_ref
dirty_new_node(const struct dirty_name *t)
{
	return t->replaced ? t->made : t->old;
}

static void
cell_read_name(const struct zone_update *u, const struct owner *name,
	struct glue_cell *cell)
{
	const struct dirty_name *t = update_find_dirty(u, name);
	store_ref ref = t != NULL ? dirty_new_node(t)
				  : update_find_ref(u, &u->old->names, name);

	memset(cell, 0, sizeof(*cell));
	if (ref != STORE_NONE)
		cell_read_node(cell, store_get(u->view, ref));
}

static bool
cell_is_same(const struct glue_cell *a, const struct glue_cell *b)
{
	return a->a == b->a && a->aaaa == b->aaaa && a->a_sigs == b->a_sigs
		&& a->aaaa_sigs == b->aaaa_sigs
		&& ((a->link ^ b->link) & GLUE_CELL_HIDDEN) == 0;
}

/* ---- targets of new RRsets --------------------------------------------- */

static enum nsd_err
target_add(struct zone_update *u, const struct owner *name, store_ref *ref)
{
	struct trie_edit edit = update_edit(u);
	struct glue_target *t = target_create(u->heap, name, ref);
	store_ref replaced;

	if (t == NULL)
		return NSD_E_MEMORY;
	cell_read_name(u, name, &t->cell);
	if (update_refs_add(u, &u->made_targets, *ref) != NSD_OK) {
		store_free(u->heap, *ref, sizeof(*t) + name->name_len);
		return NSD_E_MEMORY;
	}
	return trie_put(&edit, &u->targets, *ref, &replaced);
}

static enum nsd_err
use_resolve(struct zone_update *u, const struct target_use *use)
{
	store_ref ref = update_find_ref(u, &u->targets, &use->name);
	struct rrset *rrset = store_edit(u->heap, use->rrset);
	struct rrset_target *targets = (struct rrset_target *)(void *)
		rrset_tail_targets(rrset_get_tail(rrset));
	struct glue_target *t;

	if (ref == STORE_NONE
		&& target_add(u, &use->name, &ref) != NSD_OK)
		return NSD_E_MEMORY;
	t = store_edit(u->heap, ref);
	targets[use->index].glue = ref + GLUE_CELL_GRANULES;
	t->refs++;
	return NSD_OK;
}

/* ---- addresses that change --------------------------------------------- */

static const struct glue_cell *
cell_get_last(const struct zone_update *u, store_ref ref)
{
	const struct glue_cell *cell = store_get(u->view, ref);

	while ((store_ref)cell->link != STORE_NONE)
		cell = store_get(u->view, (store_ref)cell->link);
	return cell;
}

static enum nsd_err
cell_add_change(struct zone_update *u, store_ref of,
	const struct glue_cell *cell)
{
	struct cell_change *pending;
	struct glue_change *change;

	pending = grow_arena(&u->arena, u->cell_changes,
		u->cell_change_count, &u->cell_change_room, sizeof(*pending));
	if (pending == NULL)
		return NSD_E_MEMORY;
	u->cell_changes = pending;
	pending += u->cell_change_count;
	pending->cell = of;
	change = store_alloc(u->heap, sizeof(*change), &pending->change);
	if (change == NULL)
		return NSD_E_MEMORY;
	memset(change, 0, sizeof(*change));
	change->cell = *cell;
	change->of = of;
	u->cell_change_count++;
	return NSD_OK;
}

static enum nsd_err
dirty_change_cell(struct zone_update *u, const struct dirty_name *t)
{
	struct glue_cell was = {.a = STORE_NONE}, is = {.a = STORE_NONE};
	store_ref target;

	if (!t->replaced)
		return NSD_OK;
	if (t->old != STORE_NONE)
		cell_read_node(&was, store_get(u->view, t->old));
	if (t->made != STORE_NONE)
		cell_read_node(&is, store_get(u->view, t->made));
	if (cell_is_same(&was, &is))
		return NSD_OK;
	/* Only old targets: new ones already have the new addresses. */
	target = update_find_ref(u, &u->old->targets, &t->owner);
	if (target == STORE_NONE || cell_is_same(&is, cell_get_last(u,
			target + GLUE_CELL_GRANULES)))
		return NSD_OK;
	return cell_add_change(u, target + GLUE_CELL_GRANULES, &is);
}

enum nsd_err
update_cells(struct zone_update *u)
{
	for (const struct target_use *use = u->packer.uses; use != NULL;
		use = use->next) {
		if (use_resolve(u, use) != NSD_OK)
			return NSD_E_MEMORY;
	}
	for (size_t i = 0; i < u->dirty_count; i++)
		if (dirty_change_cell(u, &u->dirty[i]) != NSD_OK)
			return NSD_E_MEMORY;
	return NSD_OK;
}

/* ---- when they take effect --------------------------------------------- */

void
update_publish_cells(struct zone_update *u, struct zone *zone)
{
	uint64_t since = (uint64_t)zone->version << 32;

	for (size_t i = 0; i < u->cell_change_count; i++) {
		const struct cell_change *pending = &u->cell_changes[i];
		struct glue_change *change = store_edit(u->heap,
			pending->change);
		struct glue_cell *last = (struct glue_cell *)(uintptr_t)
			cell_get_last(u, pending->cell);

		change->epoch = store_epoch(u->writer);
		change->of = pending->cell;
		if (zone->pending_first == STORE_NONE) {
			zone->pending_first = pending->change;
		} else {
			struct glue_change *before = store_edit(u->heap,
				zone->pending_last);

			before->next = pending->change;
		}
		zone->pending_last = pending->change;
		/* Readers of older versions do not follow the link. */
		__atomic_store_n(&last->link, (last->link & GLUE_CELL_HIDDEN)
			| since | pending->change, __ATOMIC_RELEASE);
	}
}

/* Cuts the link of a cell to a change, which is the last one. */
static void
cell_cut(const struct zone_update *u, const struct cell_change *pending)
{
	struct glue_cell *cell = store_edit(u->heap, pending->cell);

	while ((store_ref)cell->link != pending->change) {
		assert((store_ref)cell->link != STORE_NONE);
		cell = store_edit(u->heap, (store_ref)cell->link);
	}
	__atomic_store_n(&cell->link, cell->link & GLUE_CELL_HIDDEN,
		__ATOMIC_RELEASE);
}

void
update_withdraw_cells(struct zone_update *u)
{
	for (size_t i = 0; i < u->cell_change_count; i++)
		cell_cut(u, &u->cell_changes[i]);
}

/*
 * Writes a change into the cell itself: every online reader has the version of
 * the change or a newer one. So no reader reads the cell's own words: they are
 * written first. Then one store of the link makes them count. A reader that
 * finds no link, or a later one, has to find the words.
 */
static void
cell_settle(struct store_heap *heap, store_ref ref,
	const struct glue_change *change)
{
	struct glue_cell *cell = store_edit(heap, change->of);

	/* A writer that died may already have done it. */
	if ((store_ref)cell->link != ref)
		return;
	cell->a = change->cell.a;
	cell->aaaa = change->cell.aaaa;
	cell->a_sigs = change->cell.a_sigs;
	cell->aaaa_sigs = change->cell.aaaa_sigs;
	__atomic_store_n(&cell->link, change->cell.link, __ATOMIC_RELEASE);
}

void
update_cells_settle(struct store_writer *writer, struct zone *zone)
{
	struct store_heap *heap = store_writer_heap(writer);
	uint64_t passed = 0;

	while (zone->pending_first != STORE_NONE) {
		store_ref ref = zone->pending_first;
		const struct glue_change *change = store_edit(heap, ref);

		if (change->epoch != passed) {
			if (!store_epoch_passed(writer, change->epoch))
				return;
			passed = change->epoch;
		}
		if (change->of != STORE_NONE)
			cell_settle(heap, ref, change);
		zone->pending_first = ref == zone->pending_last ? STORE_NONE
								: change->next;
		store_retire(writer, ref, sizeof(*change));
	}
}

void
update_forget_cell(struct zone_update *u, store_ref ref)
{
	const struct glue_cell *cell = store_get(u->view, ref);

	while ((store_ref)cell->link != STORE_NONE) {
		struct glue_change *change = store_edit(u->heap,
			(store_ref)cell->link);

		change->of = STORE_NONE;
		cell = &change->cell;
	}
}
