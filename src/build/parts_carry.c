/* parts_carry.c - what a build in parts knows of the names of earlier parts:
 * the last one with its ancestors, and which names have NSEC3 records. */
#include <string.h>

#include "build/parts_pass.h"
#include "names/trie.h"
#include "store/writer.h"
#include "zone/nsec3_page.h"

bool
parts_have_nsec3(const struct zone_parts *p, const struct owner *owner)
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

void
parts_tell_wildcards(struct zone_parts *p)
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

void
parts_keep_path(struct part_carry *c, const struct build *b)
{
	size_t last = b->name_count;

	while (last > 0 && (b->names[last - 1].flags & OWNER_AGAIN) != 0)
		last--;
	if (last == 0)
		return;
	c->any = true;
	c->depth = b->names[last - 1].labels;
	for (unsigned l = 0; l <= c->depth; l++) {
		struct owner *o = c->walk.path[l];

		if (o == &c->path[l].owner)
			continue;
		c->path[l].owner = *o;
		c->path[l].owner.name = c->path[l].name;
		c->path[l].node = b->name_nodes == NULL ? STORE_NONE
			: b->name_nodes[o - b->names];
		c->path[l].wildcard_told =
			(o->flags & OWNER_WILDCARD_CHILD) != 0;
		memcpy(c->path[l].name, o->name,
			(size_t)o->name_len + b->zone.apex_len);
		c->walk.path[l] = &c->path[l].owner;
	}
}
