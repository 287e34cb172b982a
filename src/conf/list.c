/* list.c - the lists of a configuration as they grow. */
#include <assert.h>
#include <string.h>

#include "conf/parser.h"

/* Counts items that are to be copied from another list. False: they would be
 * too many, which is said where the option stands; of all lists once. */
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

/* Gives the list room of its own. */
static bool
list_make_room(struct conf_parser *p, struct conf_list *list,
	uint32_t capacity, size_t item_size)
{
	void *items = arena_alloc(&p->owner->arena, capacity * item_size);

	if (items == NULL) {
		error_memory(p);
		return false;
	}
	if (list->count > 0)
		memcpy(items, list->items, list->count * item_size);
	list->items = items;
	list->capacity = capacity;
	return true;
}

void *
list_add_item(struct conf_parser *p, struct conf_list *list, size_t item_size)
{
	uint32_t capacity;
	void *item;

	assert(item_size > 0);
	assert(list->capacity == 0 || list->count <= list->capacity);
	if (list->count >= list->capacity) {
		/* Room doubles from 1, not from what grow_arena begins with:
		 * most of the many lists have one or two items. Items that
		 * another object has are copied here too. */
		if (list->count > UINT32_MAX / 2) {
			error_memory(p);
			return NULL;
		}
		if (list->capacity == 0 && list->count > 0
			&& !list_inherit(p, list->count, list->count))
			return NULL;
		capacity = list->count < 2 ? list->count + 1 : list->count * 2;
		if (!list_make_room(p, list, capacity, item_size))
			return NULL;
	}
	item = (char *)list->items + list->count++ * item_size;
	memset(item, 0, item_size);
	return item;
}

bool
list_add_list(struct conf_parser *p, struct conf_list *list,
	const struct conf_list *more, size_t item_size)
{
	uint32_t whole = list->count + more->count;
	uint32_t copied = more->count
		+ (list->capacity == 0 ? list->count : 0);

	assert(item_size > 0);
	if (list->count > UINT32_MAX / 2 || more->count > UINT32_MAX / 2) {
		error_memory(p);
		return false;
	}
	if (!list_inherit(p, copied, whole))
		return false;
	/* What another object has is not written to, also if it has room. */
	if (list->capacity < whole
		&& !list_make_room(p, list, whole, item_size))
		return false;
	if (more->count > 0)
		memcpy((char *)list->items + list->count * item_size,
			more->items, more->count * item_size);
	list->count = whole;
	return true;
}
