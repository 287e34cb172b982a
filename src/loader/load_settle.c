/* load_settle.c - the zones whose last change is still to be settled. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "loader/load_settle.h"
#include "store/writer.h"
#include "update/update.h"

#define SLOTS_FIRST 16u

/* Fibonacci hashing: entries are often neighbours. */
static size_t
settle_home(const struct load_settle *settle, store_ref entry)
{
	return (size_t)(entry * UINT64_C(0x9e3779b97f4a7c15) >> 32)
		& settle->mask;
}

/* Returns the slot of the entry, or the free slot where it would be. */
static size_t
settle_find(const struct load_settle *settle, store_ref entry)
{
	size_t i = settle_home(settle, entry);

	assert(settle->count <= settle->mask); /* a slot is free */
	while (settle->slots[i] != STORE_NONE && settle->slots[i] != entry)
		i = (i + 1) & settle->mask;
	return i;
}

static bool
settle_reserve(struct load_settle *settle)
{
	size_t room = settle->slots != NULL ? settle->mask + 1 : 0;
	struct load_settle grown = {.count = settle->count};

	if (settle->count * 2 < room)
		return true;
	grown.mask = (room > 0 ? room * 2 : SLOTS_FIRST) - 1;
	grown.slots = calloc(grown.mask + 1, sizeof(*grown.slots));
	if (grown.slots == NULL)
		return false;
	for (size_t i = 0; i < room; i++)
		if (settle->slots[i] != STORE_NONE)
			grown.slots[settle_find(&grown, settle->slots[i])] =
				settle->slots[i];
	free(settle->slots);
	*settle = grown;
	return true;
}

void
load_settle_add(struct load_settle *settle, store_ref entry)
{
	size_t i;

	assert(entry != STORE_NONE);
	if (!settle_reserve(settle))
		return;
	i = settle_find(settle, entry);
	settle->count += settle->slots[i] == STORE_NONE;
	settle->slots[i] = entry;
}

void
load_settle_remove(struct load_settle *settle, store_ref entry)
{
	size_t hole, i;

	if (settle->count == 0)
		return;
	hole = i = settle_find(settle, entry);
	if (settle->slots[hole] == STORE_NONE)
		return;
	/* Moves entries back into the hole that would be found there. */
	for (;;) {
		i = (i + 1) & settle->mask;
		if (settle->slots[i] == STORE_NONE)
			break;
		if (((i - settle_home(settle, settle->slots[i]))
			    & settle->mask)
			< ((i - hole) & settle->mask))
			continue;
		settle->slots[hole] = settle->slots[i];
		hole = i;
	}
	assert(settle->count > 0);
	settle->slots[hole] = STORE_NONE;
	settle->count--;
}

static bool
settle_one(struct store_writer *writer, store_ref ref)
{
	const struct store_view *view = store_writer_view(writer);
	const struct zone_entry *entry = store_get(view, ref);
	const struct zone *zone;

	update_settle(writer, ref);
	if (entry->zone == STORE_NONE)
		return true;
	zone = store_get(view, entry->zone);
	return zone->pending_first == STORE_NONE;
}

void
load_settle_run(struct load_settle *settle, struct store_writer *writer)
{
	struct load_settle left = {.slots = NULL};

	if (settle->count == 0)
		return;
	for (size_t i = 0; i <= settle->mask; i++)
		if (settle->slots[i] != STORE_NONE
			&& !settle_one(writer, settle->slots[i]))
			load_settle_add(&left, settle->slots[i]);
	free(settle->slots);
	*settle = left;
}

void
load_settle_fini(struct load_settle *settle)
{
	free(settle->slots);
	*settle = (struct load_settle){.slots = NULL};
}
