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
parts_use_plan(struct zone_parts *p, size_t part_octets)
{
	struct build *b = &p->build;

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
parts_create(const struct zone_build_input *input, uint64_t rr_total,
	struct store_writer *writer, struct store_heap *heap,
	struct zone_parts **out)
{
	struct zone_parts *p = calloc(1, sizeof(*p));
	struct build *b;

	if (p == NULL)
		return NSD_E_MEMORY;
	b = &p->build;
	p->input = *input;
	p->input.batches = NULL;
	b->input = &p->input;
	b->writer = writer;
	b->carry = &p->carry;
	b->rr_total = rr_total;
	arena_init(&b->arena, NULL, 0);
	arena_init(&b->part, NULL, 0);
	if (build_start(b, heap) != NSD_OK) {
		parts_abandon(p);
		return NSD_E_MEMORY;
	}
	b->zone.share.copies_max = 0;
	b->zone.share.apex = b->zone.apex;
	*out = p;
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
	err = parts_create(input, plan->rr_count, writer, heap, &p);
	if (err != NSD_OK)
		return err;
	p->plan = plan;
	p->range_uses = part_octets > 0 ? part_octets / USE_OCTETS + 1
					: RANGE_USES;
	p->carry.end_line = plan->end_line;
	p->carry.end_file = plan->end_file;
	err = parts_use_plan(p, part_octets);
	if (err != NSD_OK) {
		parts_abandon(p);
		return err;
	}
	*out = p;
	return NSD_OK;
}

/* Empties an arena, and keeps some of its memory. */
static void
arena_empty(struct arena *arena, bool keep)
{
	if (keep) {
		arena_reset(arena);
	} else {
		arena_fini(arena);
		arena_init(arena, NULL, 0);
	}
}

void
parts_forget_records(struct zone_parts *p, bool keep)
{
	struct build *b = &p->build;

	rrbatch_destroy_all(p->first);
	p->first = p->last = NULL;
	for (unsigned i = 0; i < b->worker_count; i++) {
		struct build_worker *w = &b->workers[i];

		arena_empty(&w->part, keep);
		w->packer.uses = NULL;
		w->packer.use_count = 0;
	}
	arena_empty(&b->part, keep);
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
	parts_forget_records(p, false);
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

static bool
names_are_simple(const struct zone_parts *p)
{
	for (size_t i = 0; i < p->build.name_count; i++)
		if (p->build.names[i].name_len == NSEC3_LABEL_LEN + 1
			&& parts_have_nsec3(p, &p->build.names[i]))
			return false;
	return true;
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
	parts_tell_wildcards(p);
	err = pack_build(b);
	if (err == NSD_OK)
		err = parts_note_uses(p);
	if (err != NSD_OK)
		return err;
	if (p->first_names)
		p->apex = b->name_nodes[0];
	parts_keep_path(&p->carry, b);
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
	parts_forget_records(p, false);
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
