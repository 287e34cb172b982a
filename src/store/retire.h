/*
 * retire.h - frees the retired objects when the writer closes. store_retire and
 * store_reclaim are in include/store/writer.h.
 */
#ifndef STORE_RETIRE_H
#define STORE_RETIRE_H

#include "store/state.h"

/* Marks all retired objects as free, as if no reader held them, and leaves
 * their contents alone. For a file whose writer ends. */
void retire_forget(struct store_writer *writer);

/* Frees the writer's own records of retired objects. */
void retire_fini(struct store_writer *writer);

#endif
