/*
 * load_crashes.h - counts the loaders that have died while they read a zone.
 *
 * A zone that loaders die of must not keep other zones from being read. Its
 * entry in the store counts, across their crashes, the loaders that have begun
 * to read it. A zone that was read to the end is no suspect any more. A zone
 * with LOAD_CRASHES_MAX crashes is set aside until its file changes.
 *
 * Each zone is for one thread at a time: the one that reads it, or the
 * loader's main thread.
 */
#ifndef LOADER_LOAD_CRASHES_H
#define LOADER_LOAD_CRASHES_H

#include <stdbool.h>
#include <sys/stat.h>

#include "loader/load_zone.h"

#define LOAD_CRASHES_MAX 3u

/* True if a loader has begun to read the zone and has not come to its end. */
bool load_crashes_is_suspect(const struct load_context *context,
	const struct load_zone *zone);

/*
 * Notes that a loader begins to read the zone. st: of the file at path.
 * Returns true if it may. False: the zone is set aside; the log says so, and
 * *result is LOAD_FAILED with the file that has to change.
 */
bool load_crashes_begin(const struct load_context *context,
	const struct load_zone *zone, const char *path, const struct stat *st,
	struct load_result *result);

/* Clears the count of a zone whose result is published, or reported. A zone
 * that is set aside stays so. */
void load_crashes_survive(const struct load_context *context,
	const struct load_zone *zone);

/* Forgets all crashes, at the start of a server. */
void load_crashes_forget(const struct load_context *context,
	const struct load_zone *zone);

#endif
