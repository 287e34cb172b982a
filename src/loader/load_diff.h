/* load_diff.h - reads a zone file beside the version that is served, for what
 * differs alone. */
#ifndef LOADER_LOAD_DIFF_H
#define LOADER_LOAD_DIFF_H

#include "loader/load_reading.h"

/*
 * Compares the file with r->served, which is not NULL and stays (zone->busy)
 * until the result is taken. Findings of the parser go to r->sink. Any thread.
 *
 * returns NSD_OK: r->result is LOAD_COMPARED with the diff; NSD_E_LIMIT: so
 * much differs that the zone is better built anew, the file breaks a rule that
 * only a build reports, or there is no memory or randomness for comparing;
 * NSD_E_DENIED: the file is older than what is served; NSD_E_AGAIN: it changed
 * between the two readings. What zonefile_parse returns: the file cannot be
 * read.
 */
enum nsd_err load_diff_read(const struct load_reading *r) MUST_USE;

#endif
