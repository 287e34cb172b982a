/*
 * xfrd_trouble.h - trouble that xfrd knows of: for `nsd-control status`, which
 * names it, and for metrics, which count it.
 */
#ifndef XFRD_XFRD_TROUBLE_H
#define XFRD_XFRD_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/statistics.h"
#include "xfr/machine.h"

struct xfrd_zone;
struct xfrd;
struct xfrd_said_way;

/* The time for which the death of a process is told. */
#define XFRD_TROUBLE_DEATH_MSEC (15 * 60 * 1000)
/* The time for which the message is told that it had in hand. */
#define XFRD_TROUBLE_IN_HAND_MSEC (24 * 60 * 60 * 1000)

/* Finds the trouble of a zone. *status: the machine's, if it knows the zone as
 * secondary; else its has_data is false. */
enum statistics_zone_trouble xfrd_trouble_find(struct xfrd *xfrd,
	struct xfrd_zone *zone, struct xfr_status *status);

/* The newest way in which a target of the zone's NOTIFY fails, that the log
 * calls an error; NULL: none. Lent until the next call. */
const struct xfrd_said_way *xfrd_trouble_find_notify(struct xfrd *xfrd,
	const struct xfrd_zone *zone);

/*
 * A count of the zones that have trouble. It goes over all zones, in turns, and
 * all users wait for the same one. A count that has ended is good for twenty
 * times as long as xfrd worked at it: however many zones there are and however
 * often it is asked for, it takes a twentieth of xfrd's time at most.
 */
struct xfrd_trouble {
	struct statistics_trouble counted; /* the last that has ended */
	int64_t good_until_usec;           /* of that; 0: none has */
	struct statistics_trouble sum;     /* of the one that goes on */
	uint32_t next;                     /* number of a zone */
	int64_t worked_usec;
	unsigned waiting;                  /* users that wait for its end */
};

/* Wants a count, until xfrd_trouble_leave. */
void xfrd_trouble_want(struct xfrd *xfrd);
/* Takes that back: once for each xfrd_trouble_want. */
void xfrd_trouble_leave(struct xfrd *xfrd);
/* Does a turn of the count. True: *found is complete, with the present troubles
 * other than of zones. False: call it again, in another turn of the loop. */
bool xfrd_trouble_count(struct xfrd *xfrd, struct statistics_trouble *found);

#endif
