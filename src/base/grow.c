/* grow.c - doubles the room of arrays. */
#include "base/grow.h"

#include <assert.h>
#include <stdlib.h>

#define GROW_ITEMS_FIRST 16u
#define GROW_OCTETS_FIRST 256u

/* Twice the room, with its octets in *size; 0: too many for a size_t. */
static size_t
grow_double(size_t room, size_t item_size, size_t *size)
{
	size_t more;

	assert(item_size > 0);
	if (room > SIZE_MAX / 2)
		return 0;
	more = room == 0 ? GROW_ITEMS_FIRST : room * 2;
	return __builtin_mul_overflow(more, item_size, size) ? 0 : more;
}

void *
grow_array_more(void *items, size_t *room, size_t item_size)
{
	size_t size, more = grow_double(*room, item_size, &size);
	void *grown;

	assert((items == NULL) == (*room == 0));
	if (more == 0)
		return NULL;
	grown = realloc(items, size);
	if (grown != NULL)
		*room = more;
	return grown;
}

void *
grow_arena_more(struct arena *arena, void *items, size_t count,
	size_t *room, size_t item_size)
{
	size_t size, more = grow_double(*room, item_size, &size);
	void *grown;

	assert(count == *room);
	if (more == 0)
		return NULL;
	grown = arena_grow(arena, items, count * item_size, size);
	if (grown != NULL)
		*room = more;
	return grown;
}

void *
grow_octets_more(void *octets, size_t needed, size_t *room)
{
	size_t more = *room > SIZE_MAX / 2 ? needed : *room * 2;
	void *grown;

	assert(needed > *room);
	if (more < GROW_OCTETS_FIRST)
		more = GROW_OCTETS_FIRST;
	if (more < needed)
		more = needed;
	grown = realloc(octets, more);
	if (grown != NULL)
		*room = more;
	return grown;
}
