/*
 * parts.c - builds a zone in parts. The records of one range of names at a time
 * become nodes and a trie, which is joined to the tries before it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "build/parts_pass.h"
#include "keep/release.h"
#include "names/trie_edit.h"
#include "store/writer.h"
#include "zone/nsec3_page.h"

/* Octets of a block of records: large enough to be a mapping of its own, small
 * enough that each thread gets some. */
#define BLOCK_SIZE ((size_t)512 << 10)

/* Uses of targets that are resolved at a time. Each takes some 100 octets. */
#define RANGE_USES ((size_t)32768)
#define USE_OCTETS 64u

/* ---- begin and end ------------------------------------------------------- */

/* True if the zone has one chain that can be used, or no NSEC3 at all. A build
 * of the whole zone reports everything else. */
static bool
plan_is_simple(const struct zone_plan *plan)
{
	if (plan->odd || plan->names.octets == 0)
		return false;
	if (plan->chain.octets == 0)
		return plan->params_count == 0;
	return plan->params_count == 1;
}

static enum nsd_err
parts_start(struct zone_parts *p, struct store_heap *heap, size_t part_octets)
{
	struct build *b = &p->build;
	enum nsd_err err = build_start(b, heap);

	if (err != NSD_OK)
		return err;
	b->zone.share.lean = true;
	b->zone.share.apex = b->zone.apex;
	if (p->plan->params_count > 0
		&& !chain_use_params(b, p->plan->params))
		return NSD_E_LIMIT;
	p->ranges = parts_plan_make_ranges(p->plan, part_octets,
		&p->range_count);
	p->entry_room = p->plan->nsec3_count;
	if (p->entry_room > 0)
		p->entries = malloc(p->entry_room * sizeof(*p->entries));
	if (p->ranges == NULL || (p->entry_room > 0 && p->entries == NULL))
		return NSD_E_MEMORY;
	return NSD_OK;
}

enum nsd_err
parts_begin(const struct zone_build_input *input,
	const struct zone_plan *plan, size_t part_octets,
	struct store_writer *writer, struct store_heap *heap,
	struct zone_parts **out)
{
	struct zone_parts *p;
	enum nsd_err err;

	if (plan->no_memory)
		return NSD_E_MEMORY;
	if (!plan_is_simple(plan))
		return NSD_E_LIMIT;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return NSD_E_MEMORY;
	p->plan = plan;
	p->input = *input;
	p->input.batches = NULL;
	p->build.input = &p->input;
	p->build.writer = writer;
	p->build.carry = &p->carry;
	p->build.rr_total = plan->rr_count;
	p->range_uses = part_octets > 0 ? part_octets / USE_OCTETS + 1
					: RANGE_USES;
	p->carry.end_line = plan->end_line;
	p->carry.end_file = plan->end_file;
	arena_init(&p->build.arena, NULL, 0);
	arena_init(&p->build.part, NULL, 0);
	err = parts_start(p, heap, part_octets);
	if (err != NSD_OK) {
		parts_abandon(p);
		return err;
	}
	*out = p;
	return NSD_OK;
}

/* Forgets what only the range at hand needed. */
static void
part_end(struct zone_parts *p)
{
	struct build *b = &p->build;

	rrbatch_destroy_all(p->first);
	p->first = p->last = NULL;
	for (unsigned i = 0; i < b->worker_count; i++) {
		struct build_worker *w = &b->workers[i];

		arena_fini(&w->part);
		arena_init(&w->part, NULL, 0);
		w->packer.uses = NULL;
		w->packer.use_count = 0;
	}
	arena_fini(&b->part);
	arena_init(&b->part, NULL, 0);
	b->names = b->hashes = NULL;
	b->name_nodes = b->hash_nodes = NULL;
	b->name_count = b->hash_count = 0;
	b->chain_items = NULL;
	b->chain_count = 0;
	b->targets = NULL;
	b->target_count = 0;
}

static void
parts_fini(struct zone_parts *p)
{
	part_end(p);
	while (p->uses != NULL) {
		struct part_uses *next = p->uses->next;

		free(p->uses);
		p->uses = next;
	}
	free(p->ranges);
	free(p->entries);
	free(p->held_rr);
	if (p->build.worker_count > 0)
		arena_fini(&build_packer(&p->build)->arena);
	build_fini(&p->build);
	free(p);
}

