/*
 * build.h - records to a zone in the store.
 *
 * The passes: sort into canonical order, group into nodes and RRsets, check,
 * find cuts and occluded names, choose and pack the chain of NSEC3 records,
 * hash names, pack and share RRsets, resolve additional data, build the tries.
 * Nothing is visible to readers before table_set_zone.
 */
#ifndef BUILD_BUILD_H
#define BUILD_BUILD_H

#include "base/diag.h"
#include "base/err.h"
#include "dns/rrbatch.h"
#include "store/store.h"
#include "zone/zone.h"

struct store_heap;
struct store_writer;

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
enum nsd_err build_zone(const struct zone_build_input *input,
	struct store_writer *writer, struct store_heap *heap,
	struct diag_sink *sink, store_ref *zone) MUST_USE;

#endif
