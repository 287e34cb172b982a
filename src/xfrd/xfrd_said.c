/* xfrd_said.c - failures of questions that the log has. */
#include "config.h"

#include <stdlib.h>

#include "xfrd/xfrd_said.h"

static bool
said_is_same(const struct xfrd_said_way *a, const struct xfrd_said_way *b)
{
	return a->server == b->server && a->is_notify == b->is_notify
		&& a->outcome == b->outcome && a->rcode == b->rcode
		&& a->reason == b->reason;
}

bool
xfrd_said_add(struct xfrd_said_way **said, const struct xfrd_said_way *way)
{
	struct xfrd_said_way *copy;

	for (struct xfrd_said_way *at = *said; at != NULL; at = at->next) {
		if (!said_is_same(at, way))
			continue;
		if (at->is_final || !way->is_final)
			return false;
		at->is_final = true;
		return true;
	}
	copy = malloc(sizeof(*copy));
	if (copy == NULL)
		return true;
	*copy = *way;
	copy->next = *said;
	*said = copy;
	return true;
}

bool
xfrd_said_clear(struct xfrd_said_way **said, bool is_notify, uint32_t server)
{
	bool was_error = false;

	for (struct xfrd_said_way **at = said; *at != NULL;) {
		struct xfrd_said_way *way = *at;

		if (way->server != server || way->is_notify != is_notify) {
			at = &way->next;
			continue;
		}
		was_error = was_error || way->is_final;
		*at = way->next;
		free(way);
	}
	return was_error;
}

void
xfrd_said_forget(struct xfrd_said_way **said)
{
	while (*said != NULL) {
		struct xfrd_said_way *way = *said;

		*said = way->next;
		free(way);
	}
}
