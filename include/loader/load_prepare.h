/*
 * load_prepare.h - makes the indices that updates need in large zones, a little
 * at a time, after a loader has taken over from a dead one: see update_prepare.
 */
#ifndef LOADER_LOAD_PREPARE_H
#define LOADER_LOAD_PREPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "loader/load_zone.h"
#include "update/update.h"

struct store_writer;

/* Zeroed: nothing to do. */
struct load_prepare {
	store_ref *entries; /* of the zones; those from next on are to do */
	size_t count, next;
	bool at_one;        /* a zone is in work */
	struct zone_prepare zone;
};

/* Lists the zones that have lost their index and are so large that making it
 * would delay their first change. load_prepare_step makes the indices. */
void load_prepare_begin(struct load_prepare *prepare,
	struct store_writer *writer, const struct load_zone *zones,
	size_t zone_count);

/* Forgets an entry that is removed. Cost: a look at all zones that are left. */
void load_prepare_remove(struct load_prepare *prepare, store_ref entry);

/* True if there is more to do. */
bool load_prepare_is_wanted(const struct load_prepare *prepare);
/* Works for about a millisecond. False: all is done. */
bool load_prepare_step(struct load_prepare *prepare,
	struct store_writer *writer);

#endif
