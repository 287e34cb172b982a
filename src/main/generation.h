/* generation.h - the stores of main, one after another: see struct
 * generation. */
#ifndef MAIN_GENERATION_H
#define MAIN_GENERATION_H

#include "main/supervisor.h"

/*
 * Returns the generation for the next loader: the one that there is, if its
 * store is sound, or a new one, which is then s->building. NULL: a new store
 * cannot be made; said in the log.
 */
struct generation *generation_choose(struct supervisor *s);

/* Replaces the loader of a generation at once, or has one come that is due
 * later. Does nothing if the loader has another generation. */
void generation_replace_loader(struct supervisor *s,
	const struct generation *g);

/*
 * Has the next loader fill another store beside the one that is served. Readers
 * stay with the old one until that is done. why: for the log, behind "as". Does
 * nothing if g is not served, or has a successor already. If zone files and the
 * journal lack served data, or there are too few descriptors, that is logged,
 * and counts as a filling of no time.
 */
void generation_yield(struct supervisor *s, struct generation *g,
	const char *why);

/* True if a generation is being filled beside the one that is served. */
bool generation_is_beside(const struct supervisor *s,
	const struct generation *g);

/* Goes on with the served store, and logs that: the one beside it lacks zones,
 * or its loader has died, or it could not be made. */
void generation_stay(struct supervisor *s);

/* Frees a generation if no child and no part of main uses it any more. True if
 * it was the one in a file, which waits for the store of a loader now. */
bool generation_release(struct supervisor *s, struct generation *g);

/* True if the store in a file is served only by processes that are about to
 * end: its file is free after them. */
bool generation_file_is_left(const struct supervisor *s);

/* Offers the file of a damaged database to the loader of a store in memory. It
 * fills that file at a clean stop. Does nothing if there is no such file, or no
 * such loader. */
void generation_offer_file(struct supervisor *s);

/* True if the store has zones that a file is to keep, and a loader may yet come
 * to do so. */
bool generation_is_to_close(const struct supervisor *s,
	const struct generation *g);

#endif
