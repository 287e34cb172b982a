/* load_versions.h - applies the differences that a transfer has brought
 * (XFR_DIFFS of xfr/changes.h), version by version. */
#ifndef LOAD_LOAD_VERSIONS_H
#define LOAD_LOAD_VERSIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "keep/history_edit.h"
#include "load/load_zone.h"
#include "update/update.h"

/* What they are applied to. All is borrowed. */
struct load_versions {
	const struct load_context *context;
	store_ref entry;
	bool secondary;
	struct store_heap *heap; /* of a thread; NULL: of the main thread */
	uint32_t names_max;      /* of each version; 0: any (update.h) */
	const bool *cancelled;   /* atomic: no further version is begun; NULL:
				  * never */
	struct history_limits history; /* what of them is kept */
	const struct load_zone *verify; /* each version of it is looked at
					 * (load_verify.h); NULL: none is */
	uint64_t verify_records_max; /* so many records of all versions */
	struct diag_sink *sink; /* for findings */
	struct zone_update_result done; /* added up */
};

/*
 * Applies octets[len], head and records. Each version is a
 * transaction that is exact (update/update.h) and is published by itself. Those
 * up to the serial that is served are left out; so nothing is done if the zone
 * has come to the end already. For the loader's main thread, or for a thread
 * that has v->heap and may change the zone (update_make): the loop publishes
 * each version for it. Cost: as of update_commit, which is linear in len.
 * returns NSD_OK: the zone is at the last serial. NSD_E_WIRE: the octets are no
 * differences, or those of another zone; nothing is done. After the others the
 * versions before that one stay published: NSD_E_INEXACT: the zone has no
 * version, or one of another serial, or with other records; NSD_E_ZONE,
 * NSD_E_DIGEST, NSD_E_MEMORY.
 * NSD_E_LIMIT: too much would have to be looked at (names_max,
 * verify_records_max). NSD_E_AGAIN: it was cancelled.
 */
enum nsd_err load_versions_apply(struct load_versions *v,
	const uint8_t *octets, size_t len) MUST_USE;

#endif
