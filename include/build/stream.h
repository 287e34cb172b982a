/*
 * stream.h - builds a zone while its file is read, if the file's names are in
 * canonical order, as those that signers write are. So what is built takes the
 * place of the records that it is built of: at no time are more of them in
 * memory than those of a part of some MiB.
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
#ifndef BUILD_STREAM_H
#define BUILD_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "build/build.h"
#include "dns/rrbatch.h"
#include "store/store.h"

struct store_heap;
struct store_writer;
struct zone_stream;

/*
 * Begins a build. input is as for build_zone, without batches and files. Keeps
 * what input refers to and the heap until the end. rr_expected: about how many
 * records will come. part_octets: octets of records in a part; 0: some MiB.
 * NSD_E_MEMORY: there is no memory.
 */
enum nsd_err stream_begin(const struct zone_build_input *input,
	uint64_t rr_expected, size_t part_octets, struct store_writer *writer,
	struct store_heap *heap, struct zone_stream **stream) MUST_USE;

/*
 * Takes a batch of the file, whatever it returns. It may be empty. On each
 * failure: stream_abandon.
 *
 * NSD_E_LIMIT: the zone is to be built from all records at once. Its names are
 * not in order; or there is an error in the zone, which such a build tells; or
 * several sets of NSEC3 parameters, or none for the NSEC3 records that are
 * there; or a name has NSEC3 records and other data.
 * NSD_E_MEMORY: there is no memory, or the store is full.
 */
enum nsd_err stream_take(struct zone_stream *stream, struct rrbatch *batch)
	MUST_USE;

/*
 * Ends the build when the file is at its end, and frees the stream, whatever it
 * returns. files: names for findings, by rr->file; borrowed. The sink gets the
 * warnings that build_zone would tell, in file order. If it fails, the sink got
 * nothing and nothing stays allocated.
 *
 * NSD_OK: *zone is the zone, which nobody sees yet. Else as stream_take.
 */
enum nsd_err stream_finish(struct zone_stream *stream,
	const char *const *files, size_t file_count, struct diag_sink *sink,
	store_ref *zone) MUST_USE;

/* Frees the stream and all that was made. NULL: does nothing. */
void stream_abandon(struct zone_stream *stream);

#endif
