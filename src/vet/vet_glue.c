/* vet_glue.c - targets: names that RRsets refer to, and the cells that hold
 * their addresses. */
#include "base/assert.h"
#include "vet/vet_part.h"
#include "zone/objects.h"

#define WALKS 16u /* look-ups at a time */

bool
vet_target(struct vet_part *p, store_ref ref)
{
	const struct glue_target *t = vet_get(p, VET_TARGET, ref, sizeof(*t));

	if (t == NULL || !vet_claim(p, VET_TARGET, ref, glue_target_size(t)))
		return false;
	vet_held(p, ref, t->refs);
	return (t->refs > 0
		       && t->leaf.name_at == offsetof(struct glue_target, name)
		       && t->leaf.name_len + p->zone->entry->leaf.name_len + 1u
			       <= NAME_MAX_LEN
		       && vet_name(t->name, t->leaf.name_len, t->leaf.labels))
		|| vet_fail(p, VET_TARGET, ref, "has no name");
}

/* Changes that go into their cells when every reader has come to the version
 * that made them. */
bool
vet_pending(struct vet_part *p)
{
	const struct zone *zone = p->zone->zone;
	store_ref ref = zone->pending_first;

	while (ref != STORE_NONE) {
		const struct glue_change *c = vet_get(p, VET_CHANGE, ref,
			sizeof(*c));

		if (c == NULL || !vet_claim(p, VET_CHANGE, ref, sizeof(*c)))
			return false;
		if (c->epoch > store_claims_epoch(p->vet->claims))
			return vet_fail(p, VET_CHANGE, ref,
				"is of a time to come");
		p->pending += c->of != STORE_NONE;
		if (ref == zone->pending_last)
			return true;
		ref = c->next;
	}
	return zone->pending_first == STORE_NONE
		|| vet_fail(p, VET_CHANGE, zone->pending_last,
			"is not the last one");
}

/* Follows the links of a cell to what it holds in the zone's version; NULL and
 * a fault. Each change is linked once, so it ends. */
static const struct glue_cell *
cell_follow(struct vet_part *p, store_ref of)
{
	const struct glue_cell *cell = store_get(p->vet->view, of);

	while (glue_link_counts(cell->link, p->zone->zone->version)) {
		store_ref ref = (store_ref)cell->link;
		const struct glue_change *change;

		if (!store_claim_alter(p->vet->claims, ref, VET_CHANGE,
			    VET_CHANGE_LINKED)) {
			vet_fail(p, VET_CHANGE, ref, "is none");
			return NULL;
		}
		change = store_get(p->vet->view, ref);
		if (change->of != of) {
			vet_fail(p, VET_CHANGE, ref, "is of another cell");
			return NULL;
		}
		p->pending--;
		cell = &change->cell;
	}
	if ((store_ref)cell->link == STORE_NONE)
		return cell;
	vet_fail(p, VET_TARGET, of, "leads to a version that is not there");
	return NULL;
}

/* True if a cell has the addresses that the node of its name has. node NULL:
 * there is no such name. */
static bool
cell_agrees(const struct glue_cell *cell, const struct node *node)
{
	const struct node_rrset *a = NULL, *aaaa = NULL;
	bool hidden = false;

	if (node != NULL) {
		a = node_find_entry(node, TYPE_A);
		aaaa = node_find_entry(node, TYPE_AAAA);
		hidden = (a != NULL || aaaa != NULL)
			&& (node->flags & (NODE_CUT | NODE_OCCLUDED)) != 0;
	}
	return cell->a == (a == NULL ? STORE_NONE : a->ref)
		&& cell->aaaa == (aaaa == NULL ? STORE_NONE : aaaa->ref)
		&& cell->a_sigs == (a == NULL ? STORE_NONE
					      : node_entry_sigs(node, a))
		&& cell->aaaa_sigs == (aaaa == NULL ? STORE_NONE
				: node_entry_sigs(node, aaaa))
		&& glue_cell_is_hidden(cell) == hidden;
}

/* Targets whose names are looked up together. */
struct cell_batch {
	size_t count;
	store_ref refs[WALKS];
	struct trie_walk walks[WALKS];
	uint8_t label_at[WALKS][NAME_MAX_LABELS + 1];
};

static void
batch_add(struct cell_batch *b, struct vet_part *p, store_ref ref)
{
	const struct glue_target *t = store_get(p->vet->view, ref);
	struct trie_walk *walk = &b->walks[b->count];

	ASSERT_HOT(b->count < WALKS);
	walk->root = &p->zone->zone->names.root;
	trie_name_of_leaf(&walk->name, &t->leaf, b->label_at[b->count]);
	b->refs[b->count++] = ref;
}

/* Looks the names up, compares their cells, and empties the batch. */
static bool
batch_run(struct cell_batch *b, struct vet_part *p)
{
	struct trie_walk *walks[WALKS];

	for (size_t i = 0; i < b->count; i++)
		walks[i] = &b->walks[i];
	trie_find_batch(p->vet->view, walks, b->count);
	for (size_t i = 0; i < b->count; i++) {
		store_ref name = b->walks[i].exact;
		const struct glue_cell *cell = cell_follow(p,
			b->refs[i] + GLUE_CELL_GRANULES);

		if (cell == NULL)
			return false;
		if (!cell_agrees(cell, name == STORE_NONE ? NULL
				: store_get(p->vet->view, name)))
			return vet_fail(p, VET_TARGET, b->refs[i],
				"has not the addresses of its name");
	}
	b->count = 0;
	return true;
}

bool
vet_cells(struct vet_part *p)
{
	struct cell_batch batch = {.count = 0};
	struct trie_iter iter;
	store_ref ref;

	if (trie_is_empty(&p->zone->zone->targets))
		return true;
	trie_iter_init(&iter, p->vet->view, &p->zone->zone->targets.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		batch_add(&batch, p, ref);
		if (batch.count == WALKS && !batch_run(&batch, p))
			return false;
	}
	return batch_run(&batch, p);
}
