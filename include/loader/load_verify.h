/* load_verify.h - verifies the digest of transferred zones: zonemd-verify, by
 * RFC 8976. */
#ifndef LOADER_LOAD_VERIFY_H
#define LOADER_LOAD_VERIFY_H

#include <stdbool.h>

#include "base/err.h"
#include "loader/load_zone.h"

/* The most records of a zone that is verified in the loader's loop, in about a
 * millisecond. */
#define LOAD_VERIFY_AT_ONCE 2000u

/* True if transferred versions of the zone are to be verified. */
bool load_verify_is_wanted(const struct load_zone *zone);

/*
 * Verifies a version that was not published yet, if that is wanted. It must
 * stay. Any thread. Cost: zonemd_check.
 * returns NSD_OK: its digest is right; or it has none, which the log says.
 * NSD_E_DIGEST: it is not to be served, which the log says; NSD_E_MEMORY.
 */
enum nsd_err load_verify_zone(const struct load_context *context,
	const struct load_zone *zone, const struct zone *made) MUST_USE;

#endif
