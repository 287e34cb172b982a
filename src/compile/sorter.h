/*
 * sorter.h - sorts the records of a file in no order into canonical order of
 * their owners. Some MiB of them at a time are sorted and copied, back to back,
 * into a run; at the end the runs are merged. Merged records are freed, so
 * their memory shrinks as the zone that is built of them grows.
 *
 *	sorter_create
 *	sorter_take        each batch of the file, in file order
 *	sorter_next        until there is no more
 *	sorter_destroy
 */
#ifndef COMPILE_SORTER_H
#define COMPILE_SORTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/rrbatch.h"

struct zone_sorter;

/* Gives a sorter; keeps apex (lower case, apex_len octets) until it is
 * destroyed. run_octets: octets of records in a run; 0: some MiB.
 * NSD_E_MEMORY. */
enum nsd_err sorter_create(const uint8_t *apex, size_t apex_len,
	size_t run_octets, struct zone_sorter **sorter) MUST_USE;

/* Takes a batch of the file, whatever it returns. NSD_E_MEMORY. */
enum nsd_err sorter_take(struct zone_sorter *sorter, struct rrbatch *batch)
	MUST_USE;

/* Gives the next batch, to be released before the sorter is destroyed; NULL:
 * there is none. Records of one owner come in file order; those that are
 * outside of the zone come last. NSD_E_MEMORY. */
enum nsd_err sorter_next(struct zone_sorter *sorter, struct rrbatch **batch)
	MUST_USE;

/* Frees a sorter. NULL: does nothing. */
void sorter_destroy(struct zone_sorter *sorter);

#endif
