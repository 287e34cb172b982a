/*
 * walk.h - walks all records of a zone in order: for printing, and for
 * transfers.
 */
#ifndef ZONE_WALK_H
#define ZONE_WALK_H

#include <stdbool.h>

#include "base/err.h"
#include "store/store.h"
#include "zone/zone.h"

struct zone_rr {
	const uint8_t *owner; /* whole wire name, lent until the next one */
	uint32_t ttl_sec;
	uint16_t type;
	uint16_t rdlen;
	const uint8_t *rdata; /* uncompressed, lent until the next one */
};

struct zone_cursor;

/*
 * Begins a walk over all records, one with each call. Keeps the zone until the
 * end: a reader that is offline or quiescent meanwhile has to pin it first
 * (store_reader_pin). The SOA is first, then come the other records of the
 * apex, then the other names in canonical order. NSEC3 owners have their place
 * among these. Each RRset is followed by its RRSIGs. Hidden names are walked,
 * too. apex is the zone's whole name, and copied.
 * Memory: 70 KB, for any zone. NSD_E_MEMORY.
 */
enum nsd_err zone_cursor_create(const struct store_view *view,
	const struct zone *zone, const uint8_t *apex,
	struct zone_cursor **cursor) MUST_USE;
/* Gets the next record. False at the end. */
bool zone_cursor_next(struct zone_cursor *cursor, struct zone_rr *rr);
/* Goes to a name, whole and in lower case: the next calls give its records, of
 * which there may be none, and then false. */
void zone_cursor_seek(struct zone_cursor *cursor, const uint8_t *owner);
void zone_cursor_destroy(struct zone_cursor *cursor);

/*
 * Walks a zone in one go: calls on_rr for each record.
 * returns NSD_OK at the end; NSD_E_MEMORY, before the first record, if there is
 * no memory for the walk; else the first code of on_rr other than NSD_OK, at
 * which the walk stops.
 */
enum nsd_err zone_walk(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex,
	enum nsd_err (*on_rr)(void *ctx, const struct zone_rr *rr), void *ctx)
	MUST_USE;

#endif
