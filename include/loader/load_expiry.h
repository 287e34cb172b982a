/* load_expiry.h - the loader's part in the expiry of zones
 * (zone_entry.expires_sec of zone/zone.h). */
#ifndef LOADER_LOAD_EXPIRY_H
#define LOADER_LOAD_EXPIRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "loader/load_set.h"
#include "loader/load_zone.h"

/*
 * Has a zone expire left_msec from now (0: it has expired; IPC_EXPIRY_NEVER),
 * at once visible to readers, or once its hold ends. A zone without primaries
 * does not expire. apex: any octets, len of them.
 * returns NSD_OK; NSD_E_NOT_FOUND: no such zone; NSD_E_WIRE: no name.
 */
enum nsd_err load_expiry_set(const struct load_context *context,
	struct load_set *set, const uint8_t *apex, size_t len,
	uint64_t left_msec) MUST_USE;

/* Ends the expiry of a zone that a transfer has brought up to date: it is
 * answered from again, until the next load_expiry_set. */
void load_expiry_end(const struct load_context *context, store_ref entry);

/* Has the zone answer as an expired one until load_expiry_let_go, whatever data
 * it has. For the main thread, as the next two. */
void load_expiry_hold(struct store_writer *writer, struct load_zone *zone);
/* Finds out whether a dead loader has left the zone held. To be called once for
 * each zone that a predecessor has left. */
void load_expiry_resume(const struct store_view *view, struct load_zone *zone);
/* Ends a hold. A zone that is not held is fine. */
void load_expiry_let_go(struct store_writer *writer, struct load_zone *zone);

/* Has no zone expire, until xfrd says anew when each does: times in a file are
 * of the clock of another boot. Before the store has readers. */
void load_expiry_forget(struct store_writer *writer);

#endif
