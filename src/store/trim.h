/*
 * trim.h - gives memory back to the kernel after each reclaim. store_trim is in
 * include/store/writer.h.
 */
#ifndef STORE_TRIM_H
#define STORE_TRIM_H

#include "store/state.h"

/* Gives pages of free spans back if there are many: at most one extent's a
 * call. First chooses which spans drain. Takes the lock. */
void trim_free_spans(struct store_writer *writer);

#endif
