/* load_history.h - the differences between versions of a zone when its file is
 * read (loader/ixfr_file.h). */
#ifndef LOADER_LOAD_HISTORY_H
#define LOADER_LOAD_HISTORY_H

#include "loader/load_zone.h"

/* Reads the files of differences beside the zone file at path, if the zone
 * keeps any and none is made of the result: gives result->history. Without
 * primaries only those that are newer than what was read are used
 * (doc/decisions/0092). Any thread. */
void load_history_read(const struct load_context *context, const char *path,
	struct load_result *result);

/* Lets go of steps that the zone's options do not want any more, or that a
 * loader has left which died: they lead to a version that is not there. For the
 * loader's main thread. */
void load_history_settle(struct store_writer *writer,
	const struct load_zone *zone);

/* Puts them into the store, and notes whether files are there that do not lead
 * to what is served. The version that they lead to was published. For the
 * loader's main thread. */
void load_history_publish(const struct load_context *context,
	const struct load_result *result);

#endif
