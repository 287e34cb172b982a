/*
 * load_verify.h - verifies versions of zones from elsewhere before they are
 * published: their digest (zonemd-verify, RFC 8976), and their signatures and
 * chains of names (dnssec-verify; include/audit/audit.h).
 */
#ifndef LOADER_LOAD_VERIFY_H
#define LOADER_LOAD_VERIFY_H

#include <stdbool.h>

#include "base/err.h"
#include "loader/load_zone.h"
#include "update/update.h"

/* The most records of a zone that is verified in the loader's loop, in about a
 * millisecond. */
#define LOAD_VERIFY_AT_ONCE 2000u

/* True if transferred versions of the zone are to be verified. */
bool load_verify_is_wanted(const struct load_zone *zone);
/* True if that takes longer than the loader's loop may: of a version with
 * records_max records at most, only signatures do. */
bool load_verify_takes_long(const struct load_zone *zone,
	const struct zone *served, uint64_t records_max);

/*
 * Verifies a version that was not published yet, if that is wanted. It must
 * stay. Any thread. Cost: zonemd_check; audit_change, or audit_zone if the
 * version before was not verified or only the whole zone tells.
 * returns NSD_OK: all is right; or it has no digest, which the log says.
 * NSD_E_DIGEST, NSD_E_SIGNED: it is not to be served; the log says why, with
 * the first name at fault. NSD_E_MEMORY.
 */
enum nsd_err load_verify(const struct load_context *context,
	const struct load_zone *zone, struct update_candidate *candidate)
	MUST_USE;
/* The same without signatures: of what was judged when it came. */
enum nsd_err load_verify_digest(const struct load_context *context,
	const struct load_zone *zone, const struct zone *made) MUST_USE;

#endif
