/* garbage.c - remembers what is retired once a change is published. */
#include <assert.h>
#include <string.h>

#include "base/grow.h"
#include "store/writer.h"
#include "zonedb/garbage.h"

enum nsd_err
garbage_reserve(struct garbage *g, size_t more)
{
	size_t room = 2 * g->count + more;
	struct garbage_item *items;

	if (g->room - g->count >= more)
		return NSD_OK;
	items = arena_alloc(g->arena, room * sizeof(*items));
	if (items == NULL)
		return NSD_E_MEMORY;
	if (g->count > 0)
		memcpy(items, g->items, g->count * sizeof(*items));
	g->items = items;
	g->room = room;
	return NSD_OK;
}

void
garbage_add(void *ctx, store_ref ref, size_t len)
{
	struct garbage *g = ctx;
	struct garbage_item *items = grow_arena(g->arena, g->items, g->count,
		&g->room, sizeof(*items));

	if (items == NULL) {
		g->lost = true;
		return;
	}
	g->items = items;
	g->items[g->count].ref = ref;
	g->items[g->count++].len = (uint32_t)len;
}

void
garbage_retire(const struct garbage *g, struct store_writer *writer)
{
	assert(!g->lost);
	for (size_t i = 0; i < g->count; i++)
		store_retire(writer, g->items[i].ref, g->items[i].len);
}
