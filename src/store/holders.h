/*
 * holders.h - the slots of the readers, as the writer sees them.
 */
#ifndef STORE_HOLDERS_H
#define STORE_HOLDERS_H

#include "store/state.h"

/* Finds what is online and pinned now. */
void holders_scan(const struct store_writer *writer, struct holders *holders);

/* Brings pins into steps; see there. */
void holders_make_steps(const struct holders *holders,
	struct pin_steps *steps);

#endif
