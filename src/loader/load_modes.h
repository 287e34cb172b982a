/* load_modes.h - chooses how a zone file, or the text of a transfer, is read,
 * and reads it so. */
#ifndef LOADER_LOAD_MODES_H
#define LOADER_LOAD_MODES_H

#include "loader/load_reading.h"

/*
 * Reads r->path or r->text. Of r, served and age are set here. Any thread.
 * returns NSD_OK: r->result is LOAD_COMPARED, LOAD_APPLIED, LOAD_BUILT or, if
 * the file is older than what is served, LOAD_KEPT; NSD_E_AGAIN: the file
 * changed while it was read; NSD_E_DIGEST, NSD_E_SIGNED; what zonefile_parse
 * and build_zone return for a file with errors, which are told to r->sink.
 */
enum nsd_err load_modes_run(struct load_reading *r) MUST_USE;

/* For r->options.on_progress of a large file; ctx: struct load_progress. */
void load_modes_on_parse(void *ctx, uint64_t done, uint64_t total);

#endif
