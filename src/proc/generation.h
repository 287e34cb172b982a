/* generation.h - the stores of main, one after another: see struct
 * generation. */
#ifndef PROC_GENERATION_H
#define PROC_GENERATION_H

#include "proc/supervisor.h"

/*
 * Returns the generation for the next loader: the one that there is, if its
 * store is sound, or a new one, which is then s->building. NULL: a new store
 * cannot be made; said in the log.
 */
struct generation *generation_choose(struct supervisor *s);

/*
 * A version of a zone has no room beside the one that is served: the next
 * loader fills another store, if all that is served is in zone files. Workers
 * stay with the full one until that is done.
 */
void generation_crowd(struct supervisor *s, struct child *loader);

/* True if a generation is being filled for the sake of more room. */
bool generation_is_for_more(const struct supervisor *s,
	const struct generation *g);

/* The store that is filled for more room has not all zones, or its loader has
 * died, or it could not be made: the one that is served goes on. Says so. */
void generation_stay(struct supervisor *s);

/* Frees a generation if no child and nobody in main uses it any more. */
void generation_release(struct supervisor *s, struct generation *g);

/* Offers the file of a damaged database to the loader of a store in memory. It
 * fills that file at a clean stop. Does nothing if there is no such file, or no
 * such loader. */
void generation_offer_file(struct supervisor *s);

/* True if the store has zones that a file is to keep, and a loader may yet come
 * to do so. */
bool generation_is_to_close(const struct supervisor *s,
	const struct generation *g);

#endif
