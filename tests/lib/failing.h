/*
 * failing.h - memory that runs out. For programs that are linked with
 * $(WRAP_ALLOCATIONS): allocations of the objects in it come here, those of
 * libraries do not.
 */
#ifndef TESTS_LIB_FAILING_H
#define TESTS_LIB_FAILING_H

#include <stdbool.h>

/* From the n-th allocation from now on (0: the next) all fail: memory does not
 * come back. Negative: none does. */
void failing_from(int n);

/* Counts an allocation; true: it is to fail. Any thread. */
bool failing_now(void);

#endif
