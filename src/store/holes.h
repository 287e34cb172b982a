/*
 * holes.h - the table of holes among objects. All but holes_have is called
 * under the writer's lock.
 */
#ifndef STORE_HOLES_H
#define STORE_HOLES_H

#include "base/rcu.h"
#include "store/state.h"

/* Makes the table anew from the bitmaps. */
void holes_load(struct store_writer *writer);
void holes_fini(struct store_writer *writer);

/* Drops entries that are not true any more, and frees memory. */
void holes_trim(struct store_writer *writer);

/*
 * Chooses anew which spans drain, if enough was freed since the last time: the
 * emptiest, as many as the holes of the other spans have room for. The holes of
 * a draining span are used last, so it becomes free as its objects are
 * replaced.
 */
void holes_choose_draining(struct store_writer *writer);

/*
 * Claims the smallest hole of a table that has room for count granules (fewer
 * than a span has). Returns the size of what was claimed, in granules, and
 * where it begins; or 0.
 */
uint32_t holes_take(struct store_writer *writer, enum holes_of of,
	uint32_t count, uint32_t *granule);

/* Claims a hole of just count granules (below HOLE_EXACT), in a span that does
 * not drain. Returns where it begins, or 0. */
uint32_t holes_take_exact(struct store_writer *writer, uint32_t count);

/* Frees granules of one span. */
void holes_give(struct store_writer *writer, uint32_t granule,
	uint32_t count);

/* True if holes_take_exact may find one. Any thread, no lock. */
static inline bool
holes_have(const struct store_writer *w, size_t count)
{
	return count < HOLE_EXACT
		&& (rcu_load_relaxed(&w->holes[HOLES_OPEN].some[count / 64])
				>> (count % 64)
			   & 1)
		!= 0;
}

#endif
