/* report.h - the report of a reconfig, which main writes while it reads the new
 * nsd.conf: for the asker, and the log. */
#ifndef MAIN_REPORT_H
#define MAIN_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "conf/compare.h"
#include "ipc/message.h"
#include "main/asker.h"

struct report {
	struct diag_sink sink; /* first */
	bool in_log;           /* a signal asks; or */
	struct asker asker;
	bool no_wait;          /* the asker wants to know only that main has the
				* configuration */
	bool waits;            /* the text names options that wait for a
				* restart */
	unsigned left_out;     /* options for which there was no room */
	size_t warned;         /* octets of text that are such of nsd.conf */
	size_t len;
	char text[IPC_RECONFIGURED_TEXT_MAX];
};

/* Adds a line; report_add_logged: a line that the log has already. A line
 * without room is left out. */
void report_add(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void report_add_logged(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Makes room for a last line of this many octets: lines at the end of the text
 * are dropped for it. */
void report_make_room(struct report *report, size_t len);

/* Turns an error about files into a warning: they stay as they are. A key may
 * be readable by root alone, or lie outside of the chroot. The first reason
 * behind from is kept. */
void report_weaken(struct report *report, size_t from, const char *what);

/* Of the sink: errors and warnings of nsd.conf, of which the log has the
 * warnings in any case; errors of files and sockets, which the log has, too. */
void report_on_diag(struct diag_sink *sink, const struct diag *d);
void report_on_file_diag(struct diag_sink *sink, const struct diag *d);

/* Adds an option, with its place. Many of them leave room for what comes
 * behind; report_end_options says how many were left out, which the log has.
 * waits: of these. */
void report_add_option(struct report *report,
	const struct conf_changed *changed);
void report_end_options(struct report *report, bool waits);

/* Adds the numbers of keys, patterns and zones that differ. The log has that
 * already. */
void report_add_difference(struct report *report,
	const struct conf_difference *d);

#endif
