/* load_history.h - the differences between versions of a zone when its file is
 * read (loader/ixfr_file.h). */
#ifndef LOADER_LOAD_HISTORY_H
#define LOADER_LOAD_HISTORY_H

#include "loader/load_zone.h"

/* Reads the files of differences beside the zone file at path, if the zone
 * keeps differences and none is made of the result: gives result->history. Of a
 * zone without primaries only files newer than the zone file are used
 * (doc/decisions/0092). Any thread. */
void load_history_read(const struct load_context *context, const char *path,
	struct load_result *result);

/* Lets go of changesets beyond the limits of the zone's options, or that a dead
 * loader has left and that lead to no version. For the loader's main thread. */
void load_history_prune(struct store_writer *writer,
	const struct load_zone *zone);

/* Puts result->history into the store, and notes whether there are files that
 * do not lead to the served version. The version that the changesets lead to
 * was published. For the loader's main thread. */
void load_history_publish(const struct load_context *context,
	const struct load_result *result);

#endif
