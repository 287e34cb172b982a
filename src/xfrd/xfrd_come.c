/*
 * xfrd_come.c - zones come and go, and get other options: what xfrd itself
 * knows of them. What else is to be done then, does xfrd_change.c.
 */
#include "config.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "conf/conf.h"
#include "xfrd/xfrd.h"

enum nsd_err
xfrd_come_add(struct xfrd *xfrd, const char *name, const char *pattern,
	const struct conf_zone **zone)
{
	struct conf *conf = xfrd->role.server->conf;
	struct xfrd_zones *zones = &xfrd->zones;
	uint32_t *handles = grow_array(zones->handles, conf->zone_count,
		&zones->handle_room, sizeof(*handles));
	enum nsd_err err;

	if (handles == NULL)
		return NSD_E_MEMORY;
	zones->handles = handles;
	err = conf_add_zone(conf, name, pattern, zone);
	if (err == NSD_OK)
		handles[(*zone)->index] = XFR_NONE;
	return err;
}

void
xfrd_come_rest(struct xfrd *xfrd, const struct conf_zone *zone,
	struct xfrd_rest *rest)
{
	struct xfrd_zones *zones = &xfrd->zones;
	uint32_t handle = zones->handles[zone->index];

	xfrd_job_leave_zone(xfrd, zone);
	if (handle == XFR_NONE)
		return;
	xfrd_zones_get_rest(xfrd, zone, clock_now_msec(), rest);
	/* It may be another zone's soon. */
	xfrd_turn_forget_expiry(xfrd, handle);
	xfrd_written_forget(xfrd, handle);
	xfrd_said_forget(&xfrd->said, handle);
	xfrd_received_forget(xfrd, handle);
	xfr_remove_zone(zones->machine, handle);
	zones->handles[zone->index] = XFR_NONE;
	xfrd_state_move(xfrd, zone->index, zone->index);
	xfrd_left_move(xfrd, zone->index, zone->index);
	xfrd_zones_go_on(xfrd);
}

void
xfrd_come_remove(struct xfrd *xfrd, const struct conf_zone *zone)
{
	struct conf *conf = xfrd->role.server->conf;
	struct xfrd_zones *zones = &xfrd->zones;
	uint32_t place = zone->index;
	uint32_t last = (uint32_t)conf->zone_count - 1;
	struct xfrd_rest rest;

	xfrd_come_rest(xfrd, zone, &rest);
	xfrd_state_move(xfrd, place, last);
	xfrd_left_move(xfrd, place, last);
	zones->handles[place] = zones->handles[last];
	if (zones->handles[place] != XFR_NONE)
		zones->places[zones->handles[place]] = place;
	if (conf_remove_zone(conf, zone->wire) != NSD_OK)
		abort(); /* it was found there */
	xfrd_turn_move(xfrd, place, last);
	xfrd_write_move(xfrd, place, last);
	control_wait_move(xfrd, place, last);
}
