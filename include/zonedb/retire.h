/* retire.h - lets go of a version of a zone that readers may still see. */
#ifndef ZONEDB_RETIRE_H
#define ZONEDB_RETIRE_H

#include <stdbool.h>

#include "base/err.h"
#include "store/store.h"

struct store_writer;

/* Retires a version of a zone that was visible, when nothing refers to it any
 * more. zone none: does nothing. Cost: 0.3 s for a million names. */
void retire_zone(struct store_writer *writer, store_ref zone);

/*
 * Retires a version in steps. Between two steps the store may be changed. Call
 * store_reclaim there: else the list of objects that wait to be freed grows to
 * a tenth of the zone's memory.
 */
struct retiring;
/* Begins to retire a version; zone is not none. The caller owns the result
 * until retire_step returns false. returns NULL if there is no memory; the zone
 * is as it was. */
struct retiring *retire_begin(store_ref zone) MUST_USE;
/* Retires a number of objects, some 0.2 us each; at least 1 for it to get on.
 * returns true if there is more; false if all is done and retiring is freed. */
bool retire_step(struct store_writer *writer,
	struct retiring *retiring, size_t objects);

#endif
