/*
 * xfrd_turn.c - carries out the machine's actions (xfr/machine.h) when they are
 * due.
 *
 * All zones are looked at, a little at a time, once the loader says that it has
 * looked at their files; and again after each pass of the loader.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "xfrd/xfrd_changes.h"

/* Actions of the machine, and zones that are looked at, in a turn of the
 * loop. */
#define TURN_ACTIONS 64
#define TURN_ZONES 500
/* The time between looks at the machine, at least: more often is no use. */
#define WAIT_MIN_MSEC 1
/* From so many changes of zones on that follow each other, they go before
 * fetches, for so long at most: changes may wait for a disk. */
#define CHANGES_MIN 256u
#define CHANGES_MSEC 2000

/* ---- looking at what is served ------------------------------------------- */

/* Brings a zone in line with what is published of it. The machine gets the
 * zone, with the state that it had before (xfrd_state.c, xfrd_handover.c),
 * loses it if its options are others, or is told which version is served.
 * False: there is no memory for it now, or too many requests are under way
 * (xfrd_resume). */
static bool
turn_look(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_soa soa;
	uint32_t config;
	enum nsd_err err;
	bool loaded;

	if (xfrd_changesets_look(xfrd, zone))
		xfrd_write_go_on(xfrd);
	xfrd_catalog_hear(xfrd, zone);
	xfrd_keep_look(xfrd, zone);
	xfrd_client_update_look(xfrd, zone);
	zone->acts_from_xfrd |= xfrd_zone_is_from_xfrd(xfrd, zone);
	err = xfrd_zones_get_config(xfrd, zone, &config);
	if (err != NSD_OK)
		return err == NSD_E_NOT_FOUND;
	if (zone->handle != XFR_NONE
		&& xfr_get_config(xfrd->zones.machine, zone->handle) != config)
		xfrd_detach_suspend(xfrd, zone);
	if (config == XFR_NONE) {
		assert(zone->handle == XFR_NONE);
		xfrd_zone_drop_past(&xfrd->zones.table, zone);
		return true;
	}
	loaded = xfrd_zones_get_soa(xfrd, zone, &soa);
	if (zone->handle == XFR_NONE) {
		struct xfr_start start;

		if (!xfrd_resume(xfrd, zone, loaded ? &soa : NULL))
			return false;
		xfrd_state_get_start(xfrd, zone, loaded ? &soa : NULL, &start);
		xfrd_handover_get_start(xfrd, zone, &start);
		if (xfrd_zones_begin(xfrd, zone, config, &start) != NSD_OK)
			return false;
		xfrd_handover_get_written(xfrd, zone);
		xfrd_zone_drop_past(&xfrd->zones.table, zone);
		return true;
	}
	assert(zone->past == NULL);
	if (loaded)
		xfr_on_served(xfrd->zones.machine, zone->handle,
			clock_now_msec(), &soa.numbers);
	return true;
}

/* Looks at a zone with the store at hand, as turn_look does. */
static bool
turn_look_at(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	bool done;

	xfrd_read_begin(xfrd);
	done = turn_look(xfrd, zone);
	xfrd_read_end(xfrd);
	return done;
}

/* Has a zone that rests follow its published options: the loader has looked at
 * its file. */
static bool
turn_follow(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	zone->acts_from_xfrd = false;
	return turn_look_at(xfrd, zone);
}

/* True if the zone has left nsd.conf. The loader may have had it in hand when
 * xfrd followed the reconfig. */
static bool
turn_is_gone(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	/* A zone that the machine has was published once: without an entry it
	 * is gone. */
	bool gone = options.entry == NULL && zone->handle != XFR_NONE
		&& !zone->is_listed;

	xfrd_read_end(xfrd);
	return gone;
}

static void
turn_on_look(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;
	struct xfrd_zones *zones = &xfrd->zones;
	const struct xfrd_zone_table *table = &zones->table;
	struct timeval soon = {.tv_sec = 0};

	assert(zones->looking);
	for (unsigned i = 0; i < TURN_ZONES && zones->looked < table->end;
		i++) {
		struct xfrd_zone *zone = xfrd_zone_at(table, zones->looked);

		if (zone != NULL && turn_is_gone(xfrd, zone)) {
			xfrd_detach_purge(xfrd, zone);
		} else if (zone != NULL && !turn_look_at(xfrd, zone)) {
			soon.tv_sec = 1;
			break;
		}
		zones->looked++;
	}
	if (zones->looked >= table->end && !zones->told) {
		zones->told = true;
		xfr_notify_all(zones->machine);
		xfrd_produce_look(xfrd);
	}
	xfrd_zones_go_on(xfrd);
	if (zones->looked >= table->end && zones->look_again) {
		zones->looked = 0;
		zones->look_again = false;
	}
	zones->looking = zones->looked < table->end;
	if (zones->looking)
		event_add(zones->look_event, &soon);
	else
		xfrd_produce_look_at_served(xfrd);
}

void
xfrd_turn_look(struct xfrd *xfrd)
{
	struct xfrd_zones *zones = &xfrd->zones;

	if (zones->looking) {
		zones->look_again = true;
		return;
	}
	zones->looking = true;
	zones->looked = 0;
	event_active(zones->look_event, EV_TIMEOUT, 0);
}

void
xfrd_turn_add(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	if (!turn_follow(xfrd, zone))
		xfrd_turn_look(xfrd);
	else if (xfrd->zones.told && zone->handle != XFR_NONE)
		xfr_send_notifies(xfrd->zones.machine, zone->handle, false);
	xfrd_zones_go_on(xfrd);
}

