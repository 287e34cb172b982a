/* index_pass.h - state of the index pass in a worker. */
#ifndef COMPILE_INDEX_PASS_H
#define COMPILE_INDEX_PASS_H

#include <stddef.h>

#include "dns/rrbatch.h"
#include "names/owner.h"

/* The batches of a worker and the owners in them. Names are at the front of
 * room; owners with nothing but NSEC3 are at its end, last one first. */
struct index_range {
	const struct rrbatch *batch_first;
	const struct rrbatch *batch_end; /* the first one that is not its */
	struct owner *room;
	size_t room_count; /* owners that fit */
	size_t name_count;
	size_t hash_count;
};

#endif
