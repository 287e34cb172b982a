/*
 * standby.h - a standby process waits in the service of a worker that dies of
 * what clients send, and takes over at once. See
 * doc/decisions/0136-a-worker-that-stands-by.md.
 */
#ifndef MAIN_STANDBY_H
#define MAIN_STANDBY_H

#include "main/supervisor.h"

/* Has the standby process of a service serve. False: the service has none that
 * can. */
bool standby_promote(struct service *service);

/* Descriptors of main that are kept free for processes that are needed more
 * than one that stands by: a new xfrd or loader. */
#define STANDBY_SPARE 16u

/* True if main has this many free descriptors. Cost: twice as many system
 * calls. */
bool standby_has_room(const struct supervisor *s, unsigned count);

/*
 * The rate of forks is limited: each fork costs 4 ms, or 4 times the processor
 * time that it took main, if that is more; 200 ms may be spent in advance. So
 * messages that kill make main fork 250 times a second at most, for no more
 * than a quarter of its time. Returns the milliseconds until the next fork; 0:
 * now.
 */
unsigned standby_wait(const struct supervisor *s, int64_t now_usec);
/* Notes a fork, which took main this much processor time. */
void standby_pay(struct supervisor *s, int64_t now_usec, int64_t took_usec);

/* Ends the standby processes whose worker has lived for
 * SERVICE_LIVED_WELL_MSEC. Call it periodically. */
void standby_rest(struct supervisor *s, int64_t now_msec);

#endif
