/* target.c - makes the names that RRsets refer to for additional data. */
#include <string.h>

#include "store/writer.h"
#include "zonedb/target.h"

struct glue_target *
target_create(struct store_heap *heap, const struct owner *name,
	store_ref *ref)
{
	struct glue_target *t = store_alloc(heap,
		sizeof(*t) + name->name_len, ref);

	if (t == NULL)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->leaf.name_len = name->name_len;
	t->leaf.labels = name->labels;
	t->leaf.name_at = offsetof(struct glue_target, name);
	memcpy(t->name, name->name, name->name_len);
	return t;
}
