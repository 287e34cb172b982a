/* garbage.c - remembers what goes once a change is published. */
#include <string.h>

#include "keep/garbage.h"
#include "store/writer.h"

#define ROOM_FIRST 64u

void
garbage_add(void *ctx, store_ref ref, size_t len)
{
	struct garbage *g = ctx;

	if (g->count == g->room) {
		size_t room = g->room == 0 ? ROOM_FIRST : g->room * 2;
		struct garbage_item *more = arena_alloc(g->arena,
			room * sizeof(*more));

		if (more == NULL) {
			g->lost = true;
			return;
		}
		if (g->count > 0)
			memcpy(more, g->items, g->count * sizeof(*more));
		g->items = more;
		g->room = room;
	}
	g->items[g->count].ref = ref;
	g->items[g->count++].len = (uint32_t)len;
}

void
garbage_retire(const struct garbage *g, struct store_writer *writer)
{
	for (size_t i = 0; i < g->count; i++)
		store_retire(writer, g->items[i].ref, g->items[i].len);
}
