/* recover.c - reads the segments of a journal into a table of live entries. */
#include "config.h"

#include "journal/recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"

/* A record fits, and much is read at once. */
#define WINDOW (4u << 20)
/* Octets of a failing disk that are read at a time, and passed over at most if
 * none of them can be read: the disk may take seconds to fail. */
#define PAGE 4096u
#define SKIP_MAX (1u << 20)
/* The length that a segment is taken to have if it cannot be opened. */
#define LOST_SEGMENT (64u << 20)

/* A segment as it is read: a window moves over it. */
struct segment_reading {
	int fd;
	uint32_t number;
	char name[FORMAT_NAME_MAX];
	uint8_t salt[FORMAT_SALT];
	uint8_t *window;   /* WINDOW octets */
	uint64_t at;       /* offset in the file of the window */
	size_t have;       /* octets in it */
	size_t used;       /* of these, read */
	bool ended;        /* the file has no more */
	uint64_t size;     /* of the file, as it was opened */
	uint64_t pages_to; /* up to here it is read by the page */
	uint64_t lost;     /* octets that could not be read */
	uint32_t skip;     /* octets passed over if the next cannot, either */
	bool is_last;
	bool repair;
	uint64_t bad_from; /* a damaged piece; UINT64_MAX: there is none */
	bool damaged;      /* there was one, before whole records */
	struct diag_sink *sink;
	struct live *live;
	struct recover_result *result;
};

/* ---- folders */

int
recover_compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static DIR *
recover_open_folder(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd != -1 ? fdopendir(fd) : NULL;

	if (dir == NULL && fd != -1)
		close(fd);
	return dir;
}

enum nsd_err
recover_list(int dirfd, const char *suffix, uint64_t **numbers, size_t *count)
{
	DIR *dir = recover_open_folder(dirfd);
	uint64_t *list = NULL, *grown;
	size_t n = 0, room = 0;
	struct dirent *d;

	if (dir == NULL)
		return NSD_E_SYSTEM;
	while (errno = 0, (d = readdir(dir)) != NULL) {
		grown = grow_array(list, n, &room, sizeof(*list));
		if (grown == NULL)
			break;
		list = grown;
		if (format_parse_name(d->d_name, suffix, &list[n]))
			n++;
	}
	if (d != NULL || errno != 0) {
		int error = errno;

		closedir(dir);
		free(list);
		errno = error;
		return d != NULL ? NSD_E_MEMORY : NSD_E_SYSTEM;
	}
	closedir(dir);
	if (n > 0)
		qsort(list, n, sizeof(*list), recover_compare_numbers);
	*numbers = list;
	*count = n;
	return NSD_OK;
}

/* ---- the window */

/* Puts zeros, which are no record, in the place of octets that the disk cannot
 * read. In a row of failures, twice as many each time. */
static ssize_t
reading_pass_over(struct segment_reading *r, uint8_t *to, size_t len)
{
	uint64_t at = r->at + r->have;
	uint64_t left = at < r->size ? r->size - at : 0;

	if (len > r->skip - at % PAGE)
		len = r->skip - at % PAGE;
	if (len > left)
		len = (size_t)left;
	memset(to, 0, len);
	r->lost += len;
	r->skip = r->skip < SKIP_MAX ? r->skip * 2 : SKIP_MAX;
	return (ssize_t)len;
}

/* As read, to the end of the window. */
static ssize_t
reading_get(struct segment_reading *r)
{
	uint64_t at = r->at + r->have;
	uint8_t *to = r->window + r->have;
	size_t len = WINDOW - r->have;
	size_t page = PAGE - at % PAGE < len ? PAGE - at % PAGE : len;
	bool by_page = at < r->pages_to;
	ssize_t n = pread(r->fd, to, by_page ? page : len, (off_t)at);

	if (n == -1 && errno == EIO && !by_page) {
		r->pages_to = at + len;
		n = pread(r->fd, to, page, (off_t)at);
	}
	if (n == -1 && errno == EIO)
		return reading_pass_over(r, to, len);
	if (n > 0)
		r->skip = PAGE;
	return n;
}

/* Reads at least len octets into the window, if the file has that many. */
static enum nsd_err
reading_fill(struct segment_reading *r, size_t len)
{
	if (r->have - r->used >= len || r->ended)
		return NSD_OK;
	memmove(r->window, r->window + r->used, r->have - r->used);
	r->at += r->used;
	r->have -= r->used;
	r->used = 0;
	while (r->have < WINDOW) {
		ssize_t n = reading_get(r);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return NSD_E_SYSTEM;
		if (n == 0) {
			r->ended = true;
			break;
		}
		r->have += (size_t)n;
	}
	return NSD_OK;
}

/* ---- records */

/* Reads the record at the window's place: its head, and its text if it has one.
 * NSD_E_WIRE: there is none that is whole; *size: its octets. */
