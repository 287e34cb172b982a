/*
 * fs.h - files that are replaced whole or not at all.
 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include <sys/types.h>

#include "base/err.h"

/*
 * A file that will take the place of another. The new one is made beside it
 * under a name that nobody else has (so that no symbolic link planted there is
 * followed), and renamed over it once it is complete.
 */
struct fs_replace {
	char *path;
	char *temp;
	int fd; /* the new file, open for reading and writing */
};

/* Makes the new file, empty. Copies path. NSD_E_SYSTEM with errno;
 * NSD_E_MEMORY. Nothing is left behind on failure. */
enum nsd_err fs_replace_open(struct fs_replace *r, const char *path,
	mode_t mode) MUST_USE;

/*
 * Flushes to the disk and renames. On success the caller takes r->fd; on
 * failure everything is as before fs_replace_open. Ends r either way.
 */
enum nsd_err fs_replace_commit(struct fs_replace *r, int *fd) MUST_USE;
void fs_replace_abort(struct fs_replace *r);

/* Writes all octets, whatever signals come. NSD_E_SYSTEM. */
enum nsd_err fs_write_all(int fd, const void *data, size_t len) MUST_USE;

/* Closes every descriptor but 0, 1, 2 and those listed (any order, sorted by
 * the call). */
void fs_close_all_but(int *keep, unsigned count);

#endif
