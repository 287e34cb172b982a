/*
 * load_verify.h - judges versions of zones from elsewhere before they are
 * published: what they remove (xfr-max-change), their digest (zonemd-verify,
 * RFC 8976), and their signatures and chains of names (dnssec-verify;
 * include/audit/audit.h). The cheapest check is first (doc/decisions/0176).
 */
#ifndef LOADER_LOAD_VERIFY_H
#define LOADER_LOAD_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loader/load_refusal.h"
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
 * Judges a version that was not published yet, if that is wanted. It must
 * stay, and so must the served version. accepted: checks that are left out
 * (enum ipc_check, or-ed). Any thread. Cost: load_change_check; zonemd_check;
 * audit_change, or audit_zone if the version before was not verified or only
 * the whole zone tells.
 * returns NSD_OK: all is right; or it has no digest, which the log says.
 * NSD_E_CHANGE, NSD_E_DIGEST, NSD_E_SIGNED: it is not to be served, and
 * *refusal says why; nothing is logged. NSD_E_MEMORY.
 */
enum nsd_err load_verify(const struct load_context *context,
	const struct load_zone *zone, uint32_t accepted,
	struct update_candidate *candidate, struct load_refusal *refusal)
	MUST_USE;

#endif
