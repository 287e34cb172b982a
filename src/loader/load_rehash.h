/*
 * load_rehash.h - hashes a served zone anew for another limit of NSEC3
 * iterations. A zone in a database may be from a time with another
 * nsec3-max-iterations. The zone is made from its own records: its file may be
 * gone, or older than changes that came in messages.
 */
#ifndef LOADER_LOAD_REHASH_H
#define LOADER_LOAD_REHASH_H

#include <stdbool.h>

#include "loader/load_zone.h"
#include "store/store.h"

struct store_heap;

/* True if the published version is from another limit; *large then says
 * whether several threads do it better. Any thread. */
bool load_rehash_is_wanted(const struct load_context *context,
	const struct load_zone *zone, bool *large);

/*
 * Builds the published version anew, if that is still wanted. Sets zone->busy:
 * the version must stay until the result is taken. Any thread. Findings are
 * logged.
 * out: result->rehashed; and, if it was LOAD_UNCHANGED, result->outcome:
 * LOAD_KEPT or LOAD_FAILED.
 */
void load_rehash_run(const struct load_context *context,
	struct load_zone *zone, struct store_heap *heap, bool large,
	struct load_result *result);

#endif
