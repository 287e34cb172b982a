/* query_log.c - writes lines of the query log. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "base/log_syslog.h"
#include "collector/query_log.h"

/* Octets before a line at syslog. */
#define SYSLOG_HEAD_MAX 128u
#define SYSLOG_PROGRAM "nsd"

bool
query_log_init(struct query_log *log, const char *format)
{
	*log = (struct query_log){.fd = -1, .waits = true, .error = ENOTCONN};
	if (log_field_parse(format != NULL ? format : "", &log->format)
		!= NSD_OK)
		return false;
	log->room = malloc(QUERY_LOG_ROOM);
	return log->room != NULL;
}

/* ---- a file -------------------------------------------------------------- */

/* Counts the lines that end within some octets. */
static uint32_t
room_count_lines(const char *at, size_t len)
{
	const char *end = at + len;
	uint32_t count = 0;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))
			!= NULL) {
		count++;
		at++;
	}
	return count;
}

/* Ends a line that a full disk has cut, if there is room again. */
static bool
file_end_line(struct query_log *log)
{
	if (log->is_cut && write(log->fd, "\n", 1) == 1)
		log->is_cut = false;
	return !log->is_cut;
}

/* Returns the count of lines that were written as a whole. */
static uint32_t
file_write_room(struct query_log *log)
{
	ssize_t n = file_end_line(log) ? write(log->fd, log->room, log->len)
				       : -1;

	if (n <= 0) {
		log->error = errno;
		return 0;
	}
	if ((size_t)n == log->len)
		return log->count;
	/* Another write would tell why. */
	log->error = log->is_fifo ? EAGAIN : ENOSPC;
	log->is_cut = log->room[n - 1] != '\n';
	return room_count_lines(log->room, (size_t)n);
}

/* ---- syslog -------------------------------------------------------------- */

/* Returns the count of lines that were sent. A daemon that has no room for one
 * gets none of the others, either. */
static uint32_t
syslog_send_room(struct query_log *log)
{
	char message[SYSLOG_HEAD_MAX + TAP_LINE_MAX];
	size_t head = log_syslog_print_head(message, SYSLOG_HEAD_MAX,
		FACILITY | LOG_INFO, SYSLOG_PROGRAM);
	const char *line = log->room;
	uint32_t sent;

	for (sent = 0; sent < log->count; sent++) {
		const char *end = memchr(line, '\n',
			(size_t)(log->room + log->len - line));
		size_t len;

		assert(end != NULL);
		len = (size_t)(end - line);
		memcpy(message + head, line, len);
		message[head + len] = '\0';
		if (!log_syslog_send(log->fd, log->is_stream, message,
			    head + len)) {
			log->error = errno;
			break;
		}
		line = end + 1;
	}
	return sent;
}

/* ---- both ---------------------------------------------------------------- */

static uint32_t
room_write(struct query_log *log)
{
	if (log->fd == -1) {
		log->error = ENOTCONN;
		return 0;
	}
	return log->is_syslog ? syslog_send_room(log) : file_write_room(log);
}

static void
room_empty(struct query_log *log)
{
	uint32_t whole;

	if (log->count == 0)
		return;
	whole = room_write(log);
	assert(whole <= log->count);
	log->written += whole;
	log->dropped += log->count - whole;
	log->len = log->count = 0;
}

void
query_log_flush(struct query_log *log)
{
	if (!log->waits)
		room_empty(log);
}

void
query_log_add(struct query_log *log, const struct tap_record *record)
{
	if (QUERY_LOG_ROOM - log->len < TAP_LINE_MAX)
		room_empty(log);
	log->len += tap_line_print(record, &log->format,
		log->room + log->len);
	log->count++;
}

/* ---- descriptors --------------------------------------------------------- */

static void
sink_replace(struct query_log *log, int fd)
{
	query_log_flush(log);
	if (log->fd != -1)
		close(log->fd);
	log->fd = fd;
	log->waits = false;
	log->is_cut = false;
}

void
query_log_set_file(struct query_log *log, int fd)
{
	struct stat status;

	sink_replace(log, fd);
	log->is_syslog = false;
	log->is_fifo = fd != -1 && fstat(fd, &status) == 0
		&& S_ISFIFO(status.st_mode);
}

void
query_log_set_syslog(struct query_log *log, int fd, bool is_stream)
{
	sink_replace(log, fd);
	log->is_syslog = true;
	log->is_stream = is_stream;
}

void
query_log_fini(struct query_log *log)
{
	sink_replace(log, -1);
	free(log->room);
	log->room = NULL;
}
