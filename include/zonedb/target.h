/* target.h - makes the names that RRsets refer to for additional data. */
#ifndef ZONEDB_TARGET_H
#define ZONEDB_TARGET_H

#include "names/owner.h"
#include "zone/zone.h"

struct store_heap;

/* Makes a target of this name with an empty cell, in the writer's heap. It is
 * to be put into the zone's trie of targets. NULL: no memory. */
struct glue_target *target_create(struct store_heap *heap,
	const struct owner *name, store_ref *ref);

#endif
