/* list.c - the lists of a configuration as they grow. */
#include <assert.h>
#include <string.h>

#include "conf/parser.h"

/* Counts items that another list has, too, as if all were copied. False: they
 * would be too many, which is said where the option stands; of all lists once.
 */
static bool
list_inherit(struct conf_parser *p, uint32_t count, uint32_t whole)
{
	const struct conf_limits *limits = &p->limits;

	if (p->inherited > limits->inherited)
		return false;
	if (whole > limits->list) {
		error_at_place(p, &p->option_place, "too much is inherited:"
			" a list of %u elements, at most %u are possible",
			(unsigned)whole, (unsigned)limits->list);
		return false;
	}
	p->inherited += count;
	if (p->inherited <= limits->inherited)
		return true;
	error_at_place(p, &p->option_place, "too much is inherited: lists of"
		" more than %llu elements in all",
		(unsigned long long)limits->inherited);
	return false;
}

/* The head of an array of items. Lists share an array until they differ; the
 * first list that adds an item goes on in the same array. So patterns that
 * include one another in a chain, and add to it, share one. */
struct list_room {
	uint32_t used; /* items that some list has */
	uint32_t capacity;
};

static struct list_room *
list_room(const struct conf_list *list)
{
	return list->items != NULL ? (struct list_room *)list->items - 1
				   : NULL;
}

/* True if there is room for `count` items behind the last one of the list. */
static bool
list_has_room(const struct conf_list *list, uint32_t count)
{
	const struct list_room *room = list_room(list);

	return room != NULL && room->used == list->count
		&& count <= room->capacity - room->used;
}

/* True if a list that is being read may go on in its array. Zones may be
 * dropped before patterns are (conf_drop_zones): a zone adds nothing to an
 * array of patterns. */
static bool
list_may_go_on(const struct conf_parser *p, const struct conf_list *list,
	uint32_t count)
{
	return (p->clause != CLAUSE_ZONE || list->capacity > 0)
		&& list_has_room(list, count);
}

/* Gives the list room of its own. */
static bool
list_make_room(struct conf_parser *p, struct conf_list *list,
	uint32_t capacity, size_t item_size)
{
	struct list_room *room = arena_alloc(p->arena,
		sizeof(*room) + capacity * item_size);

	if (room == NULL) {
		error_memory(p);
		return false;
	}
	*room = (struct list_room){list->count, capacity};
	if (list->count > 0)
		memcpy(room + 1, list->items, list->count * item_size);
	list->items = room + 1;
	return true;
}

/* Takes count items more, for which there is room; returns the first. */
static void *
list_take_room(struct conf_list *list, uint32_t count, size_t item_size)
{
	struct list_room *room = list_room(list);
	char *items = list->items;

	assert(list_has_room(list, count));
	items += list->count * item_size;
	list->count += count;
	room->used += count;
	list->capacity = room->capacity;
	return items;
}

void *
list_add_item(struct conf_parser *p, struct conf_list *list, size_t item_size)
{
	uint32_t capacity;

	assert(item_size > 0);
	if (list->count > UINT32_MAX / 2) {
		error_memory(p);
		return NULL;
	}
	if (list->capacity == 0 && list->count > 0
		&& !list_inherit(p, list->count, list->count))
		return NULL;
	/* Room doubles from 1, not from what grow_arena begins with: most of
	 * the many lists have one or two items. */
	capacity = list->count < 2 ? list->count + 1 : list->count * 2;
	if (!list_may_go_on(p, list, 1)
		&& !list_make_room(p, list, capacity, item_size))
		return NULL;
	return memset(list_take_room(list, 1, item_size), 0, item_size);
}

bool
list_add_list(struct conf_parser *p, struct conf_list *list,
	const struct conf_list *more, size_t item_size)
{
	uint32_t whole = list->count + more->count;
	uint32_t copied = more->count
		+ (list->capacity == 0 ? list->count : 0);
	uint32_t capacity = list->count * 2 > whole ? list->count * 2 : whole;
	const void *from = more->items;

	assert(item_size > 0);
	if (list->count > UINT32_MAX / 2 || more->count > UINT32_MAX / 2) {
		error_memory(p);
		return false;
	}
	if (!list_inherit(p, copied, whole))
		return false;
	if (more->count == 0)
		return true;
	if (!list_may_go_on(p, list, more->count)
		&& !list_make_room(p, list, capacity, item_size))
		return false;
	memcpy(list_take_room(list, more->count, item_size), from,
		more->count * item_size);
	return true;
}

uint32_t
list_count_used(const struct conf_list *list)
{
	return list->count > 0 ? list_room(list)->used : 0;
}

void *
list_restore(struct arena *arena, uint32_t count, size_t item_size)
{
	struct list_room *room = arena_alloc_zero(arena,
		sizeof(*room) + count * item_size);

	if (room == NULL)
		return NULL;
	*room = (struct list_room){count, count};
	return room + 1;
}
