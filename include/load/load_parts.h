/* load_parts.h - builds a zone anew while its old version is served, without
 * having its records in memory. */
#ifndef LOAD_LOAD_PARTS_H
#define LOAD_LOAD_PARTS_H

#include "base/diag.h"
#include "base/err.h"
#include "build/parts.h"
#include "load/load_zone.h"

struct store_heap;

/*
 * Reads the file once for each part of the zone (zone/parts.h). options: of a
 * parse. plan: of all batches of the file if result->files has its sources;
 * else it is made by a first reading, which tells its findings to the sink.
 * out: result->files, and for NSD_OK the zone in result->built.
 * returns NSD_OK; NSD_E_LIMIT: the zone is to be built from all records at
 *      once; what the parser and zone_build do.
 */
enum nsd_err load_parts_read(const struct load_context *context,
	const struct load_zone *zone, const char *path,
	const struct zonefile_options *options, struct zone_plan *plan,
	struct store_heap *heap, struct diag_sink *sink,
	struct load_result *result) MUST_USE;

#endif
