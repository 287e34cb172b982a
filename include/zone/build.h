/*
 * build.h - records to a zone in the store.
 *
 * The passes: sort into canonical order, group into nodes and RRsets, check,
 * find cuts and occluded names, choose and pack the chain of NSEC3 records,
 * hash names, pack and share RRsets, resolve additional data, build the tries.
 * Nothing is visible to readers before table_set_zone.
 */
#ifndef ZONE_BUILD_H
#define ZONE_BUILD_H

#include "base/diag.h"
#include "base/err.h"
#include "dns/rrbatch.h"
#include "store/store.h"
#include "zone/zone.h"

#define NSEC3_ITERATIONS_MAX 2500u /* the most that RFC 5155 10.3 allows */

struct zone_build_input {
	const uint8_t *apex;            /* wire name */
	const struct rrbatch *batches;  /* borrowed */
	const char *const *files;       /* names for findings, by rr->file */
	size_t file_count;
	unsigned threads;
	bool secondary; /* what a primary would refuse is only a warning */
	/* A chain of NSEC3 records with more iterations is not hashed for
	 * (NSEC3_CHAIN_COSTLY); 0: NSEC3_ITERATIONS_MAX. */
	uint32_t nsec3_iterations_max;
	void (*on_progress)(void *ctx, const char *stage, uint64_t done,
		uint64_t total);
	void *progress_ctx;
};

/*
 * Checks and compiles a zone. Findings go to the sink, from the calling
 * thread: no SOA or several, no NS, records out of the zone, CNAME or DNAME
 * beside other data, differing TTLs, duplicates (left out), wrong digest
 * lengths; errors fail the build, warnings do not.
 * returns NSD_OK with *zone (not visible to anyone); NSD_E_ZONE if the sink
 * got errors; NSD_E_MEMORY. On failure nothing stays allocated.
 * Uses heap, and makes heaps of its own for further threads.
 */
enum nsd_err zone_build(const struct zone_build_input *input,
	struct store_writer *writer, struct store_heap *heap,
	struct diag_sink *sink, store_ref *zone) MUST_USE;

/* Frees a zone that was never visible, or retires one that was. */
void zone_free(struct store_heap *heap, store_ref zone);
void zone_retire(struct store_writer *writer, store_ref zone);

/*
 * Retires one that was visible a little at a time: a large zone takes 0.3 s a
 * million names. Between two steps anything may be done; call store_reclaim,
 * or the list of what waits to be freed takes a tenth of the zone's memory.
 * begin: NULL if there is no memory to do so. step: of so many objects (some
 * 0.2 us each); false: all is done, and retiring is freed.
 */
struct zone_retiring;
struct zone_retiring *zone_retire_begin(store_ref zone) MUST_USE;
bool zone_retire_step(struct store_writer *writer,
	struct zone_retiring *retiring, size_t objects);

#endif
