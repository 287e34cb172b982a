/*
 * load_leave.h - retires versions of zones that are no longer served, so that
 * their memory is used again. Large ones are retired a little at a time.
 */
#ifndef LOAD_LOAD_LEAVE_H
#define LOAD_LOAD_LEAVE_H

#include <stdbool.h>
#include <stddef.h>

#include "build/build.h"
#include "keep/retire.h"
#include "store/store.h"

struct store_writer;

/* Zeroed: nothing to do. */
struct load_leave {
	struct retiring **zones; /* in work from the last one on */
	size_t count, room;
};

/* Takes the version that table_swap_zone or table_take gives; STORE_NONE:
 * nothing. A small version is retired at once; so is any for which there is no
 * memory to remember it. */
void load_leave_add(struct load_leave *leave, struct store_writer *writer,
	store_ref zone);

/* Works for a turn (load_turn.h), and reclaims. False: all is done. */
bool load_leave_step(struct load_leave *leave, struct store_writer *writer);

#endif
