/*
 * xfrd_come.c - zones come and go, and get other options: what xfrd itself
 * knows of them. What else is to be done then, does xfrd_change.c.
 */
#include "config.h"

#include <stdlib.h>

#include "base/clock.h"
#include "conf/conf.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"

enum nsd_err
xfrd_come_add(struct xfrd *xfrd, const char *name, const char *pattern,
	struct xfrd_zone **zone)
{
	struct conf *conf = xfrd->role.server->conf;
	const struct conf_zone *added;
	enum nsd_err err = conf_add_name(conf, name, pattern, &added);

	if (err != NSD_OK)
		return err;
	err = xfrd_zone_add(&xfrd->zones.table, added, zone);
	if (err != NSD_OK && conf_remove_zone(conf, added->wire) != NSD_OK)
		abort(); /* it was just added */
	return err;
}

void
xfrd_come_rest(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_left_zone left;
	struct xfrd_past *past;
	bool is_left;

	xfrd_job_leave_zone(xfrd, zone);
	if (zone->handle == XFR_NONE)
		return;
	is_left = xfrd_left_get(xfrd, zone, clock_now_msec(), &left);
	xfrd_zones_end(xfrd, zone);
	/* Without memory it is answered from as long as workers know. */
	past = is_left ? xfrd_zone_get_past(&xfrd->zones.table, zone) : NULL;
	if (past != NULL)
		past->left = left;
	xfrd_state_drop(xfrd);
	xfrd_zones_go_on(xfrd);
}

void
xfrd_come_lose(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	if (xfrd->journal != NULL)
		journal_drop(xfrd->journal, xfrd_zone_apex(zone));
	xfrd_come_remove(xfrd, zone);
}

void
xfrd_come_remove(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	const struct conf_zone *conf = zone->conf;

	xfrd_come_rest(xfrd, zone);
	xfrd_zone_drop_past(&xfrd->zones.table, zone);
	xfrd_steps_forget(xfrd, zone);
	xfrd_zone_remove(&xfrd->zones.table, zone);
	if (conf_remove_zone(xfrd->role.server->conf, conf->wire) != NSD_OK)
		abort(); /* it was found there */
}
