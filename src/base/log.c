/* log.c - log lines to stderr, a file or syslog. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/log.h"
#include "base/log_out.h"
#include "base/log_syslog.h"

#define LOG_TEXT_MAX 4096
#define LOG_HEAD_MAX 160
/* Room for a text of which each octet is escaped. */
#define LOG_LINE_MAX (LOG_HEAD_MAX + 4 * LOG_TEXT_MAX + 1)

/* Threads write while another one changes it: each word is read for itself. A
 * number of a descriptor stays what it is, whatever it leads to. */
static struct {
	struct log_options options;
	int fd;              /* of the file; -1: there has been none */
	int syslog;          /* of syslog's socket; -1: there has been none */
	bool to_file;
	bool to_syslog;
	bool syslog_is_stream;
} log_state = {
	.options = {.program = "nsd", .time_ascii = true},
	.fd = -1,
	.syslog = -1,
};

#define GET(field) __atomic_load_n(&log_state.field, __ATOMIC_RELAXED)
#define SET(field, value) \
	__atomic_store_n(&log_state.field, value, __ATOMIC_RELAXED)

static const struct {
	const char *name;
	int priority;
} log_levels[] = {
	[LOG_LEVEL_ERROR] = {"error", LOG_ERR},
	[LOG_LEVEL_WARNING] = {"warning", LOG_WARNING},
	[LOG_LEVEL_NOTICE] = {"notice", LOG_NOTICE},
	[LOG_LEVEL_INFO] = {"info", LOG_INFO},
};

static int
log_open_file(const char *file)
{
	/* O_NONBLOCK: a FIFO without a reader, or without room, delays no
	 * process. A line without room is lost. */
	const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC
		| O_NOCTTY | O_NONBLOCK;
	int fd = open(file, flags | O_NOFOLLOW, 0644);
	struct stat link;

	if (fd != -1 || errno != ELOOP)
		return fd;
	/* Root must not write where another user's link leads. */
	if (lstat(file, &link) == -1
		|| (link.st_uid != 0 && link.st_uid != geteuid())) {
		errno = ELOOP;
		return -1;
	}
	return open(file, flags, 0644);
}

/* ---- where it goes ------------------------------------------------------- */

