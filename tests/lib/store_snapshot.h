/*
 * store_snapshot.h - copies of a store as another process has just left it,
 * for tests that stop that process anywhere.
 */
#ifndef TESTS_LIB_STORE_SNAPSHOT_H
#define TESTS_LIB_STORE_SNAPSHOT_H

#include <stdbool.h>

#include "store/store.h"

struct store_snapshot;

/* Copies a store that this process has made. Aborts without memory. */
struct store_snapshot *store_snapshot_create(const struct store *store);
void store_snapshot_destroy(struct store_snapshot *snapshot);

/* The store itself, as it is now. */
const struct store_view *store_snapshot_view(
	const struct store_snapshot *snapshot);

/* Takes the copy anew; false if nothing has changed since the last time. */
bool store_snapshot_update(struct store_snapshot *snapshot);

/* Gives another store, that nobody has open, the contents of the copy. */
void store_snapshot_restore(const struct store_snapshot *snapshot,
	struct store *to);

#endif
