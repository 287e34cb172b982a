/*
 * stream_glue.c - gives each target name its glue cell in a build from a
 * stream. It reads the names of targets from the RRsets in the store and looks
 * them up in the trie, as many at a time as there is memory for.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "compile/glue_pass.h"
#include "compile/stream_pass.h"
#include "dns/rdata.h"
#include "store/writer.h"
#include "zone/unpack.h"

#define SAMPLES 4096u /* uses by which ranges are chosen */

/* The least uses that are resolved at a time, and the most such ranges. A use
 * takes some 100 octets until then. */
#define RANGE_USES ((size_t)65536)
#define RANGES_MAX 4u

/* ---- noting -------------------------------------------------------------- */

static struct stream_use *
uses_append(struct zone_stream *s)
{
	struct stream_uses *block = s->uses;

	if (block == NULL || block->count == STREAM_USES) {
		block = malloc(sizeof(*block));
		if (block == NULL)
			return NULL;
		block->count = 0;
		block->next = s->uses;
		s->uses = block;
	}
	s->use_count++;
	return &block->items[block->count++];
}

enum nsd_err
stream_note_uses(struct zone_stream *s)
{
	const struct build *b = &s->build;

	for (unsigned i = 0; i < b->worker_count; i++) {
		const struct target_use *use = b->workers[i].packer.uses;

		for (; use != NULL; use = use->next) {
			struct stream_use *note;

			/* NSEC3 records, whose owners are elsewhere, have no
			 * targets. */
			ASSERT_HOT(use->owner >= b->names
				&& use->owner < b->names + b->name_count);
			note = uses_append(s);
			if (note == NULL)
				return NSD_E_MEMORY;
			note->rrset = use->rrset;
			note->node = b->name_nodes[use->owner - b->names];
			note->line = use->rr->line;
			note->file = use->rr->file;
			note->index = use->index;
		}
	}
	return NSD_OK;
}

/* ---- names --------------------------------------------------------------- */

struct resolving {
	struct zone_stream *s;
	const struct store_view *view;
	uint8_t *rdata; /* room for one */
	struct arena arena; /* of a range */
	struct owner *names; /* index: of the use */
	const struct stream_use **uses;
	size_t count;
};

static const struct rrset_target *
use_get_target(const struct resolving *r, const struct stream_use *use)
{
	const struct rrset *rrset = store_get(r->view, use->rrset);

	return &rrset_tail_targets(rrset_get_tail(rrset))[use->index];
}

/* The name that is used, in lower case; lent until the next call. */
static const uint8_t *
use_read_name(struct resolving *r, const struct stream_use *use, size_t *len)
{
	const struct rrset *rrset = store_get(r->view, use->rrset);
	unsigned offset = use_get_target(r, use)->offset;
	const uint8_t *rr = rrset->data;
	size_t sent = 0, rdlen;
	uint8_t *name;

	/* RRs have what is sent before RDLENGTH in front of them. */
	for (;; rr += 2u + octets_get_u16(rr)) {
		sent += rrset_rr_head(rrset) + 2u + octets_get_u16(rr);
		if (offset < sent)
			break;
	}
	rdlen = unpack_rdata(rrset, rr, r->s->build.zone.apex, r->rdata);
	name = r->rdata + rdata_additional_offset(rrset->type, r->rdata,
		rdlen);
	name_lower(name);
	*len = name_len(name);
	return name;
}

static bool
use_measure(struct resolving *r, const struct stream_use *use,
	struct owner *owner, size_t *len)
{
	const struct build *b = &r->s->build;
	const uint8_t *name = use_read_name(r, use, len);

	owner->index = 0;
	owner->flags = 0;
	return owner_measure(owner, name, *len, b->zone.apex, b->zone.apex_len);
}

/* ---- ranges -------------------------------------------------------------- */

static int
key_compare(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	if (a[0] != b[0])
		return a[0] < b[0] ? -1 : 1;
	return (a[1] > b[1]) - (a[1] < b[1]);
}

