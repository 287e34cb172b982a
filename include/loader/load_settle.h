/*
 * load_settle.h - the zones whose last change is still to be settled: see
 * update_settle. A set of entries of the table of zones.
 */
#ifndef LOADER_LOAD_SETTLE_H
#define LOADER_LOAD_SETTLE_H

#include <stdbool.h>
#include <stddef.h>

#include "store/store.h"

struct store_writer;

/* Zeroed: empty. */
struct load_settle {
	store_ref *slots; /* open addressing; STORE_NONE: free */
	size_t mask;
	size_t count;
};

/* Adds an entry. Without memory it is left out: the zone answers rightly, and
 * its next change settles it. */
void load_settle_add(struct load_settle *settle, store_ref entry);

/* Removes an entry that is to go; does nothing if it is not in the set. */
void load_settle_remove(struct load_settle *settle, store_ref entry);

/* Settles the zones whose last change all readers have seen. The others stay in
 * the set. */
void load_settle_run(struct load_settle *settle, struct store_writer *writer);

void load_settle_fini(struct load_settle *settle);

#endif
