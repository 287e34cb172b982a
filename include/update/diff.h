/*
 * diff.h - finds the differences between a served zone and the records of a
 * file, without all records in memory.
 *
 * The owners are spread over many buckets. A bucket has the sum of keyed hashes
 * of its records: those of the file less those of the zone. If the sum is not
 * 0, there is a difference. Only the records of such buckets are looked at, in
 * a second reading. Two different sets of records have the same sum with a
 * chance of 2^-64 for each bucket, whatever the records are.
 *
 *   diff_create
 *   diff_sum        each record of the file, in batches
 *   diff_compare    if all is equal, that is all
 *   diff_collect    each record of the same file once more
 *   diff_finish     the changes
 *
 * Memory: 2 to 4 octets for each record of the zone, and the collected
 * records. The zone must not change meanwhile.
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
	bool add;          /* false: remove */
};

/*
 * Gives a diff without records of the file; diff_destroy releases it. key:
 * random, so that nobody can make files with sums of their choice. Keeps view,
 * zone and apex until the end. memory_max: the most octets of collected
 * records. NSD_E_MEMORY: there is no memory for the sums.
 */
enum nsd_err diff_create(const struct store_view *view,
	const struct zone *zone, const uint8_t *apex, const uint64_t key[2],
	size_t memory_max, struct diff **diff) MUST_USE;
void diff_destroy(struct diff *diff);

/* Adds a batch of the file, in any order. Borrows it. NSD_E_ZONE: a record is
 * not at or below the apex; the diff is then of no use. */
enum nsd_err diff_sum(struct diff *diff, const struct rrbatch *batch) MUST_USE;

/* Walks the zone. *equal: there is no difference. NSD_E_LIMIT: collecting the
 * differences would take more than memory_max; *equal is set all the same. */
enum nsd_err diff_compare(struct diff *diff, bool *equal) MUST_USE;

/* Takes a batch of the file again, and copies the records that may differ.
 * NSD_E_LIMIT: they take more than memory_max. NSD_E_MEMORY: there is no
 * memory. */
enum nsd_err diff_collect(struct diff *diff, const struct rrbatch *batch)
	MUST_USE;

/*
 * Walks the zone again. Lends the changes, until diff_destroy, that make the
 * zone equal to the file. Duplicates and TTLs that differ are treated as
 * build_zone treats them: they alone make no change. A record whose TTL or
 * letter case changes is removed and added.
 * NSD_E_ZONE: the file has several SOA records. NSD_E_LIMIT: the differences
 * take more than memory_max. NSD_E_MEMORY: there is no memory.
 */
enum nsd_err diff_finish(struct diff *diff, const struct diff_change **changes,
	size_t *count) MUST_USE;

#endif
