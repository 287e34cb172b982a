/* spool.c - a text that is too long for memory, as it comes. */
#include "config.h"

#include "journal/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/grow.h"

void
spool_init(struct spool *spool, uint64_t number)
{
	memset(spool, 0, sizeof(*spool));
	spool->fd = -1;
	spool->number = number;
}

static enum nsd_err
make_file(int dirfd, struct spool *spool)
{
	char name[FORMAT_NAME_MAX];

	format_print_name(name, spool->number, "tmp");
	spool->fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC
		| O_NOFOLLOW, 0600);
	return spool->fd != -1 ? NSD_OK : NSD_E_SYSTEM;
}

enum nsd_err
spool_write(int dirfd, struct spool *spool, uint8_t *block, size_t len)
{
	size_t padded = (size_t)format_pad(len);
	enum nsd_err err;
	uint8_t *sums;

	if (spool->fd == -1) {
		err = make_file(dirfd, spool);
		if (err != NSD_OK)
			return err;
	}
	if (spool->written + padded > FORMAT_TEXT_MAX)
		return NSD_E_LIMIT;
	sums = grow_octets(spool->sums, spool->sums_used + 2 * FORMAT_SUM,
		&spool->sums_room);
	if (sums == NULL)
		return NSD_E_MEMORY;
	spool->sums = sums;
	memset(block + len, 0, padded - len);
	err = fs_write_all(spool->fd, block, padded);
	if (err != NSD_OK)
		return err;
	format_sum(block, padded, sums + spool->sums_used);
	spool->sums_used += FORMAT_SUM;
	spool->written += padded;
	return NSD_OK;
}

enum nsd_err
spool_keep(int dirfd, struct spool *spool, uint64_t id,
	uint8_t table_sum[FORMAT_SUM])
{
	size_t size = (size_t)format_pad(spool->sums_used);
	char from[FORMAT_NAME_MAX], to[FORMAT_NAME_MAX];
	enum nsd_err err;

	/* There is room: two sums were asked for at a time. */
	memset(spool->sums + spool->sums_used, 0, size - spool->sums_used);
	format_sum(spool->sums, size, table_sum);
	err = fs_write_all(spool->fd, spool->sums, size);
	if (err != NSD_OK)
		return err;
	format_print_name(from, spool->number, "tmp");
	format_print_name(to, id, "zone");
	if (fsync(spool->fd) == -1
		|| renameat(dirfd, from, dirfd, to) == -1)
		return NSD_E_SYSTEM;
	close(spool->fd);
	spool->fd = -1;
	return fsync(dirfd) == 0 ? NSD_OK : NSD_E_SYSTEM;
}

void
spool_fini(int dirfd, struct spool *spool)
{
	char name[FORMAT_NAME_MAX];

	if (spool->fd != -1) {
		format_print_name(name, spool->number, "tmp");
		unlinkat(dirfd, name, 0);
		close(spool->fd);
	}
	free(spool->sums);
	spool->sums = NULL;
	spool->fd = -1;
}
