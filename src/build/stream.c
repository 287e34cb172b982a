/*
 * stream.c - builds a zone of batches that come in the order of its names. Each
 * part of them goes through the passes of a build, as a range of a build in
 * parts does (parts.c), and is forgotten.
 */
#include "build/stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "build/apex.h"
#include "build/pack_parts.h"
#include "build/stream_pass.h"

/* Large enough that what is done for each part costs little, small beside any
 * zone that is worth it. With more, its scratch memory would be mapped anew for
 * each part (arena.c). */
#define PART_OCTETS (((size_t)1 << 21) - ((size_t)1 << 17))

/* Octets of RRsets that are copied to compare others with. */
#define COPIES_MAX ((size_t)4 << 20)

/* Uses of targets that are resolved at a time, as in parts.c: so many, and then
 * at most so many times. Each takes some 100 octets until then. */
#define RANGE_USES ((size_t)65536)
#define RANGES_MAX 4u

/* ---- begin and end ------------------------------------------------------- */

enum nsd_err
stream_begin(const struct zone_build_input *input, uint64_t rr_expected,
	size_t part_octets, struct store_writer *writer,
	struct store_heap *heap, struct zone_stream **out)
{
	struct zone_stream *s = calloc(1, sizeof(*s));
	struct share *share;

	if (s == NULL)
		return NSD_E_MEMORY;
	if (parts_create(input, rr_expected, writer, heap, &s->parts)
		!= NSD_OK) {
		free(s);
		return NSD_E_MEMORY;
	}
	s->parts->input.on_progress = NULL;
	share = &s->parts->build.zone.share;
	share->copies_max = COPIES_MAX / share->shard_count;
	s->cut.part_octets = part_octets > 0 ? part_octets : PART_OCTETS;
	*out = s;
	return NSD_OK;
}

/* But for the parts, which are gone. */
static void
stream_free(struct zone_stream *s)
{
	stream_free_nodes(s);
	cut_fini(&s->cut);
	free(s->params);
	free(s);
}

void
stream_abandon(struct zone_stream *s)
{
	if (s == NULL)
		return;
	parts_abandon(s->parts);
	stream_free(s);
}

/* ---- the apex ------------------------------------------------------------ */

/* Looks at the first part, which has to have the apex. */
static enum nsd_err
stream_read_apex(struct zone_stream *s)
{
	struct build *b = &s->parts->build;
	enum nsd_err err = apex_use(b, &s->params);

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
	const struct build *b = &s->parts->build;
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
	const struct build *b = &s->parts->build;

	if (b->hash_count == 0)
		return;
	owner_copy(&b->hashes[b->hash_count - 1], b->zone.apex_len,
		&s->last_hash, s->last_hash_name);
	s->has_last_hash = true;
}

/* ---- a part -------------------------------------------------------------- */

static enum nsd_err
part_reserve_entries(struct zone_parts *p, size_t count)
{
	size_t room = p->entry_room > 0 ? p->entry_room : 1024;
	struct nsec3_entry *entries;

	while (room < p->entry_count + count)
		room += room / 2;
	if (room == p->entry_room)
		return NSD_OK;
	entries = realloc(p->entries, room * sizeof(*entries));
	if (entries == NULL)
		return NSD_E_MEMORY;
	p->entries = entries;
	p->entry_room = room;
	return NSD_OK;
}

static enum nsd_err
part_pack_chain(struct zone_parts *p)
{
	struct build *b = &p->build;
	enum nsd_err err;

	if (b->hash_count == 0)
		return NSD_OK;
	if (b->params_rr == NULL)
		return NSD_E_LIMIT;
	err = chain_list(b);
	if (err == NSD_OK)
		err = part_reserve_entries(p, b->chain_count);
	return err == NSD_OK ? parts_take_chain(p) : err;
}

