/*
 * xfrd_follow.c - follows another configuration, once it is published
 * (BROADCAST_SETTINGS of a reconfig): zones that are in the store no more go,
 * those that are there get their options of now, and those that it lacks come.
 *
 * It does so a little at a time, and between two batches of changes
 * (xfrd_change.h): so the published zones of the zone list are those that xfrd
 * knows of.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>

#include "base/log.h"
#include "conf/zonelist.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "xfrd/xfrd_changes.h"
#include "zone/table.h"

/* Zones in a turn of the loop. */
#define TURN_ZONES 500u
/* Updates of clients wait so long for a configuration that is on its way: a
 * reconfig may turn out to change no zones, and none is followed then. */
#define RELEASE_SEC 10

/* ---- zones that xfrd has ------------------------------------------------- */

/* Has the line of a zone go, or come, with the list that is written anew. A
 * line that goes is made void at once: there may be no room for another
 * list. */
static void
follow_list(struct xfrd *xfrd, struct xfrd_zone *zone, bool is_listed)
{
	struct xfrd_changes *changes = xfrd->changes;

	if (changes != NULL && zone->listed_at != 0)
		(void)!zonelist_remove(changes->list, zone->listed_at);
	if (changes != NULL)
		changes->list->renew = true;
	xfrd_zone_set_listed(&xfrd->zones.table, zone, is_listed, 0);
}

/* Has a zone follow its options. False: there is no memory for it now, or too
 * many requests are under way (xfrd_resume). */
static bool
follow_zone(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	bool is_there = options.entry != NULL;
	/* A zone of the zone list may stand in nsd.conf by now. */
	bool is_listed = xfrd_options_pattern(&options) != NULL;

	xfrd_read_end(xfrd);
	if (!is_there) {
		xfrd_detach_purge(xfrd, zone);
		xfrd->follow.gone++;
		return true;
	}
	if (zone->is_listed != is_listed)
		follow_list(xfrd, zone, is_listed);
	return xfrd_turn_follow(xfrd, zone);
}

/* ---- zones that it lacks ------------------------------------------------- */

static void
follow_on_new(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	if (zone->is_listed && xfrd->changes != NULL)
		xfrd->changes->list->renew = true;
	/* The zone is looked at later. */
	if (!xfrd_turn_follow(xfrd, zone))
		xfrd_turn_look(xfrd);
}

/* Follows the next entries. False: there is no memory for one of them now.
 * *end: the last one was reached. */
static bool
follow_entries(struct xfrd *xfrd, bool *end)
{
	struct xfrd_follow *follow = &xfrd->follow;
	const struct zone_table *zones = table_get(xfrd_read_begin(xfrd));
	/* If each zone of xfrd was found in the store, equal counts mean equal
	 * sets. */
	bool same = zones == NULL || (!follow->walk.has_last
		&& zones->zone_count == xfrd->zones.table.count);
	enum nsd_err err = NSD_OK;

	if (!same)
		err = xfrd_walk(xfrd, &follow->walk, TURN_ZONES,
			follow_on_new);
	xfrd_read_end(xfrd);
	*end = same || follow->walk.is_over;
	return err == NSD_OK;
}

/* ---- turns --------------------------------------------------------------- */

/* Lets updates of clients go on that wait for the end. */
static void
follow_release(struct xfrd *xfrd)
{
	struct xfrd_follow *follow = &xfrd->follow;

	for (; follow->releases > 0; follow->releases--)
		xfrd_client_update_release(xfrd, NULL);
	event_del(follow->release_event);
}

static void
follow_on_release(evutil_socket_t fd, short what, void *arg)
{
	follow_release(arg);
}

void
xfrd_follow_release_later(struct xfrd *xfrd)
{
	static const struct timeval limit = {.tv_sec = RELEASE_SEC};

	xfrd->follow.releases++;
	event_add(xfrd->follow.release_event, &limit);
}

static void
follow_end(struct xfrd *xfrd)
{
	struct xfrd_follow *follow = &xfrd->follow;

	assert(follow->step == XFRD_FOLLOW_ENTRIES);
	follow->step = XFRD_FOLLOW_NONE;
	if (follow->gone > 0)
		log_notice("xfrd: %zu zones are not in the configuration any"
			   " more", follow->gone);
	/* New zones, other targets, and refused settings. */
	if (xfrd->zones.told) {
		xfr_notify_all(xfrd->zones.machine);
		xfrd_produce_look(xfrd);
	}
	/* Files may have other names now. */
	xfrd_write_look(xfrd);
	xfrd_catalog_follow(xfrd);
	if (xfrd->folders.follow_event != NULL)
		event_active(xfrd->folders.follow_event, EV_TIMEOUT,
			0);
	xfrd_zones_go_on(xfrd);
	follow_release(xfrd);
	role_send_obeyed(&xfrd->role, follow->ticket);
	if (xfrd->changes != NULL)
		event_active(xfrd->changes->begin_event, EV_TIMEOUT, 0);
}

/* Does a turn. False: there is no memory for it now, or too many requests are
 * under way (xfrd_resume). */
static bool
follow_turn(struct xfrd *xfrd)
{
	struct xfrd_follow *follow = &xfrd->follow;
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	bool done = true, end;

	assert(xfrd->changes == NULL
		|| xfrd->changes->step == XFRD_CHANGES_NONE);
	if (follow->step == XFRD_FOLLOW_ENTRIES) {
		done = follow_entries(xfrd, &end);
		if (done && end)
			follow_end(xfrd);
		return done;
	}
	assert(follow->step == XFRD_FOLLOW_ZONES);
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

	assert(xfrd->changes == NULL
		|| xfrd->changes->step == XFRD_CHANGES_NONE);
	follow->step = XFRD_FOLLOW_ZONES;
	follow->next = 0;
	follow->walk = (struct xfrd_walk){.has_last = false};
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
	xfrd->follow.release_event = event_new(xfrd->role.base, -1, 0,
		follow_on_release, xfrd);
	return xfrd->follow.event != NULL && xfrd->follow.release_event != NULL
		? NSD_OK : NSD_E_MEMORY;
}
