/* packer.c - the scratch memory of what packs nodes. */
#include <assert.h>

#include "compile/pack_parts.h"

#define ITEMS_FIRST 64u
#define GROUPS_FIRST 32u

void
packer_init(struct packer *p, struct packer_zone *zone, struct store_heap *heap,
	struct arena *uses_arena)
{
	assert(p->items == NULL && p->uses == NULL);
	p->zone = zone;
	p->heap = heap;
	p->uses_arena = uses_arena != NULL ? uses_arena : &p->arena;
	p->findings.arena = &p->arena;
}

void *
packer_reserve_more(struct packer *p, size_t *room, size_t count, size_t size)
{
	void *array;

	if (count < *room * 2)
		count = *room * 2;
	array = arena_alloc(&p->arena, count * size);
	*room = array != NULL ? count : 0;
	return array;
}

enum nsd_err
packer_prepare(struct packer *p)
{
	if (p->entries != NULL)
		return NSD_OK;
	p->items = packer_reserve(p, NULL, &p->items_room, ITEMS_FIRST,
		sizeof(*p->items));
	p->groups = packer_reserve(p, NULL, &p->groups_room, GROUPS_FIRST,
		sizeof(*p->groups));
	p->entries = packer_reserve(p, NULL, &p->entries_room, GROUPS_FIRST,
		sizeof(*p->entries));
	return p->items == NULL || p->groups == NULL || p->entries == NULL
		? NSD_E_MEMORY : NSD_OK;
}
