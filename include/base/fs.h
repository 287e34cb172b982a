/*
 * fs.h - files that are opened to be read, or replaced whole or not at all.
 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Opens a file to be read and says what it is. Nothing there holds the caller
 * up: a FIFO, socket or device is refused with ENOTSUP, and not opened (that
 * alone makes some devices act); a directory with EISDIR; a file that somebody
 * holds a lease on is waited for at most 60 seconds.
 *
 * With streams, pipes and terminals may be read too if the path names a
 * descriptor that whoever started the program has opened (/dev/stdin,
 * /dev/fd/N); and /dev/null, from anywhere.
 *
 * NSD_E_SYSTEM with errno, and then *fd is -1.
 */
enum nsd_err fs_open_to_read(const char *path, bool streams, int *fd,
	struct stat *st) MUST_USE;
/* Says what an errno of fs_open_to_read means. */
const char *fs_open_error_text(int error);

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
 * the call; NULL and 0: none). */
void fs_close_all_but(int *keep, unsigned count);

#endif
