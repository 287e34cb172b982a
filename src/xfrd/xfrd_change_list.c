/*
 * xfrd_change_list.c - the first two steps of a change, and the way back: xfrd
 * knows of it, and it is written to the zone list.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "conf/zonelist.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"

static struct conf *
change_conf(const struct xfrd_change *change)
{
	return change->xfrd->role.server->conf;
}

static enum nsd_err
change_list_zone(struct xfrd_change *change, const struct xfrd_zone *zone,
	const char *pattern)
{
	struct zonelist *list = change->xfrd->changes->list;
	uint64_t offset;
	enum nsd_err err = zonelist_add(list, zone->conf->name, pattern,
		zone->conf->member_id, &offset);

	if (err == NSD_OK)
		conf_note_listed(change_conf(change), zone->conf, offset);
	return err;
}

/* Each of these does all or nothing. */
static enum nsd_err
change_add(struct xfrd_change *change)
{
	struct xfrd_zone *zone;
	enum nsd_err err = xfrd_come_add(change->xfrd, change->name,
		change->pattern, &zone);

	if (err != NSD_OK)
		return err;
	err = change_list_zone(change, zone, change->pattern);
	if (err != NSD_OK) {
		int error = errno;

		xfrd_come_remove(change->xfrd, zone);
		errno = error;
	}
	return err;
}

static enum nsd_err
change_delete(struct xfrd_change *change, struct xfrd_zone *zone)
{
	struct zonelist *list = change->xfrd->changes->list;
	enum nsd_err err = NSD_OK;

	if (zone->conf->listed_at != 0)
		err = zonelist_remove(list, zone->conf->listed_at);
	if (err == NSD_OK)
		xfrd_come_remove(change->xfrd, zone);
	return err;
}

/* Where it can, in the same place; else the new line comes before the old one
 * goes: there is always one. *at: where it is now. */
static enum nsd_err
change_relist(struct zonelist *list, const struct conf_zone *zone,
	const char *pattern, uint64_t *at)
{
	enum nsd_err err;
	int error;

	*at = zone->listed_at;
	if (*at != 0) {
		err = zonelist_replace(list, *at, zone->name, pattern,
			zone->member_id);
		if (err != NSD_E_LIMIT)
			return err;
	}
	err = zonelist_add(list, zone->name, pattern, zone->member_id, at);
	if (err != NSD_OK || zone->listed_at == 0)
		return err;
	err = zonelist_remove(list, zone->listed_at);
	if (err == NSD_OK)
		return NSD_OK;
	error = errno;
	if (zonelist_remove(list, *at) != NSD_OK)
		list->renew = true;
	errno = error;
	return err;
}

static enum nsd_err
change_pattern(struct xfrd_change *change, struct xfrd_zone *zone,
	const char *pattern)
{
	struct zonelist *list = change->xfrd->changes->list;
	uint64_t new_at;
	enum nsd_err err;

	zonelist_note_change(list, change_conf(change), zone->conf);
	err = change_relist(list, zone->conf, pattern, &new_at);
	if (err != NSD_OK)
		return err;
	xfrd_come_rest(change->xfrd, zone);
	err = conf_change_zone(change_conf(change), zone->conf->wire, pattern);
	assert(err == NSD_OK);
	conf_note_listed(change_conf(change), zone->conf, new_at);
	return NSD_OK;
}

/* One that came later has done its part already, and counts. What was before
 * this one is what was before that one. */
static void
change_hand_on(struct xfrd_change *change, struct xfrd_change *next)
{
	free(next->old_pattern);
	free(next->old_member);
	next->old_pattern = change->old_pattern;
	next->old_member = change->old_member;
	change->old_pattern = change->old_member = NULL;
	if (next->kind == XFRD_CHANGE_DELETE)
		return;
	next->created |= next->kind == XFRD_CHANGE_PATTERN
		&& next->old_pattern == NULL;
	next->kind = next->old_pattern == NULL ? XFRD_CHANGE_ADD
					       : XFRD_CHANGE_PATTERN;
}

/* A zone that was deleted is there again, as it was. */
static enum nsd_err
change_bring_back(struct xfrd_change *change)
{
	struct xfrd_zone *zone;
	enum nsd_err err = xfrd_come_add(change->xfrd, change->name,
		change->old_pattern, &zone);

	if (err != NSD_OK)
		return err;
	err = conf_note_member(change_conf(change), zone->conf,
		change->old_member);
	if (err == NSD_OK)
		err = change_list_zone(change, zone, change->old_pattern);
	if (err == NSD_OK)
		xfrd_turn_join(change->xfrd, zone);
	return err;
}

enum nsd_err
xfrd_change_do(struct xfrd_change *change, struct xfrd_zone *zone)
{
	if (change->kind == XFRD_CHANGE_PATTERN && zone == NULL) {
		change->kind = XFRD_CHANGE_ADD;
		change->created = true;
	}
	if (change->kind == XFRD_CHANGE_ADD)
		return change_add(change);
	change->old_pattern = strdup(zone->conf->pattern_name);
	if (zone->conf->member_id != NULL)
		change->old_member = strdup(zone->conf->member_id);
	if (change->old_pattern == NULL
		|| (change->old_member == NULL)
			!= (zone->conf->member_id == NULL))
		return NSD_E_MEMORY;
	return change->kind == XFRD_CHANGE_DELETE
		? change_delete(change, zone)
		: change_pattern(change, zone, change->pattern);
}

void
xfrd_change_undo(struct xfrd_change *change)
{
	struct xfrd_change *next = xfrd_change_find_next(change);
	struct xfrd_zone *zone = xfrd_zone_find(&change->xfrd->zones.table,
		change->wire);
	enum nsd_err err = NSD_OK;

	if (next != NULL) {
		change_hand_on(change, next);
		return;
	}
	switch (change->kind) {
	case XFRD_CHANGE_ADD:
		if (zone != NULL && zone->conf->pattern_name != NULL)
			err = change_delete(change, zone);
		break;
	case XFRD_CHANGE_DELETE:
		if (zone == NULL && change->old_pattern != NULL)
			err = change_bring_back(change);
		break;
	case XFRD_CHANGE_PATTERN:
		if (zone == NULL || zone->conf->pattern_name == NULL)
			break;
		err = change_pattern(change, zone, change->old_pattern);
		if (err == NSD_OK)
			xfrd_turn_join(change->xfrd, zone);
		break;
	}
	if (err != NSD_OK)
		log_error("zone %s: a change that failed cannot be taken back:"
			  " %s", change->name, xfrd_change_text(err));
}
