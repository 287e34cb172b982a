/*
 * load_prepare.h - makes what updates need of large zones, when a loader has
 * taken over from one that died, a little at a time: see update_prepare.
 */
#ifndef LOAD_LOAD_PREPARE_H
#define LOAD_LOAD_PREPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "load/load_zone.h"
#include "update/update.h"

struct store_writer;

/* Zeroed: nothing to do. */
struct load_prepare {
	store_ref *entries;
	size_t count, next;
	bool at_one; /* zone is in work */
	struct zone_prepare zone;
};

/* Lists the zones that have lost their index and are so large that their first
 * change would take long; such a change is quick from now on. */
void load_prepare_begin(struct load_prepare *prepare,
	struct store_writer *writer, const struct load_zone *zones,
	size_t zone_count);

/* An entry that is to go, or has just gone. Cost: a look at those that wait. */
void load_prepare_remove(struct load_prepare *prepare, store_ref entry);

/* True if there is more to do. */
bool load_prepare_is_wanted(const struct load_prepare *prepare);
/* Takes about a millisecond. False: all is done. */
bool load_prepare_step(struct load_prepare *prepare,
	struct store_writer *writer);

#endif
