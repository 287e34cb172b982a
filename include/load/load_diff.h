/* load_diff.h - reads a zone file beside the version that is served, for what
 * is different alone. */
#ifndef LOAD_LOAD_DIFF_H
#define LOAD_LOAD_DIFF_H

#include "base/diag.h"
#include "base/err.h"
#include "build/parts.h"
#include "load/load_zone.h"
#include "update/update.h"

/*
 * Compares the file with the version of the zone that is published; any
 * thread, but the version must stay until the result is taken: zone->busy is
 * set. options: of a parse. Findings of the parser go to the sink.
 * out: result->files, and for NSD_OK result->outcome LOAD_SAME or LOAD_DIFFERS
 *      with its diff.
 * plan: gets what is read (NULL: none). It is complete if result->files has
 * sources.
 * returns NSD_OK; NSD_E_LIMIT: the zone is to be built as a whole (there is no
 *      version, it is small, or too much is different); what the parser does.
 */
enum nsd_err load_diff_read(const struct load_context *context,
	struct load_zone *zone, const char *path,
	const struct zonefile_options *options, struct zone_plan *plan,
	struct diag_sink *sink, struct load_result *result) MUST_USE;

/* Publishes the differences; in the loader's main thread. What zone_update_*
 * returns; findings are not told: they have no place in a file. */
enum nsd_err load_diff_apply(const struct load_context *context,
	const struct load_result *result, struct zone_update_result *done)
	MUST_USE;

/* True if two readings were of the same files. */
bool load_sources_are_equal(const struct zonefile_result *a,
	const struct zonefile_result *b);

#endif
