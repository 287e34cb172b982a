/* load_stream.h - builds the first version of a large zone while its file is
 * read, without having its records in memory. */
#ifndef LOAD_LOAD_STREAM_H
#define LOAD_LOAD_STREAM_H

#include "load/load_reading.h"

/*
 * Reads the file once (build/stream.h) if its names seem to be in order
 * (zonefile/order.h). Any thread.
 *
 * returns NSD_OK with *end LOAD_END_DONE: r->result is LOAD_BUILT with the
 * zone; or LOAD_END_NOT_STREAMED: it is to be built from all records at once.
 * If r->result->files has sources then, the file was read to its end, and its
 * findings were told to r->sink. NSD_E_MEMORY. What zonefile_parse returns for
 * a file with errors, which are told to the sink.
 */
enum nsd_err load_stream_read(const struct load_reading *r, enum load_end *end)
	MUST_USE;

#endif
