/* one_fixture.h - the fixture of a test program that needs just one. */
#ifndef TESTS_LIB_ONE_FIXTURE_H
#define TESTS_LIB_ONE_FIXTURE_H

#include "lib/store_fixture.h"
#include "lib/zone_fixture.h"

static struct zone_fixture f;

static inline int
open_fixture(void **state)
{
	zone_fixture_init(&f);
	return 0;
}

static inline int
close_fixture(void **state)
{
	zone_fixture_fini(&f);
	return 0;
}

/* Octets of objects, those that wait for readers too. */
static inline uint64_t
live(void)
{
	return store_fixture_live(f.writer);
}

#endif
