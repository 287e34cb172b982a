/* fetch.c - reads a record of a journal by its entry. */
#include "config.h"

#include "journal/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum nsd_err
fetch_octets(int fd, uint64_t offset, void *data, size_t len)
{
	uint8_t *to = data;

	while (len > 0) {
		ssize_t n = pread(fd, to, len, (off_t)offset);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return NSD_E_SYSTEM;
		if (n == 0)
			return NSD_E_WIRE;
		to += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return NSD_OK;
}

static enum nsd_err
open_named(int dirfd, uint64_t number, const char *suffix, int *fd)
{
	char name[FORMAT_NAME_MAX];

	format_print_name(name, number, suffix);
	*fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW
		| O_NONBLOCK);
	if (*fd != -1)
		return NSD_OK;
	return errno == ENOENT ? NSD_E_NOT_FOUND : NSD_E_SYSTEM;
}

enum nsd_err
fetch_file(int dirfd, uint64_t id, int *fd)
{
	return open_named(dirfd, id, "zone", fd);
}

static enum nsd_err
get_salt(int fd, uint64_t number, uint8_t salt[FORMAT_SALT])
{
	_Alignas(8) uint8_t buffer[FORMAT_SEGMENT_HEAD];
	enum nsd_err err = fetch_octets(fd, 0, buffer, sizeof(buffer));

	return err == NSD_OK ? format_get_segment(buffer, number, salt) : err;
}

/* Reads the head at the entry's place. */
static enum nsd_err
get_head(int fd, const struct journal_entry *entry,
	const uint8_t salt[FORMAT_SALT], uint8_t *buffer,
	struct format_head *head)
{
	enum nsd_err err = fetch_octets(fd, entry->offset, buffer,
		entry->head_len);

	if (err != NSD_OK)
		return err;
	if (format_get_head(buffer, entry->head_len, salt, entry->segment,
		entry->offset, head) != NSD_OK)
		return NSD_E_WIRE;
	return head->record != FORMAT_DEAD && head->entry.id == entry->id
		&& head->entry.text_len == entry->text_len
		&& head->entry.in_file == entry->in_file ? NSD_OK : NSD_E_WIRE;
}

void
fetch_init_segment(struct fetch_segment *segment)
{
	segment->fd = -1;
}

void
fetch_close_segment(struct fetch_segment *segment)
{
	int error = errno;

	if (segment->fd != -1)
		close(segment->fd);
	segment->fd = -1;
	errno = error;
}

static enum nsd_err
open_segment(int dirfd, struct fetch_segment *segment, uint64_t number)
{
	enum nsd_err err = open_named(dirfd, number, "seg", &segment->fd);

	if (err != NSD_OK)
		return err;
	err = get_salt(segment->fd, number, segment->salt);
	if (err != NSD_OK)
		fetch_close_segment(segment);
	segment->number = number;
	return err;
}

enum nsd_err
fetch_head(int dirfd, const struct journal_entry *entry, uint8_t *buffer,
	int *fd, struct format_head *head)
{
	struct fetch_segment segment;
	enum nsd_err err = open_segment(dirfd, &segment, entry->segment);

	if (err == NSD_OK)
		err = get_head(segment.fd, entry, segment.salt, buffer, head);
	if (err != NSD_OK)
		fetch_close_segment(&segment);
	*fd = segment.fd;
	return err;
}

enum nsd_err
fetch_head_near(int dirfd, struct fetch_segment *segment,
	const struct journal_entry *entry, uint8_t *buffer, int *fd,
	struct format_head *head)
{
	enum nsd_err err = NSD_OK;

	*fd = -1;
	if (segment->fd == -1 || segment->number != entry->segment) {
		fetch_close_segment(segment);
		err = open_segment(dirfd, segment, entry->segment);
	}
	if (err == NSD_OK)
		err = get_head(segment->fd, entry, segment->salt, buffer,
			head);
	if (err != NSD_OK)
		return err;
	*fd = fcntl(segment->fd, F_DUPFD_CLOEXEC, 0);
	return *fd != -1 ? NSD_OK : NSD_E_SYSTEM;
}
