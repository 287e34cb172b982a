/* loader_queue.c - the queue for threads of the loader: transfers, and zones
 * that the journal leads on from. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>

#include "loader/load_crashes.h"
#include "loader/load_expiry.h"
#include "loader/load_journal.h"
#include "loader/loader.h"
#include "store/writer.h"
#include "zone/sources.h"
#include "zone/table.h"
#include "zonedb/sources_edit.h"
#include "zonedb/table_edit.h"

struct loader_transfers *
loader_choose_diffs(struct loader *loader)
{
	struct loader_transfers *best = &loader->transfers[1];

	for (unsigned i = 1; i < 1 + LOADER_DIFFS; i++) {
		struct loader_transfers *t = &loader->transfers[i];

		if (t->pool == NULL && t->waiting == NULL)
			return t;
		if (t->waiting_count < best->waiting_count)
			best = t;
	}
	return best;
}

void
loader_queue_transfer(struct loader_transfers *t,
	struct loader_transfer *one)
{
	struct timeval at_once = {.tv_sec = 0};

	assert(one->zone->reading && one->zone->conf != NULL);
	one->next = t->waiting;
	t->waiting = one;
	t->waiting_count++;
	/* Other transfers may come in the same turn: begin with all of them. */
	if (t->pool == NULL)
		event_add(t->event, &at_once);
}

/* ---- the journal --------------------------------------------------------- */

/* Notes that what is served of a zone came from xfrd, which it does not by its
 * options any more: another process has served it so, and has not written its
 * file. */
static void
replay_note_role(struct loader *loader, const struct load_zone *zone)
{
	const struct store_view *view = store_writer_view(loader->writer);
	const struct zone *served = load_zone_published(view, zone);
	const struct zone_sources *sources = zone_sources_get(view,
		zone->entry);
	const struct zone_entry *entry = store_get(view, zone->entry);

	if (load_zone_is_from_xfrd(zone) || served == NULL
		|| !load_journal_has(&loader->context, zone)
		|| (sources != NULL
			&& (sources->flags & ZONE_SOURCES_SERIAL) != 0
			&& sources->serial == served->serial))
		return;
	conf_note_role(loader->role.server->conf, zone->conf);
	table_set_flags(loader->writer, zone->entry,
		entry->flags | ZONE_ENTRY_WAS_FROM_XFRD);
	sources_set(loader->writer, zone->entry, NULL, 0, 0);
}

void
loader_end_replay(struct loader *loader, struct load_zone *zone)
{
	assert(zone->conf != NULL && zone->reading);
	load_crashes_survive(&loader->context, zone);
	replay_note_role(loader, zone);
	load_settle_add(&loader->settle, zone->entry);
	if (!zone->is_behind)
		load_expiry_let_go(loader->writer, zone);
	(void)load_zone_release(zone);
}

void
loader_replay(struct loader *loader, struct load_zone *zone)
{
	static const struct load_text text = {.fd = -1, .is_rest = true};
	struct loader_transfer *one = NULL;

	assert(zone->transfer == NULL && zone->reading);
	if (load_journal_catch_up(&loader->context, zone, NULL)
			== NSD_E_LIMIT)
		one = calloc(1, sizeof(*one));
	if (one == NULL) {
		loader_end_replay(loader, zone);
		return;
	}
	one->change.text.fd = -1;
	one->zone = zone;
	one->replay = true;
	zone->transfer = &text;
	loader->replays++;
	loader_queue_transfer(loader_choose_diffs(loader), one);
}
