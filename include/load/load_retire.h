/*
 * load_retire.h - retires versions of zones that are no longer served, so that
 * their memory is used again. Large ones are retired a little at a time.
 */
#ifndef LOAD_LOAD_RETIRE_H
#define LOAD_LOAD_RETIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "build/build.h"
#include "keep/retire.h"
#include "store/store.h"

struct store_writer;

/* Zeroed: nothing to do. */
struct load_retire {
	struct retiring **zones; /* in work from the last one on */
	size_t count, room;
};

/* Takes the version that table_swap_zone or table_take gives; STORE_NONE:
 * nothing. A small version is retired at once; so is any for which there is no
 * memory to remember it. */
void load_retire_add(struct load_retire *retire, struct store_writer *writer,
	store_ref zone);

/* Works for a turn (load_turn.h), and reclaims. False: all is done. */
bool load_retire_step(struct load_retire *retire, struct store_writer *writer);

#endif
