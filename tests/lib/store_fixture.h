/* store_fixture.h - a store in memory and its writer, for tests of what is
 * kept in it. */
#ifndef TESTS_LIB_STORE_FIXTURE_H
#define TESTS_LIB_STORE_FIXTURE_H

#include <stdint.h>

#include "store/store.h"

struct store_heap;
struct store_writer;

struct store_fixture {
	struct store *store;
	struct store_writer *writer;
	struct store_heap *heap;       /* the writer's */
	const struct store_view *view; /* the writer's */
};

/* Makes a store with nothing in it, of 1 GiB at the most, with room for so
 * many readers, at least 1; what is freed is overwritten. Aborts the test
 * program on failure. */
void store_fixture_init(struct store_fixture *f, unsigned reader_max);

/* Readers have to be closed. */
void store_fixture_fini(struct store_fixture *f);

/* Octets of objects that are allocated and not freed yet. */
uint64_t store_fixture_live(const struct store_writer *writer);

/* Reclaims what no reader holds any more; returns store_fixture_live. */
uint64_t store_fixture_reclaimed(struct store_writer *writer);

#endif
