/* list.c - the lists of a configuration as they grow. */
#include <assert.h>
#include <string.h>

#include "conf/parser.h"

void *
list_add_item(struct conf_parser *p, struct conf_list *list, size_t item_size)
{
	uint32_t capacity;
	void *items;

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
		capacity = list->count < 2 ? list->count + 1 : list->count * 2;
		items = arena_alloc(&p->owner->arena,
			capacity * item_size);
		if (items == NULL) {
			error_memory(p);
			return NULL;
		}
		if (list->count > 0)
			memcpy(items, list->items, list->count * item_size);
		list->items = items;
		list->capacity = capacity;
	}
	items = (char *)list->items + list->count++ * item_size;
	memset(items, 0, item_size);
	return items;
}