static enum nsd_err
reading_get_record(struct segment_reading *r, struct format_head *head,
	uint64_t *size)
{
	enum nsd_err err = reading_fill(r, FORMAT_HEAD_MAX);
	uint8_t *at;

	if (err != NSD_OK)
		return err;
	err = format_get_head(r->window + r->used, r->have - r->used, r->salt,
		r->number, r->at + r->used, head);
	if (err != NSD_OK)
		return NSD_E_WIRE;
	*size = head->entry.head_len;
	if (head->record != FORMAT_TEXT_HERE)
		return NSD_OK;
	*size = format_record_size(&head->entry);
	err = reading_fill(r, *size);
	if (err != NSD_OK)
		return err;
	if (r->have - r->used < *size)
		return NSD_E_WIRE;
	at = r->window + r->used + head->entry.head_len;
	return format_check_text(at, head->entry.text_len, head->table_sum)
		? NSD_OK : NSD_E_WIRE;
}

/* Takes a record about entries that are dead, or judged. */
static void
take_note(const struct segment_reading *r, const struct format_head *head)
{
	struct live_entry *entry;

	if (head->record == FORMAT_JUDGED) {
		live_clear_doubt(r->live, head->apex, head->entry.id,
			head->last);
		return;
	}
	while ((entry = live_find_between(r->live, head->apex, head->entry.id,
		head->last)) != NULL)
		live_remove(r->live, entry);
}

static enum nsd_err
take_record(struct segment_reading *r, const struct format_head *head)
{
	bool note = format_is_note(head->record);
	uint64_t id = note ? head->last : head->entry.id;

	if (id > r->result->id_last)
		r->result->id_last = id;
	if (!note)
		return live_add(r->live, head->apex, &head->entry);
	take_note(r, head);
	return NSD_OK;
}

/* Ends a damaged piece, before a record or at the end of the file. */
static void
end_damage(struct segment_reading *r, uint64_t end, const char *what)
{
	if (r->bad_from == UINT64_MAX)
		return;
	diag_emit(r->sink, DIAG_WARNING, r->name, 0, 0,
		"journal: %" PRIu64 " octets at %" PRIu64 " %s",
		end - r->bad_from, r->bad_from, what);
}

static enum nsd_err
reading_records(struct segment_reading *r)
{
	struct format_head head;
	enum nsd_err err;
	uint64_t size;

	for (;;) {
		err = reading_fill(r, FORMAT_ALIGN);
		if (err != NSD_OK)
			return err;
		if (r->used == r->have)
			return NSD_OK;
		err = reading_get_record(r, &head, &size);
		if (err == NSD_OK) {
			end_damage(r, r->at + r->used,
				"are damaged and skipped");
			r->damaged |= r->bad_from != UINT64_MAX;
			r->bad_from = UINT64_MAX;
			err = take_record(r, &head);
		} else if (err == NSD_E_WIRE) {
			err = NSD_OK;
			if (r->bad_from == UINT64_MAX)
				r->bad_from = r->at + r->used;
			size = FORMAT_ALIGN;
			if (size > r->have - r->used)
				size = r->have - r->used;
		}
		if (err != NSD_OK)
			return err;
		r->used += (size_t)size;
	}
}

/* ---- segments */

/* Counts the ids that the unread octets may hold, which must not be given out
 * again, as they may be readable later. A record has more octets than
 * FORMAT_ALIGN. */
static void
tell_lost(struct segment_reading *r, uint64_t octets)
{
	r->result->ids_lost += octets / FORMAT_ALIGN + 1;
	diag_emit(r->sink, DIAG_WARNING, r->name, 0, 0,
		"journal: %" PRIu64 " octets cannot be read: %s", octets,
		strerror(EIO));
}

/* Skips a file in which not even the head is whole. */
static void
skip_segment(struct segment_reading *r, int dirfd)
{
	if (!r->repair && r->is_last)
		return;
	if (r->repair && r->is_last && unlinkat(dirfd, r->name, 0) == 0)
		diag_emit(r->sink, DIAG_WARNING, r->name, 0, 0,
			"journal: not begun; it is removed");
	else
		diag_emit(r->sink, DIAG_WARNING, r->name, 0, 0,
			"journal: not a segment; it is skipped");
}

static enum nsd_err
end_segment(struct segment_reading *r)
{
	struct live_segment *segment;
	uint64_t end = r->lost > 0 ? r->size : r->at + r->have;
	bool is_torn = r->is_last && r->lost == 0;

	r->damaged |= r->lost > 0;
	if (r->bad_from != UINT64_MAX && (r->repair || !is_torn))
		end_damage(r, end, is_torn ? "are not whole and cut off"
					   : "are damaged and skipped");
	if (is_torn && r->repair && r->bad_from != UINT64_MAX) {
		end = r->bad_from;
		if (ftruncate(r->fd, (off_t)end) == -1)
			return NSD_E_SYSTEM;
	}
	if (r->repair && fdatasync(r->fd) == -1)
		return NSD_E_SYSTEM;
	segment = live_get_segment(r->live, r->number);
	if (segment == NULL)
		return NSD_E_MEMORY;
	live_set_octets(r->live, segment, end);
	segment->is_lost = r->lost > 0;
	r->result->end = end;
	r->result->can_append = !r->damaged;
	memcpy(r->result->salt, r->salt, FORMAT_SALT);
	return NSD_OK;
}

