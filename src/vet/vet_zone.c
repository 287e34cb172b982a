/* vet_zone.c - a version of a zone: its parts, and what they come to
 * together. */
#include <assert.h>
#include <stdlib.h>

#include "vet/vet_part.h"
#include "zone/nsec3_page.h"

#define SPLIT 64u /* parts of a large trie or chain */
/* Head; names, chain; targets and other NSEC3 owners. vet_chain_split needs
 * more room than it says. */
#define LARGE_PARTS (1 + 2 * SPLIT + NSEC3_INNER_MAX + 2)

/* The zone's own object, and what its parts need: pending changes, chain and
 * index. */
static bool
vet_head(struct vet_part *p)
{
	struct vet_zone *z = p->zone;
	const struct zone *zone = vet_get(p, VET_ZONE, z->ref, sizeof(*zone));

	if (zone == NULL || !vet_claim(p, VET_ZONE, z->ref, sizeof(*zone)))
		return false;
	z->zone = zone;
	z->index = NULL;
	if (zone->version > ZONE_VERSION_MASK
		|| trie_is_empty(&zone->names))
		return vet_fail(p, VET_ZONE, z->ref, "has no names");
	return vet_pending(p)
		&& (zone->chain == STORE_NONE || vet_chain_head(p))
		&& (zone->share == STORE_NONE || vet_index_head(p));
}

/* ---- parts ------------------------------------------------------------- */

/* Which parts of a zone are what: the index of the first of each. */
struct vet_layout {
	size_t names, targets, aside, chain, end;
};

/* Makes the parts of a zone; tries and chain in up to `split` parts. */
static void
layout_parts(struct vet_part *parts, struct vet_part *head, size_t split,
	struct vet_layout *l)
{
	const struct zone *zone = head->zone->zone;
	size_t at = 0;

#define NEXT_PART() vet_part_init(&parts[at], head->vet, head->zone, \
		head->scratch)
	l->names = at;
	NEXT_PART();
	vet_trie_init(&parts[at], &zone->names, vet_node);
	parts[at].prefetch = vet_node_prefetch;
	at += split > 1 ? vet_trie_split(&parts[at], split) : 1;
	l->targets = at;
	if (!trie_is_empty(&zone->targets)) {
		NEXT_PART();
		vet_trie_init(&parts[at++], &zone->targets, vet_target);
	}
	l->aside = at;
	if (!trie_is_empty(&zone->nsec3)) {
		NEXT_PART();
		vet_trie_init(&parts[at++], &zone->nsec3, vet_node_aside);
	}
	l->chain = at;
	if (zone->chain != STORE_NONE) {
		const struct nsec3_chain *chain = store_get(head->vet->view,
			zone->chain);
		const struct nsec3_page *page = store_get(head->vet->view,
			chain->index);

		NEXT_PART();
		parts[at].page = chain->index;
		parts[at].height = page->height;
		at += split > 1 ? vet_chain_split(&parts[at], split) : 1;
	}
	l->end = at;
	assert(l->end < (split > 1 ? LARGE_PARTS : 1 + VET_ZONE_PARTS));
#undef NEXT_PART
}

static void
part_run(struct vet_part *p, const struct vet_layout *l, size_t i)
{
	if (p->fault.text != NULL)
		return;
	(void)(i < l->chain ? vet_trie(p) : vet_chain(p));
}

/* ---- what they come to ------------------------------------------------- */

/* Adds what a part has counted to the sum. */
static void
parts_add(struct vet_part *sum, const struct vet_part *p)
{
	sum->held += p->held;
	sum->nodes += p->nodes;
	sum->rrs += p->rrs;
	sum->wildcards += p->wildcards;
	sum->wildcard_parents += p->wildcard_parents;
	sum->dnames += p->dnames;
	sum->records += p->records;
	sum->pending += p->pending;
	sum->indexed += p->indexed;
}

