/*
 * stream.h - builds a zone while its file is read. Built objects take the place
 * of their records: if the file's names are in canonical order, as signers
 * write them, the records in memory at any time are those of a part of some
 * MiB. Records in another order are kept and sorted until the file is at its
 * end.
 *
 * NSEC3 records may stand among the names or behind them; they have an order of
 * their own. Names and NSEC3 records of a part may be in any order, but both
 * have to come behind those of the part before it. The result is the same as
 * that of build_zone.
 *
 *	stream_begin
 *	stream_take        each batch of the file, in file order
 *	stream_finish      or stream_abandon
 */
#ifndef COMPILE_STREAM_H
#define COMPILE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "compile/build.h"
#include "dns/rrbatch.h"
#include "store/store.h"

struct store_heap;
struct store_writer;
struct zone_stream;

struct zone_stream_options {
	uint64_t rr_expected; /* about how many records will come */
	size_t part_octets;   /* of records in a part; 0: some MiB */
	bool sort;            /* the records are in no order */
};

/*
 * Begins a build. input is as for build_zone, without batches and files. Keeps
 * what input refers to and the heap until the end. NSD_E_MEMORY: there is no
 * memory.
 */
enum nsd_err stream_begin(const struct zone_build_input *input,
	const struct zone_stream_options *options, struct store_writer *writer,
	struct store_heap *heap, struct zone_stream **stream) MUST_USE;

/*
 * Takes a batch of the file, whatever it returns. It may be empty. On each
 * failure: stream_abandon.
 *
 * NSD_OK: also if there are errors in the zone; stream_finish tells them.
 * NSD_E_AGAIN: the names are out of order: once more with options.sort, which
 * never returns this.
 * NSD_E_LIMIT: the zone is to be built from all records at once. It has no SOA
 * or no NS; or several sets of NSEC3 parameters, or none for the NSEC3 records
 * that are there; or a name has NSEC3 records and other data.
 * NSD_E_MEMORY: there is no memory, or the store is full.
 */
enum nsd_err stream_take(struct zone_stream *stream, struct rrbatch *batch)
	MUST_USE;

/*
 * Ends the build when the file is at its end, and frees the stream, whatever it
 * returns. files: names for findings, by rr->file; borrowed. If it fails,
 * nothing stays allocated.
 *
 * NSD_OK: *zone is the zone, which nobody sees yet. The sink got the warnings
 * that build_zone would tell, in file order.
 * NSD_E_ZONE: the sink got the errors, too.
 * Else as stream_take; the sink got nothing.
 */
enum nsd_err stream_finish(struct zone_stream *stream,
	const char *const *files, size_t file_count, struct diag_sink *sink,
	store_ref *zone) MUST_USE;

/* Frees the stream and all that was made. NULL: does nothing. */
void stream_abandon(struct zone_stream *stream);

#endif
