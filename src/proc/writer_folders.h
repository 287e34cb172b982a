/* writer_folders.h - the folders that the writer may make files in: all in
 * which zone files of secondary zones lie, or of others that are written
 * differences of, and xfrdir. */
#ifndef PROC_WRITER_FOLDERS_H
#define PROC_WRITER_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

#include "role/server.h"

/* Where more would be needed, their parents stand for them. */
#define WRITER_FOLDERS_MAX 64u

/* True if there may be something to write for a zone. */
bool writer_folders_need(const struct conf_zone *zone);

struct writer_folders {
	const char *paths[WRITER_FOLDERS_MAX + 1]; /* of folders that are
						    * there; NULL ends them */
	size_t count;
};

/*
 * Finds the folders. None lies in another one of them. Of a name with `%`, the
 * folder before that counts; of one that is not there, the next above it that
 * is. A folder that there is no memory for is left out. Paths are as seen from
 * the chroot. writer_folders_fini frees them.
 * Cost: a comparison of each zone with the folder of the one before it, mostly.
 */
void writer_folders_init(struct writer_folders *folders,
	const struct server *server);
void writer_folders_fini(struct writer_folders *folders);

#endif
