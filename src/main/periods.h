/* periods.h - periodic log lines: counters, and the figures of RSSAC002. */
#ifndef MAIN_PERIODS_H
#define MAIN_PERIODS_H

#include "base/err.h"
#include "conf/conf.h"

struct supervisor;

/* Makes the timers, for main's loop. NSD_E_MEMORY. */
enum nsd_err periods_init(struct supervisor *s) MUST_USE;

/* Starts the timers, as the configuration says. */
void periods_begin(struct supervisor *s);

/* Main runs with another configuration than before. Periods that are what they
 * were go on. */
void periods_follow(struct supervisor *s, const struct conf *before);

/* Logs the counters and figures of now. */
void periods_log(struct supervisor *s);

#endif