static enum nsd_err
part_add_names(struct zone_stream *s)
{
	struct zone_parts *p = s->parts;
	struct build *b = &p->build;
	enum nsd_err err;

	if (b->name_count == 0)
		return NSD_OK;
	err = parts_note_uses(p);
	if (err != NSD_OK)
		return err;
	if (!s->begun)
		p->apex = b->name_nodes[0];
	parts_keep_path(&p->carry, b);
	b->name_count = build_compact_nodes(b->name_nodes, b->name_count);
	if (b->params_rr != NULL)
		err = stream_note_nodes(s, b->name_nodes, b->name_count);
	if (err == NSD_OK)
		err = parts_add_trie(p, &p->names, b->name_nodes,
			b->name_count);
	if (err == NSD_OK)
		b->name_count = 0;
	return err;
}

static enum nsd_err
part_add_hashes(struct zone_parts *p)
{
	struct build *b = &p->build;
	enum nsd_err err;

	b->hash_count = build_compact_nodes(b->hash_nodes, b->hash_count);
	err = parts_add_trie(p, &p->nsec3, b->hash_nodes, b->hash_count);
	if (err == NSD_OK)
		b->hash_count = 0;
	return err;
}

static enum nsd_err
part_pack(struct zone_stream *s)
{
	struct zone_parts *p = s->parts;
	struct build *b = &p->build;
	enum nsd_err err = shape_build(b);

	if (err != NSD_OK)
		return err;
	parts_tell_wildcards(p);
	err = part_pack_chain(p);
	if (err == NSD_OK)
		err = pack_build(b);
	if (err == NSD_OK && build_has_errors(b))
		err = NSD_E_LIMIT;
	if (err == NSD_OK)
		err = part_add_names(s);
	if (err == NSD_OK)
		err = part_add_hashes(p);
	return err;
}

/* Packs the records at hand and forgets them. */
static enum nsd_err
stream_pack(struct zone_stream *s)
{
	struct zone_parts *p = s->parts;
	struct build *b = &p->build;
	enum nsd_err err;

	b->rr_total = cut_count(&s->cut);
	if (b->rr_total == 0)
		return NSD_OK;
	p->input.batches = s->cut.first;
	err = index_build(b);
	if (err == NSD_OK && (b->nsec3_in_names || build_has_errors(b)
			|| !stream_is_in_order(s)))
		err = NSD_E_LIMIT;
	if (err == NSD_OK && !s->begun)
		err = stream_read_apex(s);
	if (err == NSD_OK) {
		stream_keep_last_hash(s);
		err = part_pack(s);
	}
	if (err != NSD_OK)
		return err;
	s->begun = true;
	p->input.batches = NULL;
	parts_forget_records(p, true);
	cut_forget(&s->cut);
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

/* All records are packed: makes the chain, and what waited for it. */
static enum nsd_err
stream_end_chain(struct zone_stream *s)
{
	struct zone_parts *p = s->parts;
	enum nsd_err err;

	if (p->build.params_rr == NULL)
		return NSD_OK;
	/* There is room for hashes, but no chain. */
	if (p->entry_count == 0)
		return NSD_E_LIMIT;
	err = parts_end_chain(p);
	return err == NSD_OK ? stream_hash_names(s) : err;
}

enum nsd_err
stream_finish(struct zone_stream *s, const char *const *files,
	size_t file_count, struct diag_sink *sink, store_ref *zone)
{
	struct zone_parts *p = s->parts;
	enum nsd_err err = stream_pack(s);

	if (err == NSD_OK && !s->begun)
		err = NSD_E_LIMIT;
	if (err == NSD_OK)
		err = stream_end_chain(s);
	if (err != NSD_OK) {
		stream_abandon(s);
		return err;
	}
	p->range_uses = p->use_count / RANGES_MAX + RANGE_USES;
	p->input.files = files;
	p->input.file_count = file_count;
	err = parts_finish(p, sink, zone);
	assert(err != NSD_E_ZONE);
	stream_free(s);
	return err;
}
