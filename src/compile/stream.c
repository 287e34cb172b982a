/*
 * stream.c - builds a zone of batches that come in the order of its names. Each
 * part of them goes through the passes of a build, gives nodes and a trie that
 * is joined to those before it, and is forgotten. Records that come in no order
 * go through a sorter first.
 */
#include "compile/stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "compile/apex.h"
#include "compile/pack_parts.h"
#include "compile/stream_pass.h"
#include "names/trie_edit.h"
#include "store/writer.h"
#include "zonedb/release.h"

/* Large enough that what is done for each part costs little, small beside any
 * zone that is worth it. With more, its scratch memory would be mapped anew for
 * each part (arena.c). */
#define PART_OCTETS (((size_t)1 << 21) - ((size_t)1 << 17))

/* Octets of RRsets that are copied to compare others with. */
#define COPIES_MAX ((size_t)4 << 20)

/* Octets of a part for one use of a target, if the size of parts is given: then
 * fewer uses are resolved at a time, too. */
#define USE_OCTETS 64u

/* ---- begin and end ------------------------------------------------------- */

/* Forgets the records at hand and what only they needed. */
static void
stream_forget_part(struct zone_stream *s)
{
	struct build *b = &s->build;

	for (unsigned i = 0; i < b->worker_count; i++) {
		struct build_worker *w = &b->workers[i];

		arena_reset(&w->part);
		w->packer.uses = NULL;
		w->packer.use_count = 0;
	}
	arena_reset(&b->part);
	b->names = b->hashes = NULL;
	b->name_nodes = b->hash_nodes = NULL;
	b->name_count = b->hash_count = 0;
	b->chain_items = NULL;
	b->chain_count = 0;
	b->targets = NULL;
	b->target_count = 0;
	s->input.batches = NULL;
	cut_forget(&s->cut);
}

static void
stream_free(struct zone_stream *s)
{
	struct build *b = &s->build;

	while (s->uses != NULL) {
		struct stream_uses *next = s->uses->next;

		free(s->uses);
		s->uses = next;
	}
	stream_free_nodes(s);
	free(s->entries);
	free(s->held_rr);
	free(s->params);
	cut_fini(&s->cut);
	arena_fini(&b->part);
	if (b->worker_count > 0)
		arena_fini(&build_packer(b)->arena);
	build_fini(b);
	free(s);
}

/* Takes out of the store what the parts so far have put there. */
static void
stream_undo(struct zone_stream *s)
{
	struct store_heap *heap;
	struct releaser r;

	if (s->build.worker_count == 0)
		return;
	heap = build_packer(&s->build)->heap;
	r = (struct releaser){store_heap_view(heap), heap, NULL, NULL};
	build_undo(&s->build);
	stream_undo_chain(s);
	release_trie(&r, &s->targets, release_target);
	release_trie(&r, &s->names, release_node);
	release_trie(&r, &s->nsec3, release_node);
}

void
stream_abandon(struct zone_stream *s)
{
	if (s == NULL)
		return;
	stream_undo(s);
	stream_free(s);
}

enum nsd_err
stream_begin(const struct zone_build_input *input,
	const struct zone_stream_options *options, struct store_writer *writer,
	struct store_heap *heap, struct zone_stream **out)
{
	struct zone_stream *s = calloc(1, sizeof(*s));
	struct build *b;
	enum nsd_err err;

	if (s == NULL)
		return NSD_E_MEMORY;
	b = &s->build;
	s->input = *input;
	s->input.batches = NULL;
	s->input.on_progress = NULL;
	cut_init(&s->cut, options->part_octets > 0 ? options->part_octets
						   : PART_OCTETS);
	if (options->part_octets > 0)
		s->range_uses = options->part_octets / USE_OCTETS + 1;
	b->input = &s->input;
	b->writer = writer;
	b->carry = &s->carry;
	b->rr_total = options->rr_expected;
	arena_init(&b->arena, NULL, 0);
	arena_init(&b->part, NULL, 0);
	err = build_start(b, heap);
	b->zone.share.apex = b->zone.apex;
	if (err == NSD_OK && options->sort)
		err = cut_sort(&s->cut, b->zone.apex, b->zone.apex_len,
			options->part_octets);
	if (err != NSD_OK) {
		stream_abandon(s);
		return err;
	}
	b->zone.share.copies_max = COPIES_MAX / b->zone.share.shard_count;
	*out = s;
	return NSD_OK;
}

/* ---- the apex ------------------------------------------------------------ */

/* The error for an apex that lacks something: it may stand further behind, out
 * of order. */
static enum nsd_err
stream_lacks(const struct zone_stream *s)
{
	return s->cut.sorter != NULL ? NSD_E_LIMIT : NSD_E_AGAIN;
}

/* Looks at the first part, which has to have the apex. */
static enum nsd_err
stream_read_apex(struct zone_stream *s)
{
	struct build *b = &s->build;
	enum nsd_err err = apex_use(b, &s->params);

	if (err == NSD_E_LIMIT)
		return stream_lacks(s);
	if (err != NSD_OK || s->params == NULL)
		return err;
	b->zone.hash_later = true;
	b->zone.hash_apex_alone = b->zone.params.iterations
		> nsec3_params_limit(b->input->nsec3_iterations_max);
	return NSD_OK;
}

/* ---- order --------------------------------------------------------------- */

static bool
stream_is_in_order(const struct zone_stream *s)
{
	const struct build *b = &s->build;
	const struct owner *last = carry_get_last(b->carry);

	if (last != NULL && b->name_count > 0
		&& owner_compare(last, &b->names[0]) >= 0)
		return false;
	return !s->has_last_hash || b->hash_count == 0
		|| owner_compare(&s->last_hash, &b->hashes[0]) < 0;
}