/* Has *at, a descriptor of ours, refer to the file of fd. */
static void
log_point(int *at, int fd)
{
	int before = __atomic_load_n(at, __ATOMIC_RELAXED), none = -1;

	if (before != -1) {
		(void)dup3(fd, before, O_CLOEXEC);
		return;
	}
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	/* Of two threads that connect, one is enough. */
	if (fd != -1
		&& !__atomic_compare_exchange_n(at, &none, fd, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		close(fd);
}

static void
log_use_file(int fd)
{
	SET(to_file, fd != -1);
	if (fd != -1)
		log_point(&log_state.fd, fd);
	else if (log_state.fd != -1)
		/* A thread may be about to write there. */
		log_point(&log_state.fd, STDERR_FILENO);
}

static void
log_use_syslog(int fd, bool is_stream)
{
	if (fd == -1)
		return;
	SET(syslog_is_stream, is_stream);
	log_point(&log_state.syslog, fd);
}

/* False: syslog cannot be connected to now. */
static bool
log_connect_syslog(void)
{
	bool is_stream;
	int fd = log_syslog_connect(log_state.options.syslog, &is_stream);

	if (fd == -1)
		return false;
	log_use_syslog(fd, is_stream);
	close(fd);
	return true;
}

static bool
log_wants_syslog(const struct log_options *options)
{
	return options->only_syslog || options->file == NULL;
}

enum nsd_err
log_open_files(const struct log_options *options, struct log_files *files)
{
	*files = (struct log_files){.file = -1, .syslog = -1};
	if (options->file != NULL && !options->only_syslog) {
		files->file = log_open_file(options->file);
		if (files->file == -1)
			return NSD_E_SYSTEM;
	}
	/* Connects at once: in a chroot there may be no such socket. */
	if (log_wants_syslog(options))
		files->syslog = log_syslog_connect(options->syslog,
			&files->syslog_is_stream);
	return NSD_OK;
}

void
log_close_files(struct log_files *files)
{
	if (files->file != -1)
		close(files->file);
	if (files->syslog != -1)
		close(files->syslog);
	*files = (struct log_files){.file = -1, .syslog = -1};
}

void
log_change(const struct log_options *options, const struct log_files *files)
{
	log_state.options.file = options->file;
	SET(options.time_ascii, options->time_ascii);
	SET(options.time_iso, options->time_iso);
	log_set_verbosity(options->verbosity);
	if (files == NULL)
		return;
	log_use_syslog(files->syslog, files->syslog_is_stream);
	SET(to_syslog, log_wants_syslog(options));
	log_use_file(files->file);
	SET(options.only_syslog, options->only_syslog);
}

enum nsd_err
log_open(const struct log_options *options)
{
	struct log_files files;
	enum nsd_err err = log_open_files(options, &files);

	if (err != NSD_OK)
		return err;
	log_close();
	/* Reads the time zone now: a chroot would hide its file. */
	tzset();
	log_state.options = *options;
	log_change(options, &files);
	log_close_files(&files);
	return NSD_OK;
}

enum nsd_err
log_reopen(void)
{
	int fd, error;

	/* The socket's path may lead to another daemon by now. */
	if (log_state.to_syslog)
		(void)log_connect_syslog();
	if (log_state.options.file == NULL || log_state.options.only_syslog)
		return NSD_OK;
	fd = log_open_file(log_state.options.file);
	if (fd == -1) {
		error = errno;
		log_error("cannot reopen log file %s: %s",
			log_state.options.file, strerror(error));
		errno = error;
		return NSD_E_SYSTEM;
	}
	log_use_file(fd);
	close(fd);
	return NSD_OK;
}

int
log_fd(void)
{
	return log_state.to_file ? log_state.fd : -1;
}

unsigned
log_list_fds(int fds[LOG_FDS_MAX])
{
	unsigned count = 0;

	if (log_state.fd != -1)
		fds[count++] = log_state.fd;
	if (log_state.syslog != -1)
		fds[count++] = log_state.syslog;
	return count;
}

unsigned
log_get_share(struct log_share *share, int fds[LOG_FDS_MAX])
{
	unsigned count = 0;

	*share = (struct log_share){
		.verbosity = log_verbosity(),
		.time_ascii = log_state.options.time_ascii,
		.time_iso = log_state.options.time_iso,
		.to_stderr = !log_state.options.only_syslog,
		.has_file = log_fd() != -1,
		.to_syslog = log_state.to_syslog,
		.has_syslog = log_state.to_syslog && log_state.syslog != -1,
		.syslog_is_stream = log_state.syslog_is_stream,
	};
	if (share->has_file)
		fds[count++] = log_state.fd;
	if (share->has_syslog)
		fds[count++] = log_state.syslog;
	return count;
}

void
log_use_share(const struct log_share *share, const int *fds, unsigned count)
{
	bool has_file = share->has_file != 0;
	bool has_syslog = share->has_syslog != 0;

	if (count != (unsigned)has_file + has_syslog)
		return;
	log_set_verbosity(share->verbosity);
	SET(options.time_ascii, share->time_ascii != 0);
	SET(options.time_iso, share->time_iso != 0);
	log_use_syslog(has_syslog ? fds[has_file] : -1,
		share->syslog_is_stream != 0);
	SET(to_syslog, share->to_syslog != 0);
	log_use_file(has_file ? fds[0] : -1);
	SET(options.only_syslog, share->to_stderr == 0);
}

void
log_close(void)
{
	if (log_state.fd != -1)
		close(log_state.fd);
	if (log_state.syslog != -1)
		close(log_state.syslog);
	log_state.fd = log_state.syslog = -1;
	log_state.to_file = log_state.to_syslog = false;
	log_state.options = (struct log_options){
		.program = "nsd",
		.time_ascii = true,
		.verbosity = log_state.options.verbosity,
	};
}

void
log_set_file(const char *file)
{
	log_state.options.file = file;
}

void
log_set_copy_errors(bool on)
{
	log_state.options.copy_errors = on;
}

void
log_set_patience(int patience_msec)
{
	log_out_set_patience(patience_msec);
}

void
log_own_stderr(void)
{
	log_out_own_stderr();
}

void
log_set_program(const char *program)
{
	log_state.options.program = program;
}

void
log_set_verbosity(unsigned verbosity)
{
	SET(options.verbosity, verbosity);
}

unsigned
log_verbosity(void)
{
	return GET(options.verbosity);
}

/* ---- lines --------------------------------------------------------------- */

/* Copies text with control characters as \ooo; returns its length. */
static size_t
log_escape(char *out, const char *text)
{
	char *p = out;

	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= 0x20 && c != 0x7f) {
			*p++ = (char)c;
			continue;
		}
		*p++ = '\\';
		*p++ = (char)('0' + (c >> 6));
		*p++ = (char)('0' + (c >> 3 & 7));
		*p++ = (char)('0' + (c & 7));
	}
	return (size_t)(p - out);
}

