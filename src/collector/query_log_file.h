/*
 * query_log_file.h - the file of the query log, or its socket of syslog, in the
 * collector: main opens it, and again, after growing pauses, when that fails or
 * syslog's daemon goes.
 */
#ifndef COLLECTOR_QUERY_LOG_FILE_H
#define COLLECTOR_QUERY_LOG_FILE_H

#include "base/err.h"
#include "ipc/sink.h"
#include "process/role.h"
#include "tap/ring.h"

struct query_log_file;

/*
 * Makes the file of the query log that nsd.conf names, not open yet; the role
 * has its loop. counts: kept.
 * returns NSD_OK with *file, NULL: there is no query log; NSD_E_MEMORY.
 */
enum nsd_err query_log_file_open(struct role *role, struct tap_counts *counts,
	struct query_log_file **file) MUST_USE;

/* Has main open the file. NULL is fine, here and below. */
void query_log_file_begin(struct query_log_file *file);
/* Adds the line of a record, unless its response comes in another one. */
void query_log_file_take(struct query_log_file *file,
	const struct tap_record *record);
/* Writes what was taken, or drops and counts it. */
void query_log_file_push(struct query_log_file *file);
/* Main has answered, or the file was rotated: a descriptor, taken, or -1. */
void query_log_file_on_sink(struct query_log_file *file, int fd,
	const struct ipc_sink *sink);

#endif
