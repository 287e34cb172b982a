/* load_expiry.h - when zones expire: the loader's part (zone_entry.expires_sec
 * of zone/zone.h). */
#ifndef LOAD_LOAD_EXPIRY_H
#define LOAD_LOAD_EXPIRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "load/load_zone.h"

/*
 * Has a zone expire left_msec from now (0: it has expired; IPC_EXPIRY_NEVER),
 * at once visible to readers; one that has no primaries does not. apex: any
 * octets, len of them.
 * returns NSD_OK; NSD_E_NOT_FOUND: no such zone; NSD_E_WIRE: no name.
 */
enum nsd_err load_expiry_set(const struct load_context *context,
	const uint8_t *apex, size_t len, uint64_t left_msec) MUST_USE;

/* A transfer has brought the zone of an entry up to date: if it has expired, it
 * is answered from again, until the next load_expiry_set. */
void load_expiry_end(const struct load_context *context, store_ref entry);

#endif
