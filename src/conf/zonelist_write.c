/* zonelist_write.c - writes the file of the zones that were added at run
 * time. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/grow.h"
#include "conf/zonelist.h"
#include "conf/zonelist_text.h"
#include "dns/name.h"

#define MODE 0644
/* Octets that are written at a time. */
#define WRITE_SIZE (256u << 10)
/* The octets that a disk writes as a whole, at least. */
#define SECTOR 512u

static size_t
list_line_len(const char *name, const char *pattern, const char *id)
{
	return ZONELIST_WORD + strlen(name) + 1 + strlen(pattern) + 1
		+ (id != NULL ? strlen(id) + 1 : 0);
}

/* Returns the first word of a line that adds a zone. */
static const char *
list_choose_word(const char *id)
{
	if (id == NULL)
		return ZONELIST_ADD;
	return zonelist_id_is_of_source(id) ? ZONELIST_MEM : ZONELIST_CAT;
}

static int
list_print_line(char line[ZONELIST_LINE_MAX + 1], const char *name,
	const char *pattern, const char *id)
{
	return snprintf(line, ZONELIST_LINE_MAX + 1, "%s%s %s%s%s\n",
		list_choose_word(id), name, pattern,
		id != NULL ? " " : "", id != NULL ? id : "");
}

/* Writes all of a text at a place. NSD_E_SYSTEM: a part may be written. */
static enum nsd_err
list_write_at(int fd, const char *text, size_t len, uint64_t at)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, text, len, (off_t)at);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return NSD_E_SYSTEM;
		text += n;
		at += (size_t)n;
		len -= (size_t)n;
	}
	return NSD_OK;
}

/* ---- opening ------------------------------------------------------------- */

/* In two sectors the halves of two lines would be one, if the power failed. */
static bool
list_is_in_sector(uint64_t offset, uint64_t len)
{
	return offset / SECTOR == (offset + len - 1) / SECTOR;
}

/* Remembers a free place. Without memory it is lost until the list is written
 * anew. */
static void
list_free_place(struct zonelist *list, uint64_t offset, size_t len)
{
	struct zonelist_places *places = &list->places[len];
	uint64_t *offsets;

	if (!list_is_in_sector(offset, len))
		return;
	offsets = grow_array(places->offsets, places->count, &places->room,
		sizeof(*offsets));
	if (offsets == NULL)
		return;
	places->offsets = offsets;
	offsets[places->count++] = offset;
}

/* Opens the folder, so that a new name in it can be made durable. */
static void
list_open_folder(struct zonelist *list)
{
	char *slash = strrchr(list->path, '/');

	if (slash == NULL) {
		list->folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return;
	}
	*slash = '\0';
	list->folder = open(*list->path != '\0' ? list->path : "/",
		O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*slash = '/';
}

/* The reader of a list that is opened: it notes the free places itself. */
struct list_open {
	struct zonelist *list;
	const struct zonelist_reader *reader;
};

static enum nsd_err
list_open_zone(void *ctx, const struct zonelist_line *line)
{
	const struct zonelist_reader *reader =
		((struct list_open *)ctx)->reader;

	return reader->on_zone(reader->ctx, line);
}

static void
list_open_place(void *ctx, const struct zonelist_line *line)
{
	const struct list_open *opened = ctx;

	opened->list->free++;
	list_free_place(opened->list, line->offset, line->len);
	if (opened->reader->on_free != NULL)
		opened->reader->on_free(opened->reader->ctx, line);
}

static enum nsd_err
list_read(struct zonelist *list, const struct zonelist_reader *reader,
	struct diag_sink *sink)
{
	struct list_open opened = {list, reader};
	const struct zonelist_reader own = {
		.ctx = &opened,
		.on_zone = list_open_zone,
		.on_free = list_open_place,
	};
	size_t len, whole;
	char *text;
	enum nsd_err err = zonelist_read_fd(list->fd, &text, &len);

	if (err == NSD_E_SYSTEM)
		zonelist_say_closed(sink, list->path);
	if (err != NSD_OK)
		return err;
	err = zonelist_parse(list->path, text, len, &own, sink, &whole);
	free(text);
	list->end = len;
	/* An empty file has no head yet. */
	list->renew = whole != len || len == 0;
	return err;
}

/* Opens the file; if it is not ours to open, takes the one that is open
 * already, unless that is another one by now. -1: errno says why. */
static int
list_open_file(const char *path, int opened)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int error = errno;
	struct stat one, other;

	if (fd != -1 || opened == -1 || (error != EACCES && error != EPERM))
		return fd;
	if (fstat(opened, &one) == 0 && lstat(path, &other) == 0
		&& one.st_dev == other.st_dev && one.st_ino == other.st_ino)
		return fcntl(opened, F_DUPFD_CLOEXEC, 0);
	errno = error;
	return -1;
}

