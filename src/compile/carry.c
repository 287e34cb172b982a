/* carry.c - knowledge that a part of a build has of the names before it: the
 * last one with its ancestors. */
#include <string.h>

#include "compile/build_pass.h"
#include "compile/carry.h"

void
carry_keep_path(struct part_carry *c, const struct build *b)
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
