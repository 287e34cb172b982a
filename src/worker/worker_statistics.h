/* worker_statistics.h - the counters of a worker as lines of the log. */
#ifndef WORKER_WORKER_STATISTICS_H
#define WORKER_WORKER_STATISTICS_H

#include <time.h>

#include "dns/counters.h"

/* The NSTATS and XSTATS lines of BIND 8 (doc/surface.md section 4). */
void worker_statistics_log(const struct counters *counters, time_t now,
	time_t boot);

#endif
