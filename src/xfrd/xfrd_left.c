/*
 * xfrd_left.c - what an xfrd that ends as it should leaves to the next one, in
 * memory: of which zones all targets of NOTIFY have acknowledged the serial,
 * what became of the last try to write a zone to its file, and how long
 * secondary zones may be answered from.
 *
 * A zone whose targets or file, or xfrdir, are others in the next one's
 * configuration begins without. What an xfrd leaves may be anything, if
 * somebody has taken it over.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "conf/conf.h"
#include "xfrd/xfrd.h"

#define BUFFER_SIZE (64u * 1024)
/* No date is later, in seconds. */
#define DATE_MAX (INT64_C(1) << 40)
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
left_hash_options(const struct conf *conf, const struct conf_zone *zone)
{
	const struct conf_acls *targets = &zone->options->notify;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	left_hash(&hash, zone->zonefile != NULL ? zone->zonefile : "");
	/* Where the copy is, if its file cannot be written. */
	left_hash(&hash, conf->server.xfrdir);
	for (uint32_t i = 0; i < targets->count; i++) {
		const struct conf_acl *target = &targets->items[i];

		left_hash(&hash, target->spec);
		left_hash(&hash, target->key_name != NULL ? target->key_name
							  : "");
	}
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
left_put(struct left_file *file, const struct conf_zone *zone,
	const struct xfrd_left_zone *left)
{
	const struct left_record record = {
		.zone = *left,
		.name_len = (uint32_t)name_len(zone->wire),
	};

	if (BUFFER_SIZE - file->len < RECORD_MAX && !left_write(file))
		return false;
	memcpy(file->buffer + file->len, &record, sizeof(record));
	file->len += sizeof(record);
	memcpy(file->buffer + file->len, zone->wire, record.name_len);
	file->len += record.name_len;
	return true;
}

/* False: there is nothing. */
static bool
left_fill(const struct xfrd *xfrd, const struct conf_zone *zone, int64_t now,
	struct xfrd_left_zone *left)
{
	uint32_t handle = xfrd->zones.handles[zone->index];
	struct xfr_status status;

	if (handle == XFR_NONE)
		return false;
	memset(left, 0, sizeof(*left));
	xfr_get_status(xfrd->zones.machine, handle, now, &status);
	left->serial = status.soa.serial;
	left->is_told = status.is_told;
	xfrd_zones_get_rest(xfrd, zone, now, &left->rest);
	if (!xfrd_written_get(xfrd, handle, &left->written)
		&& !left->is_told && left->rest.expire_at == XFR_NEVER)
		return false;
	left->options = left_hash_options(xfrd->role.server->conf, zone);
	return true;
}

void
xfrd_left_save(const struct xfrd *xfrd)
{
	const struct conf *conf = xfrd->role.server->conf;
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
	for (size_t i = 0; i < conf->zone_count && is_whole; i++) {
		if (!left_fill(xfrd, conf->zones[i], now, &left))
			continue;
		is_whole = left_put(file, conf->zones[i], &left);
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
left_is_rest(const struct xfrd_rest *rest)
{
	return rest->expire_at == XFR_NEVER
		|| (rest->expire_at >= -MSEC_MAX && rest->expire_at <= MSEC_MAX
			&& rest->acquired_at >= -MSEC_MAX
			&& rest->acquired_at <= clock_now_msec()
			&& rest->lifetime_msec >= 0
			&& rest->lifetime_msec <= MSEC_MAX);
}

/* False: what follows is none. */
static bool
left_take_zone(struct xfrd *xfrd, struct left_file *file)
{
	struct left_record record;
	uint8_t apex[NAME_MAX_LEN];
	struct cursor name;
	size_t len;
	uint32_t place;

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
	if (record.zone.written.at_sec < 0
		|| record.zone.written.at_sec > DATE_MAX
		|| !left_is_rest(&record.zone.rest))
		return false;
	name_lower(apex);
	place = xfrd_zones_find_place(xfrd, apex);
	if (place < xfrd->left_count)
		xfrd->left[place] = record.zone;
	return true;
}

bool
xfrd_left_take(struct xfrd *xfrd, int fd)
{
	size_t count = xfrd->role.server->conf->zone_count;
	struct left_head head = {.count = 0};
	struct left_file *file;

	xfrd->left_fd = fd;
	if (fd == -1 || pread(fd, &head, sizeof(head), 0) != sizeof(head))
		return false;
	file = malloc(sizeof(*file));
	xfrd->left = calloc(count + 1, sizeof(*xfrd->left));
	if (file != NULL && xfrd->left != NULL) {
		xfrd->left_count = count;
		for (size_t i = 0; i < count; i++)
			xfrd->left[i].rest.expire_at = XFR_NEVER;
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
left_find(const struct xfrd *xfrd, uint32_t place)
{
	const struct conf *conf = xfrd->role.server->conf;
	const struct conf_zone *zone = conf->zones[place];

	if (place >= xfrd->left_count
		|| xfrd->left[place].options != left_hash_options(conf, zone))
		return NULL;
	return &xfrd->left[place];
}

void
xfrd_left_get_start(const struct xfrd *xfrd, uint32_t place,
	struct xfr_start *start)
{
	const struct xfrd_left_zone *left = left_find(xfrd, place);

	if (place < xfrd->left_count)
		xfrd_zones_apply_rest(&xfrd->left[place].rest, start);
	start->is_told = left != NULL && left->is_told == 1
		&& start->has_data
		&& left->serial == start->soa.serial;
}

void
xfrd_left_get_written(struct xfrd *xfrd, uint32_t place)
{
	const struct xfrd_left_zone *left = left_find(xfrd, place);
	struct xfrd_written *done;

	if (left == NULL || left->written.at_sec == 0)
		return;
	done = xfrd_written_edit(&xfrd->writes, xfrd->zones.handles[place]);
	if (done != NULL)
		*done = left->written;
}

void
xfrd_left_move(struct xfrd *xfrd, uint32_t place, uint32_t last)
{
	static const struct xfrd_left_zone none = {
		.rest.expire_at = XFR_NEVER,
	};

	if (place >= xfrd->left_count)
		return;
	xfrd->left[place] = none;
	if (last < xfrd->left_count && last != place) {
		xfrd->left[place] = xfrd->left[last];
		xfrd->left[last] = none;
	}
}

void
xfrd_left_forget(struct xfrd *xfrd)
{
	free(xfrd->left);
	xfrd->left = NULL;
	xfrd->left_count = 0;
}
