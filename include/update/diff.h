/*
 * diff.h - what is different between a zone that is served and the records
 * of a file, found without having the records in memory.
 *
 * The owners are spread over many buckets, and a bucket has the sum of keyed
 * hashes of its records, those of the file less those of the zone. Where the
 * sum is not 0 there is a difference, and only there the records themselves
 * are looked at, in a second reading. That two different sets of records have
 * the same sum has a chance of 2^-64 for each bucket, whatever the records are.
 *
 *   diff_create
 *   diff_sum        each record of the file, in batches
 *   diff_compare    all equal? then that is all
 *   diff_collect    each record of the same file once more
 *   diff_finish     the changes
 *
 * Memory: 8 octets for each 4 records of the zone, at most 8 MiB, and what is
 * collected. The zone must not change meanwhile.
 */
#ifndef UPDATE_DIFF_H
#define UPDATE_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/rrbatch.h"
#include "store/store.h"
#include "zone/walk.h"
#include "zone/zone.h"

struct diff;

struct diff_change {
	struct zone_rr rr; /* lent until diff_destroy */
	bool add;          /* else remove */
};

/*
 * key: random, so that nobody can make files with sums of his choice. Borrows
 * zone and apex. memory_max: octets that may be collected, all in all.
 * NSD_E_MEMORY.
 */
enum nsd_err diff_create(const struct store_view *view,
	const struct zone *zone, const uint8_t *apex, const uint64_t key[2],
	size_t memory_max, struct diff **diff) MUST_USE;
void diff_destroy(struct diff *diff);

/* Takes a batch of the file, in any order. NSD_E_ZONE: there are records that
 * are not below the apex. */
enum nsd_err diff_sum(struct diff *diff, const struct rrbatch *batch) MUST_USE;

/* Walks the zone. NSD_OK with *equal; NSD_E_LIMIT: so much is different that
 * collecting it would take more than memory_max. */
enum nsd_err diff_compare(struct diff *diff, bool *equal) MUST_USE;

/* Takes a batch of the file again. NSD_E_LIMIT, NSD_E_MEMORY. */
enum nsd_err diff_collect(struct diff *diff, const struct rrbatch *batch)
	MUST_USE;

/*
 * Walks the zone again and gives the changes (lent until diff_destroy) that
 * make it what the file says, by the rules of build_zone for duplicates and
 * TTLs that differ: none, if the file differs in nothing else. A record that
 * changes its TTL or the case of letters is removed and added. NSD_E_ZONE:
 * several SOA records; NSD_E_LIMIT, NSD_E_MEMORY.
 */
enum nsd_err diff_finish(struct diff *diff, const struct diff_change **changes,
	size_t *count) MUST_USE;

#endif
