/* append.c - the end of a journal's log. */
#include "config.h"

#include "journal/append.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "journal/fetch.h"

/* Two of the largest records fit. */
#define BUFFER (4u << 20)

enum nsd_err
append_init(struct append *append, int dirfd, uint64_t segment_size,
	uint32_t number)
{
	memset(append, 0, sizeof(*append));
	append->dirfd = dirfd;
	append->segment_size = segment_size;
	append->fd = -1;
	append->number = number;
	append->buffer = malloc(BUFFER); /* untouched pages cost nothing */
	return append->buffer != NULL ? NSD_OK : NSD_E_MEMORY;
}

void
append_resume(struct append *append, int fd, uint64_t end,
	const uint8_t salt[FORMAT_SALT])
{
	append->fd = fd;
	append->end = append->committed = append->synced = end;
	memcpy(append->salt, salt, FORMAT_SALT);
}

/* Closes the segment; the next record begins another one. */
static void
close_segment(struct append *append)
{
	int saved_errno = errno;

	if (append->fd != -1)
		close(append->fd);
	append->fd = -1;
	append->used = 0;
	append->end = append->committed = append->synced = 0;
	errno = saved_errno;
}

void
append_fini(struct append *append)
{
	close_segment(append);
	free(append->buffer);
	append->buffer = NULL;
}

/* ---- writing */

static enum nsd_err
write_at(int fd, const uint8_t *data, size_t len, uint64_t offset)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, data, len, (off_t)offset);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0)
				errno = ENOSPC;
			return NSD_E_SYSTEM;
		}
		data += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return NSD_OK;
}

static enum nsd_err
append_flush(struct append *append)
{
	enum nsd_err err = write_at(append->fd, append->buffer, append->used,
		append->end);

	if (err != NSD_OK)
		return err;
	append->end += append->used;
	append->used = 0;
	return NSD_OK;
}

static enum nsd_err
sync_segment(struct append *append)
{
	append->syncs++;
	if (append->synced < append->end && fdatasync(append->fd) == -1)
		return NSD_E_SYSTEM;
	if (append->is_new && fsync(append->dirfd) == -1)
		return NSD_E_SYSTEM;
	append->is_new = false;
	append->synced = append->end;
	return NSD_OK;
}

/* ---- segments */

/* Makes the file of a new segment. A number is used once, whatever comes. */
static enum nsd_err
append_begin(struct append *append)
{
	char name[FORMAT_NAME_MAX];

	if (append->number >= FORMAT_SEGMENT_MAX)
		return NSD_E_LIMIT;
	if (getrandom(append->salt, FORMAT_SALT, 0) != FORMAT_SALT)
		return NSD_E_SYSTEM;
	format_print_name(name, ++append->number, "seg");
	append->fd = openat(append->dirfd, name, O_RDWR | O_CREAT | O_EXCL
		| O_CLOEXEC | O_NOFOLLOW, 0600);
	if (append->fd == -1)
		return NSD_E_SYSTEM;
	append->is_new = true;
	append->end = append->committed = append->synced = 0;
	append->used = FORMAT_SEGMENT_HEAD;
	format_put_segment(append->buffer, append->number, append->salt);
	return NSD_OK;
}

/* Removes a segment of which nothing was committed. */
static void
remove_new(struct append *append)
{
	char name[FORMAT_NAME_MAX];

	format_print_name(name, append->number, "seg");
	unlinkat(append->dirfd, name, 0);
	close_segment(append);
}

/* Cuts off all that was written behind an offset of the segment; if that fails,
 * the segment is left, and the next one begun. */
static void
append_cut(struct append *append, uint64_t offset)
{
	int saved_errno = errno;

	append->used = 0;
	if (append->fd == -1)
		return;
	if (offset < FORMAT_SEGMENT_HEAD)
		remove_new(append);
	else if (ftruncate(append->fd, (off_t)offset) == -1)
		close_segment(append);
	else
		append->end = offset;
	errno = saved_errno;
}

