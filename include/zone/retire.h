/* retire.h - lets a version of a zone go. */
#ifndef ZONE_RETIRE_H
#define ZONE_RETIRE_H

#include <stdbool.h>

#include "base/err.h"
#include "store/store.h"

struct store_heap;
struct store_writer;

/* Frees a zone that was never visible, or retires one that was. */
void zone_free(struct store_heap *heap, store_ref zone);
void zone_retire(struct store_writer *writer, store_ref zone);

/*
 * Retires one that was visible a little at a time: a large zone takes 0.3 s a
 * million names. Between two steps anything may be done; call store_reclaim,
 * or the list of what waits to be freed takes a tenth of the zone's memory.
 * begin: NULL if there is no memory to do so. step: of so many objects (some
 * 0.2 us each); false: all is done, and retiring is freed.
 */
struct zone_retiring;
struct zone_retiring *zone_retire_begin(store_ref zone) MUST_USE;
bool zone_retire_step(struct store_writer *writer,
	struct zone_retiring *retiring, size_t objects);

#endif
