/* fs.c - files that are replaced whole or not at all; closing descriptors. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

enum nsd_err
fs_replace_open(struct fs_replace *r, const char *path, mode_t mode)
{
	size_t size = strlen(path) + sizeof(".XXXXXX");

	r->path = strdup(path);
	r->temp = malloc(size);
	if (r->path == NULL || r->temp == NULL) {
		free(r->path);
		free(r->temp);
		return NSD_E_MEMORY;
	}
	snprintf(r->temp, size, "%s.XXXXXX", path);
	/* O_EXCL within: what stands there already is never opened. */
	r->fd = mkostemp(r->temp, O_CLOEXEC);
	if (r->fd != -1 && fchmod(r->fd, mode) == 0)
		return NSD_OK;
	if (r->fd != -1) {
		fs_replace_abort(r);
		return NSD_E_SYSTEM;
	}
	free(r->path);
	free(r->temp);
	return NSD_E_SYSTEM;
}

void
fs_replace_abort(struct fs_replace *r)
{
	int saved_errno = errno;

	unlink(r->temp);
	close(r->fd);
	free(r->path);
	free(r->temp);
	errno = saved_errno;
}

enum nsd_err
fs_replace_commit(struct fs_replace *r, int *fd)
{
	if (fsync(r->fd) == -1 || rename(r->temp, r->path) == -1) {
		fs_replace_abort(r);
		return NSD_E_SYSTEM;
	}
	*fd = r->fd;
	free(r->path);
	free(r->temp);
	return NSD_OK;
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
	if (close_range((unsigned)first, (unsigned)last, 0) == 0)
		return;
	/* A kernel without close_range. */
	if (last > 65535)
		last = 65535;
	for (int fd = first; fd <= last; fd++)
		close(fd);
}

void
fs_close_all_but(int *keep, unsigned count)
{
	int next = 3;

	qsort(keep, count, sizeof(*keep), fs_compare_fds);
	for (unsigned i = 0; i < count; i++) {
		if (keep[i] < next)
			continue;
		fs_close_between(next, keep[i] - 1);
		next = keep[i] + 1;
	}
	fs_close_between(next, ~0u >> 1);
}
