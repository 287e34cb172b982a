/*
 * fs.c - files that are opened to be read, or replaced whole or not at all;
 * closing descriptors.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/platform.h"

/* The kernel gives the holder of a lease 45 s by default to let go
 * (/proc/sys/fs/lease-break-time, which is not looked up). Wait longer. */
#define LEASE_WAIT_MSEC 60000
#define LEASE_STEP_MSEC 10

/* Opens to read. O_NONBLOCK: a FIFO without a writer is not waited for. */
static int
fs_open_at_once(const char *path)
{
	const struct timespec step = {.tv_nsec = LEASE_STEP_MSEC * 1000000};

	for (int msec = 0;; msec += LEASE_STEP_MSEC) {
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY
			| O_NONBLOCK);

		/* EWOULDBLOCK: the kernel has asked the holder of a lease on
		 * the file to let go. */
		if (fd != -1 || errno != EWOULDBLOCK
			|| msec >= LEASE_WAIT_MSEC)
			return fd;
		nanosleep(&step, NULL);
	}
}

/* True if the path names a descriptor that this program was started with. */
static bool
fs_is_handed_over(const char *path)
{
	static const char *const heads[] = { "/dev/stdin", "/dev/fd/",
		"/proc/self/fd/" };

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (strncmp(path, heads[i], strlen(heads[i])) == 0)
			return true;
	return false;
}

/* True for a stream that may be read: /dev/null, a FIFO, a terminal. fd is -1
 * before it is opened; any character device may be a terminal then. */
static bool
fs_is_stream(const char *path, int fd, const struct stat *st)
{
	if (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3))
		return true; /* /dev/null */
	if (!fs_is_handed_over(path))
		return false;
	return S_ISFIFO(st->st_mode)
		|| (S_ISCHR(st->st_mode) && (fd == -1 || isatty(fd)));
}

/* Returns 0 if the file may be read, else an errno. fd is -1 before it is
 * opened. */
static int
fs_check(const char *path, bool streams, int fd, const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return 0;
	if (S_ISDIR(st->st_mode))
		return EISDIR;
	return streams && fs_is_stream(path, fd, st) ? 0 : ENOTSUP;
}

/* As fs_check, for the file that was opened. Reads of a stream will wait. */
static int
fs_check_opened(const char *path, bool streams, int fd, struct stat *st)
{
	int error = fstat(fd, st) == 0 ? fs_check(path, streams, fd, st)
				       : errno;

	if (error == 0 && !S_ISREG(st->st_mode) && fcntl(fd, F_SETFL, 0) == -1)
		error = errno;
	return error;
}

/* As fs_open_to_read, for a path that was looked at. */
static enum nsd_err
fs_open_checked(const char *path, bool streams, int *fd, struct stat *st)
{
	int error;

	*fd = fs_open_at_once(path);
	if (*fd == -1) {
		if (errno == ENXIO) /* a device without driver */
			errno = ENOTSUP;
		return NSD_E_SYSTEM;
	}
	/* Another file may stand there by now. */
	error = fs_check_opened(path, streams, *fd, st);
	if (error == 0)
		return NSD_OK;
	close(*fd);
	*fd = -1;
	errno = error;
	return NSD_E_SYSTEM;
}

enum nsd_err
fs_open_to_read(const char *path, bool streams, int *fd, struct stat *st)
{
	int error;

	*fd = -1;
	if (stat(path, st) == -1)
		return NSD_E_SYSTEM;
	error = fs_check(path, streams, -1, st);
	if (error == 0)
		return fs_open_checked(path, streams, fd, st);
	errno = error;
	return NSD_E_SYSTEM;
}

enum nsd_err
fs_open_seen(const char *path, int *fd, struct stat *st)
{
	return fs_open_checked(path, false, fd, st);
}

enum nsd_err
fs_read_small(const char *path, uint8_t *out, size_t size, size_t *len)
{
	uint8_t over;
	struct stat st;
	ssize_t n = 0;
	int fd, error;

	*len = 0;
	if (fs_open_to_read(path, false, &fd, &st) != NSD_OK)
		return NSD_E_SYSTEM;
	while (*len < size && (n = read(fd, out + *len, size - *len)) > 0)
		*len += (size_t)n;
	if (n > 0 || size == 0)
		n = read(fd, &over, 1);
	error = errno;
	close(fd);
	errno = error;
	return n == 0 ? NSD_OK : n > 0 ? NSD_E_LIMIT : NSD_E_SYSTEM;
}

const char *
fs_open_error_text(int error)
{
	return error == ENOTSUP ? "not a regular file" : strerror(error);
}

