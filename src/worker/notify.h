/*
 * notify.h - a worker's way to xfrd for NOTIFYs that are allowed (RFC 1996).
 *
 * Credits bound what xfrd may be sent. Beyond them a NOTIFY waits here, one for
 * each zone: a newer one takes the place of an older one. If too many zones
 * wait it is not taken, and its sender gets no reply, so that it sends it again
 * (section 3.6).
 */
#ifndef WORKER_NOTIFY_H
#define WORKER_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/exchange.h"
#include "process/peers.h"

/* Zones for which a NOTIFY may wait. */
#define NOTIFY_WAITING_MAX 64u

struct notify_waiting;

/* All zeros: empty. */
struct notify_queue {
	size_t count;
	struct notify_waiting *waiting[NOTIFY_WAITING_MAX]; /* in order */
};

/*
 * Passes a request on, which query has found to be a NOTIFY that is allowed.
 * Does not block. False: there is no room, or no memory.
 */
bool notify_pass_on(struct notify_queue *queue, struct peers *peers,
	const struct exchange *x) MUST_USE;

/* Sends the waiting NOTIFYs: xfrd is new, or has room for more. */
void notify_go_on(struct notify_queue *queue, struct peers *peers);

#endif
