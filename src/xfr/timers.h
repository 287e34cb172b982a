/*
 * timers.h - timers by id: a heap with four branches a node.
 *
 * An id is a small number and has one time at most. Memory: 20 octets for each
 * id, times the slack of arrays that double.
 */
#ifndef XFR_TIMERS_H
#define XFR_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct timer {
	int64_t at;
	uint32_t id;
};

struct timers {
	struct timer *heap;
	uint32_t *places; /* of each id in the heap, plus 1; 0: no time */
	size_t count;
	size_t heap_room;
	size_t places_count, places_room;
};

/* Makes room so that ids up to this one can be set without failing.
 * NSD_E_MEMORY. */
enum nsd_err timers_reserve(struct timers *t, uint32_t id) MUST_USE;
void timers_fini(struct timers *t);

/* Sets or moves the time of an id that has room. */
void timers_set(struct timers *t, uint32_t id, int64_t at);
void timers_remove(struct timers *t, uint32_t id); /* the id may have none */

/* Returns the first timer; NULL: none. Lent until the next change. */
static inline const struct timer *
timers_first(const struct timers *t)
{
	return t->count == 0 ? NULL : &t->heap[0];
}

#endif
