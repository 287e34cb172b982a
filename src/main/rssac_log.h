/* rssac_log.h - the figures of RSSAC002 as lines of main's log. */
#ifndef MAIN_RSSAC_LOG_H
#define MAIN_RSSAC_LOG_H

#include <time.h>

#include "dns/counters.h"
#include "process/server.h"
#include "query/rssac.h"

/* A period of figures: a UTC day, or what is left of it after the start. */
struct rssac_log {
	time_t since;
	/* Counts of all workers at the begin of the period. */
	struct counters counters;
	struct rssac figures;
};

/* Begins a period; for a server with rssac. */
void rssac_log_begin(struct rssac_log *log, const struct server *server,
	time_t now);
/* Writes the figures of the period so far. */
void rssac_log_write(const struct rssac_log *log, const struct server *server,
	time_t now);

/* Seconds from a time until its UTC day ends: 1 to 86400. */
unsigned rssac_log_seconds_left(time_t now);

#endif
