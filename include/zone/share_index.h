/*
 * share_index.h - the layout of zone.share, by which updates find RRsets and
 * sig_templates with the same contents. Written by zonedb/share.h.
 *
 * A hash table with open addressing. A slot has the hash of the contents only.
 * The object itself has to be compared.
 *
 *   +0  seed of the hashes  8
 *   +8  mask  4   slots less one; slots are a power of two
 *  +12  used  4   slots that are not free
 *  +16  slots x 8:  hash 4 (bit 0: of a template), reference 4 (none: free)
 */
#ifndef ZONE_SHARE_INDEX_H
#define ZONE_SHARE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct share_index {
	uint64_t seed;
	uint32_t mask;
	uint32_t used;
	struct share_index_slot {
		uint32_t hash;
		store_ref ref;
	} slots[];
};

static inline size_t
share_index_size(const struct share_index *index)
{
	return sizeof(*index)
		+ (index->mask + (size_t)1) * sizeof(index->slots[0]);
}

/* Bit 0 tells templates from RRsets. */
static inline uint32_t
share_index_hash(uint64_t hash, bool template)
{
	return ((uint32_t)hash & ~1u) | template;
}

/* Gets a slot that a hash may be in. Call it with half the hash first, then
 * with one more each time, until it returns NULL: there are no more such
 * slots. */
static inline const struct share_index_slot *
share_index_get(const struct share_index *index, uint32_t at)
{
	const struct share_index_slot *slot = &index->slots[at & index->mask];

	return slot->ref == STORE_NONE ? NULL : slot;
}

#endif
