/*
 * failing.h - memory that runs out: libc's in programs that are linked with
 * failing_libc.c and $(WRAP_ALLOCATIONS); the store's, that of arenas and of
 * batches of records with failing_store.c and $(WRAP_STORE). Allocations of
 * the objects in a program come here, those of shared libraries do not.
 */
#ifndef TESTS_LIB_FAILING_H
#define TESTS_LIB_FAILING_H

#include <stdbool.h>

/* From the n-th allocation from now on (0: the next) all fail: memory does not
 * come back. Negative: none does. */
void failing_from(int n);

/* The n-th allocation from now on (0: the next) fails, those after it do not.
 * Negative: none does. */
void failing_once(int n);

/* True if one has failed since it was last said which is to. */
bool failing_has_failed(void);

/* Allocations of this thread are for the test, and do not count; or they do
 * again. */
void failing_spare(bool spares);

/* Counts an allocation; true: it is to fail. Any thread. */
bool failing_now(void);

#endif
