/*
 * walk.h - all records of a zone in order: for printing, and for transfers.
 */
#ifndef ZONE_WALK_H
#define ZONE_WALK_H

#include "base/err.h"
#include "store/store.h"
#include "zone/zone.h"

struct zone_rr {
	const uint8_t *owner; /* whole wire name, lent for the call */
	uint32_t ttl_sec;
	uint16_t type;
	uint16_t rdlen;
	const uint8_t *rdata; /* uncompressed, lent for the call */
};

/*
 * Calls on_rr for each record: the apex first (its SOA first of all), then
 * the other names in canonical order, NSEC3 owners at their place among them;
 * each RRset followed by its RRSIGs. apex is the zone's whole name.
 * returns NSD_OK at the end; NSD_E_MEMORY if there is no memory for the walk,
 * before the first record; else what on_rr returned: the walk stops there.
 */
enum nsd_err zone_walk(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex,
	enum nsd_err (*on_rr)(void *ctx, const struct zone_rr *rr), void *ctx)
	MUST_USE;

#endif
