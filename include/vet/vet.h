/*
 * vet.h - looks at all that a store from a file holds before anybody reads it.
 * A right checksum proves little: it may have been forged, or made of contents
 * that were wrong already (doc/decisions/0035-database-looked-through.md).
 */
#ifndef VET_VET_H
#define VET_VET_H

#include "base/err.h"
#include "store/store.h"

struct store_writer;

/* Something in the store that cannot be as it is. */
struct vet_fault {
	const uint8_t *apex; /* of the zone; NULL: it concerns all zones */
	const char *kind;    /* of object: "node" */
	const char *text;    /* what is wrong with the object */
	store_ref ref;       /* where the object is */
};

struct vet_options {
	unsigned threads; /* at most, with the caller's; at least 1 */
	uint64_t key[2];  /* random: who knows it could forge counts */
	bool sweep;       /* frees what nothing leads to; only if nothing is
			   * retired */
	bool only_look;   /* changes nothing: zones with a fault stay as they
			   * are. There may be readers then */
	/* Called for each fault, in the calling thread. Borrows the fault.
	 * Never NULL. */
	void (*on_fault)(void *ctx, const struct vet_fault *fault);
	void *ctx;
};

/*
 * Makes sure that readers and the writer can follow everything that the table
 * of zones leads to:
 *
 * - each reference leads to an object of the right kind, which no other object
 *   overlaps;
 * - lengths, counts and numbers of holders are right;
 * - names and RDATA are well formed;
 * - tries and chains are ordered and finite;
 * - what is derived from records (flags, glue, offsets of pointers) follows
 *   from them.
 *
 * It does not check that records and hashes are those of the zone file.
 *
 * Each zone with a fault is told of. It becomes "not loaded" and loses its
 * sources, so that it is read from its file anew, unless all is only looked at.
 *
 * Settings of a former run are never looked at. The root that leads to them,
 * and the options in the entries of zones, become none: the caller publishes
 * new ones. Only if all is only looked at, they are, too.
 *
 * Call it before there are readers (but see only_look), and while the writer's
 * heap is the only one. Borrows writer and options. Cost: a walk of all zones,
 * spread over the threads; an octet of memory for each 8 of the store until it
 * returns.
 *
 * *faults is the number of zones that had a fault; set in any case.
 * Returns NSD_OK: what is left in the store can be served; if it was only
 * looked at, only if *faults is 0. NSD_E_BUG: the table of zones itself is
 * faulty, or there were still new faults after several rounds; the caller
 * empties the store (store_writer_empty). NSD_E_MEMORY: memory ran out on the
 * way; the store must not be served.
 */
enum nsd_err vet_store(struct store_writer *writer,
	const struct vet_options *options, size_t *faults) MUST_USE;

#endif
