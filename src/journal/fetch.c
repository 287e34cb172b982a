/* fetch.c - a record of a journal, found again by its entry. */
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

/* The head at the entry's place. */
static enum nsd_err
get_head(int fd, const struct journal_entry *entry, uint8_t *buffer,
	struct format_head *head)
{
	uint8_t salt[FORMAT_SALT];
	enum nsd_err err = fetch_octets(fd, 0, buffer, FORMAT_SEGMENT_HEAD);

	if (err == NSD_OK)
		err = format_get_segment(buffer, entry->segment, salt);
	if (err == NSD_OK)
		err = fetch_octets(fd, entry->offset, buffer, entry->head_len);
	if (err != NSD_OK)
		return err;
	if (format_get_head(buffer, entry->head_len, salt, entry->segment,
		entry->offset, head) != NSD_OK)
		return NSD_E_WIRE;
	return head->record != FORMAT_DEAD && head->entry.id == entry->id
		&& head->entry.text_len == entry->text_len
		&& head->entry.in_file == entry->in_file ? NSD_OK : NSD_E_WIRE;
}

enum nsd_err
fetch_head(int dirfd, const struct journal_entry *entry, uint8_t *buffer,
	int *fd, struct format_head *head)
{
	enum nsd_err err = open_named(dirfd, entry->segment, "seg", fd);
	int error;

	if (err != NSD_OK)
		return err;
	err = get_head(*fd, entry, buffer, head);
	if (err == NSD_OK)
		return NSD_OK;
	error = errno;
	close(*fd);
	*fd = -1;
	errno = error;
	return err;
}