/* The second of the last line of this thread, in text: with many zones, many
 * lines are written within one second. */
static _Thread_local struct {
	time_t sec;
	bool is_known, is_iso;
	char when[32];
	char zone[8]; /* of ISO: +0100 */
} log_last;

/* False: there is no date for that second. */
static bool
log_print_second(time_t sec, bool is_iso)
{
	struct tm tm;

	if (log_last.is_known && log_last.sec == sec
		&& log_last.is_iso == is_iso)
		return true;
	if (localtime_r(&sec, &tm) == NULL)
		return false;
	strftime(log_last.when, sizeof(log_last.when),
		is_iso ? "%Y-%m-%dT%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &tm);
	if (strftime(log_last.zone, sizeof(log_last.zone), "%z", &tm) != 5)
		strcpy(log_last.zone, "+0000");
	log_last.sec = sec;
	log_last.is_iso = is_iso;
	log_last.is_known = true;
	return true;
}

/* Prints [2026-11-21 10:11:12.123], or 2026-11-21T10:11:12.123+01:00, where
 * strftime leaves that colon out. */
static size_t
log_print_time(char *out, size_t size)
{
	bool is_iso = GET(options.time_iso);
	struct timespec now;
	int msec;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!GET(options.time_ascii) || !log_print_second(now.tv_sec, is_iso))
		return (size_t)snprintf(out, size, "[%lld]",
			(long long)now.tv_sec);
	msec = (int)(now.tv_nsec / 1000000);
	if (is_iso)
		return (size_t)snprintf(out, size, "%s.%03d%.3s:%.2s",
			log_last.when, msec, log_last.zone, log_last.zone + 3);
	return (size_t)snprintf(out, size, "[%s.%03d]", log_last.when, msec);
}

/* The targets of lines. */
enum log_place { LOG_TO_FILE, LOG_TO_STDERR, LOG_TO_SYSLOG, LOG_PLACES };

static struct {
	struct log_out outs[LOG_PLACES];
	pid_t pid; /* of the process that has counted there */
} log_lost;

static bool
log_put_line(enum log_place place, enum log_level level, const char *text)
{
	char line[LOG_LINE_MAX];
	size_t len = log_print_time(line, LOG_HEAD_MAX);
	int n = snprintf(line + len, LOG_HEAD_MAX - len, " %.64s[%ld]: %s: ",
		log_state.options.program, (long)getpid(),
		log_levels[level].name);

	len += (size_t)n;
	len += log_escape(line + len, text);
	line[len++] = '\n';
	return log_out_write(&log_lost.outs[place],
		place == LOG_TO_FILE ? GET(fd) : STDERR_FILENO, line, len);
}

