/*
 * inspect.h - finds the diagnostics of build_zone while a zone's file is read,
 * and makes nothing. So no more of the zone is in memory than a part of some
 * MiB of its records, and a few octets for each name; and all its records,
 * until the file is at its end, if they have to be sorted.
 *
 * It is for zones that are nearly right: without errors, and without faults of
 * the NSEC3 chain. For any other zone NSD_E_LIMIT is returned, and build_zone
 * reports all.
 *
 *	inspect_begin
 *	inspect_take       each batch of the file, in file order
 *	inspect_finish
 *	inspect_tell
 *	inspect_destroy
 */
#ifndef COMPILE_INSPECT_H
#define COMPILE_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "dns/rrbatch.h"
#include "zone/walk.h"

struct zone_inspect;

struct zone_inspect_input {
	const uint8_t *apex; /* wire name */
	size_t part_octets;  /* octets of records in a part; 0: some MiB */
	bool sort;           /* the records are in no order */
	/* Called with each record, in the order of zone_walk, with what a build
	 * would keep: duplicates are left out, the TTL is the RRset's. */
	enum nsd_err (*on_rr)(void *ctx, const struct zone_rr *rr);
	/* Called before the records of each name, a whole one of len octets. */
	enum nsd_err (*on_owner)(void *ctx, const uint8_t *owner, size_t len);
	/* Called behind each part with its records; those of an owner are in
	 * file order. */
	enum nsd_err (*on_part)(void *ctx, const struct rrbatch *batches);
	void *ctx; /* first argument of the functions. A result of theirs other
		    * than NSD_OK is returned to the caller. */
};

/* Begins to look at a zone. Keeps all that input refers to, and copies input.
 * NSD_E_MEMORY. */
enum nsd_err inspect_begin(const struct zone_inspect_input *input,
	struct zone_inspect **inspect) MUST_USE;

/* Takes a batch of the file, whatever it returns. On each failure:
 * inspect_destroy. NSD_E_LIMIT: only build_zone can report on this zone.
 * NSD_E_MEMORY. Or the result of a callback. */
enum nsd_err inspect_take(struct zone_inspect *inspect, struct rrbatch *batch)
	MUST_USE;

/* Inspects the rest when the file is at its end, and makes the checks that take
 * all records. Tells nothing yet. Returns as inspect_take. */
enum nsd_err inspect_finish(struct zone_inspect *inspect) MUST_USE;

/* Tells the warnings that build_zone would tell, in file order. files: names,
 * by rr->file. */
void inspect_tell(struct zone_inspect *inspect, const char *const *files,
	size_t file_count, struct diag_sink *sink);

/* Frees the inspection. NULL: does nothing. */
void inspect_destroy(struct zone_inspect *inspect);

#endif
