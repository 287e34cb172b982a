/* retire.h - lets go of a version of a zone that readers may still see. */
#ifndef KEEP_RETIRE_H
#define KEEP_RETIRE_H

#include <stdbool.h>

#include "base/err.h"
#include "store/store.h"

struct store_writer;

/* Retires a zone that was visible; none is fine. */
void retire_zone(struct store_writer *writer, store_ref zone);

/*
 * Retires one that was visible a little at a time: a large zone takes 0.3 s a
 * million names. Between two steps anything may be done; call store_reclaim,
 * or the list of what waits to be freed takes a tenth of the zone's memory.
 * begin: NULL if there is no memory to do so. step: of so many objects (some
 * 0.2 us each); false: all is done, and retiring is freed.
 */
struct retiring;
struct retiring *retire_begin(store_ref zone) MUST_USE;
bool retire_step(struct store_writer *writer,
	struct retiring *retiring, size_t objects);

#endif
