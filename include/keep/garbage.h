/*
 * garbage.h - remembers which branches of tries a change leaves behind. They
 * are retired once the change is published.
 */
#ifndef KEEP_GARBAGE_H
#define KEEP_GARBAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "store/store.h"

struct store_writer;

/* Zeroed but for the arena: empty. */
struct garbage {
	struct arena *arena; /* borrowed */
	struct garbage_item {
		store_ref ref;
		uint32_t len;
	} *items;
	size_t count;
	size_t room;
	bool lost; /* no memory to remember one by: do not publish */
};

/* on_garbage of struct trie_edit; ctx: struct garbage. */
void garbage_add(void *ctx, store_ref ref, size_t len);

/* Retires all of them, after the publish. The list stays in its arena. */
void garbage_retire(const struct garbage *garbage,
	struct store_writer *writer);

#endif
