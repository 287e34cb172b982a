/* statistics.h - the counters of a worker as lines of the log. */
#ifndef PROC_STATISTICS_H
#define PROC_STATISTICS_H

#include <time.h>

#include "query/counters.h"
#include "store/store.h"

/* The NSTATS and XSTATS lines of BIND 8 (doc/surface.md section 4). */
void statistics_log(const struct counters *counters, time_t now, time_t boot);

/* What the store holds, and what waits for which reader. */
void statistics_log_store(const struct store_writer *writer);

#endif
