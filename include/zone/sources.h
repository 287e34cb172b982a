/*
 * sources.h - the files that a zone was last read from. The store keeps this
 * record for each entry of the table. So a loader that takes over from a dead
 * one, or starts from an image, reads only files that have changed since.
 */
#ifndef ZONE_SOURCES_H
#define ZONE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"
#include "zone/zone.h"

enum zone_sources_flags {
	ZONE_SOURCES_FAILED = 1, /* no zone could be built from the files */
	ZONE_SOURCES_SERIAL = 2, /* serial is known */
};

/* The record of an entry: count x struct zone_source, each at a multiple of
 * 8 behind the one before. */
struct zone_sources {
	uint32_t len;   /* octets of the whole object */
	uint16_t count;
	uint16_t flags; /* enum zone_sources_flags */
	uint32_t serial; /* of the version that was read from the files last,
			  * or written to them; behind a failed try, too */
	uint32_t unused;
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

/* The octets that a file takes in the record. path_len: with its final 0. */
static inline size_t
zone_source_size(size_t path_len)
{
	return (sizeof(struct zone_source) + path_len + 7) & ~(size_t)7;
}

/* The record of an entry (struct zone_entry); NULL if it has none. Lent until
 * sources_set or the end of the entry; to a reader, as long as it is not
 * quiescent, or has it pinned. */
const struct zone_sources *zone_sources_get(const struct store_view *view,
	store_ref entry);
/* The files of a record, one after the other. There are sources->count: going
 * behind the last is an error of the caller. */
const struct zone_source *zone_sources_first(
	const struct zone_sources *sources);
const struct zone_source *zone_sources_next(const struct zone_source *source);

#endif
