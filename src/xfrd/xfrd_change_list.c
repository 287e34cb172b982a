/*
 * xfrd_change_list.c - changes in the zone list: a line is written, and taken
 * back if the change fails; what was done, xfrd itself knows. The list is
 * written anew.
 *
 * Until a change is done xfrd knows its zone as it was before: that says what a
 * line is to be again, and what a list that is written anew has.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "conf/zonelist.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"

/* A list that could not be written anew is tried again after this, then after
 * twice as long each time. */
#define RENEW_PAUSE_SEC 1u
#define RENEW_PAUSE_SEC_MAX 60u

static struct conf *
change_conf(const struct xfrd *xfrd)
{
	return xfrd->role.server->conf;
}

/* Zones that there will be with the batch. */
static size_t
change_count_zones(const struct xfrd *xfrd)
{
	return change_conf(xfrd)->zone_count + (size_t)xfrd->changes->more;
}

/* ---- lines --------------------------------------------------------------- */

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

void
xfrd_change_note_idle(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	zonelist_note_change(xfrd->changes->list, change_count_zones(xfrd),
		zone->conf->wire);
}

enum nsd_err
xfrd_change_list(struct xfrd_change *change, const struct xfrd_zone *zone)
{
	struct xfrd_changes *changes = change->xfrd->changes;
	struct zonelist *list = changes->list;
	enum nsd_err err = NSD_OK;

	switch (change->kind) {
	case XFRD_CHANGE_ADD:
		err = zonelist_add(list, change->name, change->pattern,
			change->member, &change->at);
		break;
	case XFRD_CHANGE_DELETE:
		if (zone->conf->listed_at != 0)
			err = zonelist_remove(list, zone->conf->listed_at);
		break;
	case XFRD_CHANGE_PATTERN:
		xfrd_change_note_idle(change->xfrd, zone);
		err = change_relist(list, zone->conf, change->pattern,
			&change->at);
		break;
	}
	change->is_listed = err == NSD_OK;
	return err;
}

/* The line that a zone had. */
static enum nsd_err
change_restore(struct zonelist *list, const struct conf_zone *zone,
	uint64_t at)
{
	if (zone->listed_at == 0)
		return NSD_E_NOT_FOUND;
	return at == zone->listed_at
		? zonelist_replace(list, at, zone->name, zone->pattern_name,
			  zone->member_id)
		: zonelist_restore(list, zone->listed_at,
			  zone->member_id != NULL);
}

void
xfrd_change_unlist(struct xfrd_change *change)
{
	struct xfrd *xfrd = change->xfrd;
	struct zonelist *list = xfrd->changes->list;
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		change->wire);
	enum nsd_err err = NSD_OK;

	if (zone != NULL)
		err = change_restore(list, zone->conf, change->at);
	if (err == NSD_OK && change->at != 0
		&& (zone == NULL || zone->conf->listed_at != change->at)) {
		err = zonelist_remove(list, change->at);
		if (err == NSD_OK)
			zonelist_free_place(list, change->at);
	}
	/* A line that cannot be written is not there in a new list. */
	list->renew |= err != NSD_OK;
}

/* ---- what xfrd itself knows ---------------------------------------------- */

static enum nsd_err
change_settle_zone(struct xfrd_change *change, struct xfrd_zone *zone)
{
	struct conf *conf = change_conf(change->xfrd);
	enum nsd_err err;

	conf_note_listed(conf, zone->conf, change->at);
	if (change->member != NULL) {
		err = conf_note_member(conf, zone->conf, change->member);
		if (err != NSD_OK)
			return err;
	}
	xfrd_turn_join(change->xfrd, zone);
	return NSD_OK;
}

enum nsd_err
xfrd_change_settle(struct xfrd_change *change)
{
	struct xfrd *xfrd = change->xfrd;
	struct zonelist *list = xfrd->changes->list;
	struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		change->wire);
	enum nsd_err err;

	if (change->kind == XFRD_CHANGE_ADD) {
		err = xfrd_come_add(xfrd, change->name, change->pattern,
			&zone);
		return err != NSD_OK ? err : change_settle_zone(change, zone);
	}
	assert(zone != NULL); /* no other change of it is under way */
	if (zone->conf->listed_at != 0 && zone->conf->listed_at != change->at)
		zonelist_free_place(list, zone->conf->listed_at);
	if (change->kind == XFRD_CHANGE_DELETE) {
		xfrd_come_remove(xfrd, zone);
		return NSD_OK;
	}
	xfrd_come_rest(xfrd, zone);
	err = conf_change_name(change_conf(xfrd), zone->conf,
		change->pattern);
	return err != NSD_OK ? err : change_settle_zone(change, zone);
}

/* ---- the list is written anew -------------------------------------------- */

bool
xfrd_change_wants_renewal(const struct xfrd *xfrd)
{
	const struct xfrd_changes *changes = xfrd->changes;

	return !changes->resting
		&& zonelist_wants_renewal(changes->list,
			change_count_zones(xfrd));
}

/* A list that is whole is gone on with meanwhile; to one that is not, nothing
 * is added. */
static void
changes_fail_renewal(struct xfrd_changes *changes)
{
	struct timeval pause;

	changes->failed_error = errno;
	changes->failed_msec = clock_now_msec();
	changes->pause_sec = changes->pause_sec == 0 ? RENEW_PAUSE_SEC
						     : 2 * changes->pause_sec;
	if (changes->pause_sec > RENEW_PAUSE_SEC_MAX)
		changes->pause_sec = RENEW_PAUSE_SEC_MAX;
	log_error("cannot write %s anew: %s; again in %u s",
		changes->list->path, strerror(changes->failed_error),
		changes->pause_sec);
	pause = (struct timeval){.tv_sec = changes->pause_sec};
	changes->resting = true;
	event_add(changes->renew_event, &pause);
	changes->renewed_fd = -1;
}

bool
xfrd_change_renew(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;

	if (changes->unused > 0)
		log_warning("zone list %s is written anew without %zu lines of"
			    " zones that could not be added from it",
			changes->list->path, changes->unused);
	changes->unused = 0;
	if (zonelist_renew(changes->list, change_conf(xfrd),
		    &changes->renewed_fd)
		!= NSD_OK) {
		changes_fail_renewal(changes);
		return false;
	}
	changes->flush = syncer_ask(changes->syncer, changes->renewed_fd, -1);
	return true;
}

/* The new list has no lines of changes that are not done, those that the last
 * xfrd has left and those that are busy: they are written when they are begun
 * again. */
static void
changes_list_again(struct xfrd_changes *changes)
{
	struct xfrd_change *change;

	cds_list_for_each_entry(change, &changes->waiting, node) {
		change->is_listed = false;
		change->at = 0;
	}
}

/* The file is durable, then its name is. */
bool
xfrd_change_renew_next(struct xfrd *xfrd, int error)
{
	struct xfrd_changes *changes = xfrd->changes;
	enum nsd_err err = NSD_E_SYSTEM;

	errno = error;
	if (changes->renewed_fd == -1) {
		changes->pause_sec = error == 0 ? 0 : changes->pause_sec;
		changes->list->renew |= error != 0;
		if (error != 0)
			changes_fail_renewal(changes);
		return false;
	}
	if (error != 0)
		zonelist_drop_renewed(changes->list);
	else
		err = zonelist_take_renewed(changes->list, change_conf(xfrd));
	if (err != NSD_OK) {
		changes_fail_renewal(changes);
		return false;
	}
	changes_list_again(changes);
	changes->renewed_fd = -1;
	changes->flush = syncer_ask(changes->syncer, -1,
		changes->list->folder);
	return true;
}