char *
fs_path_from_root(const char *path)
{
	char *folder = *path != '/' ? getcwd(NULL, 0) : NULL, *made;
	size_t size;

	if (folder == NULL)
		return strdup(path);
	size = strlen(folder) + 1 + strlen(path) + 1;
	made = malloc(size);
	if (made != NULL)
		snprintf(made, size, "%s/%s", folder, path);
	free(folder);
	return made;
}

static void
fs_replace_end(struct fs_replace *r)
{
	free(r->path);
	free(r->temp);
	r->path = NULL;
	r->temp = NULL;
}

/* Makes the paths of both files: that of the new one has `end` behind it. */
static enum nsd_err
fs_replace_begin(struct fs_replace *r, const char *path, const char *end)
{
	size_t size = strlen(path) + strlen(end) + 1;

	r->path = strdup(path);
	r->temp = malloc(size);
	if (r->path == NULL || r->temp == NULL) {
		fs_replace_end(r);
		return NSD_E_MEMORY;
	}
	snprintf(r->temp, size, "%s%s", path, end);
	return NSD_OK;
}

enum nsd_err
fs_replace_open(struct fs_replace *r, const char *path, mode_t mode)
{
	enum nsd_err err = fs_replace_begin(r, path, ".XXXXXX");

	if (err != NSD_OK)
		return err;
	/* mkostemp never opens a file that is there already. */
	r->fd = mkostemp(r->temp, O_CLOEXEC);
	if (r->fd != -1 && fchmod(r->fd, mode) == 0)
		return NSD_OK;
	if (r->fd != -1)
		fs_replace_abort(r);
	else
		fs_replace_end(r);
	return NSD_E_SYSTEM;
}

enum nsd_err
fs_replace_open_tilde(struct fs_replace *r, const char *path, int access,
	mode_t mode)
{
	enum nsd_err err = fs_replace_begin(r, path, "~");

	if (err != NSD_OK)
		return err;
	(void)unlink(r->temp);
	r->fd = open(r->temp, access | O_CREAT | O_EXCL | O_NOFOLLOW
		| O_CLOEXEC, mode);
	if (r->fd != -1)
		return NSD_OK;
	fs_replace_end(r);
	return NSD_E_SYSTEM;
}

void
fs_replace_abort(struct fs_replace *r)
{
	int saved_errno = errno;

	unlink(r->temp);
	if (r->fd != -1)
		close(r->fd);
	fs_replace_end(r);
	errno = saved_errno;
}

enum nsd_err
fs_replace_take(struct fs_replace *r, int *fd)
{
	if (rename(r->temp, r->path) == -1) {
		fs_replace_abort(r);
		return NSD_E_SYSTEM;
	}
	*fd = r->fd;
	fs_replace_end(r);
	return NSD_OK;
}

enum nsd_err
fs_replace_commit(struct fs_replace *r, int *fd)
{
	if (fsync(r->fd) == -1) {
		fs_replace_abort(r);
		return NSD_E_SYSTEM;
	}
	return fs_replace_take(r, fd);
}

enum nsd_err
fs_flush_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash == NULL ? strdup(".")
		: strndup(path, slash == path ? 1 : (size_t)(slash - path));
	int fd, error;

	if (folder == NULL)
		return NSD_E_MEMORY;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = fd == -1 || fsync(fd) == -1 ? errno : 0;
	if (fd != -1)
		close(fd);
	free(folder);
	errno = error;
	return error == 0 ? NSD_OK : NSD_E_SYSTEM;
}

enum nsd_err
fs_replace_open_stream(struct fs_replace *r, FILE **out)
{
	*out = fdopen(r->fd, "w");
	if (*out == NULL)
		return NSD_E_SYSTEM;
	r->fd = -1;
	return NSD_OK;
}

enum nsd_err
fs_replace_close_stream(FILE *out)
{
	bool written = fflush(out) == 0 && fsync(fileno(out)) == 0;
	int saved_errno = errno;

	if (fclose(out) != 0 && written)
		return NSD_E_SYSTEM;
	errno = saved_errno;
	return written ? NSD_OK : NSD_E_SYSTEM;
}

enum nsd_err
fs_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return NSD_E_SYSTEM;
		p += n;
		len -= (size_t)n;
	}
	return NSD_OK;
}

static int
fs_compare_fds(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static void
fs_close_between(int first, int last)
{
	if (first > last)
		return;
	if (platform_close_range(first, last))
		return;
	if (last > 65535)
		last = 65535;
	for (int fd = first; fd <= last; fd++)
		close(fd);
}

void
fs_close_all_but(int *keep, unsigned count)
{
	int next = 3;

	if (count > 0)
		qsort(keep, count, sizeof(*keep), fs_compare_fds);
	for (unsigned i = 0; i < count; i++) {
		if (keep[i] < next)
			continue;
		fs_close_between(next, keep[i] - 1);
		next = keep[i] + 1;
	}
	fs_close_between(next, ~0u >> 1);
}
