/*
 * xfrd_left.c - what an xfrd that ends as it should leaves to the next one, in
 * memory: of which zones all targets of NOTIFY have acknowledged the serial,
 * what became of the last try to write a zone to its file, and how long
 * secondary zones may be answered from. A zone whose options become others
 * leaves the same to itself.
 *
 * A zone whose targets or file, or xfrdir, are others in the next one's
 * configuration begins without. What an xfrd leaves may be anything, if
 * somebody has taken it over.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "xfrd/xfrd.h"

#define BUFFER_SIZE (64u * 1024)
#define MSEC_MAX (INT64_C(1) << 50)

/* Of the file. The count is written last. */
struct left_head {
	uint64_t count; /* zones */
};

/* A zone; behind it its name. */
struct left_record {
	struct xfrd_left_zone zone;
	uint32_t name_len;
};

#define RECORD_MAX (sizeof(struct left_record) + NAME_MAX_LEN)

struct left_file {
	int fd;
	off_t at;    /* of what is read or written next */
	size_t len;  /* octets in the buffer */
	size_t used; /* of these, read */
	char buffer[BUFFER_SIZE];
};

static void
left_hash(uint64_t *hash, const char *text)
{
	do
		*hash = (*hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	while (*text++ != '\0');
}

/* Of the options that count. */
static uint64_t
left_hash_options(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	uint32_t count = xfrd_options_count(&options, SETTINGS_NOTIFY);
	const char *file = xfrd_options_file(&options);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	left_hash(&hash, file != NULL ? file : "");
	/* Where the copy is, if its file cannot be written. */
	left_hash(&hash, xfrd->role.server->conf->server.xfrdir);
	for (uint32_t i = 0; i < count; i++) {
		struct settings_texts target = xfrd_options_texts(&options,
			SETTINGS_NOTIFY, i);

		left_hash(&hash, target.spec);
		left_hash(&hash, target.key_name != NULL ? target.key_name
							 : "");
	}
	xfrd_read_end(xfrd);
	return hash;
}

/* ---- leaving ------------------------------------------------------------- */

static bool
left_write(struct left_file *file)
{
	size_t done = 0;

	while (done < file->len) {
		ssize_t n = pwrite(file->fd, file->buffer + done,
			file->len - done, file->at);

		if (n == -1 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
		file->at += n > 0 ? n : 0;
	}
	file->len = 0;
	return true;
}

static bool
left_put(struct left_file *file, const struct xfrd_zone *zone,
	const struct xfrd_left_zone *left)
{
	const uint8_t *apex = xfrd_zone_apex(zone);
	const struct left_record record = {
		.zone = *left,
		.name_len = (uint32_t)name_len(apex),
	};

	if (BUFFER_SIZE - file->len < RECORD_MAX && !left_write(file))
		return false;
	memcpy(file->buffer + file->len, &record, sizeof(record));
	file->len += sizeof(record);
	memcpy(file->buffer + file->len, apex, record.name_len);
	file->len += record.name_len;
	return true;
}

bool
xfrd_left_get(struct xfrd *xfrd, const struct xfrd_zone *zone,
	int64_t now, struct xfrd_left_zone *left)
{
	struct xfr_status status;

	if (zone->handle == XFR_NONE)
		return false;
	memset(left, 0, sizeof(*left));
	xfr_get_status(xfrd->zones.machine, zone->handle, now, &status);
	left->serial = status.soa.serial;
	left->is_told = status.is_told;
	left->expire_at = XFR_NEVER;
	if (status.has_data && status.expire_at != XFR_NEVER) {
		left->acquired_at = status.acquired_at;
		left->expire_at = status.expire_at;
		left->lifetime_msec = status.lifetime_msec;
	}
	left->written = zone->written;
	if (left->written.at_sec == 0 && !left->is_told
		&& left->expire_at == XFR_NEVER)
		return false;
	/* Not those that are published now: the zone may not have them yet. */
	left->options = zone->options;
	return true;
}

void
xfrd_left_save(struct xfrd *xfrd)
{
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	struct left_file *file = malloc(sizeof(*file));
	struct left_head head = {.count = 0};
	int64_t now = clock_now_msec();
	struct xfrd_left_zone left;
	bool is_whole = file != NULL && xfrd->left_fd != -1;

	if (is_whole) {
		file->fd = xfrd->left_fd;
		file->at = sizeof(head);
		file->len = 0;
	}
	for (uint32_t i = 0; i < table->end && is_whole; i++) {
		const struct xfrd_zone *zone = xfrd_zone_at(table, i);

		if (zone == NULL || !xfrd_left_get(xfrd, zone, now, &left))
			continue;
		is_whole = left_put(file, zone, &left);
		head.count++;
	}
	if (is_whole && left_write(file)
		&& pwrite(xfrd->left_fd, &head, sizeof(head), 0)
			!= (ssize_t)sizeof(head))
		(void)!ftruncate(xfrd->left_fd, 0);
	free(file);
}

/* ---- taking -------------------------------------------------------------- */

/* Has at least so many octets in the buffer. */
static bool
left_read(struct left_file *file, size_t least)
{
	if (file->len - file->used >= least)
		return true;
	memmove(file->buffer, file->buffer + file->used,
		file->len - file->used);
	file->len -= file->used;
	file->used = 0;
	while (file->len < least) {
		ssize_t n = pread(file->fd, file->buffer + file->len,
			BUFFER_SIZE - file->len, file->at);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		file->len += (size_t)n;
		file->at += n;
	}
	return true;
}

static bool
left_has_times(const struct xfrd_left_zone *left)
{
	return left->expire_at == XFR_NEVER
		|| (left->expire_at >= -MSEC_MAX && left->expire_at <= MSEC_MAX
			&& left->acquired_at >= -MSEC_MAX
			&& left->acquired_at <= clock_now_msec()
			&& left->lifetime_msec >= 0
			&& left->lifetime_msec <= MSEC_MAX);
}

/* False: what follows is none. */
static bool
left_take_zone(struct xfrd *xfrd, struct left_file *file)
{
	struct left_record record;
	uint8_t apex[NAME_MAX_LEN];
	struct xfrd_past *past;
	struct xfrd_zone *zone;
	struct cursor name;
	size_t len;

	if (!left_read(file, sizeof(record)))
		return false;
	memcpy(&record, file->buffer + file->used, sizeof(record));
	file->used += sizeof(record);
	if (record.name_len > sizeof(apex)
		|| !left_read(file, record.name_len))
		return false;
	cursor_init(&name, (const uint8_t *)file->buffer + file->used,
		record.name_len);
	file->used += record.name_len;
	if (name_read_uncompressed(&name, apex, &len) != NSD_OK)
		return false;
	if (!left_has_times(&record.zone))
		return false;
	zone = xfrd_zone_find(&xfrd->zones.table, apex);
	past = zone != NULL
		? xfrd_zone_get_past(&xfrd->zones.table, zone) : NULL;
	if (past != NULL)
		past->left = record.zone;
	return true;
}

bool
xfrd_left_take(struct xfrd *xfrd, int fd)
{
	struct left_head head = {.count = 0};
	struct left_file *file;

	xfrd->left_fd = fd;
	if (fd == -1 || pread(fd, &head, sizeof(head), 0) != sizeof(head))
		return false;
	file = malloc(sizeof(*file));
	if (file != NULL) {
		file->fd = fd;
		file->at = sizeof(head);
		file->len = file->used = 0;
		while (head.count-- > 0 && left_take_zone(xfrd, file))
			;
	}
	free(file);
	/* If this process is killed, the next one knows nothing. */
	(void)!ftruncate(fd, 0);
	return true;
}

/* NULL: nothing is known. */
static const struct xfrd_left_zone *
left_find(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	return zone->past != NULL
			&& zone->past->left.options
				== left_hash_options(xfrd, zone)
		? &zone->past->left : NULL;
}

void
xfrd_left_get_start(struct xfrd *xfrd, const struct xfrd_zone *zone,
	struct xfr_start *start)
{
	const struct xfrd_left_zone *left = zone->past != NULL
		? &zone->past->left : NULL;

	if (left == NULL || !start->has_data
		|| left->serial != start->soa.serial)
		return;
	start->is_told = left->is_told == 1 && left_find(xfrd, zone) != NULL;
	if (left->expire_at == XFR_NEVER)
		return;
	start->acquired_at = left->acquired_at;
	start->expire_at = left->expire_at;
	start->lifetime_msec = left->lifetime_msec;
}

bool
xfrd_left_is_other(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	return zone->handle != XFR_NONE
		&& zone->options != left_hash_options(xfrd, zone);
}

void
xfrd_left_get_written(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	const struct xfrd_left_zone *left = left_find(xfrd, zone);

	assert(zone->handle != XFR_NONE);
	zone->options = left_hash_options(xfrd, zone);
	if (left != NULL && left->written.at_sec != 0)
		zone->written = left->written;
}
