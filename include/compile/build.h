/*
 * build.h - makes a zone in the store from its records.
 *
 * The passes: sort records into canonical order, group them into nodes and
 * RRsets, check them, find zone cuts and occluded names, choose and pack the
 * chain of NSEC3 records, hash names, pack and share RRsets, resolve additional
 * data, build the tries. Readers see nothing of it before table_set_zone.
 */
#ifndef COMPILE_BUILD_H
#define COMPILE_BUILD_H

#include "base/diag.h"
#include "base/err.h"
#include "compile/limits.h"
#include "dns/rrbatch.h"
#include "store/store.h"
#include "zone/zone.h"

struct store_heap;
struct store_writer;

#define NSEC3_ITERATIONS_MAX 2500u /* the most that RFC 5155 10.3 allows */

struct zone_build_input {
	const uint8_t *apex;            /* wire name */
	const struct rrbatch *batches;  /* in file order */
	const char *const *files;       /* names for findings, by rr->file */
	size_t file_count;
	unsigned threads;               /* at most; 0 is 1 */
	bool secondary; /* errors of a primary zone are only warnings */
	/* Names are not hashed for a chain of NSEC3 records with more
	 * iterations (NSEC3_CHAIN_COSTLY); 0: NSEC3_ITERATIONS_MAX. */
	uint32_t nsec3_iterations_max;
	struct zone_limits limits; /* more is an error, also of a secondary */
	/* NULL, or called in the calling thread, now and then. done and total
	 * count what the stage goes through. */
	void (*on_progress)(void *ctx, const char *stage, uint64_t done,
		uint64_t total);
	void *progress_ctx;
};

/*
 * Checks a zone and puts it into the store. Borrows input and all it refers to.
 * Findings go to the sink, from the calling thread and in file order: no SOA or
 * several, no NS, records out of the zone, CNAME or DNAME beside other data,
 * differing TTLs, duplicates (left out), wrong digest lengths. Errors fail the
 * build, warnings do not.
 *
 * NSD_OK: *zone is the zone, which nobody sees yet.
 * NSD_E_ZONE: the sink got errors.
 * NSD_E_MEMORY: there is no memory, or the store is full; the sink got nothing.
 * After a failure nothing stays allocated, and *zone is as it was.
 *
 * Uses heap, and makes heaps of its own for further threads. Takes about a
 * microsecond a record; blocks.
 */
enum nsd_err build_zone(const struct zone_build_input *input,
	struct store_writer *writer, struct store_heap *heap,
	struct diag_sink *sink, store_ref *zone) MUST_USE;

/*
 * True if a build with this limit of iterations (0: NSEC3_ITERATIONS_MAX) would
 * treat the zone's NSEC3 chain as it is treated now: names are hashed for it,
 * or it is NSEC3_CHAIN_COSTLY. Always true without a chain.
 */
bool build_keeps_nsec3_limit(const struct store_view *view,
	const struct zone *zone, uint32_t iterations_max);

#endif