/* What the ranges so far have put into the store. */
static void
parts_undo(struct zone_parts *p)
{
	struct store_heap *heap;
	struct releaser r;

	if (p->build.worker_count == 0)
		return;
	heap = build_packer(&p->build)->heap;
	r = (struct releaser){store_heap_view(heap), heap, NULL, NULL};
	build_undo(&p->build);
	parts_undo_chain(p);
	release_trie(&r, &p->targets, release_target);
	release_trie(&r, &p->names, release_node);
	release_trie(&r, &p->nsec3, release_node);
}

void
parts_abandon(struct zone_parts *parts)
{
	if (parts == NULL)
		return;
	parts_undo(parts);
	parts_fini(parts);
}

/* ---- records ------------------------------------------------------------- */

bool
parts_next(struct zone_parts *p)
{
	if (p->next == p->range_count)
		return false;
	p->first_names = !p->ranges[p->next].chain
		&& (p->range == NULL || p->range->chain);
	p->range = &p->ranges[p->next++];
	return true;
}

static bool
range_has(const struct part_range *range, const struct owner *owner)
{
	const uint64_t *key = owner->key;

	if (key[0] < range->low[0]
		|| (key[0] == range->low[0] && key[1] < range->low[1]))
		return false;
	return range->last || key[0] < range->high[0]
		|| (key[0] == range->high[0] && key[1] < range->high[1]);
}

bool
parts_wants(const struct zone_parts *p, const uint8_t *name, size_t len)
{
	struct owner owner;

	owner.flags = 0;
	if (!owner_measure(&owner, name, len, p->build.zone.apex,
		    p->build.zone.apex_len))
		return p->first_names; /* to be told of */
	if (p->range->chain && owner.name_len != NSEC3_LABEL_LEN + 1)
		return false;
	return range_has(p->range, &owner);
}

/* same: its owner is that of the record taken before it. */
static enum nsd_err
parts_keep(struct zone_parts *p, const struct rrbatch_rr *rr,
	const uint8_t *owner, bool same)
{
	struct rrbatch *block = rrbatch_make_room(&p->first, &p->last,
		rr->rdlen, BLOCK_SIZE);

	if (block == NULL)
		return NSD_E_MEMORY;
	return rrbatch_append(block, rr, same && block->count > 0 ? NULL
		: owner, rrbatch_rr_rdata(rr));
}

enum nsd_err
parts_take(struct zone_parts *p, const struct rrbatch *batch)
{
	const struct rrbatch_rr *rr = rrbatch_first(batch), *first = NULL;
	const struct build *b = &p->build;
	bool wanted = false, outside = false, same = false;

	assert(p->range != NULL);
	for (size_t i = 0; i < batch->count; i++, rr = rrbatch_next(rr)) {
		if (rr->owner_len > 0) {
			struct owner owner;

			owner.flags = 0;
			outside = !owner_measure(&owner, rr->data,
				rr->owner_len, b->zone.apex, b->zone.apex_len);
			/* What is out of the zone is told with the first. */
			wanted = outside ? p->first_names
					 : range_has(p->range, &owner);
			first = rr;
			same = false;
		}
		if (!wanted || (!outside
				&& parts_is_of_chain(rr) != p->range->chain))
			continue;
		if (parts_keep(p, rr, first->data, same) != NSD_OK)
			return NSD_E_MEMORY;
		same = true;
	}
	return NSD_OK;
}

/* ---- names --------------------------------------------------------------- */

/* True if a name has NSEC3 records as well. Only names that could be a hash are
 * looked up. */
static bool
name_is_chains(const struct zone_parts *p, const struct owner *owner)
{
	const struct store_view *view = store_writer_view(p->build.writer);
	uint8_t hash[NSEC3_HASH_LEN], label_at = 0;
	struct trie_walk walk = {
		.root = &p->nsec3.root,
		.name = {owner->name, &label_at, owner->name_len, 1},
	};
	struct nsec3_place place;

	if (owner->labels != 1 || !nsec3_parse_label(owner->name, hash))
		return false;
	if (p->build.zone.chain != STORE_NONE) {
		nsec3_place_find(view, store_get(view, p->build.zone.chain),
			hash, &place);
		if (place.record != STORE_NONE)
			return true;
	}
	trie_find(view, &walk);
	return walk.exact != STORE_NONE;
}

static bool
names_are_simple(const struct zone_parts *p)
{
	for (size_t i = 0; i < p->build.name_count; i++)
		if (p->build.names[i].name_len == NSEC3_LABEL_LEN + 1
			&& name_is_chains(p, &p->build.names[i]))
			return false;
	return true;
}

/* Tells nodes of earlier ranges that this range has a wildcard right below
 * them. */
