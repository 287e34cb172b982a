/*
 * load_change.h - limits what a transfer may remove from a zone
 * (xfr-max-change): a version without much of what is served is more often an
 * accident at the primary than intended.
 */
#ifndef LOADER_LOAD_CHANGE_H
#define LOADER_LOAD_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loader/load_zone.h"
#include "update/update.h"

struct load_refusal;
struct store_view;

/* True if versions of the zone are looked at: it has primaries, and a limit. */
bool load_change_is_wanted(const struct load_zone *zone);
/* True if a look takes longer than the loader's loop may: the records of the
 * served version are not counted yet, and are more than records_max. */
bool load_change_takes_long(const struct load_zone *zone,
	const struct zone *served, uint64_t records_max);

/*
 * Compares a version with the one that is served. Both must stay. SOA and
 * ZONEMD records and those that a signer makes (RRSIG, NSEC, NSEC3, NSEC3PARAM)
 * do not count: a zone that is signed anew loses all of them. Another TTL is no
 * change. Any thread. Cost: of a change a look at the names in
 * candidate->owners, and once a walk of the served version; else a walk of
 * both.
 * returns NSD_OK, and candidate->data_count is set; NSD_E_CHANGE: more records
 * would go than the limit is, and *refusal says which; NSD_E_MEMORY.
 */
enum nsd_err load_change_check(const struct store_view *view,
	const struct load_zone *zone, struct update_candidate *candidate,
	struct load_refusal *refusal) MUST_USE;

#endif
