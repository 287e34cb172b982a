/* query_log_file.c - has the query log opened, and tells what it lost. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/query_log.h"
#include "collector/query_log_file.h"

/* Pauses before another try to open: the first, doubled each time up to the
 * longest. */
#define PAUSE_MSEC 1000
#define PAUSE_MAX_MSEC 60000
/* Time between two lines of the log about lines that were lost. */
#define TELL_MSEC 60000

struct query_log_file {
	struct role *role;
	struct tap_counts *counts;
	struct query_log log;
	struct event *retry;
	const char *name;     /* query-log, as nsd.conf has it */
	unsigned pause_msec;
	bool is_told;         /* the log says that it cannot be opened */
	bool is_failing;      /* the last line could not be written */
	int64_t told_msec;    /* when lost lines were told last; 0: never */
	uint64_t told_lost;   /* how many have been told */
	uint64_t counted_written, counted_dropped;
};

/* ---- opening ------------------------------------------------------------- */

static void
log_file_ask(struct query_log_file *f)
{
	const struct ipc_want_sink want = {.which = SINK_QUERY_LOG};

	role_send(f->role, IPC_WANT_SINK, &want, sizeof(want));
}

static void
log_file_on_retry(evutil_socket_t fd, short what, void *arg)
{
	log_file_ask(arg);
}

static void
log_file_retry_later(struct query_log_file *f)
{
	const struct timeval when = {.tv_sec = f->pause_msec / 1000,
		.tv_usec = f->pause_msec % 1000 * 1000};

	if (event_pending(f->retry, EV_TIMEOUT, NULL))
		return;
	if (event_add(f->retry, &when) == -1)
		log_error("out of memory for a timer");
	f->pause_msec = f->pause_msec < PAUSE_MAX_MSEC / 2
		? 2 * f->pause_msec : PAUSE_MAX_MSEC;
}

static void
log_file_note(struct query_log_file *f, int error)
{
	__atomic_store_n(&f->counts->log_error, (uint64_t)error,
		__ATOMIC_RELAXED);
}

/* True if the reader of a FIFO, or syslog's daemon, has gone. */
static bool
log_file_lacks_reader(const struct query_log *log)
{
	return log->fd != -1
		&& (log->error == ECONNREFUSED || log->error == ENOTCONN
			|| log->error == ECONNRESET || log->error == EPIPE);
}

/* True if the reader of a FIFO, or syslog's daemon, had no room. */
static bool
log_file_is_full(const struct query_log *log)
{
	return log->error == EAGAIN || log->error == ENOBUFS;
}

/* True if only another line can tell that it is over. */
static bool
log_file_is_of_disk(uint64_t error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG
		|| error == EIO;
}

void
query_log_file_begin(struct query_log_file *f)
{
	if (f != NULL)
		log_file_ask(f);
}

void
query_log_file_on_sink(struct query_log_file *f, int fd,
	const struct ipc_sink *sink)
{
	if (f == NULL) {
		if (fd != -1)
			close(fd);
		return;
	}
	/* Main was asked too soon. */
	if (fd == -1 && sink->error == EALREADY) {
		log_file_retry_later(f);
		return;
	}
	if (sink->is_syslog != 0)
		query_log_set_syslog(&f->log, fd, sink->is_stream != 0);
	else
		query_log_set_file(&f->log, fd);
	/* An open that succeeds has a reader, but maybe no room. */
	if (fd == -1 || log_file_lacks_reader(&f->log))
		f->is_failing = false;
	if (!f->is_failing)
		log_file_note(f, fd != -1 ? 0 : (int)sink->error);
	if (fd != -1) {
		f->is_told = false;
		return;
	}
	if (!f->is_told) {
		log_error("query log: cannot open %s: %s", f->name,
			strerror((int)sink->error));
		f->is_told = true;
	}
	log_file_retry_later(f);
}

/* ---- lines --------------------------------------------------------------- */

void
query_log_file_take(struct query_log_file *f, const struct tap_record *record)
{
	if (f != NULL && (record->parts & TAP_PENDING) == 0)
		query_log_add(&f->log, record);
}

