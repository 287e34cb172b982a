/* load_parts.h - builds a zone anew while its old version is served, without
 * having its records in memory. */
#ifndef LOAD_LOAD_PARTS_H
#define LOAD_LOAD_PARTS_H

#include "load/load_reading.h"

/*
 * Reads the file once for each part of the zone (build/parts.h). If
 * r->result->files has sources, r->plan is complete. Else a first reading makes
 * the plan, sets r->result->files, and tells its findings to r->sink. Any
 * thread.
 *
 * returns NSD_OK with *end LOAD_END_DONE: r->result is LOAD_BUILT with the
 * zone; or LOAD_END_NOT_IN_PARTS: it is to be built from all records at once.
 * NSD_E_AGAIN: the file changed between two readings. NSD_E_MEMORY. What
 * zonefile_parse and build_zone return for a file or zone with errors, which
 * are told to the sink.
 */
enum nsd_err load_parts_read(const struct load_reading *r, enum load_end *end)
	MUST_USE;

#endif
