/*
 * pages.h - the memory behind the spans. All but pages_make_used is called
 * under the writer's lock. Each call that makes pages returns false if there
 * is no room for them.
 */
#ifndef STORE_PAGES_H
#define STORE_PAGES_H

#include "store/state.h"

/* Makes all pages of count spans, from `span` on. */
bool pages_make_spans(struct store_writer *writer, uint32_t span,
	uint32_t count);

/* Makes the bitmaps of count new spans, all zero. */
bool pages_make_bitmap(struct store_writer *writer, uint32_t span,
	uint32_t count);

/* Makes the new extent that begins with `span`, as one huge page. False: there
 * are no huge pages, or not now. */
bool pages_make_extent(struct store_writer *writer, uint32_t span);

/*
 * Asks for a huge page in place of the extent that begins with `span`, which
 * the file must cover. True: it is one now, and all its pages exist. Slow.
 */
bool pages_collapse(struct store_writer *writer, uint32_t span);

/* A bit for each page of a span that no object lies in. */
uint32_t pages_unused(const uint64_t *bitmap);

/*
 * Decides how many of count free granules in a row in one span to use, if at
 * least `wanted` are needed, so that most pages that are absent stay so.
 */
uint32_t pages_room(struct store_writer *writer, uint32_t granule,
	uint32_t count, uint32_t wanted);

/* Makes the pages that granules of one span lie in and that are absent. */
bool pages_make_absent(struct store_writer *writer, uint32_t granule,
	uint32_t count);

/*
 * Makes all pages that are in use. A file may have been copied with holes for
 * its zeros; a write to such a hole could find the disk full.
 */
bool pages_make_used(struct store_writer *writer);

/* Gives count pages back to the kernel, from page `page` of `span` on; no
 * object may lie in them. False: refused, and they stay. */
bool pages_give_back(struct store_writer *writer, uint32_t span,
	uint32_t page, uint32_t count);

#endif
