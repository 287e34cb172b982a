/*
 * batch.h - common parts of the targets that build zones: a batch of records as
 * the zone file parser gives it, filled from a target's input; a store for the
 * zone; and the zone's records back, as another batch.
 */
#ifndef FUZZ_BATCH_H
#define FUZZ_BATCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/octets.h"
#include "dns/name.h"
#include "dns/rrbatch.h"
#include "store/store.h"
#include "store/writer.h"
#include "zone/walk.h"

#define BATCH_ROOM (1u << 20)

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

static inline struct store_writer *
open_store(void)
{
	const struct store_options options = {.reservation = 1u << 28,
		.reader_max = 1};
	struct store_writer *writer;
	struct store *store;

	if (store_create(&options, &store) != NSD_OK
		|| store_writer_open(store, &writer) != NSD_OK)
		abort();
	return writer;
}

/* Collects the records of a zone: on_rr appends one to the batch. */
static inline struct rrbatch *
walk(const struct store_view *view, store_ref ref, const uint8_t *apex,
	enum nsd_err (*on_rr)(void *batch, const struct zone_rr *rr))
{
	const struct zone *zone = store_get(view, ref);
	struct rrbatch *batch = rrbatch_create(BATCH_ROOM);

	if (batch == NULL || zone_walk(view, zone, apex, on_rr, batch)
		!= NSD_OK || batch->count != zone->rr_count)
		abort();
	return batch;
}

#endif
