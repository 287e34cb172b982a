/*
 * load_rehash.h - hashes a zone that is served for another limit of NSEC3
 * iterations: one in a database may be from a time with another
 * nsec3-max-iterations. What it is made of is its own records, not its file,
 * which may be gone, or older than changes that came in messages.
 */
#ifndef LOAD_LOAD_REHASH_H
#define LOAD_LOAD_REHASH_H

#include <stdbool.h>

#include "load/load_zone.h"
#include "store/store.h"

struct store_heap;

/* True if the version that is published is from another limit; *large: then
 * whether it is better done with several threads. Any thread. */
bool load_rehash_is_wanted(const struct load_context *context,
	const struct load_zone *zone, bool *large);

/*
 * Builds the version that is published anew if that is still wanted; any
 * thread. zone->busy is set: it must stay as it is until the result is taken.
 * What there is to say is in the log.
 * out: result->rehashed, and result->outcome if that was LOAD_UNCHANGED.
 */
void load_rehash_run(const struct load_context *context,
	struct load_zone *zone, struct store_heap *heap, bool large,
	struct load_result *result);

#endif
