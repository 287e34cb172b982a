/* limit_log.h - what rate limits hold back, and whom lists let in or not, as
 * lines of the log. */
#ifndef PROC_LIMIT_LOG_H
#define PROC_LIMIT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "proc/cpu_limit.h"
#include "query/query.h"

/* Of a worker; zeroed at first. */
struct limit_log {
	uint64_t sec;    /* the one that is being counted for */
	uint32_t lines;  /* in it */
	uint32_t missed; /* since the last line */
};

/* Logs at verbosity 1 what has begun or ended; 20 lines a second at most, and
 * how many it left out. */
void limit_log_write(struct limit_log *log, const struct query_block *blocks,
	size_t count, uint64_t now_sec);
/* Logs at verbosity 1 who is given a zone, and at 2 who is refused something;
 * as many lines, of a log of its own. */
void limit_log_write_access(struct limit_log *log,
	const struct query_access *accesses, size_t count, uint64_t now_sec);
/* The same of the processor's time, by a log of its own. */
void limit_log_write_cpu(struct limit_log *log,
	const struct cpu_limit_block *blocks, size_t count, uint64_t now_sec);

#endif
