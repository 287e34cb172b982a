/*
 * grow.h - arrays that grow: room doubles, so adding items one by one costs
 * linear time.
 *
 * The caller keeps the array, the count of its items and the room (how many
 * items fit). An array that was never grown is NULL with room 0. The usual way
 * to add an item:
 *
 *	items = grow_array(list->items, list->count, &list->room,
 *		sizeof(*items));
 *	if (items == NULL)
 *		return NSD_E_MEMORY;
 *	list->items = items;
 *	list->items[list->count++] = item;
 *
 * All functions return NULL when there is no memory, or when the room would not
 * fit a size_t. The array, its items and *room are then as before. New room is
 * not set to zero.
 */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* The slow path of the three functions below, for an array that is full. Not
 * called directly. */
void *grow_array_more(void *items, size_t *room, size_t item_size) MUST_USE;
void *grow_arena_more(struct arena *arena, void *items, size_t count,
	size_t *room, size_t item_size) MUST_USE;
void *grow_octets_more(void *octets, size_t needed, size_t *room) MUST_USE;

/* Returns the array with room for one item more than count; it may have moved.
 * The caller frees it with free(). */
static inline void *
grow_array(void *items, size_t count, size_t *room, size_t item_size)
{
	return count < *room ? items
			     : grow_array_more(items, room, item_size);
}

/* As grow_array, in an arena: see arena_grow. Pointers into the array are void
 * when it has grown. */
static inline void *
grow_arena(struct arena *arena, void *items, size_t count, size_t *room,
	size_t item_size)
{
	return count < *room ? items
			     : grow_arena_more(arena, items, count, room,
				     item_size);
}

/* Returns a buffer with room for `needed` octets, at least 1; it may have
 * moved. The caller frees it with free(). */
static inline void *
grow_octets(void *octets, size_t needed, size_t *room)
{
	return needed <= *room ? octets
			       : grow_octets_more(octets, needed, room);
}

#endif
