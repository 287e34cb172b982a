/*
 * vet.h - looks at all that a store from a file holds before anybody reads it:
 * its checksum may have been forged, or made of what was wrong already.
 */
#ifndef VET_VET_H
#define VET_VET_H

#include "base/err.h"
#include "store/store.h"

struct store_writer;

/* Something that cannot be as it is. */
struct vet_fault {
	const uint8_t *apex; /* of the zone; NULL: it is about all zones */
	const char *kind;    /* of object: "node" */
	const char *text;    /* what is wrong with it */
	store_ref ref;       /* where it is */
};

struct vet_options {
	unsigned threads; /* at most */
	uint64_t key[2];  /* random; who knows it could forge counts */
	bool sweep;       /* free what nothing leads to: nothing is retired */
	void (*on_fault)(void *ctx, const struct vet_fault *fault); /* lent */
	void *ctx;
};

/*
 * Makes sure that whatever readers and the writer follow from the table of
 * zones is what they take it for: each reference leads to an object of the
 * right kind that nothing else overlaps; lengths, counts and holders agree;
 * names and RDATA are well formed; tries and chains are ordered and finite;
 * what is derived from records (flags, glue, offsets of pointers) follows from
 * them. What is not looked at: whether records and hashes are those of the
 * zone file.
 *
 * Zones with a fault are told of and become "not loaded", with no sources: they
 * are to be read from their files. Call before there are readers, and other
 * heaps than the writer's.
 * returns NSD_OK, *faults what was told of; NSD_E_BUG: the table itself cannot
 * be used, the store is to be emptied; NSD_E_MEMORY.
 * Cost: a walk of all zones, on all threads.
 */
enum nsd_err table_vet(struct store_writer *writer,
	const struct vet_options *options, size_t *faults) MUST_USE;

#endif
