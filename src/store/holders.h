/*
 * holders.h - the slots of the readers, as the writer sees them.
 */
#ifndef STORE_HOLDERS_H
#define STORE_HOLDERS_H

#include "store/state.h"

/* Finds the readers that are online, and the pins, now. */
void holders_scan(const struct store_writer *writer, struct holders *holders);

/* Brings pins into steps: see struct pin_steps. */
void holders_make_steps(const struct holders *holders,
	struct pin_steps *steps);

#endif
