/*
 * sources_edit.h - changes the record of the files that a zone was read from
 * (zone/sources.h).
 */
#ifndef ZONEDB_SOURCES_EDIT_H
#define ZONEDB_SOURCES_EDIT_H

#include <stdbool.h>

#include "store/store.h"
#include "zonefile/zonefile.h"

struct store_writer;

/*
 * Replaces the record of an entry, and its ZONE_ENTRY_FILE_FAILED; flags are 0
 * or ZONE_SOURCES_FAILED, which keeps the serial of the record before. Borrows
 * files. Call it after the version read from
 * them is published.
 * Cannot fail: the entry has no record afterwards if count is 0 or above 65535,
 * if the record is too large for one object, or if the store has no memory.
 * Then the zone is read once more than needed.
 */
void sources_set(struct store_writer *writer, store_ref entry,
	const struct zonefile_source *files, size_t count, unsigned flags);

/* Notes the serial of the version that the files of the record have. Without a
 * record nothing happens. */
void sources_set_serial(struct store_writer *writer, store_ref entry,
	uint32_t serial);

/* Sets or clears ZONE_ENTRY_FILE_FAILED, at once visible to readers. The record
 * stays: it is of the files when they could last be read. */
void sources_set_failed(struct store_writer *writer, store_ref entry,
	bool failed);

#endif
