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

/* The value of a call whose n-th allocation (0: the first) fails, and no other;
 * or that and all after it. */
#define FAILING_ONCE(n, call) FAILING_DURING(failing_once, n, call)
#define FAILING_FROM(n, call) FAILING_DURING(failing_from, n, call)
#define FAILING_DURING(fail, n, call)                                        \
	({                                                                   \
		fail(n);                                                     \
		__typeof__(call) failing_result = (call);                    \
		fail(-1);                                                    \
		failing_result;                                              \
	})

/* True if one has failed since it was last said which is to. */
bool failing_has_failed(void);

/* Allocations of this thread are for the test, and do not count; or they do
 * again. */
void failing_spare(bool spares);

/* Counts an allocation; true: it is to fail. Any thread. */
bool failing_now(void);

#endif
