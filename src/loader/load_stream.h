/* load_stream.h - builds a zone while its file is read, without having all its
 * records in memory beside it. */
#ifndef LOADER_LOAD_STREAM_H
#define LOADER_LOAD_STREAM_H

#include "loader/load_reading.h"

/*
 * Reads the file (compile/stream.h); once more if its names seem to be in order
 * (zonefile/order.h), and are not. Any thread.
 *
 * returns NSD_OK: r->result is LOAD_BUILT with the zone; NSD_E_LIMIT: it is to
 * be built from all records at once; NSD_E_DENIED: the file is older than what
 * is served; NSD_E_MEMORY; what zonefile_parse and build_zone return for a file
 * or zone with errors, which are told to the sink.
 */
enum nsd_err load_stream_read(const struct load_reading *r) MUST_USE;

#endif
