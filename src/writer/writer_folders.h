/* writer_folders.h - the folders that the writer may make files in: all in
 * which zone files of secondary zones lie, or of others that are written
 * differences of, and xfrdir. */
#ifndef WRITER_WRITER_FOLDERS_H
#define WRITER_WRITER_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

#include "process/server.h"
#include "store/store.h"

/* The most folders; with more, parents stand for them. */
#define WRITER_FOLDERS_MAX 64u

struct writer_folders {
	const char *paths[WRITER_FOLDERS_MAX + 1]; /* of folders that are
						    * there; NULL ends them */
	size_t count;
};

/*
 * Finds the folders. None lies in another one of them. Of a name with `%`, the
 * folder before that counts; in place of a missing one, the next above it that
 * is there. Without memory for a folder it is left out. Paths are as seen from
 * the chroot, and live as long as the process. The reader is online.
 * Cost: a comparison of each zone with the folder of the one before it, mostly.
 */
void writer_folders_init(struct writer_folders *folders,
	const struct server *server, const struct store_view *view);
/* True if a file lies in one of them, as far as its name says: one that goes up
 * (`..`) counts as such. */
bool writer_folders_have(const struct writer_folders *folders,
	const char *path);

#endif