static bool
log_send_syslog(const char *line, size_t len)
{
	int fd = GET(syslog);

	if (fd == -1) {
		errno = ENOTCONN;
		return false;
	}
	if (!log_out_wait(&log_lost.outs[LOG_TO_SYSLOG], fd)) {
		errno = EAGAIN;
		return false;
	}
	return log_syslog_send(fd, GET(syslog_is_stream), line, len);
}

static bool
log_put_syslog(enum log_level level, const char *text)
{
	char line[LOG_LINE_MAX];
	size_t len = log_syslog_print_head(line, LOG_HEAD_MAX,
		log_levels[level].priority | log_state.options.facility,
		log_state.options.program);

	len += log_escape(line + len, text);
	line[len] = '\0';
	if (log_send_syslog(line, len))
		return true;
	if (errno == EAGAIN)
		return false;
	/* The daemon may have been restarted: connects again, where the role
	 * may. */
	return log_connect_syslog() && log_send_syslog(line, len);
}

static bool
log_put(enum log_place place, enum log_level level, const char *text)
{
	return place == LOG_TO_SYSLOG ? log_put_syslog(level, text)
		: log_put_line(place, level, text);
}

/* Forgets counts that a child has inherited: the parent reports them. */
static void
log_begin_count(void)
{
	pid_t pid = getpid();

	if (__atomic_load_n(&log_lost.pid, __ATOMIC_RELAXED) == pid)
		return;
	for (unsigned i = 0; i < LOG_PLACES; i++)
		(void)log_out_take(&log_lost.outs[i]);
	__atomic_store_n(&log_lost.pid, pid, __ATOMIC_RELAXED);
}

static void
log_tell_place(enum log_place place)
{
	struct log_out *out = &log_lost.outs[place];
	uint64_t lost = log_out_take(out);
	char text[160];

	if (lost == 0)
		return;
	snprintf(text, sizeof(text), "%llu lines of the log are lost here: %s",
		(unsigned long long)lost, log_out_reason(out));
	if (!log_put(place, LOG_LEVEL_WARNING, text))
		log_out_return(out, lost);
}

void
log_tell_lost(void)
{
	log_begin_count();
	for (unsigned i = 0; i < LOG_PLACES; i++)
		log_tell_place(i);
}

/* A line that is lost leaves a number. There is nowhere to report a failure,
 * and without a syslog there are no lines to miss there. */
static void
log_write_place(enum log_place place, enum log_level level, const char *text)
{
	log_tell_place(place);
	if (!log_put(place, level, text)
		&& (place != LOG_TO_SYSLOG || errno == EAGAIN))
		log_out_count(&log_lost.outs[place], errno);
}

void
log_write(enum log_level level, const char *format, ...)
{
	int saved_errno = errno;
	bool to_file = GET(to_file), copy;
	char text[LOG_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_begin_count();
	copy = log_state.options.copy_errors && level == LOG_LEVEL_ERROR;
	if (GET(to_syslog))
		log_write_place(LOG_TO_SYSLOG, level, text);
	if (to_file)
		log_write_place(LOG_TO_FILE, level, text);
	if (copy || (!to_file && !GET(options.only_syslog)))
		log_write_place(LOG_TO_STDERR, level, text);
	errno = saved_errno;
}

enum log_level
log_diag_level(const struct diag *d)
{
	return d->severity == DIAG_ERROR ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING;
}

void
log_diag(struct diag_sink *sink, const struct diag *d)
{
	enum log_level level = log_diag_level(d);

	if (d->file == NULL)
		log_write(level, "%s", d->text);
	else if (d->line == 0)
		log_write(level, "%s: %s", d->file, d->text);
	else if (d->column == 0)
		log_write(level, "%s:%u: %s", d->file, (unsigned)d->line,
			d->text);
	else
		log_write(level, "%s:%u: %s (column %u)", d->file,
			(unsigned)d->line, d->text, (unsigned)d->column);
}
