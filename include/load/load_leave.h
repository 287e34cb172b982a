/*
 * load_leave.h - versions of zones that are served no more and whose memory is
 * to be used again: large ones are retired a little at a time.
 */
#ifndef LOAD_LOAD_LEAVE_H
#define LOAD_LOAD_LEAVE_H

#include <stdbool.h>
#include <stddef.h>

#include "build/build.h"
#include "store/store.h"
#include "keep/retire.h"

struct store_writer;

/* Zeroed: nothing to do. */
struct load_leave {
	struct retiring **zones; /* in work from the last one on */
	size_t count, room;
};

/* Takes what table_swap_zone and table_take give. A small version, and any
 * without memory to remember it by, is retired at once. */
void load_leave_add(struct load_leave *leave, struct store_writer *writer,
	store_ref zone);

/* Takes a turn (load_turn.h), and reclaims. False: all is done. */
bool load_leave_step(struct load_leave *leave, struct store_writer *writer);

#endif
