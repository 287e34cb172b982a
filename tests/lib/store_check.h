/*
 * store_check.h - looks at a whole store: nothing is in use that cannot be
 * reached, nothing can be reached that is not in use, no two objects overlap.
 */
#ifndef TESTS_LIB_STORE_CHECK_H
#define TESTS_LIB_STORE_CHECK_H

#include <stdint.h>

#include "store/store.h"

struct store_sweep;
struct store_writer;

/* Marks all that the roots lead to, as mark_roots does. */
typedef void store_check_mark(struct store_writer *writer,
	struct store_sweep *sweep);

/*
 * Checks the store of a writer that has no other heaps and no transaction open.
 * After it what was retired may still wait; else each granule in use belongs to
 * just one object that mark reaches. The bitmaps, the lists of spans and the
 * counts agree, and marking alters nothing (so that counts of holders, which it
 * makes anew, were right).
 * returns NULL, or what is wrong (static memory).
 */
const char *store_check(struct store_writer *writer, store_check_mark *mark);

/* Sweeps, as a writer does that takes over from one that died. NULL, or what is
 * wrong. */
const char *store_check_take_over(struct store_writer *writer,
	store_check_mark *mark);

#endif