static enum nsd_err
reading_segment(struct segment_reading *r, int dirfd)
{
	enum nsd_err err = reading_fill(r, FORMAT_SEGMENT_HEAD);

	if (err != NSD_OK)
		return err;
	if (r->have < FORMAT_SEGMENT_HEAD || format_get_segment(r->window,
		r->number, r->salt) != NSD_OK) {
		if (r->lost > 0) {
			r->lost = r->size;
			return end_segment(r);
		}
		skip_segment(r, dirfd);
		return NSD_OK;
	}
	r->used = FORMAT_SEGMENT_HEAD;
	err = reading_records(r);
	return err != NSD_OK ? err : end_segment(r);
}

/* Leaves a thing alone that has a segment's name and is no file. */
static enum nsd_err
pass_over(struct segment_reading *r)
{
	diag_emit(r->sink, DIAG_WARNING, r->name, 0, 0,
		"journal: this is no file: it is skipped");
	return NSD_OK;
}

static enum nsd_err
read_segment(int dirfd, struct segment_reading *r)
{
	enum nsd_err err = NSD_E_SYSTEM;
	struct stat st;
	int error;

	format_print_name(r->name, r->number, "seg");
	r->at = r->have = r->used = 0;
	r->ended = r->damaged = false;
	r->bad_from = UINT64_MAX;
	r->pages_to = r->lost = 0;
	r->skip = PAGE;
	r->result->can_append = false;
	r->fd = openat(dirfd, r->name, (r->repair ? O_RDWR : O_RDONLY)
		| O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (r->fd == -1 && (errno == EISDIR || errno == ELOOP))
		return pass_over(r);
	if (r->fd == -1 && errno == EIO) {
		tell_lost(r, LOST_SEGMENT);
		return NSD_OK;
	}
	if (r->fd == -1)
		return errno == ENOENT ? NSD_E_NOT_FOUND : NSD_E_SYSTEM;
	if (fstat(r->fd, &st) == -1)
		err = NSD_E_SYSTEM;
	else if (!S_ISREG(st.st_mode))
		err = pass_over(r);
	else {
		r->size = (uint64_t)st.st_size;
		err = reading_segment(r, dirfd);
	}
	error = errno;
	close(r->fd);
	if (r->lost > 0)
		tell_lost(r, r->lost);
	errno = error;
	return err;
}

/* ---- texts in files */

static bool
file_is_there(int dirfd, const struct journal_entry *entry)
{
	char name[FORMAT_NAME_MAX];
	struct stat st;

	format_print_name(name, entry->id, "zone");
	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0
		&& S_ISREG(st.st_mode)
		&& (uint64_t)st.st_size == format_text_size(entry->text_len);
}

/* Finds entries whose file is lost, and drops them. */
static enum nsd_err
check_files(int dirfd, enum recover_mode mode, struct diag_sink *sink,
	struct live *live)
{
	struct live_segment *segment;
	struct live_entry *entry, *next;
	char name[FORMAT_NAME_MAX];

	cds_list_for_each_entry(segment, &live->segments, node)
		cds_list_for_each_entry_safe(entry, next, &segment->entries,
			in_segment) {
			if (!entry->entry.in_file
				|| file_is_there(dirfd, &entry->entry))
				continue;
			if (mode == RECOVER_LOOK)
				return NSD_E_NOT_FOUND;
			format_print_name(name, entry->entry.id, "zone");
			diag_emit(sink, DIAG_WARNING, name, 0, 0,
				"journal: missing or not whole; what it held "
				"is lost");
			live_remove(live, entry);
		}
	return NSD_OK;
}

enum nsd_err
recover_segments(int dirfd, enum recover_mode mode, struct diag_sink *sink,
	struct live *live, struct recover_result *result)
{
	struct segment_reading r = {.sink = sink, .live = live,
		.result = result, .repair = mode == RECOVER_REPAIR};
	enum nsd_err err;
	uint64_t *numbers;
	size_t count;

	memset(result, 0, sizeof(*result));
	err = recover_list(dirfd, "seg", &numbers, &count);
	if (err != NSD_OK)
		return err;
	r.window = malloc(WINDOW);
	if (r.window == NULL)
		err = NSD_E_MEMORY;
	while (count > 0 && numbers[count - 1] > FORMAT_SEGMENT_MAX)
		count--; /* a name of another kind */
	for (size_t i = 0; i < count && err == NSD_OK; i++) {
		r.number = (uint32_t)numbers[i];
		r.is_last = i == count - 1;
		result->segment_last = r.number;
		err = read_segment(dirfd, &r);
	}
	result->id_last += result->ids_lost;
	if (err == NSD_OK)
		err = check_files(dirfd, mode, sink, live);
	free(r.window);
	free(numbers);
	return err;
}
