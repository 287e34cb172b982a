/*
 * nsec3_pages.h - makes the index of a chain (zone/nsec3_page.h).
 */
#ifndef ZONEDB_NSEC3_PAGES_H
#define ZONEDB_NSEC3_PAGES_H

#include "base/err.h"
#include "zone/nsec3_page.h"

struct store_heap;

/* Makes one page of count entries, ascending by hash. There is at least one,
 * and at most NSEC3_LEAF_MAX, or NSEC3_INNER_MAX if height is above 0. returns
 * NSD_OK; NSD_E_MEMORY if the store has no memory: nothing is made. */
enum nsd_err nsec3_page_make(struct store_heap *heap,
	const struct nsec3_entry *entries, unsigned count, unsigned height,
	store_ref *ref) MUST_USE;

/* Makes all pages for count records, at least one, ascending by hash.
 * returns NSD_OK; NSD_E_MEMORY if the store or the process has no memory: no
 * page stays. The records stay in any case. */
enum nsd_err nsec3_pages_build(struct store_heap *heap,
	const struct nsec3_entry *entries, size_t count, store_ref *root)
	MUST_USE;

#endif
