/* load_versions.h - applies the differences that transfers have brought
 * (XFR_DIFFS of xfr/changes.h): all their versions as one change. */
#ifndef LOADER_LOAD_VERSIONS_H
#define LOADER_LOAD_VERSIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "loader/load_zone.h"
#include "update/update.h"
#include "zonedb/history_edit.h"

struct load_refusal;

/* The zone that versions are applied to, and how. All is borrowed. */
struct load_versions {
	const struct load_context *context;
	store_ref entry;
	bool secondary;
	struct store_heap *heap; /* of a thread; NULL: of the main thread */
	uint32_t names_max;      /* of the change; 0: any (update.h) */
	const bool *cancelled;   /* atomic: no change is begun any more; NULL:
				  * never */
	struct history_limits history; /* of the differences that are kept */
	const struct load_zone *verify; /* the zone whose last version is
					 * verified (load_verify.h); NULL: none
					 * is */
	uint32_t accepted;             /* checks that are left out */
	struct load_refusal *refusal;  /* set if it is refused; with verify */
	uint64_t verify_records_max; /* verify in this call only if the zone has
				      * at most so many records, and no
				      * signatures; UINT64_MAX: in any case */
	struct diag_sink *sink; /* for findings */
	struct zone_update_result done; /* added up over all calls */
};

/* The octets of one transfer: head and records. */
struct load_octets {
	const uint8_t *data;
	size_t len;
};

/*
 * Applies parts[count], consecutive transfers, as one transaction: each version
 * has to fit the one before it (exact in update/update.h); records that are
 * added and removed again between them cost nothing, and only the last version
 * is made and published. All or nothing is done. Versions up to the served
 * serial are left out; so nothing is done if the zone is at the last one
 * already. The differences are kept for secondaries as they came, a changeset
 * for each version. For the loader's main thread, or for a thread that has
 * v->heap and may change the zone (update_make): the loop publishes for it.
 * Cost: linear in the octets, and as of one update_commit.
 * returns NSD_OK: the zone is at the last serial. After any other result it is
 * as it was. NSD_E_WIRE: the octets are no differences, or those of another
 * zone. NSD_E_INEXACT: the zone has no version, or one of another serial, or a
 * version has a difference that does not fit; NSD_E_ZONE: the last version is
 * at fault; the errors of load_verify: it was refused; NSD_E_MEMORY.
 * NSD_E_LIMIT: too much would have to be looked at (names_max,
 * verify_records_max), or, without a heap, the version before is still being
 * retired. NSD_E_AGAIN: it was cancelled.
 */
enum nsd_err load_versions_apply(struct load_versions *v,
	const struct load_octets *parts, size_t count) MUST_USE;

#endif
