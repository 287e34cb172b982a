/* load_diff.h - reads a zone file beside the version that is served, for what
 * differs alone. */
#ifndef LOAD_LOAD_DIFF_H
#define LOAD_LOAD_DIFF_H

#include "load/load_reading.h"

/*
 * Compares the file with r->served, which is not NULL and stays (zone->busy)
 * until the result is taken. Findings of the parser go to r->sink. Any thread.
 * r->plan, if there is one, is given all that is read; it is complete if
 * r->result->files has sources afterwards.
 *
 * returns NSD_OK with *end LOAD_END_DONE: r->result has its outcome, LOAD_SAME
 * or LOAD_DIFFERS, and the diff; or LOAD_END_NOT_COMPARED: so much differs
 * that the zone is better built anew, the file breaks a rule that only a build
 * reports, or there is no memory or randomness for comparing.
 * NSD_E_AGAIN: the file changed between the two readings. What zonefile_parse
 * returns: the file cannot be read.
 */
enum nsd_err load_diff_read(const struct load_reading *r, enum load_end *end)
	MUST_USE;

#endif
