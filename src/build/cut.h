/* cut.h - cuts the batches of a file into parts, between two owners. */
#ifndef BUILD_CUT_H
#define BUILD_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/rrbatch.h"

/* Begins all zero, but for part_octets. */
struct cut {
	size_t part_octets;    /* a part is complete when it has as many */
	struct rrbatch *first; /* the records at hand */
	struct rrbatch *last;
	size_t octets;         /* of those */
	struct rrbatch *rest;  /* of a complete part: what comes behind it; or
				* NULL */
};

/* Takes a batch, whatever it returns. *complete: the records at hand are a
 * part, and no record of their owners may follow but out of order.
 * NSD_E_MEMORY: for the last owner's records, which belong to the next part. */
enum nsd_err cut_add(struct cut *c, struct rrbatch *batch, bool *complete)
	MUST_USE;
/* Forgets the records at hand; the next part has begun. */
void cut_forget(struct cut *c);
/* Frees all records. */
void cut_fini(struct cut *c);
/* How many records are at hand. */
uint64_t cut_count(const struct cut *c);

#endif
