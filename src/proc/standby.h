/*
 * standby.h - workers' posts whose workers die of what clients send: another
 * process stands by, and takes over at once. See
 * doc/decisions/0136-a-worker-that-stands-by.md.
 */
#ifndef PROC_STANDBY_H
#define PROC_STANDBY_H

#include "proc/supervisor.h"

/* Has the one that stands by serve. False: there is none. */
bool standby_promote(struct post *post);

/* True if main has descriptors for one that stands by, and then some. Without
 * them nobody does: xfrd or the loader could not be replaced. */
bool standby_has_room(const struct supervisor *s);

/*
 * Forks are paid for: each with 4 ms, or with 4 times what it took main of a
 * processor, if that is more; 200 ms may be spent in advance. So messages that
 * kill have main make 250 processes a second at most, and take no more than a
 * quarter of its time. Returns the milliseconds until the next fork; 0: now.
 */
unsigned standby_wait(const struct supervisor *s, int64_t now_usec);
/* One was made, which took so much. */
void standby_pay(struct supervisor *s, int64_t now_usec, int64_t took_usec);

/* Ends those that are needed no more: their worker has lived for long. To be
 * called now and then. */
void standby_rest(struct supervisor *s, int64_t now_msec);

#endif
