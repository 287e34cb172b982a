/*
 * xfrd_detach.c - zones get other options, or go: their state in xfrd.
 * xfrd_change.c and xfrd_follow.c do the rest.
 */
#include "config.h"

#include <assert.h>

#include "base/clock.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "xfrd/xfrd_changes.h"

void
xfrd_detach_suspend(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_handover handover;
	struct xfrd_past *past;
	bool is_handed_over;

	xfrd_job_detach_zone(xfrd, zone);
	if (zone->handle == XFR_NONE)
		return;
	assert(zone->past == NULL);
	is_handed_over = xfrd_handover_get(xfrd, zone, clock_now_msec(),
		&handover);
	xfrd_zones_end(xfrd, zone);
	assert(zone->handle == XFR_NONE);
	/* Without memory, the expiry in the store stays. */
	past = is_handed_over ? xfrd_zone_get_past(&xfrd->zones.table, zone)
		: NULL;
	if (past != NULL)
		past->handover = handover;
	xfrd_state_drop(xfrd);
	xfrd_zones_go_on(xfrd);
}

void
xfrd_detach_purge(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	if (xfrd->journal != NULL)
		journal_drop(xfrd->journal, xfrd_zone_apex(zone));
	xfrd_detach_remove(xfrd, zone);
}

void
xfrd_detach_remove(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	/* A list that is written anew refers to its zones. */
	assert(!zone->is_listed || xfrd->changes == NULL
		|| xfrd->changes->lines == NULL);
	xfrd_produce_note(xfrd, zone);
	xfrd_detach_suspend(xfrd, zone);
	xfrd_zone_drop_past(&xfrd->zones.table, zone);
	xfrd_changesets_forget(xfrd, zone);
	xfrd_catalog_forget(xfrd, zone);
	xfrd_client_update_forget(xfrd, xfrd_zone_apex(zone));
	xfrd_freeze_forget(xfrd, xfrd_zone_apex(zone));
	/* Another zone may be in its place later. */
	if (xfrd->reading.zone == zone)
		xfrd->reading.zone = NULL;
	xfrd_zone_remove(&xfrd->zones.table, zone);
}
