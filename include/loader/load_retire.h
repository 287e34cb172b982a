/*
 * load_retire.h - retires versions of zones that are no longer served, so that
 * their memory is used again. Large ones are retired a little at a time.
 *
 * Whoever makes a version of a zone waits until the one before that was served
 * is retired. So of a zone there are three at most: one that is served, one
 * that is being made, and one that readers are still at.
 */
#ifndef LOADER_LOAD_RETIRE_H
#define LOADER_LOAD_RETIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/load_zone.h"
#include "store/store.h"

struct load_retiring;
struct store_writer;

/* Zones that have one in common wait for each other. */
#define LOAD_RETIRE_MARKS 4096u

/* Zeroed: nothing to do. */
struct load_retire {
	void (*on_work)(void *ctx); /* there is something to do; or NULL */
	void *ctx;
	/* private, of the loader's main thread */
	struct load_retiring *first, *last; /* in the order they came */
	uint32_t marks[LOAD_RETIRE_MARKS]; /* how many are of a zone whose
					    * name has that hash; atomic */
};

/* Takes the version that table_swap_zone or table_take gives; STORE_NONE:
 * nothing. A small version is retired at once; so is any for which there is no
 * memory to remember it. apex: of the zone, in lower case. For the main thread,
 * as is the next. */
void load_retire_add(struct load_retire *retire, struct store_writer *writer,
	const uint8_t *apex, store_ref zone);

/* Works for a turn (load_turn.h), and reclaims. False: all is done. */
bool load_retire_step(struct load_retire *retire, struct store_writer *writer);

/* True if a version of the zone is being retired, or by mistake, seldom. Any
 * thread. */
bool load_retire_has(const struct load_retire *retire,
	const uint8_t *apex) MUST_USE;

/* Returns when no version of the zone is being retired. For any thread that is
 * about to make one: it waits for the loop; the loop's own does it at once,
 * which takes 0.3 s for a million names (load_retire_has tells before). */
void load_retire_await(const struct load_context *context,
	const uint8_t *apex);

#endif
