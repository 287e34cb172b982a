/*
 * input.c - reads files by pread into the parser's own buffers. With a mapping,
 * a file that is truncated meanwhile would mean a SIGBUS.
 */
#include "zonefile/input.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/grow.h"

/* The least room that a read of a pipe has. */
#define SLURP_MIN 65536u

/* Reads what has no size, such as a pipe, to its end. */
static enum nsd_err
read_all(struct input *in)
{
	size_t size = 0, len = 0;

	for (;;) {
		char *p = grow_octets(in->slurped, len + SLURP_MIN, &size);
		ssize_t n;

		if (p == NULL)
			return NSD_E_MEMORY;
		in->slurped = p;
		n = read(in->fd, in->slurped + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return NSD_E_SYSTEM;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	close(in->fd);
	in->fd = -1;
	in->text = in->slurped;
	in->size = len;
	return NSD_OK;
}

enum nsd_err
input_open_seen(struct input *in, const char *path)
{
	enum nsd_err err;

	memset(in, 0, sizeof(*in));
	in->path = path;
	err = fs_open_seen(path, &in->fd, &in->before);
	if (err == NSD_OK)
		in->size = (uint64_t)in->before.st_size;
	return err;
}

enum nsd_err
input_open(struct input *in, const char *path, bool only_files)
{
	enum nsd_err err;
	int saved;

	memset(in, 0, sizeof(*in));
	in->path = path;
	err = fs_open_to_read(path, !only_files, &in->fd, &in->before);
	if (err != NSD_OK)
		return err;
	if (S_ISREG(in->before.st_mode)) {
		in->size = (uint64_t)in->before.st_size;
		return NSD_OK;
	}
	err = read_all(in);
	if (err != NSD_OK) {
		saved = errno;
		input_close(in);
		errno = saved;
	}
	return err;
}

void
input_open_text(struct input *in, const char *text, size_t len)
{
	memset(in, 0, sizeof(*in));
	in->fd = -1;
	in->text = text;
	in->size = len;
}

void
input_close(struct input *in)
{
	if (in->fd != -1)
		close(in->fd);
	free(in->slurped);
	in->fd = -1;
	in->slurped = NULL;
}

enum nsd_err
input_read(struct input *in, char *out, size_t len)
{
	assert(in->at <= in->size && len <= in->size - in->at);
	if (in->fd == -1) {
		if (len > 0)
			memcpy(out, in->text + in->at, len);
		in->at += len;
		return NSD_OK;
	}
	while (len > 0) {
		ssize_t n = pread(in->fd, out, len, (off_t)in->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return NSD_E_SYSTEM;
		if (n == 0)
			return NSD_E_AGAIN;
		out += n;
		len -= (size_t)n;
		in->at += (uint64_t)n;
	}
	return NSD_OK;
}

static bool
time_equal(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

enum nsd_err
input_check_unchanged(const struct input *in)
{
	const struct stat *before = &in->before;
	struct stat now;

	if (in->path == NULL || !S_ISREG(before->st_mode))
		return NSD_OK;
	if (stat(in->path, &now) == -1)
		return NSD_E_AGAIN;
	/* ctime counts because it cannot be set back. */
	if (now.st_ino != before->st_ino || now.st_dev != before->st_dev
			|| now.st_size != before->st_size
			|| !time_equal(&now.st_mtim, &before->st_mtim)
			|| !time_equal(&now.st_ctim, &before->st_ctim))
		return NSD_E_AGAIN;
	return NSD_OK;
}
