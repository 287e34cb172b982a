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

void
loader_end_replay(struct loader *loader, struct load_zone *zone)
{
	assert(zone->conf != NULL && zone->reading);
	load_crashes_survive(&loader->context, zone);
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
