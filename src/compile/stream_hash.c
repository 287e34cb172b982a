/*
 * stream_hash.c - hashes the names of a zone that was built from a stream.
 *
 * A node keeps the start of its name's hash as it is found in the chain of
 * NSEC3 records. That is complete when all nodes are made: they have room for
 * it.
 */
#include <stdlib.h>
#include <string.h>

#include "compile/stream_pass.h"
#include "dns/nsec3.h"
#include "names/trie.h"
#include "store/writer.h"
#include "zone/nsec3_page.h"

/* ---- the nodes ----------------------------------------------------------- */

enum nsd_err
stream_note_nodes(struct zone_stream *s, const store_ref *nodes, size_t count)
{
	struct stream_nodes *block;

	if (s->nodes_count == s->nodes_room) {
		size_t room = s->nodes_room > 0 ? s->nodes_room * 2 : 16;
		struct stream_nodes **list = realloc(s->nodes,
			room * sizeof(struct stream_nodes *));

		if (list == NULL)
			return NSD_E_MEMORY;
		s->nodes = list;
		s->nodes_room = room;
	}
	block = malloc(sizeof(*block) + count * sizeof(block->refs[0]));
	if (block == NULL)
		return NSD_E_MEMORY;
	block->count = count;
	memcpy(block->refs, nodes, count * sizeof(block->refs[0]));
	s->nodes[s->nodes_count++] = block;
	return NSD_OK;
}

void
stream_free_nodes(struct zone_stream *s)
{
	for (size_t i = 0; i < s->nodes_count; i++)
		free(s->nodes[i]);
	free(s->nodes);
	s->nodes = NULL;
	s->nodes_count = s->nodes_room = 0;
}

/* ---- hashing ------------------------------------------------------------- */

/* Some names as hasher_run wants them. */
struct hash_names {
	struct owner owners[HASHER_OWNERS];
	uint8_t names[HASHER_OWNERS][NAME_MAX_LEN];
};

static uint16_t
owner_flags_of_node(const struct node *node)
{
	unsigned flags = 0;

	if ((node->flags & NODE_CUT) != 0)
		flags |= OWNER_CUT;
	if ((node->flags & NODE_OCCLUDED) != 0)
		flags |= OWNER_OCCLUDED;
	else if ((node->flags & NODE_DNAME) != 0)
		flags |= OWNER_DNAME_TOP;
	return (uint16_t)flags;
}

static void
names_read(const struct build *b, const store_ref *nodes, size_t count,
	struct hash_names *h)
{
	const struct store_view *view = store_writer_view(b->writer);

	for (size_t i = 0; i < count; i++) {
		const struct node *node = store_get(view, nodes[i]);
		struct owner *o = &h->owners[i];

		o->name = h->names[i];
		o->name_len = node->leaf.name_len;
		o->labels = node->leaf.labels;
		o->flags = owner_flags_of_node(node);
		memcpy(h->names[i], node->name, o->name_len);
		memcpy(h->names[i] + o->name_len, b->zone.apex,
			b->zone.apex_len);
	}
}

/* Only a name that could be a hash is looked up. */
static bool
name_has_nsec3(const struct zone_stream *s, const struct owner *owner)
{
	const struct store_view *view = store_writer_view(s->build.writer);
	uint8_t hash[NSEC3_HASH_LEN], label_at = 0;
	struct trie_walk walk = {
		.root = &s->nsec3.root,
		.name = {owner->name, &label_at, owner->name_len, 1},
	};
	struct nsec3_place place;

	if (owner->name_len != NSEC3_LABEL_LEN + 1 || owner->labels != 1
		|| !nsec3_parse_label(owner->name, hash))
		return false;
	nsec3_place_find(view, store_get(view, s->build.zone.chain), hash,
		&place);
	if (place.record != STORE_NONE)
		return true;
	trie_find(view, &walk);
	return walk.exact != STORE_NONE;
}

static enum nsd_err
names_hash(struct build_worker *w, const store_ref *nodes, size_t count,
	struct hash_names *h)
{
	const struct zone_stream *s = w->pass_arg;
	struct packer *p = &w->packer;

	names_read(w->build, nodes, count, h);
	if (hasher_run(p, h->owners, count) != NSD_OK)
		return NSD_E_MEMORY;
	for (size_t i = 0; i < count; i++) {
		hasher_get(p, i);
		if (!node_fill_hashes(p, nodes[i])
			|| name_has_nsec3(s, &h->owners[i]))
			return NSD_E_LIMIT;
	}
	return NSD_OK;
}

static enum nsd_err
hash_worker(struct build_worker *w)
{
	const struct zone_stream *s = w->pass_arg;
	struct hash_names *h = arena_alloc(&w->packer.arena, sizeof(*h));
	enum nsd_err err = h != NULL ? NSD_OK : NSD_E_MEMORY;

	while (err == NSD_OK) {
		size_t at = __atomic_fetch_add(&w->build->next_chunk, 1,
			__ATOMIC_RELAXED);
		const struct stream_nodes *block;

		if (at >= s->nodes_count)
			break;
		block = s->nodes[at];
		for (size_t i = 0; i < block->count && err == NSD_OK;
			i += HASHER_OWNERS) {
			size_t n = block->count - i;

			err = names_hash(w, block->refs + i,
				n < HASHER_OWNERS ? n : HASHER_OWNERS, h);
		}
	}
	return err;
}

enum nsd_err
stream_hash_names(struct zone_stream *s)
{
	struct build *b = &s->build;

	b->zone.hash_later = false;
	if (b->zone.chain == STORE_NONE)
		return NSD_OK;
	for (unsigned i = 0; i < b->worker_count; i++)
		b->workers[i].pass_arg = s;
	b->next_chunk = 0;
	return workers_run(b, hash_worker);
}
