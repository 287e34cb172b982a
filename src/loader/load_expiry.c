/* load_expiry.c - when zones expire: the loader's part. */
#include "config.h"

#include <assert.h>

#include "base/clock.h"
#include "base/octets.h"
#include "dns/name.h"
#include "ipc/message.h"
#include "loader/load_expiry.h"
#include "store/writer.h"
#include "zone/table.h"
#include "zonedb/table_edit.h"

/* The second of expiry of zones that are held: long ago. No message EXPIRY
 * comes to it. */
#define HELD 1u

/* Returns the second of CLOCK_MONOTONIC in which the time is over. */
static uint32_t
expiry_get_sec(uint64_t left_msec)
{
	uint64_t now_msec = (uint64_t)clock_now_msec();
	uint64_t sec;

	if (left_msec == IPC_EXPIRY_NEVER)
		return 0;
	if (left_msec == 0)
		return now_msec / 1000 <= HELD ? HELD + 1
					       : (uint32_t)(now_msec / 1000);
	if (left_msec / 1000 >= UINT32_MAX)
		return UINT32_MAX;
	sec = (now_msec + left_msec + 999) / 1000;
	return sec < UINT32_MAX ? (uint32_t)sec : UINT32_MAX;
}

enum nsd_err
load_expiry_set(const struct load_context *context, struct load_set *set,
	const uint8_t *apex, size_t len, uint64_t left_msec)
{
	const struct store_view *view = store_writer_view(context->writer);
	uint8_t name[NAME_MAX_LEN];
	struct cursor cursor;
	const struct zone_entry *entry;
	struct load_zone *zone;
	size_t name_len;
	store_ref ref;

	cursor_init(&cursor, apex, len);
	if (name_read_uncompressed(&cursor, name, &name_len) != NSD_OK
		|| cursor_left(&cursor) > 0)
		return NSD_E_WIRE;
	if (table_find_apex(view, name, &ref) != NSD_OK)
		return NSD_E_NOT_FOUND;
	/* After a reconfig, an xfrd that has not followed it yet may send an
	 * EXPIRY for a zone that has no primaries any more. */
	entry = store_get(view, ref);
	if ((entry->flags & ZONE_ENTRY_FROM_XFRD) == 0)
		return NSD_OK;
	zone = entry->id < set->count ? &set->zones[entry->id] : NULL;
	if (zone != NULL && zone->entry == ref && zone->held)
		zone->expires_sec = expiry_get_sec(left_msec);
	else
		table_set_expiry(context->writer, ref,
			expiry_get_sec(left_msec));
	return NSD_OK;
}

void
load_expiry_end(const struct load_context *context, store_ref ref)
{
	const struct zone_entry *entry = store_get(
		store_writer_view(context->writer), ref);

	if (zone_entry_is_expired(entry, (uint32_t)(clock_now_msec() / 1000)))
		table_set_expiry(context->writer, ref, 0);
}

void
load_expiry_forget(struct store_writer *writer)
{
	const struct store_view *view = store_writer_view(writer);
	const struct zone_table *table = table_get(view);
	struct trie_iter iter;
	store_ref ref;

	if (table == NULL)
		return;
	trie_iter_init(&iter, view, &table->apexes.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct zone_entry *entry = store_get(view, ref);

		if (entry->expires_sec != 0)
			table_set_expiry(writer, ref, 0);
	}
}

/* ---- zones that are held ------------------------------------------------- */

void
load_expiry_hold(struct store_writer *writer, struct load_zone *zone)
{
	const struct zone_entry *entry = store_get(store_writer_view(writer),
		zone->entry);

	if (zone->held)
		return;
	assert(zone->entry != STORE_NONE);
	zone->held = true;
	zone->expires_sec = entry->expires_sec;
	table_set_expiry(writer, zone->entry, HELD);
}

void
load_expiry_resume(const struct store_view *view, struct load_zone *zone)
{
	const struct zone_entry *entry = store_get(view, zone->entry);

	zone->held = entry->expires_sec == HELD;
	zone->expires_sec = 0;
}

void
load_expiry_let_go(struct store_writer *writer, struct load_zone *zone)
{
	if (!zone->held)
		return;
	zone->held = false;
	table_set_expiry(writer, zone->entry, zone->expires_sec);
}
