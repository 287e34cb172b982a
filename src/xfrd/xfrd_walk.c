/*
 * xfrd_walk.c - finds the zones that are published: all of them at a start,
 * those that xfrd lacks after a reconfig.
 */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "dns/name.h"
#include "xfrd/xfrd.h"
#include "zone/table.h"

/* Finds the entries behind the last one that was looked at. */
static void
walk_find(const struct xfrd_walk *walk, const struct store_view *view,
	struct trie_iter *iter)
{
	const struct trie_entry *root = &table_get(view)->apexes.root;
	uint8_t name[NAME_MAX_LEN], label_at[NAME_MAX_LABELS + 1];
	struct trie_name key;

	if (!walk->has_last) {
		trie_iter_init(iter, view, root);
		return;
	}
	table_split_apex(walk->last, name, label_at, &key);
	trie_iter_init_after(iter, view, root, &key);
}

/* Adds the zone of an entry. *zone: NULL if it was there. */
static enum nsd_err
walk_take(struct xfrd_zone_table *table, const struct zone_entry *entry,
	struct xfrd_zone **zone)
{
	bool is_listed = (__atomic_load_n(&entry->flags, __ATOMIC_RELAXED)
		& ZONE_ENTRY_LISTED) != 0;
	enum nsd_err err;

	*zone = NULL;
	if (xfrd_zone_find(table, entry->name) != NULL)
		return NSD_OK;
	err = xfrd_zone_add(table, entry->name, zone);
	if (err == NSD_OK)
		xfrd_zone_set_listed(table, *zone, is_listed, 0);
	return err;
}

enum nsd_err
xfrd_walk(struct xfrd *xfrd, struct xfrd_walk *walk, unsigned most,
	xfrd_walk_on_new *on_new)
{
	const struct store_view *view = xfrd_read_begin(xfrd);
	struct xfrd_zone_table *table = &xfrd->zones.table;
	enum nsd_err err = NSD_OK;
	struct trie_iter iter;

	assert(most > 0 && !walk->is_over);
	walk->is_over = table_get(view) == NULL;
	if (!walk->is_over)
		walk_find(walk, view, &iter);
	for (unsigned i = 0; i < most && !walk->is_over; i++) {
		store_ref ref = trie_iter_next(&iter);
		const struct zone_entry *entry;
		struct xfrd_zone *zone;

		walk->is_over = ref == STORE_NONE;
		if (walk->is_over)
			break;
		entry = store_get(view, ref);
		err = walk_take(table, entry, &zone);
		if (err != NSD_OK)
			break;
		memcpy(walk->last, entry->name, name_len(entry->name));
		walk->has_last = true;
		if (zone != NULL && on_new != NULL)
			on_new(xfrd, zone);
	}
	xfrd_read_end(xfrd);
	return err;
}
