/* xfrd_said.c - what the log has been told of questions that fail. */
#include "config.h"

#include <search.h>
#include <stdlib.h>

#include "xfrd/xfrd_said.h"

/* A zone of which something has been said: those that fail, and no others. */
struct said_zone {
	uint32_t zone;
	struct xfrd_said_way *ways;
};

static int
said_compare(const void *a, const void *b)
{
	uint32_t one = ((const struct said_zone *)a)->zone;
	uint32_t other = ((const struct said_zone *)b)->zone;

	return one < other ? -1 : one > other;
}

static struct said_zone *
said_find(const struct xfrd_said *said, uint32_t zone)
{
	const struct said_zone key = {.zone = zone};
	struct said_zone **found = tfind(&key, &said->zones, said_compare);

	return found != NULL ? *found : NULL;
}

static struct said_zone *
said_make(struct xfrd_said *said, uint32_t zone)
{
	struct said_zone *made = said_find(said, zone);

	if (made != NULL)
		return made;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return NULL;
	made->zone = zone;
	if (tsearch(made, &said->zones, said_compare) == NULL) {
		free(made);
		return NULL;
	}
	return made;
}

static void
said_drop(struct xfrd_said *said, struct said_zone *zone)
{
	(void)tdelete(zone, &said->zones, said_compare);
	free(zone);
}

static bool
said_is_same(const struct xfrd_said_way *a, const struct xfrd_said_way *b)
{
	return a->server == b->server && a->is_notify == b->is_notify
		&& a->outcome == b->outcome && a->rcode == b->rcode
		&& a->reason == b->reason;
}

bool
xfrd_said_add(struct xfrd_said *said, uint32_t zone,
	const struct xfrd_said_way *way)
{
	struct said_zone *of = said_make(said, zone);
	struct xfrd_said_way *copy;

	if (of == NULL)
		return true;
	for (struct xfrd_said_way *at = of->ways; at != NULL; at = at->next) {
		if (!said_is_same(at, way))
			continue;
		if (at->is_final || !way->is_final)
			return false;
		at->is_final = true;
		return true;
	}
	copy = malloc(sizeof(*copy));
	if (copy == NULL) {
		if (of->ways == NULL)
			said_drop(said, of);
		return true;
	}
	*copy = *way;
	copy->next = of->ways;
	of->ways = copy;
	return true;
}

bool
xfrd_said_clear(struct xfrd_said *said, uint32_t zone, bool is_notify,
	uint32_t server)
{
	struct said_zone *of = said_find(said, zone);
	bool was_error = false;

	if (of == NULL)
		return false;
	for (struct xfrd_said_way **at = &of->ways; *at != NULL;) {
		struct xfrd_said_way *way = *at;

		if (way->server != server || way->is_notify != is_notify) {
			at = &way->next;
			continue;
		}
		was_error = was_error || way->is_final;
		*at = way->next;
		free(way);
	}
	if (of->ways == NULL)
		said_drop(said, of);
	return was_error;
}

void
xfrd_said_forget(struct xfrd_said *said, uint32_t zone)
{
	struct said_zone *of = said_find(said, zone);

	if (of == NULL)
		return;
	while (of->ways != NULL) {
		struct xfrd_said_way *way = of->ways;

		of->ways = way->next;
		free(way);
	}
	said_drop(said, of);
}

const struct xfrd_said_way *
xfrd_said_get(const struct xfrd_said *said, uint32_t zone)
{
	const struct said_zone *of = said_find(said, zone);

	return of != NULL ? of->ways : NULL;
}
