/*
 * query_log.h - the query log: lines that are gathered, and written with one
 * call to a file, or sent one by one to syslog. Lines that cannot be written at
 * once are dropped and counted: nobody waits for a disk or a daemon.
 */
#ifndef COLLECTOR_QUERY_LOG_H
#define COLLECTOR_QUERY_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/log_field.h"
#include "tap/line.h"

/* Octets that are gathered. */
#define QUERY_LOG_ROOM (256u * 1024)

struct query_log {
	struct log_format format;
	int fd;            /* -1: none */
	bool waits;        /* for the first descriptor: lines stay as long as
			    * there is room */
	bool is_syslog;    /* fd is a socket of syslog */
	bool is_stream;    /* which has a NUL behind each line */
	bool is_fifo;      /* fd is a FIFO */
	bool is_cut;       /* the file ends in a part of a line */
	int error;         /* errno of the last line that was dropped */
	uint64_t written;  /* lines; counts since query_log_init */
	uint64_t dropped;
	size_t len;        /* octets in room */
	uint32_t count;    /* lines in room */
	char *room;        /* QUERY_LOG_ROOM octets */
};

/* Inits a log that waits for a descriptor. format: as query-log-format has it,
 * NULL: the default. False: the format is none, or there is no memory. */
bool query_log_init(struct query_log *log, const char *format) MUST_USE;
void query_log_fini(struct query_log *log);

/* Writes to another descriptor from now on, which it takes; lines that have
 * been gathered go to the one before, if there was one. fd: a file that was
 * opened for appending and does not block, or a socket of syslog; -1: none, and
 * lines are dropped. */
void query_log_set_file(struct query_log *log, int fd);
void query_log_set_syslog(struct query_log *log, int fd, bool is_stream);

/* Adds the line of a record. Cost: that of tap_line_print; if the room is full,
 * that of query_log_flush, too. */
void query_log_add(struct query_log *log, const struct tap_record *record);

/* Writes the lines that have been gathered. Call it before waiting. Cost: a
 * system call; for syslog one for each line. */
void query_log_flush(struct query_log *log);

#endif