enum nsd_err
zonelist_open(const char *path, int opened,
	const struct zonelist_reader *reader, struct diag_sink *sink,
	struct zonelist **made)
{
	struct zonelist *list = calloc(1, sizeof(*list));
	enum nsd_err err = NSD_OK;

	if (list == NULL)
		return NSD_E_MEMORY;
	list->fd = -1;
	list->folder = -1;
	list->path = strdup(path);
	if (list->path == NULL) {
		zonelist_close(list);
		return NSD_E_MEMORY;
	}
	list_open_folder(list);
	list->fd = list_open_file(path, opened);
	if (list->fd != -1) {
		err = list_read(list, reader, sink);
	} else if (errno != ENOENT) {
		zonelist_say_closed(sink, path);
		err = NSD_E_SYSTEM;
	}
	if (err != NSD_OK)
		zonelist_close(list);
	else
		*made = list;
	return err;
}

static void
list_forget_places(struct zonelist *list)
{
	for (size_t i = 0; i <= ZONELIST_LINE_MAX; i++) {
		free(list->places[i].offsets);
		list->places[i] = (struct zonelist_places){NULL, 0, 0};
	}
	list->free = 0;
}

/* errno stays. */
static void
list_drop_buffer(struct zonelist *list)
{
	int error = errno;

	free(list->buffer);
	list->buffer = NULL;
	errno = error;
}

void
zonelist_close(struct zonelist *list)
{
	if (list == NULL)
		return;
	if (list->fd != -1)
		close(list->fd);
	if (list->folder != -1)
		close(list->folder);
	if (list->renewed.path != NULL)
		zonelist_drop_renewed(list);
	list_forget_places(list);
	free(list->path);
	free(list);
}

/* ---- lines --------------------------------------------------------------- */

/* True if the file was removed or replaced: our writes to it would be lost. */
static bool
list_is_gone(const struct zonelist *list)
{
	struct stat st;

	return !list->is_there && list->fd != -1 && fstat(list->fd, &st) == 0
		&& st.st_nlink == 0;
}

void
zonelist_look(struct zonelist *list)
{
	list->is_there = false;
	list->is_there = list->fd != -1 && !list_is_gone(list);
}

/* Makes the file, with the head of a list. */
static enum nsd_err
list_make(struct zonelist *list)
{
	size_t len = strlen(ZONELIST_HEAD);
	int fd = open(list->path,
		O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, MODE);

	if (fd == -1)
		return NSD_E_SYSTEM;
	if (list_write_at(fd, ZONELIST_HEAD, len, 0) != NSD_OK) {
		int error = errno;

		(void)unlink(list->path);
		close(fd);
		errno = error;
		return NSD_E_SYSTEM;
	}
	list->fd = fd;
	list->end = len;
	list->renew = false;
	return NSD_OK;
}

/* Makes a comment of what was written of a line. The file is not cut: who can
 * cut one file can cut others, such as the log. False: the list is to be
 * written anew. */
static bool
list_comment(struct zonelist *list)
{
	char line[ZONELIST_LINE_MAX + 1];
	struct stat st;
	uint64_t len;

	if (fstat(list->fd, &st) == -1 || (uint64_t)st.st_size < list->end)
		return false;
	len = (uint64_t)st.st_size - list->end;
	if (len == 0)
		return true;
	/* An empty line is none of NSD's. */
	if (len == 1 || len > sizeof(line))
		return false;
	memset(line, '#', (size_t)len);
	line[len - 1] = '\n';
	if (list_write_at(list->fd, line, (size_t)len, list->end) != NSD_OK)
		return false;
	list->end += len;
	return true;
}