/* Notes whether lines can be written. The kernel knows of readers that read
 * again; whether a disk has room again, only the next line tells. */
static void
log_file_look(struct query_log_file *f)
{
	struct pollfd room = {.fd = f->log.fd, .events = POLLOUT};
	bool is_failing = f->is_failing;

	if (f->log.fd == -1)
		return;
	if (f->log.dropped != f->counted_dropped) {
		log_file_note(f, f->log.error);
		f->is_failing = true;
		return;
	}
	if (f->log.written != f->counted_written)
		is_failing = false;
	/* A socket whose daemon has gone says that there is room. */
	else if (is_failing && (log_file_is_full(&f->log)
			|| (log_file_lacks_reader(&f->log)
				&& !f->log.is_syslog)))
		is_failing = poll(&room, 1, 0) != 1
			|| room.revents != POLLOUT;
	if (f->is_failing && !is_failing)
		log_file_note(f, 0);
	f->is_failing = is_failing;
}

static void
log_file_count(struct query_log_file *f)
{
	struct tap_counts *counts = f->counts;

	log_file_look(f);
	/* Counts of this process go on from those of its predecessor. */
	__atomic_store_n(&counts->lines, counts->lines + f->log.written
		- f->counted_written, __ATOMIC_RELAXED);
	__atomic_store_n(&counts->lines_dropped, counts->lines_dropped
		+ f->log.dropped - f->counted_dropped, __ATOMIC_RELAXED);
	f->counted_written = f->log.written;
	f->counted_dropped = f->log.dropped;
}

/* Why lines were lost, for the operator. */
static const char *
log_file_reason(const struct query_log *log)
{
	if (log->fd == -1)
		return "it is not open";
	if (log_file_lacks_reader(log))
		return log->is_syslog ? "the syslog daemon has gone"
				      : "its reader has gone";
	if (log_file_is_full(log))
		return log->is_syslog ? "the syslog daemon does not keep up"
				      : "its reader does not keep up";
	return strerror(log->error);
}

static void
log_file_tell_lost(struct query_log_file *f)
{
	uint64_t lost = f->log.dropped - f->told_lost;
	int64_t now;

	if (lost == 0)
		return;
	now = clock_now_msec();
	if (f->told_msec != 0 && now - f->told_msec < TELL_MSEC)
		return;
	log_warning("query log: %llu lines were lost: %s",
		(unsigned long long)lost, log_file_reason(&f->log));
	f->told_msec = now;
	f->told_lost += lost;
}

void
query_log_file_push(struct query_log_file *f)
{
	if (f == NULL)
		return;
	query_log_flush(&f->log);
	/* The next daemon has another socket. */
	if (f->log.dropped != f->counted_dropped && f->log.is_syslog
		&& log_file_lacks_reader(&f->log))
		log_file_retry_later(f);
	else if (f->log.written != f->counted_written)
		f->pause_msec = PAUSE_MSEC;
	log_file_count(f);
	log_file_tell_lost(f);
}

/* ---- begin --------------------------------------------------------------- */

enum nsd_err
query_log_file_open(struct role *role, struct tap_counts *counts,
	struct query_log_file **file)
{
	const struct conf_server *o = &role->server->conf->server;
	struct query_log_file *f;

	*file = NULL;
	if (o->query_log == NULL || *o->query_log == '\0')
		return NSD_OK;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return NSD_E_MEMORY;
	f->role = role;
	f->counts = counts;
	f->name = o->query_log;
	f->pause_msec = PAUSE_MSEC;
	f->retry = event_new(role->base, -1, 0, log_file_on_retry, f);
	/* The process ends if this fails. */
	*file = f;
	if (f->retry == NULL || !query_log_init(&f->log, o->query_log_format))
		return NSD_E_MEMORY;
	/* A fault that a predecessor met stays until a line is written. */
	if (log_file_is_of_disk(counts->log_error)) {
		f->is_failing = true;
		f->log.error = (int)counts->log_error;
	}
	return NSD_OK;
}