/* Collects the uses of names from low on and below high (NULL: to the end). */
static enum nsd_err
range_collect(struct resolving *r, const uint64_t *low, const uint64_t *high)
{
	struct zone_stream *s = r->s;

	/* Pages that are not touched cost nothing. */
	r->names = arena_alloc(&r->arena, s->use_count * sizeof(*r->names));
	r->uses = arena_alloc(&r->arena,
		s->use_count * sizeof(struct stream_use *));
	r->count = 0;
	if (r->names == NULL || r->uses == NULL)
		return NSD_E_MEMORY;
	for (const struct stream_uses *b = s->uses; b != NULL; b = b->next)
		for (size_t i = 0; i < b->count; i++) {
			struct owner *o = &r->names[r->count];
			size_t len;

			if (!use_measure(r, &b->items[i], o, &len)
				|| key_compare(o->key, low) < 0
				|| (high != NULL
					&& key_compare(o->key, high) >= 0))
				continue;
			o->name = arena_copy(&r->arena, o->name, len);
			if (o->name == NULL)
				return NSD_E_MEMORY;
			o->index = (uint32_t)r->count;
			r->uses[r->count++] = &b->items[i];
		}
	return NSD_OK;
}

static size_t
range_get_uses(const struct zone_stream *s)
{
	return s->range_uses > 0 ? s->range_uses
				 : s->use_count / RANGES_MAX + RANGE_USES;
}

/* Chooses ranges: their lower limits, *count of them, of which the first is 0.
 * The caller frees them. NULL without memory. */
static uint64_t (*
ranges_choose(struct resolving *r, size_t *count))[2]
{
	size_t every = r->s->use_count / SAMPLES + 1, n = 0, at = 0;
	size_t ranges = r->s->use_count / range_get_uses(r->s) + 1;
	uint64_t(*keys)[2] = malloc((r->s->use_count / every + 2)
		* sizeof(*keys));
	struct owner owner;
	size_t len;

	if (keys == NULL)
		return NULL;
	*count = 1;
	keys[0][0] = keys[0][1] = 0;
	if (ranges == 1)
		return keys;
	for (const struct stream_uses *b = r->s->uses; b != NULL; b = b->next)
		for (size_t i = 0; i < b->count; i++)
			if (at++ % every == 0
				&& use_measure(r, &b->items[i], &owner, &len))
				memcpy(keys[n++], owner.key, sizeof(*keys));
	qsort(keys, n, sizeof(*keys), key_compare);
	if (ranges > n)
		ranges = n;
	for (size_t i = 0; i < ranges; i++)
		memmove(keys[i], keys[i * n / ranges], sizeof(*keys));
	*count = ranges;
	keys[0][0] = keys[0][1] = 0;
	return keys;
}

/* ---- resolving ----------------------------------------------------------- */

struct target_facts {
	store_ref node; /* none: no such name */
	bool hidden;    /* at or below a cut or DNAME */
};

static void
target_find(struct resolving *r, const struct owner *name,
	struct target_facts *facts)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_walk walk = {.root = &r->s->names.root};
	const struct node *node;

	trie_name_split(&walk.name, name->name, name->name_len, label_at);
	trie_find(r->view, &walk);
	facts->node = walk.exact;
	facts->hidden = false;
	if (walk.exact != STORE_NONE) {
		node = store_get(r->view, walk.exact);
		facts->hidden = (node->flags & (NODE_CUT | NODE_OCCLUDED))
			!= 0;
		return;
	}
	for (unsigned i = 0; i < walk.ancestor_count; i++) {
		node = store_get(r->view, walk.ancestors[i]);
		if ((node->flags & (NODE_CUT | NODE_DNAME | NODE_OCCLUDED))
			!= 0)
			facts->hidden = true;
	}
}