/* True if what the zone says of itself follows from its apex. */
static bool
apex_agrees(struct vet_part *p)
{
	const struct zone *zone = p->zone->zone;
	struct zone made = {.apex = zone->apex};
	const struct node *apex = store_get(p->vet->view, zone->apex);

	if (node_find_entry(apex, TYPE_SOA) == NULL)
		return false;
	zone_read_apex(p->vet->view, &made);
	if (zone->chain != STORE_NONE)
		made.flags |= ZONE_NSEC3;
	if (p->wildcards > 0)
		made.flags |= ZONE_WILDCARDS;
	if (p->dnames > 0)
		made.flags |= ZONE_DNAMES;
	return made.flags == zone->flags && made.soa == zone->soa
		&& made.soa_sigs == zone->soa_sigs
		&& made.serial == zone->serial
		&& made.negative_ttl_sec == zone->negative_ttl_sec;
}

/* Compares what all parts have counted with what the objects say. */
static bool
counts_agree(struct vet_part *p)
{
	const struct vet_zone *z = p->zone;
	const struct zone *zone = z->zone;
	const struct nsec3_chain *chain = zone->chain == STORE_NONE ? NULL
		: store_get(p->vet->view, zone->chain);

	if (p->nodes != zone->node_count || p->rrs != zone->rr_count
		|| p->wildcards != zone->wildcard_count
		|| p->wildcards != p->wildcard_parents
		|| p->dnames != zone->dname_count)
		return vet_fail(p, VET_ZONE, z->ref,
			"has not as many names and records as it says");
	if (chain != NULL && p->records != chain->count)
		return vet_fail(p, VET_CHAIN, zone->chain,
			"has not as many records as it says");
	if (p->held != 0)
		return vet_fail(p, VET_ZONE, z->ref,
			"has objects with other holders than they say");
	if (z->index != NULL && p->indexed != z->index->used)
		return vet_fail(p, VET_INDEX, zone->share,
			"leads to what it should not");
	return p->pending == 0
		|| vet_fail(p, VET_ZONE, z->ref,
			"has changes of cells that no cell comes to");
}

/* After all parts are done. The first fault of any is noted in head. */
static bool
parts_join(struct vet_part *head, struct vet_part *parts,
	const struct vet_layout *l)
{
	for (size_t i = 0; i < l->end; i++) {
		if (parts[i].fault.text != NULL) {
			head->fault = parts[i].fault;
			return false;
		}
		parts_add(head, &parts[i]);
	}
	if (!vet_trie_join(&parts[l->names], l->targets - l->names)
		|| !vet_node_join(&parts[l->names], l->targets - l->names)) {
		head->fault = parts[l->names].fault;
		return false;
	}
	if (!vet_cells(head) || !counts_agree(head))
		return false;
	return apex_agrees(head)
		|| vet_fail(head, VET_ZONE, head->zone->ref,
			"does not say what its apex says");
}

void
vet_zone(struct vet *vet, struct vet_zone *zone, struct vet_scratch *scratch)
{
	struct vet_part *parts = scratch->parts, *head = &parts[0];
	struct vet_layout l;

	vet_part_init(head, vet, zone, scratch);
	if (vet_head(head)) {
		layout_parts(parts + 1, head, 1, &l);
		for (size_t i = 0; i < l.end; i++)
			part_run(&parts[1 + i], &l, i);
		(void)parts_join(head, parts + 1, &l);
	}
	zone->fault = head->fault;
}

/* ---- a large zone ------------------------------------------------------ */

struct vet_large {
	struct vet_part *parts;
	struct vet_layout layout;
};

static void
large_run(void *ctx, size_t i, struct vet_scratch *scratch)
{
	struct vet_large *large = ctx;

	large->parts[i].scratch = scratch;
	part_run(&large->parts[i], &large->layout, i);
}

enum nsd_err
vet_zone_large(struct vet *vet, struct vet_zone *zone)
{
	struct vet_large large = {.parts = malloc(LARGE_PARTS
		* sizeof(*large.parts))};
	struct vet_part *head;

	if (large.parts == NULL)
		return NSD_E_MEMORY;
	head = &large.parts[0];
	vet_part_init(head, vet, zone, vet->scratch);
	if (vet_head(head)) {
		large.parts++;
		layout_parts(large.parts, head, SPLIT, &large.layout);
		vet_run(vet, large.layout.end, large_run, &large);
		(void)parts_join(head, large.parts, &large.layout);
		large.parts--;
	}
	zone->fault = head->fault;
	free(large.parts);
	return NSD_OK;
}
