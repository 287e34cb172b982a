/*
 * syncer.h - flushes files to the disk by a thread, so that a slow disk does
 * not hold the loop up. Requests that come while it is at work are done
 * together, next.
 */
#ifndef CTL_SYNCER_H
#define CTL_SYNCER_H

#include <stdint.h>

#include "base/err.h"

struct event_base;
struct syncer;

/* Reports that the requests up to `number` are done. error 0: their files are
 * durable; else the errno of why some may not be. Called in the loop. */
typedef void syncer_on_done(void *ctx, uint64_t number, int error);

/* Starts the thread. Gives *made, which is never ended: it lives as long as its
 * process. NSD_E_MEMORY; NSD_E_SYSTEM: there is no thread or descriptor. */
enum nsd_err syncer_create(struct event_base *base, syncer_on_done *on_done,
	void *ctx, struct syncer **made) MUST_USE;

/*
 * Has a file flushed, and a folder; either may be -1. Both stay open until
 * on_done has been called for this or a later number. Requests that wait
 * together are for the same file and folder. Returns the number of the request,
 * which grows by one.
 */
uint64_t syncer_ask(struct syncer *syncer, int fd, int folder);

#endif
