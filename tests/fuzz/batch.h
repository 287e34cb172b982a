/*
 * batch.h - a batch of records as the zone file parser gives it, filled from
 * what a fuzz target makes of its octets.
 */
#ifndef FUZZ_BATCH_H
#define FUZZ_BATCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/octets.h"
#include "dns/name.h"
#include "dns/rrbatch.h"

static inline uint8_t
next(struct cursor *in)
{
	return cursor_read_u8(in);
}

static inline void
append(struct rrbatch *batch, const uint8_t *owner, uint32_t ttl_sec,
	uint16_t type, const uint8_t *rdata, size_t rdlen)
{
	const struct rrbatch_rr head = {
		.line = (uint32_t)batch->count + 1,
		.ttl_sec = ttl_sec,
		.type = type,
		.rdlen = (uint16_t)rdlen,
		.owner_len = (uint8_t)name_len(owner),
	};

	if (rrbatch_append(batch, &head, owner, rdata) != NSD_OK)
		abort();
}

#endif
