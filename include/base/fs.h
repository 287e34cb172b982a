/*
 * fs.h - files that are opened to be read, or replaced whole or not at all.
 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "base/err.h"

/*
 * Opens a file to be read and fills *st. Nothing holds the caller up for long:
 * a file under a lease is waited for at most 60 seconds. A FIFO, socket or
 * device is refused before it is opened, since to open some devices makes them
 * act.
 *
 * With streams, /dev/null may be read too, and a pipe or terminal if the path
 * names a descriptor that the program was started with (/dev/stdin, /dev/fd/N).
 *
 * Returns NSD_E_SYSTEM with errno and *fd -1 if the file is not opened: the
 * errno of stat or open; ENOTSUP for a FIFO, socket or device that is refused;
 * EISDIR for a directory; EWOULDBLOCK if the lease was not given up.
 */
enum nsd_err fs_open_to_read(const char *path, bool streams, int *fd,
	struct stat *st) MUST_USE;
/* The same without streams, of a path where the caller has just seen a regular
 * file: the look before opening, a call for each of many files, is its. If a
 * FIFO or device has come there meanwhile, it is refused when it is open. */
enum nsd_err fs_open_seen(const char *path, int *fd, struct stat *st)
	MUST_USE;

/* Makes an absolute path of a path, for use from another folder; free() it.
 * Links in it stay: they may lead to another file by then. Without a current
 * folder the path stays as it is. NULL: no memory. */
char *fs_path_from_root(const char *path);

/* True if one time of a file is after another. */
static inline bool
fs_is_later(const struct timespec *one, const struct timespec *other)
{
	return one->tv_sec != other->tv_sec ? one->tv_sec > other->tv_sec
		: one->tv_nsec > other->tv_nsec;
}

/* The text of an errno of fs_open_to_read, for people. */
const char *fs_open_error_text(int error);

/* Reads a small file as a whole, of at most size octets. Returns NSD_OK with
 * *len; NSD_E_LIMIT: it is larger; NSD_E_SYSTEM with errno, of which
 * fs_open_error_text has the text. */
enum nsd_err fs_read_small(const char *path, uint8_t *out, size_t size,
	size_t *len) MUST_USE;

/*
 * A file that will take the place of another. The new one is made beside it and
 * was not there before, so that no symbolic link planted there is followed.
 * Once it is complete it is renamed over the old one.
 */
struct fs_replace {
	char *path; /* NULL once it has ended */
	char *temp;
	int fd; /* the new file, or -1 while a stream has it */
};

/* Makes the new file, empty and under a fresh name, open for reading and
 * writing. Copies path. Returns NSD_E_SYSTEM with errno if the file cannot be
 * made or given its mode, NSD_E_MEMORY without memory; nothing is left behind
 * then. */
enum nsd_err fs_replace_open(struct fs_replace *r, const char *path,
	mode_t mode) MUST_USE;
/* Makes the new file with the name FILE~, which is known to other programs; a
 * file of that name is removed first, such as one that a killed process has
 * left. access is O_WRONLY or O_RDWR. The umask applies to mode. Returns as
 * fs_replace_open. */
enum nsd_err fs_replace_open_tilde(struct fs_replace *r, const char *path,
	int access, mode_t mode) MUST_USE;

/* Flushes to the disk, then as fs_replace_take. */
enum nsd_err fs_replace_commit(struct fs_replace *r, int *fd) MUST_USE;
/*
 * Renames the new file over the old one. Ends r in any case. On success *fd is
 * the file, the caller's from now on. Returns NSD_E_SYSTEM with errno if it
 * failed; everything is then as before the file was made.
 */
enum nsd_err fs_replace_take(struct fs_replace *r, int *fd) MUST_USE;
/* Flushes the folder that has the file: a name that is new there then outlives
 * a power cut. Returns NSD_E_SYSTEM with errno; NSD_E_MEMORY. */
enum nsd_err fs_flush_folder(const char *path) MUST_USE;
/* Ends r and removes the new file. errno stays as it was. */
void fs_replace_abort(struct fs_replace *r);

/* Makes a stream of the new file. Returns NSD_E_SYSTEM with errno if that
 * failed. */
enum nsd_err fs_replace_open_stream(struct fs_replace *r, FILE **out) MUST_USE;
/* Flushes the stream to the disk, and closes it in any case. Returns
 * NSD_E_SYSTEM with errno if not all was written. fs_replace_take or
 * fs_replace_abort is to follow. */
enum nsd_err fs_replace_close_stream(FILE *out) MUST_USE;

/* Writes all octets, and goes on after signals. Returns NSD_E_SYSTEM with errno
 * if a write failed; a part may have been written then. */
enum nsd_err fs_write_all(int fd, const void *data, size_t len) MUST_USE;

/* Closes every descriptor but 0, 1, 2 and those listed. The list may be in any
 * order and is sorted by the call; NULL with 0: empty. */
void fs_close_all_but(int *keep, unsigned count);

#endif