/* Makes room for a record in the buffer, and in the segment. */
static enum nsd_err
make_room(struct append *append, uint64_t size)
{
	enum nsd_err err = NSD_OK;
	uint64_t at = append->end + append->used;

	if (append->fd != -1 && at > FORMAT_SEGMENT_HEAD
		&& at + size > append->segment_size) {
		/* Records of the next segment must not be durable without
		 * these. */
		err = append_flush(append);
		if (err != NSD_OK)
			return err;
		err = sync_segment(append);
		if (err != NSD_OK)
			append_cut(append, append->synced);
		close_segment(append);
		if (err != NSD_OK)
			return err;
	}
	if (append->fd == -1)
		err = append_begin(append);
	if (err == NSD_OK && append->used + size > BUFFER)
		err = append_flush(append);
	return err;
}

/* ---- records */

/* Sets the place of a record, and writes its head. */
static void
put_head(struct append *append, struct format_head *head)
{
	head->entry.segment = append->number;
	head->entry.offset = append->end + append->used;
	format_put_head(append->buffer + append->used, head, append->salt);
}

enum nsd_err
append_text(struct append *append, struct format_head *head, const void *text,
	int fd)
{
	uint32_t head_len = format_head_len(head);
	uint64_t size = head_len + format_text_size(head->entry.text_len);
	enum nsd_err err = make_room(append, size);
	uint8_t *to;

	if (err != NSD_OK)
		return err;
	head->entry.head_len = head_len;
	to = append->buffer + append->used + head_len;
	if (fd != -1)
		err = fetch_octets(fd, 0, to, (size_t)head->entry.text_len);
	else
		memcpy(to, text, (size_t)head->entry.text_len);
	if (err != NSD_OK)
		return err;
	format_put_text(to, head->entry.text_len, head->table_sum);
	put_head(append, head);
	append->used += (size_t)size;
	return NSD_OK;
}

enum nsd_err
append_bare(struct append *append, struct format_head *head)
{
	uint32_t head_len = format_head_len(head);
	enum nsd_err err = make_room(append, head_len);

	if (err != NSD_OK)
		return err;
	head->entry.head_len = head_len;
	put_head(append, head);
	append->used += head_len;
	return NSD_OK;
}

/* Copies the text of a record in another segment behind room for its head. */
static enum nsd_err
copy_text(struct append *append, const struct journal_entry *entry, int fd,
	const struct format_head *head)
{
	uint64_t size = format_text_size(entry->text_len);
	uint8_t *to = append->buffer + append->used + entry->head_len;
	enum nsd_err err = fetch_octets(fd, entry->offset + entry->head_len,
		to, (size_t)size);

	if (err == NSD_OK && !format_check_text(to, entry->text_len,
		head->table_sum))
		err = NSD_E_WIRE;
	return err;
}

/* Treats octets that the disk cannot read as damaged ones. */
static enum nsd_err
as_damage(enum nsd_err err)
{
	return err == NSD_E_SYSTEM && errno == EIO ? NSD_E_WIRE : err;
}

enum nsd_err
append_copy(struct append *append, const struct journal_entry *entry,
	struct format_head *head)
{
	_Alignas(8) uint8_t buffer[FORMAT_HEAD_MAX];
	enum nsd_err err = make_room(append, format_record_size(entry));
	int fd, error;

	if (err != NSD_OK)
		return err;
	err = as_damage(fetch_head(append->dirfd, entry, buffer, &fd, head));
	if (err != NSD_OK)
		return err;
	if (!entry->in_file)
		err = as_damage(copy_text(append, entry, fd, head));
	if (err == NSD_OK) {
		/* The note that it is judged stays behind. */
		head->entry.is_doubtful = entry->is_doubtful;
		put_head(append, head);
		append->used += (size_t)format_record_size(entry);
	}
	head->source = NULL;
	head->source_len = 0;
	error = errno;
	close(fd);
	errno = error;
	return err;
}

/* ---- together */

void
append_undo(struct append *append)
{
	append_cut(append, append->committed);
}

enum nsd_err
append_commit(struct append *append, bool sync, bool *sync_failed)
{
	enum nsd_err err;

	*sync_failed = false;
	if (append->fd == -1)
		return NSD_OK;
	err = append_flush(append);
	if (err == NSD_OK && sync) {
		err = sync_segment(append);
		*sync_failed = err != NSD_OK;
	}
	if (err == NSD_OK) {
		append->committed = append->end;
		return NSD_OK;
	}
	if (*sync_failed) {
		/* Cut off as well as can be, should the segment be read
		 * again. */
		append_cut(append, append->synced);
		close_segment(append);
	} else {
		append_undo(append);
	}
	return err;
}
