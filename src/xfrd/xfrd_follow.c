/*
 * xfrd_follow.c - xfrd goes on with another configuration, once it is published
 * (ORDER_SETTINGS of a reconfig): zones that are in the store no more go, those
 * that are there get their options of now, and those that it lacks come.
 *
 * It does so a little at a time, and between two batches of changes
 * (xfrd_change.h): so what is published of the zone list is what xfrd has
 * had done.
 */
#include "config.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "conf/zonelist.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"
#include "zone/table.h"

/* In a turn of the loop. */
#define TURN_ZONES 500u

/* ---- zones that xfrd has ------------------------------------------------- */

/* A zone of the zone list may stand in nsd.conf by now: its line goes. */
static bool
follow_name(struct xfrd *xfrd, const struct xfrd_zone *zone,
	const char *pattern)
{
	struct conf *conf = xfrd->role.server->conf;
	const char *old = zone->conf->pattern_name;

	if (pattern == NULL ? old == NULL
			    : old != NULL && strcmp(pattern, old) == 0)
		return true;
	if (conf_change_name(conf, zone->conf, pattern) != NSD_OK)
		return false;
	conf_note_listed(conf, zone->conf, 0);
	if (xfrd->changes != NULL)
		xfrd->changes->list->renew = true;
	return true;
}

/* False: there is no memory for it now. */
static bool
follow_zone(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	bool is_there = options.entry != NULL;
	bool done = !is_there || follow_name(xfrd, zone,
		xfrd_options_pattern(&options));

	xfrd_read_end(xfrd);
	if (is_there)
		return done && xfrd_turn_follow(xfrd, zone);
	xfrd_come_lose(xfrd, zone);
	xfrd->follow.gone++;
	return true;
}

/* ---- zones that it lacks ------------------------------------------------- */

static bool
follow_add(struct xfrd *xfrd, const struct store_view *view,
	const struct zone_entry *entry)
{
	char text[NAME_TEXT_MAX];
	const char *name = zone_entry_name(view, entry, text);
	const struct settings_pattern *pattern = store_get(view,
		store_load_ref(&entry->pattern));
	bool is_listed = (__atomic_load_n(&entry->flags, __ATOMIC_RELAXED)
		& ZONE_ENTRY_LISTED) != 0;
	struct xfrd_zone *zone;

	if (xfrd_come_add(xfrd, name, is_listed
			? settings_pattern_text(pattern, pattern->name_at)
			: NULL, &zone)
		!= NSD_OK)
		return false;
	if (is_listed && xfrd->changes != NULL)
		xfrd->changes->list->renew = true;
	/* Without memory, it is looked at later. */
	if (!xfrd_turn_follow(xfrd, zone))
		xfrd_turn_look(xfrd);
	return true;
}

/* The zones behind the last one that was looked at. */
static void
follow_find(const struct xfrd_follow *follow, const struct store_view *view,
	struct trie_iter *iter)
{
	const struct trie_entry *root = &table_get(view)->apexes.root;
	uint8_t name[NAME_MAX_LEN], label_at[NAME_MAX_LABELS + 1];
	struct trie_name key;

	if (!follow->has_last) {
		trie_iter_init(iter, view, root);
		return;
	}
	table_split_apex(follow->last, name, label_at, &key);
	trie_iter_init_after(iter, view, root, &key);
}

/* False: there is no memory for one of them now. *end: it was the last one. */
static bool
follow_entries(struct xfrd *xfrd, const struct store_view *view, bool *end)
{
	struct xfrd_follow *follow = &xfrd->follow;
	const struct zone_table *zones = table_get(view);
	struct trie_iter iter;
	store_ref ref;

	/* Each zone of xfrd was found in the store: as many are the same. */
	*end = zones == NULL || (!follow->has_last
		&& zones->zone_count == xfrd->zones.table.count);
	if (*end)
		return true;
	follow_find(follow, view, &iter);
	for (unsigned i = 0; i < TURN_ZONES; i++) {
		const struct zone_entry *entry;

		ref = trie_iter_next(&iter);
		*end = ref == STORE_NONE;
		if (*end)
			return true;
		entry = store_get(view, ref);
		if (xfrd_zone_find(&xfrd->zones.table, entry->name) == NULL
			&& !follow_add(xfrd, view, entry))
			return false;
		memcpy(follow->last, entry->name, name_len(entry->name));
		follow->has_last = true;
	}
	return true;
}

/* ---- turns --------------------------------------------------------------- */

static void
follow_end(struct xfrd *xfrd)
{
	struct xfrd_follow *follow = &xfrd->follow;

	follow->step = XFRD_FOLLOW_NONE;
	if (follow->gone > 0)
		log_notice("xfrd: %zu zones are not in the configuration any"
			   " more", follow->gone);
	/* Zones that are new, other targets, and what was refused. */
	if (xfrd->zones.told)
		xfr_notify_all(xfrd->zones.machine);
	/* Files may have other names now. */
	xfrd_write_look(xfrd);
	xfrd_zones_go_on(xfrd);
	role_send_obeyed(&xfrd->role, follow->ticket);
	if (xfrd->changes != NULL)
		event_active(xfrd->changes->begin_event, EV_TIMEOUT, 0);
}

/* False: there is no memory for it now. */
static bool
follow_turn(struct xfrd *xfrd)
{
	struct xfrd_follow *follow = &xfrd->follow;
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	bool done = true, end;

	if (follow->step == XFRD_FOLLOW_ENTRIES) {
		done = follow_entries(xfrd, xfrd_read_begin(xfrd), &end);
		xfrd_read_end(xfrd);
		if (done && end)
			follow_end(xfrd);
		return done;
	}
	/* Once for all zones of the turn: each time has its cost. */
	(void)xfrd_read_begin(xfrd);
	for (unsigned i = 0; i < TURN_ZONES && follow->next < table->end
		&& done; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(table, follow->next);

		done = zone == NULL || follow_zone(xfrd, zone);
		follow->next += done;
	}
	xfrd_read_end(xfrd);
	if (follow->next >= table->end)
		follow->step = XFRD_FOLLOW_ENTRIES;
	return done;
}

static void
follow_on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;
	struct timeval wait = {.tv_sec = follow_turn(xfrd) ? 0 : 1};

	if (xfrd->follow.step != XFRD_FOLLOW_NONE)
		event_add(xfrd->follow.event, &wait);
}

void
xfrd_follow_begin(struct xfrd *xfrd)
{
	struct xfrd_follow *follow = &xfrd->follow;

	follow->step = XFRD_FOLLOW_ZONES;
	follow->next = 0;
	follow->has_last = false;
	follow->gone = 0;
	event_active(follow->event, EV_TIMEOUT, 0);
}

void
xfrd_follow(struct xfrd *xfrd, uint64_t ticket)
{
	struct xfrd_changes *changes = xfrd->changes;

	xfrd->follow.ticket = ticket;
	if (changes == NULL || changes->step == XFRD_CHANGES_NONE)
		xfrd_follow_begin(xfrd);
	else if (xfrd->follow.step == XFRD_FOLLOW_NONE)
		xfrd->follow.step = XFRD_FOLLOW_WANTED;
}

enum nsd_err
xfrd_follow_init(struct xfrd *xfrd)
{
	xfrd->follow.event = event_new(xfrd->role.base, -1, 0, follow_on_turn,
		xfrd);
	return xfrd->follow.event != NULL ? NSD_OK : NSD_E_MEMORY;
}
