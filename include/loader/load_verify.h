/* load_verify.h - whether what a transfer has brought is what its primary has:
 * zonemd-verify, by RFC 8976. */
#ifndef LOADER_LOAD_VERIFY_H
#define LOADER_LOAD_VERIFY_H

#include <stdbool.h>

#include "base/err.h"
#include "loader/load_zone.h"

/* Up to so many records, a zone is looked at in the loader's loop: that takes
 * about a millisecond. */
#define LOAD_VERIFY_AT_ONCE 2000u

/* True if what transfers bring of the zone is to be looked at. */
bool load_verify_is_wanted(const struct load_zone *zone);

/*
 * Looks at a version that was not published yet, if that is wanted. It must
 * stay. Any thread. Cost: zonemd_check.
 * returns NSD_OK: its digest is right; or it has none, which is said in the
 * log. NSD_E_DIGEST: it is not to be served, which was said; NSD_E_MEMORY.
 */
enum nsd_err load_verify_zone(const struct load_context *context,
	const struct load_zone *zone, const struct zone *made) MUST_USE;

#endif
