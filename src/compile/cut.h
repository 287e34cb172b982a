/* cut.h - cuts the batches of a file into parts, between two owners. If the
 * file is in no order, a sorter comes first. */
#ifndef COMPILE_CUT_H
#define COMPILE_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "compile/sorter.h"
#include "dns/rrbatch.h"

struct cut {
	size_t part_octets;    /* a part is complete when it has as many */
	struct rrbatch *first; /* the records at hand */
	struct rrbatch *last;
	size_t octets;         /* of the records at hand */
	struct rrbatch *rest;  /* of a complete part: what comes behind it; or
				* NULL */
	struct zone_sorter *sorter; /* NULL: records are in order */
};

/* Fills a cut that is all zero. part_octets: of records in a part. */
void cut_init(struct cut *c, size_t part_octets);
/* Has all records sorted, before the first batch: as sorter_create. */
enum nsd_err cut_sort(struct cut *c, const uint8_t *apex, size_t apex_len,
	size_t run_octets) MUST_USE;
/* Takes a batch, whatever it returns. *complete: the records at hand are a
 * part, and no record of their owners may follow but out of order.
 * NSD_E_MEMORY: for the last owner's records, which belong to the next part. */
enum nsd_err cut_add(struct cut *c, struct rrbatch *batch, bool *complete)
	MUST_USE;
/* Goes on to the next part when there are no more batches, until *complete is
 * false: then the records at hand are the last part. As cut_add. */
enum nsd_err cut_next(struct cut *c, bool *complete) MUST_USE;
/* Forgets the records at hand; the next part has begun. */
void cut_forget(struct cut *c);
/* Frees all records. */
void cut_fini(struct cut *c);
/* The count of records at hand. */
uint64_t cut_count(const struct cut *c);

#endif
