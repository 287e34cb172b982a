/* load_files.h - the files that a zone was read from: have they changed, and
 * can they be read once more? */
#ifndef LOADER_LOAD_FILES_H
#define LOADER_LOAD_FILES_H

#include <stdbool.h>

#include "store/store.h"
#include "zone/sources.h"
#include "zonefile/zonefile.h"

struct ipc_file_stamp;
struct store_writer;

/* Notes the file at path, as it is now, as one that was tried: the served
 * version is not from there, and is later. A file that is not there is not
 * noted. */
void load_files_note(struct store_writer *writer, store_ref entry,
	const char *path);

/* Notes the file at path, as the writer has left it there: with the served
 * version, or an older one of this serial. */
void load_files_note_written(struct store_writer *writer, store_ref entry,
	const char *path, const struct ipc_file_stamp *stamp, uint32_t serial);

/* True if the zone was read from a file with another name. sources: NULL: it
 * was read from none. */
bool load_files_are_others(const struct zone_sources *sources,
	const char *path);

/*
 * True if the files differ from those of the last try (sources), or if path,
 * the file that the configuration names, is another one. Looks at each file now
 * (stat). sources NULL: there was no try yet, so true. Any thread.
 */
bool load_files_have_changed(const struct zone_sources *sources,
	const char *path);

/* True if two readings were of the same files in the same state. */
bool load_files_are_equal(const struct zonefile_result *a,
	const struct zonefile_result *b);

#endif
