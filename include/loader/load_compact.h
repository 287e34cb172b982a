/*
 * load_compact.h - makes small zones anew whose objects lie scattered, when the
 * loader is idle. So the memory that changes have freed goes back to the
 * kernel: see update_compact.
 */
#ifndef LOADER_LOAD_COMPACT_H
#define LOADER_LOAD_COMPACT_H

#include <stdbool.h>
#include <stddef.h>

#include "loader/load_set.h"

/* Zeroed: nothing to do. */
struct load_compact {
	size_t at;          /* the next zone */
	size_t left;        /* zones of this round */
	uint64_t reclaimed; /* store_stats.reclaimed_total after the last
			     * round */
};

/* Begins a round if much memory is free among objects, and much has changed
 * since the last round. True if a round is on. */
bool load_compact_begin(struct load_compact *compact,
	const struct load_context *context, const struct load_set *set);

/* Works for a turn (load_turn.h), or for as long as one zone takes. False: the
 * round is over, and what it has freed is to be trimmed. */
bool load_compact_step(struct load_compact *compact,
	const struct load_context *context, const struct load_set *set);

#endif
