/*
 * garbage.h - remembers the branches of tries that a change replaces. They are
 * retired once the change is published.
 */
#ifndef ZONEDB_GARBAGE_H
#define ZONEDB_GARBAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "store/store.h"

struct store_writer;

/* Begins zeroed but for the arena. */
struct garbage {
	struct arena *arena; /* borrowed */
	struct garbage_item {
		store_ref ref;
		uint32_t len;
	} *items;
	size_t count;
	size_t room;
	bool lost; /* there was no memory to remember one: do not publish */
};

/* Makes room to remember `more` branches: garbage_add does not lose them.
 * NSD_E_MEMORY. */
enum nsd_err garbage_reserve(struct garbage *garbage, size_t more) MUST_USE;

/* Remembers a branch; sets `lost` if there is no memory. To be the on_garbage
 * of a struct trie_edit: ctx is the struct garbage. */
void garbage_add(void *ctx, store_ref ref, size_t len);

/* Retires all branches of the list. Call it after the publish, and once. The
 * list stays in its arena. */
void garbage_retire(const struct garbage *garbage,
	struct store_writer *writer);

#endif
