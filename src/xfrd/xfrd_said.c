/* xfrd_said.c - failures of questions that the log has. */
#include "config.h"

#include <stdlib.h>

#include "xfrd/xfrd_said.h"

static bool
said_is_of(const struct xfrd_said_way *way, bool is_notify, uint32_t server)
{
	return way->server == server && way->is_notify == is_notify;
}

static bool
said_is_same(const struct xfrd_said_way *a, const struct xfrd_said_way *b)
{
	return said_is_of(a, b->is_notify, b->server)
		&& a->outcome == b->outcome && a->rcode == b->rcode
		&& a->reason == b->reason;
}

bool
xfrd_said_add(struct xfrd_said_way **said, const struct xfrd_said_way *way)
{
	struct xfrd_said_way *copy;
	unsigned count = 0;

	for (struct xfrd_said_way *at = *said; at != NULL; at = at->next) {
		count += said_is_of(at, way->is_notify, way->server);
		if (!said_is_same(at, way))
			continue;
		if (at->is_final || !way->is_final)
			return false;
		at->is_final = true;
		return true;
	}
	if (count >= XFRD_SAID_MAX)
		return false;
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

		if (!said_is_of(way, is_notify, server)) {
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
