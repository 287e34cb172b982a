/*
 * sources_edit.h - changes the record of the files that a zone was read from
 * (zone/sources.h).
 */
#ifndef KEEP_SOURCES_EDIT_H
#define KEEP_SOURCES_EDIT_H

#include "store/store.h"
#include "zonefile/zonefile.h"

struct store_writer;

/*
 * Replaces the record. Borrows files. count 0 removes it, and so does a lack
 * of memory: then the zone is read once more than needed. Call after the
 * version that was read from them is published.
 */
void sources_set(struct store_writer *writer, store_ref entry,
	const struct zonefile_source *files, size_t count, unsigned flags);

#endif
