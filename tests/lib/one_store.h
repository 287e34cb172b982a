/* one_store.h - the store of a test program that needs just one. */
#ifndef TESTS_LIB_ONE_STORE_H
#define TESTS_LIB_ONE_STORE_H

#include "lib/store_fixture.h"

static struct store_fixture s;

static inline int
open_store(void **state)
{
	store_fixture_init(&s, 1);
	return 0;
}

static inline int
close_store(void **state)
{
	store_fixture_fini(&s);
	return 0;
}

#endif
