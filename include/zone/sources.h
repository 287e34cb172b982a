/*
 * sources.h - which files a zone was read from last, kept in the store beside
 * its table entry: a loader that takes over from one that died, or a start
 * from an image, reads again only what has changed since.
 */
#ifndef ZONE_SOURCES_H
#define ZONE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"
#include "zone/zone.h"
#include "zonefile/zonefile.h"

struct store_writer;

enum zone_sources_flags {
	ZONE_SOURCES_FAILED = 1, /* no version could be made of them */
};

/* The record of an entry: count x struct zone_source, each at a multiple of
 * 8 behind the one before. */
struct zone_sources {
	uint32_t len;   /* octets of the whole object */
	uint16_t count;
	uint16_t flags; /* enum zone_sources_flags */
};

struct zone_source {
	int64_t mtime_sec;
	int64_t ctime_sec;
	uint64_t size;
	uint64_t inode;
	uint64_t device;
	uint32_t mtime_nsec;
	uint32_t ctime_nsec;
	uint32_t path_len; /* with its final 0 */
	char path[];       /* as opened */
};

/* The record of an entry, or NULL. The writer's process only: readers have no
 * use for it, and it is freed without regard to them. */
const struct zone_sources *zone_sources_get(const struct store_view *view,
	store_ref entry);
const struct zone_source *zone_sources_first(
	const struct zone_sources *sources);
const struct zone_source *zone_sources_next(const struct zone_source *source);

/*
 * Replaces the record. Borrows files. count 0 removes it, and so does a lack
 * of memory: then the zone is read once more than needed. Call after the
 * version that was read from them is published.
 */
void zone_sources_set(struct store_writer *writer, store_ref entry,
	const struct zonefile_source *files, size_t count, unsigned flags);

#endif
