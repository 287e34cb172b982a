/*
 * log.h - the log of a process: stderr, a file, syslog (doc/surface.md has the
 * formats of its lines). It is the one piece of process-wide state in base,
 * since things go wrong everywhere.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct diag;
struct diag_sink;

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_NOTICE,
	LOG_LEVEL_INFO };

struct log_options {
	const char *program; /* the PROG of a line; lent until log_close */
	const char *file;    /* NULL: stderr and syslog */
	bool copy_errors;    /* errors to stderr too, where a person may be
			      * looking; until log_set_copy_errors(false) */
	bool only_syslog;
	bool time_ascii;
	bool time_iso;
	int facility;        /* syslog facility */
	const char *syslog;  /* path of its socket; NULL: /dev/log */
	unsigned verbosity;
};

/*
 * Opens the log. Before this (and after log_close) lines go to stderr. Borrows
 * the texts until log_close. A symbolic link in place of the file is followed
 * if it is root's or our own. Returns NSD_E_SYSTEM with errno if the file
 * cannot be opened (ELOOP: somebody else's link); the log then stays as it was.
 * It is no error if there is no syslog: each line tries again.
 */
enum nsd_err log_open(const struct log_options *options) MUST_USE;

/* Opens the file anew under the same name, for log rotation, or if it could not
 * be opened before; and syslog's socket, if lines go there. On failure the log
 * goes on as it is, with a line that says why. Returns NSD_OK, or NSD_E_SYSTEM
 * with errno. */
enum nsd_err log_reopen(void);
void log_close(void);

/* Descriptors of a log that is opened beside the one in use. */
struct log_files {
	int file;   /* -1: none */
	int syslog;
	bool syslog_is_stream;
};

/* Opens the log of other options, as log_open does, and leaves the log in use
 * as it is. Returns NSD_OK, and log_close_files is to follow; NSD_E_SYSTEM as
 * log_open. */
enum nsd_err log_open_files(const struct log_options *options,
	struct log_files *files) MUST_USE;
void log_close_files(struct log_files *files);

/* Writes the log by other options from now on; program, copy_errors, facility
 * and syslog stay as they are. files: opened for these options; NULL: the open
 * files stay in use. Borrows the file's name until log_close. */
void log_change(const struct log_options *options,
	const struct log_files *files);

/* The descriptor of the log file, lent until log_close; -1: no file. */
int log_fd(void);

/* Lists the descriptors of the log, lent until log_close; returns their count.
 * A process that closes all other descriptors leaves these open. */
#define LOG_FDS_MAX 2u
unsigned log_list_fds(int fds[LOG_FDS_MAX]);

/* A log as another process is to write it. */
struct log_share {
	uint32_t verbosity;
	uint8_t time_ascii;
	uint8_t time_iso;
	uint8_t to_stderr; /* if there is no file */
	uint8_t has_file;  /* the message has its descriptor, the first */
	uint8_t to_syslog;
	uint8_t has_syslog; /* and that of syslog, behind it */
	uint8_t syslog_is_stream;
	uint8_t unused;
};

/* Describes the log of this process. Lends the descriptors; returns their
 * count. */
unsigned log_get_share(struct log_share *share, int fds[LOG_FDS_MAX]);

/* Writes the log as `share` describes from now on: for a process that may not
 * open files. The caller may close the descriptors, count of them; if these are
 * not as many as share says, nothing is done. */
void log_use_share(const struct log_share *share, const int *fds,
	unsigned count);

/* Sets the name by which log_reopen finds the file, after a change of the root
 * directory. Lent until log_close. */
void log_set_file(const char *file);
void log_set_copy_errors(bool on);

/*
 * Limits how long lines wait for a reader: behind a full pipe, a terminal that
 * stands, a daemon that hangs. All lines of a process together wait that long
 * at most, and an eighth of the time that has passed since; and not at all
 * after a line has waited in vain, until one gets through. Lines that do not
 * get through are lost, and counted. Without a call, and for -1, each line
 * waits for as long as it takes.
 */
void log_set_patience(int patience_msec);

/* Opens the standard error output anew, if it is a pipe or a terminal, so that
 * it does not block, without an effect on other processes that share it. Where
 * the kernel refuses that, a line may have to wait if two processes find the
 * last room at once. */
void log_own_stderr(void);

/* Reports the lines that were lost, if there is room for that. Each line does
 * so, too: call it now and then. */
void log_tell_lost(void);

/* Changes PROG of later lines (--enable-log-role: to a role's name). Lent until
 * log_close. */
void log_set_program(const char *program);
void log_set_verbosity(unsigned verbosity);
unsigned log_verbosity(void);

/*
 * Writes one line. Control characters in the text become \ooo. A text is cut at
 * 4095 octets, and a line that goes to a pipe at PIPE_BUF (4096). A line that
 * there is no room for waits, or is lost: see log_set_patience. Threads may
 * call it at once, signal handlers may not. It never fails for the caller, and
 * errno stays as it was.
 */
void log_write(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_write(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
/* The level of a finding: an error or a warning. */
enum log_level log_diag_level(const struct diag *d);
/* Writes a finding as one line, as people know it: "FILE:LINE: TEXT (column
 * N)", or without the place that it does not have. The column is at the end, as
 * scripts look for "FILE:LINE: TEXT". Serves as a sink's on_diag. */
void log_diag(struct diag_sink *sink, const struct diag *d);

/* Writes a line if the verbosity is v or more. */
#define log_at(v, level, ...)                                \
	do {                                                 \
		if (log_verbosity() >= (v))                  \
			log_write((level), __VA_ARGS__);     \
	} while (0)

#endif