static enum nsd_err
list_append(struct zonelist *list, const char *line, size_t len)
{
	int error;

	if (list_write_at(list->fd, line, len, list->end) == NSD_OK)
		return NSD_OK;
	/* The part of the line that was written must not become the head of the
	 * next one. */
	error = errno;
	if (!list_comment(list))
		list->renew = true;
	errno = error;
	return NSD_E_SYSTEM;
}

/* Prints a line. *len: its octets. */
static enum nsd_err
list_print(const struct zonelist *list, const char *name, const char *pattern,
	const char *id, char line[ZONELIST_LINE_MAX + 1], size_t *len)
{
	*len = list_line_len(name, pattern, id);
	/* A word with a newline would be two lines. */
	if (*len > ZONELIST_LINE_MAX || strpbrk(name, "\n") != NULL
		|| strpbrk(pattern, " \n") != NULL
		|| (id != NULL && strpbrk(id, " \n") != NULL))
		return NSD_E_LIMIT;
	if (list->renew || list_is_gone(list))
		return NSD_E_AGAIN;
	(void)list_print_line(line, name, pattern, id);
	return NSD_OK;
}

/* Reads the line at a place. Octets with its newline: that of a member of a
 * catalog has an ID, too. 0: it cannot be found out. */
static size_t
list_read_line_at(const struct zonelist *list, uint64_t offset,
	char line[ZONELIST_LINE_MAX])
{
	ssize_t n = pread(list->fd, line, ZONELIST_LINE_MAX, (off_t)offset);
	const char *end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;

	return end != NULL ? (size_t)(end - line) + 1 : 0;
}

static size_t
list_find_len(const struct zonelist *list, uint64_t offset)
{
	char line[ZONELIST_LINE_MAX];

	return list_read_line_at(list, offset, line);
}

enum nsd_err
zonelist_replace(struct zonelist *list, uint64_t offset, const char *name,
	const char *pattern, const char *id)
{
	char line[ZONELIST_LINE_MAX + 1];
	size_t len, skip = ZONELIST_WORD + strlen(name) + 1;
	uint64_t at = offset + skip;
	enum nsd_err err = list_print(list, name, pattern, id, line, &len);

	if (err != NSD_OK)
		return err;
	if (list_find_len(list, offset) != len
		|| !list_is_in_sector(at, len - skip))
		return NSD_E_LIMIT;
	return list_write_at(list->fd, line + skip, len - skip, at);
}

enum nsd_err
zonelist_add(struct zonelist *list, const char *name, const char *pattern,
	const char *id, uint64_t *offset)
{
	char line[ZONELIST_LINE_MAX + 1];
	struct zonelist_places *places;
	size_t len;
	enum nsd_err err = list_print(list, name, pattern, id, line, &len);

	if (err != NSD_OK)
		return err;
	if (list->fd == -1 && list_make(list) != NSD_OK)
		return NSD_E_SYSTEM;
	places = &list->places[len];
	if (places->count > 0) {
		*offset = places->offsets[places->count - 1];
		/* A free place becomes a line that adds with its first word. */
		err = list_write_at(list->fd, line + ZONELIST_WORD,
			len - ZONELIST_WORD, *offset + ZONELIST_WORD);
		if (err == NSD_OK)
			err = list_write_at(list->fd, line, ZONELIST_WORD,
				*offset);
		if (err != NSD_OK)
			return err;
		places->count--;
		list->free--;
		return NSD_OK;
	}
	err = list_append(list, line, len);
	if (err != NSD_OK)
		return err;
	*offset = list->end;
	list->end += len;
	return NSD_OK;
}

enum nsd_err
zonelist_remove(struct zonelist *list, uint64_t offset)
{
	enum nsd_err err = list_write_at(list->fd, ZONELIST_DEL, ZONELIST_WORD,
		offset);

	list->free += err == NSD_OK;
	return err;
}

enum nsd_err
zonelist_restore(struct zonelist *list, uint64_t offset, const char *id)
{
	enum nsd_err err = list_write_at(list->fd, list_choose_word(id),
		ZONELIST_WORD, offset);

	list->free -= err == NSD_OK;
	return err;
}