static void
use_check(struct resolving *r, const struct stream_use *use,
	const struct owner *name, const struct target_facts *facts)
{
	struct build *b = &r->s->build;
	const struct rrset *rrset = store_get(r->view, use->rrset);
	const struct node *node = store_get(r->view, use->node);
	const struct rrbatch_rr rr = {.line = use->line, .file = use->file};
	struct glue_lack lack = {.target = name->name,
		.hidden = facts->hidden};
	uint8_t owner[NAME_MAX_LEN];

	if (rrset->type != TYPE_NS || use->node == STORE_NONE
		|| (node->flags & NODE_OCCLUDED) != 0)
		return;
	memcpy(owner, node->name, node->leaf.name_len);
	memcpy(owner + node->leaf.name_len, b->zone.apex, b->zone.apex_len);
	lack.owner = owner;
	lack.in_domain = node->leaf.labels > 0
		&& (use_get_target(r, use)->flags & TARGET_IN_DOMAIN) != 0;
	if (facts->node != STORE_NONE) {
		node = store_get(r->view, facts->node);
		lack.cname = (node->flags & NODE_CNAME) != 0;
	}
	glue_warn(b, &rr, &lack);
}

/* Resolves one name, that of the uses start..end. */
static enum nsd_err
name_resolve(struct resolving *r, size_t start, size_t end)
{
	struct build *b = &r->s->build;
	const struct owner *name = &r->names[start];
	struct target_facts facts;
	const struct node *node;
	bool addresses = false;

	target_find(r, name, &facts);
	if (facts.node != STORE_NONE) {
		node = store_get(r->view, facts.node);
		addresses = node_find_entry(node, TYPE_A) != NULL
			|| node_find_entry(node, TYPE_AAAA) != NULL;
	}
	if (glue_create_target(b, name, addresses ? facts.node : STORE_NONE,
		    facts.hidden) != NSD_OK)
		return NSD_E_MEMORY;
	for (size_t i = start; i < end; i++) {
		const struct stream_use *use = r->uses[r->names[i].index];

		glue_set(build_packer(b)->heap, use->rrset, use->index,
			b->targets[b->target_count - 1]);
		if (!addresses)
			use_check(r, use, name, &facts);
	}
	return NSD_OK;
}

static enum nsd_err
range_resolve(struct resolving *r)
{
	struct zone_stream *s = r->s;
	struct build *b = &s->build;
	struct owner *tmp = arena_alloc(&r->arena, r->count * sizeof(*tmp));
	enum nsd_err err = NSD_OK;
	size_t end;

	b->targets = arena_alloc(&r->arena, r->count * sizeof(*b->targets));
	if (tmp == NULL || b->targets == NULL)
		return NSD_E_MEMORY;
	owner_sort(r->names, tmp, r->count);
	for (size_t i = 0; i < r->count && err == NSD_OK; i = end) {
		end = i + 1;
		while (end < r->count && owner_compare(&r->names[i],
				&r->names[end]) == 0)
			end++;
		err = name_resolve(r, i, end);
	}
	if (err == NSD_OK)
		err = stream_add_trie(s, &s->targets, b->targets,
			b->target_count);
	/* Targets that no trie has are freed while the array is there. */
	if (err != NSD_OK)
		build_undo_targets(b);
	b->targets = NULL;
	b->target_count = 0;
	return err;
}

enum nsd_err
stream_resolve_uses(struct zone_stream *s)
{
	struct resolving r = {
		.s = s,
		.view = store_writer_view(s->build.writer),
	};
	uint64_t(*limits)[2] = NULL;
	enum nsd_err err = NSD_OK;
	size_t count = 0;

	if (s->use_count == 0)
		return NSD_OK;
	r.rdata = malloc(65536 + NAME_MAX_LEN);
	if (r.rdata != NULL)
		limits = ranges_choose(&r, &count);
	if (limits == NULL)
		err = NSD_E_MEMORY;
	for (size_t i = 0; i < count && err == NSD_OK; i++) {
		arena_init(&r.arena, NULL, 0);
		err = range_collect(&r, limits[i],
			i + 1 < count ? limits[i + 1] : NULL);
		if (err == NSD_OK && r.count > 0)
			err = range_resolve(&r);
		arena_fini(&r.arena);
	}
	free(limits);
	free(r.rdata);
	return err;
}
