/* update_find.c - finds what a zone or an update has of a name. */
#include "update/update_pass.h"

store_ref
update_find_ref(const struct zone_update *u, const struct trie *trie,
	const struct owner *owner)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_walk walk;

	walk.root = &trie->root;
	trie_name_split(&walk.name, owner->name, owner->name_len, label_at);
	trie_find(u->view, &walk);
	return walk.exact;
}

struct dirty_name *
update_find_dirty(const struct zone_update *u, const struct owner *owner)
{
	size_t low = 0, count = u->dirty_count;

	while (count > 0) {
		size_t half = count / 2;
		int c = owner_compare(&u->dirty[low + half].owner, owner);

		if (c == 0)
			return &u->dirty[low + half];
		if (c < 0) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return NULL;
}
