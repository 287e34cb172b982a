/* audit_touched.c - look-ups in a version that a change has led to. */
#include "audit/audit_change.h"
#include "zone/zone.h"

bool
audit_touched_split(const struct audit_touched *t, const uint8_t *name,
	struct trie_name *split, uint8_t label_at[NAME_MAX_LABELS + 1])
{
	size_t len = name_len(name), apex_len = t->audit->apex_len;

	if (len < apex_len || !name_is_within(name, t->audit->options->apex))
		return false;
	trie_name_split(split, name, (unsigned)(len - apex_len), label_at);
	return true;
}

const struct node *
audit_touched_find(const struct audit_touched *t, const struct zone *zone,
	const uint8_t *name)
{
	struct trie_walk walk = {.root = &zone->names.root};
	uint8_t label_at[NAME_MAX_LABELS + 1];

	if (!audit_touched_split(t, name, &walk.name, label_at))
		return NULL;
	trie_find(t->view, &walk);
	return walk.exact != STORE_NONE ? store_get(t->view, walk.exact) : NULL;
}

bool
audit_node_is_visible(const struct node *node)
{
	if (node == NULL || (node->flags & (NODE_OCCLUDED | NODE_EMPTY)) != 0)
		return false;
	for (unsigned i = 0; i < node->entry_count; i++) {
		const struct node_rrset *e = &node_entries(node)[i];

		if ((e->flags & NODE_RRSET_SIGS) == 0 && e->type != TYPE_NSEC
			&& e->type != TYPE_NSEC3)
			return true;
	}
	return false;
}