void
zonelist_free_place(struct zonelist *list, uint64_t offset)
{
	size_t len = list_find_len(list, offset);

	if (len > 0)
		list_free_place(list, offset, len);
}

/* ---- anew ---------------------------------------------------------------- */

void
zonelist_note_change(struct zonelist *list, size_t zone_count,
	const uint8_t *apex)
{
	if (list->free + 2 <= zone_count)
		return;
	list->sparse = true;
	memcpy(list->last, apex, name_len(apex));
}

bool
zonelist_wants_renewal(const struct zonelist *list, size_t zone_count)
{
	return list->renew || list->sparse || list->free > zone_count
		|| list_is_gone(list);
}

enum nsd_err
zonelist_renew_begin(struct zonelist *list)
{
	size_t len = strlen(ZONELIST_HEAD);
	enum nsd_err err;

	assert(list->buffer == NULL && list->renewed.path == NULL);
	list->buffer = malloc(WRITE_SIZE + ZONELIST_LINE_MAX + 1);
	if (list->buffer == NULL) {
		errno = ENOMEM;
		return NSD_E_SYSTEM;
	}
	memcpy(list->buffer, ZONELIST_HEAD, len);
	list->buffered = list->renewed_end = len;
	err = fs_replace_open_tilde(&list->renewed, list->path, O_RDWR, MODE);
	if (err == NSD_OK)
		return NSD_OK;
	if (err == NSD_E_MEMORY)
		errno = ENOMEM;
	list_drop_buffer(list);
	return NSD_E_SYSTEM;
}

static enum nsd_err
list_write_buffer(struct zonelist *list)
{
	if (fs_write_all(list->renewed.fd, list->buffer, list->buffered)
		!= NSD_OK) {
		zonelist_drop_renewed(list);
		return NSD_E_SYSTEM;
	}
	list->buffered = 0;
	return NSD_OK;
}

/* Counts a line of len octets that was put into the buffer. */
static enum nsd_err
list_renew_put(struct zonelist *list, size_t len, uint64_t *offset)
{
	*offset = list->renewed_end;
	list->renewed_end += len;
	list->buffered += len;
	assert(list->buffered <= WRITE_SIZE + ZONELIST_LINE_MAX);
	return list->buffered < WRITE_SIZE ? NSD_OK : list_write_buffer(list);
}

enum nsd_err
zonelist_renew_add(struct zonelist *list, const char *name,
	const char *pattern, const char *id, uint64_t *offset)
{
	size_t len = list_line_len(name, pattern, id);

	assert(list->buffer != NULL);
	*offset = 0;
	if (len > ZONELIST_LINE_MAX)
		return NSD_OK;
	(void)list_print_line(list->buffer + list->buffered, name, pattern,
		id);
	return list_renew_put(list, len, offset);
}

enum nsd_err
zonelist_renew_copy(struct zonelist *list, uint64_t from, uint64_t *offset)
{
	size_t len;

	assert(list->buffer != NULL);
	*offset = 0;
	if (list->fd == -1 || from == 0)
		return NSD_OK;
	len = list_read_line_at(list, from, list->buffer + list->buffered);
	return len == 0 ? NSD_OK : list_renew_put(list, len, offset);
}

enum nsd_err
zonelist_renew_end(struct zonelist *list, int *fd)
{
	assert(list->buffer != NULL);
	if (list_write_buffer(list) != NSD_OK)
		return NSD_E_SYSTEM;
	list_drop_buffer(list);
	*fd = list->renewed.fd;
	return NSD_OK;
}

enum nsd_err
zonelist_take_renewed(struct zonelist *list)
{
	int fd;

	assert(list->buffer == NULL);
	if (fs_replace_take(&list->renewed, &fd) != NSD_OK)
		return NSD_E_SYSTEM;
	if (list->fd != -1)
		close(list->fd);
	list->fd = fd;
	list_forget_places(list);
	list->end = list->renewed_end;
	list->renew = false;
	list->sparse = false;
	return NSD_OK;
}

void
zonelist_drop_renewed(struct zonelist *list)
{
	list_drop_buffer(list);
	fs_replace_abort(&list->renewed);
}
