/*
 * load_retire.h - retires versions of zones that are no longer served, so that
 * their memory is used again. Large ones are retired a little at a time.
 *
 * A thread that makes a version of a zone waits until the version before the
 * served one is retired. So a zone has three versions at most: the served one,
 * the one that is being made, and the one that readers are still at.
 */
#ifndef LOADER_LOAD_RETIRE_H
#define LOADER_LOAD_RETIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/load_zone.h"
#include "store/store.h"

struct load_retiring;
struct store_writer;

/* The count of marks, by hash of the apex. Zones with the same mark wait for
 * each other. */
#define LOAD_RETIRE_MARKS 4096u

/* Zeroed: nothing to do. */
struct load_retire {
	void (*on_work)(void *ctx); /* there is work; or NULL */
	void *ctx;
	/* private, of the loader's main thread */
	struct load_retiring *first, *last; /* in the order they came */
	uint32_t marks[LOAD_RETIRE_MARKS]; /* count of retiring versions by the
					    * hash of the zone's name; atomic */
};

/* Takes the version that table_swap_zone or table_take gives; STORE_NONE: does
 * nothing. A small version is retired at once; so is any for which there is no
 * memory to remember it. apex: of the zone, in lower case. For the main thread,
 * as is the next. */
void load_retire_add(struct load_retire *retire, struct store_writer *writer,
	const uint8_t *apex, store_ref zone);

/* Works for a turn (load_turn.h), and reclaims. False: all is done. */
bool load_retire_step(struct load_retire *retire, struct store_writer *writer);

/* True if a version of the zone is being retired; seldom also of another zone
 * with the same mark. Any thread. */
bool load_retire_has(const struct load_retire *retire,
	const uint8_t *apex) MUST_USE;

/* Returns when no version of the zone is being retired. For a thread that is
 * about to make a version: it waits for the loop. The loop's own thread retires
 * at once, which takes 0.3 s for a million names (load_retire_has tells
 * before). */
void load_retire_await(const struct load_context *context,
	const uint8_t *apex);

#endif