/* Tries a zone again whose checks have failed, as the cause may be gone: a key,
 * or a certificate. A check that has begun may still fail of it, and is
 * followed by another one. */
static void
turn_try_again(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	struct xfr_machine *machine = xfrd->zones.machine;
	int64_t now = clock_now_msec();
	struct xfr_status status;

	if (zone->handle == XFR_NONE)
		return;
	xfr_get_status(machine, zone->handle, now, &status);
	if (status.is_checking ? status.primary != XFR_NONE
				|| status.turn_primary != XFR_NONE
			       : status.failed_rounds > 0)
		xfr_on_command(machine, zone->handle, now, false);
}

bool
xfrd_turn_follow(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	if (xfrd_handover_is_other(xfrd, zone))
		xfrd_detach_suspend(xfrd, zone);
	if (!turn_follow(xfrd, zone))
		return false;
	turn_try_again(xfrd, zone);
	return true;
}

/* ---- when a zone expires ------------------------------------------------- */

/* Tells the loader as many expiries as it can take now. Others are told when
 * there is credit, or by the machine to the next loader. */
static void
turn_tell_expiries(struct xfrd *xfrd)
{
	struct xfr_machine *machine = xfrd->zones.machine;
	int64_t now = clock_now_msec(), at;
	uint32_t zone;

	while (xfr_next_expiry(machine, &zone, &at)) {
		uint64_t left = at == XFR_NEVER ? IPC_EXPIRY_NEVER
			: at > now ? (uint64_t)(at - now) : 0;

		if (xfrd_loader_expire(xfrd, xfrd_zone_apex(
				xfrd_zones_get(xfrd, zone)), left) != NSD_OK) {
			xfr_resend_expiry(machine, zone);
			return;
		}
	}
}

void
xfrd_turn_on_loader(struct xfrd *xfrd, bool is_new)
{
	if (is_new)
		xfr_resend_expiries(xfrd->zones.machine);
	xfrd_zones_go_on(xfrd);
}

/* ---- actions ------------------------------------------------------------- */

static void
turn_act(struct xfrd *xfrd, const struct xfr_action *action)
{
	char name[NAME_TEXT_MAX];

	switch (action->act) {
	case XFR_PROBE:
	case XFR_TRANSFER:
	case XFR_NOTIFY:
		xfrd_jobs_begin(xfrd, action);
		break;
	case XFR_CANCEL:
		xfrd_job_cancel(xfrd, action->ticket);
		break;
	case XFR_EXPIRED:
		xfrd_catalog_on_expired(xfrd, xfrd_zones_get(xfrd,
			action->zone));
		log_error("xfrd: zone %s has expired",
			xfrd_zone_print_name(xfrd, xfrd_zones_get(xfrd,
				action->zone), name));
		xfrd_state_save_soon(xfrd);
		break;
	}
}

/* True if many changes of zones go first: zones that come are all listed
 * before they are fetched. Now and then fetches have a turn, so that no stream
 * of changes stops them. now: clock_now_msec. */
static bool
turn_is_for_changes(const struct xfrd *xfrd, int64_t now)
{
	struct xfrd_changes *changes = xfrd->changes;

	if (changes == NULL)
		return false;
	if (changes->step == XFRD_CHANGES_NONE
		&& (changes->paused || cds_list_empty(&changes->waiting))) {
		changes->in_a_row = 0;
		return false;
	}
	if (changes->in_a_row < CHANGES_MIN) {
		changes->held_msec = now;
		return false;
	}
	if (now < changes->held_msec + CHANGES_MSEC)
		return true;
	changes->held_msec = now;
	return false;
}

/* Has the next turn of the machine done after so long. */
static void
turn_wait(const struct xfrd_zones *zones, int64_t msec)
{
	struct timeval wait;

	if (msec < WAIT_MIN_MSEC)
		msec = WAIT_MIN_MSEC;
	wait.tv_sec = msec / 1000;
	wait.tv_usec = msec % 1000 * 1000;
	event_add(zones->event, &wait);
}

/* Does a turn of the machine: the actions that are due, and expiries; then
 * waits for the next one. */
static void
turn_on_time(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;
	struct xfrd_zones *zones = &xfrd->zones;
	struct xfr_action action;
	int64_t now = clock_now_msec(), next;

	/* The machine goes on when a transfer has been published, or when the
	 * batch of changes has ended; at the end nothing is begun. */
	if (xfrd_keep_is_full(xfrd) || xfrd->writes.ending)
		return;
	if (turn_is_for_changes(xfrd, now)) {
		turn_tell_expiries(xfrd);
		turn_wait(zones, xfrd->changes->held_msec + CHANGES_MSEC - now);
		return;
	}
	for (unsigned i = 0; i < TURN_ACTIONS; i++) {
		if (!xfr_next(zones->machine, now, &action)) {
			turn_tell_expiries(xfrd);
			next = xfr_next_time(zones->machine);
			if (next == XFR_NEVER)
				return;
			turn_wait(zones, next - clock_now_msec());
			return;
		}
		turn_act(xfrd, &action);
	}
	turn_tell_expiries(xfrd);
	xfrd_zones_go_on(xfrd);
}

/* ---- start --------------------------------------------------------------- */

enum nsd_err
xfrd_turn_init(struct xfrd *xfrd)
{
	struct xfrd_zones *zones = &xfrd->zones;

	zones->event = event_new(xfrd->role.base, -1, 0, turn_on_time, xfrd);
	zones->look_event = event_new(xfrd->role.base, -1, 0, turn_on_look,
		xfrd);
	return zones->event != NULL && zones->look_event != NULL
		? NSD_OK
		: NSD_E_MEMORY;
}