static void
stream_keep_last_hash(struct zone_stream *s)
{
	const struct build *b = &s->build;

	if (b->hash_count == 0)
		return;
	owner_copy(&b->hashes[b->hash_count - 1], b->zone.apex_len,
		&s->last_hash, s->last_hash_name);
	s->has_last_hash = true;
}

/* ---- a part -------------------------------------------------------------- */

/* Tells nodes of earlier parts that this one has a wildcard right below
 * them. */
static void
part_tell_wildcards(struct zone_stream *s)
{
	struct part_carry *c = &s->carry;

	for (unsigned l = 0; c->any && l <= c->depth; l++) {
		struct node *node;

		if (c->path[l].wildcard_told
			|| (c->path[l].owner.flags & OWNER_WILDCARD_CHILD)
				== 0)
			continue;
		c->path[l].wildcard_told = true;
		if (c->path[l].node == STORE_NONE)
			continue;
		node = store_edit(build_packer(&s->build)->heap,
			c->path[l].node);
		node->flags |= NODE_WILDCARD_CHILD;
	}
}

static enum nsd_err
part_pack_chain(struct zone_stream *s)
{
	struct build *b = &s->build;
	enum nsd_err err;

	if (b->hash_count == 0)
		return NSD_OK;
	if (b->params_rr == NULL)
		return stream_lacks(s);
	err = chain_list(b);
	return err == NSD_OK ? stream_take_chain(s) : err;
}

static enum nsd_err
part_add_names(struct zone_stream *s)
{
	struct build *b = &s->build;
	enum nsd_err err;

	if (b->name_count == 0)
		return NSD_OK;
	err = stream_note_uses(s);
	if (err != NSD_OK)
		return err;
	if (!s->begun)
		s->apex = b->name_nodes[0];
	carry_keep_path(&s->carry, b);
	b->name_count = build_compact_nodes(b->name_nodes, b->name_count);
	if (b->params_rr != NULL)
		err = stream_note_nodes(s, b->name_nodes, b->name_count);
	if (err == NSD_OK)
		err = stream_add_trie(s, &s->names, b->name_nodes,
			b->name_count);
	if (err == NSD_OK)
		b->name_count = 0;
	return err;
}

static enum nsd_err
part_add_hashes(struct zone_stream *s)
{
	struct build *b = &s->build;
	enum nsd_err err;

	b->hash_count = build_compact_nodes(b->hash_nodes, b->hash_count);
	err = stream_add_trie(s, &s->nsec3, b->hash_nodes, b->hash_count);
	if (err == NSD_OK)
		b->hash_count = 0;
	return err;
}

static enum nsd_err
part_pack(struct zone_stream *s)
{
	enum nsd_err err = shape_build(&s->build);

	if (err != NSD_OK)
		return err;
	part_tell_wildcards(s);
	err = part_pack_chain(s);
	if (err == NSD_OK)
		err = pack_build(&s->build);
	if (err == NSD_OK)
		err = part_add_names(s);
	return err == NSD_OK ? part_add_hashes(s) : err;
}

/* Packs the records at hand and forgets them. */
static enum nsd_err
stream_pack(struct zone_stream *s)
{
	struct build *b = &s->build;
	enum nsd_err err;

	b->rr_total = cut_count(&s->cut);
	if (b->rr_total == 0)
		return NSD_OK;
	s->input.batches = s->cut.first;
	err = index_build(b);
	if (err == NSD_OK && b->nsec3_in_names)
		err = NSD_E_LIMIT;
	if (err == NSD_OK && !stream_is_in_order(s))
		err = NSD_E_AGAIN;
	if (err == NSD_OK && !s->begun)
		err = stream_read_apex(s);
	if (err == NSD_OK) {
		stream_keep_last_hash(s);
		err = part_pack(s);
	}
	if (err != NSD_OK)
		return err;
	s->begun = true;
	stream_forget_part(s);
	return NSD_OK;
}

enum nsd_err
stream_take(struct zone_stream *s, struct rrbatch *batch)
{
	bool complete;
	enum nsd_err err = cut_add(&s->cut, batch, &complete);

	return err == NSD_OK && complete ? stream_pack(s) : err;
}

/* ---- the end ------------------------------------------------------------- */

/* Packs the parts that are left. */
static enum nsd_err
stream_pack_rest(struct zone_stream *s)
{
	bool complete;
	enum nsd_err err;

	do {
		err = cut_next(&s->cut, &complete);
		if (err == NSD_OK)
			err = stream_pack(s);
	} while (err == NSD_OK && complete);
	return err;
}

/* All records are packed: makes the chain, and what waited for it. */
static enum nsd_err
stream_end(struct zone_stream *s)
{
	struct build *b = &s->build;
	enum nsd_err err = stream_end_chain(s);

	if (err == NSD_OK && build_has_errors(b))
		return NSD_E_ZONE;
	if (err == NSD_OK)
		err = stream_hash_names(s);
	if (err == NSD_OK)
		err = stream_resolve_uses(s);
	return err == NSD_OK ? build_make_zone(b, &s->names, &s->nsec3,
		&s->targets, s->apex) : err;
}

enum nsd_err
stream_finish(struct zone_stream *s, const char *const *files,
	size_t file_count, struct diag_sink *sink, store_ref *zone)
{
	enum nsd_err err = stream_pack_rest(s);

	s->input.files = files;
	s->input.file_count = file_count;
	if (err == NSD_OK)
		err = s->begun ? stream_end(s) : NSD_E_LIMIT;
	if (err == NSD_OK || err == NSD_E_ZONE)
		build_emit(&s->build, sink);
	if (err == NSD_OK)
		*zone = s->build.made;
	else
		stream_undo(s);
	stream_free(s);
	return err;
}
