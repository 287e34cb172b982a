/*
 * log_change.h - the log while the server runs: main opens it, and hands what
 * it has opened to all other processes, which may open nothing
 * (doc/decisions/0125).
 */
#ifndef MAIN_LOG_CHANGE_H
#define MAIN_LOG_CHANGE_H

#include "base/diag.h"
#include "base/err.h"
#include "base/log.h"
#include "conf/conf.h"

struct server;
struct supervisor;

/* Opens the log anew, in all processes: it was rotated. Returns as log_reopen.
 */
enum nsd_err log_change_reopen(struct supervisor *s);

/* A log as a new configuration wants it. */
struct log_change {
	bool is_open;  /* to another file, or to syslog */
	struct log_files files;
};

/* Opens the log of a new configuration, if that is another one. returns NSD_OK,
 * and log_change_take or log_change_drop is to follow; NSD_E_SYSTEM: it cannot
 * be opened, said to the sink. */
enum nsd_err log_change_open(const struct server *server,
	const struct conf *new, struct diag_sink *sink,
	struct log_change *change) MUST_USE;
void log_change_drop(struct log_change *change);

/* Has all processes write to the new log. Main runs with the new configuration
 * already; before is the one it ran with. Borrows the new one until there is
 * another. */
void log_change_take(struct supervisor *s, const struct conf *before,
	struct log_change *change);

#endif