static void
carry_tell_wildcards(struct zone_parts *p)
{
	struct part_carry *c = &p->carry;

	for (unsigned l = 0; c->any && l <= c->depth; l++) {
		struct node *node;

		if (c->path[l].wildcard_told
			|| (c->path[l].owner.flags & OWNER_WILDCARD_CHILD)
				== 0)
			continue;
		c->path[l].wildcard_told = true;
		if (c->path[l].node == STORE_NONE)
			continue;
		node = store_edit(build_packer(&p->build)->heap,
			c->path[l].node);
		node->flags |= NODE_WILDCARD_CHILD;
	}
}

/* Keeps the last name and its ancestors. */
static void
carry_take(struct zone_parts *p)
{
	const struct build *b = &p->build;
	struct part_carry *c = &p->carry;
	size_t last = b->name_count - 1;

	while ((b->names[last].flags & OWNER_AGAIN) != 0)
		last--;
	c->any = true;
	c->depth = b->names[last].labels;
	for (unsigned l = 0; l <= c->depth; l++) {
		struct owner *o = c->walk.path[l];

		if (o == &c->path[l].owner)
			continue;
		c->path[l].owner = *o;
		c->path[l].owner.name = c->path[l].name;
		c->path[l].node = b->name_nodes[o - b->names];
		c->path[l].wildcard_told =
			(o->flags & OWNER_WILDCARD_CHILD) != 0;
		memcpy(c->path[l].name, o->name,
			(size_t)o->name_len + b->zone.apex_len);
		c->walk.path[l] = &c->path[l].owner;
	}
}

static enum nsd_err
part_pack_names(struct zone_parts *p)
{
	struct build *b = &p->build;
	enum nsd_err err;
	size_t count;

	if (p->first_names)
		build_check_apex(b);
	if (!names_are_simple(p))
		return NSD_E_LIMIT;
	if (b->name_count == 0)
		return NSD_OK;
	err = shape_build(b);
	if (err != NSD_OK)
		return err;
	carry_tell_wildcards(p);
	err = pack_build(b);
	if (err == NSD_OK)
		err = parts_note_uses(p);
	if (err != NSD_OK)
		return err;
	if (p->first_names)
		p->apex = b->name_nodes[0];
	carry_take(p);
	count = build_compact_nodes(b->name_nodes, b->name_count);
	b->name_count = count;
	err = parts_add_trie(p, &p->names, b->name_nodes, count);
	if (err == NSD_OK)
		b->name_count = 0;
	return err;
}

/* ---- the chain ----------------------------------------------------------- */

static enum nsd_err
part_pack_chain(struct zone_parts *p)
{
	struct build *b = &p->build;
	enum nsd_err err = shape_build(b); /* joins what is of one owner */
	size_t count;

	if (err == NSD_OK)
		err = chain_list(b);
	if (err == NSD_OK)
		err = parts_take_chain(p);
	if (err == NSD_OK)
		err = pack_build(b);
	if (err != NSD_OK)
		return err;
	count = build_compact_nodes(b->hash_nodes, b->hash_count);
	b->hash_count = count;
	err = parts_add_trie(p, &p->nsec3, b->hash_nodes, count);
	if (err == NSD_OK)
		b->hash_count = 0;
	return err;
}

/* ---- ranges -------------------------------------------------------------- */

static void
part_tell_progress(const struct zone_parts *p)
{
	if (p->input.on_progress != NULL)
		p->input.on_progress(p->input.progress_ctx, "parts", p->next,
			p->range_count);
}

enum nsd_err
parts_pack(struct zone_parts *p)
{
	struct build *b = &p->build;
	enum nsd_err err = NSD_OK;

	assert(p->range != NULL);
	p->input.batches = p->first;
	if (p->first_names)
		err = parts_end_chain(p);
	if (err == NSD_OK)
		err = index_build(b);
	if (err == NSD_OK)
		err = p->range->chain ? part_pack_chain(p)
				      : part_pack_names(p);
	if (err != NSD_OK)
		return err;
	part_end(p);
	part_tell_progress(p);
	return NSD_OK;
}

enum nsd_err
parts_finish(struct zone_parts *p, struct diag_sink *sink, store_ref *zone)
{
	struct build *b = &p->build;
	enum nsd_err err = build_has_errors(b) ? NSD_E_ZONE
					       : parts_resolve_uses(p);

	if (err == NSD_OK)
		err = build_make_zone(b, &p->names, &p->nsec3, &p->targets,
			p->apex);
	if (err == NSD_OK || err == NSD_E_ZONE)
		build_emit(b, sink);
	if (err == NSD_OK)
		*zone = b->made;
	else
		parts_undo(p);
	parts_fini(p);
	return err;
}
