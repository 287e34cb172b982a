/* garbage.c - remembers what is retired once a change is published. */
#include "base/grow.h"
#include "keep/garbage.h"
#include "store/writer.h"

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
	for (size_t i = 0; i < g->count; i++)
		store_retire(writer, g->items[i].ref, g->items[i].len);
}
