/* update_refs.c - lists of references that an update keeps. */
#include "base/grow.h"
#include "update/update_pass.h"

enum nsd_err
update_refs_add(struct zone_update *u, struct ref_list *list, store_ref ref)
{
	store_ref *items = grow_arena(&u->arena, list->items, list->count,
		&list->room, sizeof(*items));

	if (items == NULL)
		return NSD_E_MEMORY;
	list->items = items;
	list->items[list->count++] = ref;
	return NSD_OK;
}
