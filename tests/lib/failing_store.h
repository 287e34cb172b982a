/* failing_store.h - a test's own allocations in a store that runs out
 * of memory. */
#ifndef TESTS_LIB_FAILING_STORE_H
#define TESTS_LIB_FAILING_STORE_H

#include "store/store.h"

struct store_heap;

/* store_alloc that is not counted and does not fail as failing.h says. */
void *failing_spare_store_alloc(struct store_heap *heap, size_t len,
	store_ref *ref);

#endif
