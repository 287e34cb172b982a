/* packer.c - the scratch memory of what packs nodes. */
#include "build/build_pass.h"

#define ITEMS_FIRST 64u
#define GROUPS_FIRST 32u

void *
packer_reserve(struct worker *w, void *array, size_t *room, size_t count,
	size_t size)
{
	if (count <= *room)
		return array;
	if (count < *room * 2)
		count = *room * 2;
	array = arena_alloc(&w->arena, count * size);
	*room = array != NULL ? count : 0;
	return array;
}

enum nsd_err
packer_prepare(struct worker *w)
{
	if (w->entries != NULL)
		return NSD_OK;
	w->items = packer_reserve(w, NULL, &w->items_room, ITEMS_FIRST,
		sizeof(*w->items));
	w->groups = packer_reserve(w, NULL, &w->groups_room, GROUPS_FIRST,
		sizeof(*w->groups));
	w->entries = packer_reserve(w, NULL, &w->entries_room, GROUPS_FIRST,
		sizeof(*w->entries));
	return w->items == NULL || w->groups == NULL || w->entries == NULL
		? NSD_E_MEMORY : NSD_OK;
}
