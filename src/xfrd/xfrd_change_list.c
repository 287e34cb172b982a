/*
 * xfrd_change_list.c - changes in the zone list: a line is written, and taken
 * back if the change fails; done changes are made in xfrd.
 *
 * Until a change is done its zone is published as it was before, and xfrd knows
 * where its line was: a line can be restored from that.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "conf/zonelist.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"
#include "xfrd/xfrd_members.h"

/* ---- lines --------------------------------------------------------------- */

/* Published texts of a zone, for its line. */
struct change_texts {
	const char *pattern; /* NULL: the zone is not published */
	const char *id;
	char name[NAME_TEXT_MAX];
};

/* Reads these texts, which are lent until xfrd_read_end. */
static void
change_read_texts(struct xfrd *xfrd, const struct xfrd_zone *zone,
	struct change_texts *texts)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);

	texts->pattern = xfrd_options_pattern(&options);
	texts->id = xfrd_zone_member(&xfrd->zones.table, zone);
	(void)xfrd_zone_print_name(xfrd, zone, texts->name);
}

/* True if a change leaves the ID of a zone as it is. */
static bool
change_keeps_id(const struct xfrd_change *change, const char *id)
{
	if (change->drops_id)
		return false;
	return change->member == NULL
		|| (id != NULL && strcmp(change->member, id) == 0);
}

/* Writes a line in the place of the old one, if it fits and the old one can be
 * restored; else in another place. Then the old one goes once the new one is
 * durable, so that there is always one. */
static enum nsd_err
change_put_line(struct zonelist *list, const struct xfrd_zone *zone,
	const struct change_texts *texts, struct xfrd_change *change)
{
	enum nsd_err err;

	change->at = zone->listed_at;
	if (change->at != 0 && texts->pattern != NULL
		&& change_keeps_id(change, texts->id)) {
		err = zonelist_replace(list, change->at, texts->name,
			change->pattern, texts->id);
		if (err != NSD_E_LIMIT)
			return err;
	}
	err = zonelist_add(list, texts->name, change->pattern,
		change->member != NULL || change->drops_id ? change->member
							   : texts->id,
		&change->at);
	change->has_old = err == NSD_OK && zone->listed_at != 0;
	return err;
}

/* Writes the line of a zone that gets another pattern. */
static enum nsd_err
change_relist(struct xfrd_change *change, const struct xfrd_zone *zone)
{
	struct xfrd *xfrd = change->xfrd;
	struct change_texts texts;
	enum nsd_err err;

	change_read_texts(xfrd, zone, &texts);
	err = change_put_line(xfrd->changes->list, zone, &texts, change);
	xfrd_read_end(xfrd);
	return err;
}

/* Gives the ID of a member to a zone whose pattern names a catalog that is
 * produced here. NSD_E_MEMORY. */
static enum nsd_err
change_set_id(struct xfrd_change *change, const struct xfrd_zone *zone)
{
	struct xfrd *xfrd = change->xfrd;
	const char *old = zone == NULL ? NULL
		: xfrd_zone_member(&xfrd->zones.table, zone);
	char id[XFRD_MEMBER_ID_MAX];

	change->drops_id = change->kind == XFRD_CHANGE_PATTERN
		&& change->member == NULL && old != NULL
		&& !zonelist_id_is_of_source(old)
		&& !xfrd_produce_has_pattern(xfrd, change->pattern);
	if (change->kind == XFRD_CHANGE_DELETE || change->member != NULL
		|| !xfrd_produce_make_id(xfrd, change->pattern, change->wire,
			old, id))
		return NSD_OK;
	change->member = strdup(id);
	return change->member != NULL ? NSD_OK : NSD_E_MEMORY;
}

void
xfrd_change_note_idle(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	zonelist_note_change(xfrd->changes->list, xfrd_change_count_zones(xfrd),
		xfrd_zone_apex(zone));
}

enum nsd_err
xfrd_change_list(struct xfrd_change *change, const struct xfrd_zone *zone)
{
	struct xfrd_changes *changes = change->xfrd->changes;
	struct zonelist *list = changes->list;
	enum nsd_err err = change_set_id(change, zone);

	assert(change->at == 0 && !change->is_listed);
	assert((zone == NULL) == (change->kind == XFRD_CHANGE_ADD));
	if (err != NSD_OK)
		return err;
	switch (change->kind) {
	case XFRD_CHANGE_ADD:
		err = zonelist_add(list, change->name, change->pattern,
			change->member, &change->at);
		break;
	case XFRD_CHANGE_DELETE:
		if (zone->listed_at != 0)
			err = zonelist_remove(list, zone->listed_at);
		break;
	case XFRD_CHANGE_PATTERN:
		xfrd_change_note_idle(change->xfrd, zone);
		err = change_relist(change, zone);
		break;
	}
	change->is_listed = err == NSD_OK;
	return err;
}

/* Restores the line that a zone had. at: where that of the change is. */
static enum nsd_err
change_restore(struct xfrd *xfrd, const struct xfrd_zone *zone, uint64_t at)
{
	struct zonelist *list = xfrd->changes->list;
	struct change_texts texts;
	enum nsd_err err = NSD_E_NOT_FOUND;

	if (zone->listed_at == 0)
		return NSD_E_NOT_FOUND;
	if (at != zone->listed_at)
		return zonelist_restore(list, zone->listed_at,
			xfrd_zone_member(&xfrd->zones.table, zone));
	change_read_texts(xfrd, zone, &texts);
	if (texts.pattern != NULL)
		err = zonelist_replace(list, at, texts.name, texts.pattern,
			texts.id);
	xfrd_read_end(xfrd);
	return err;
}

bool
xfrd_change_has_old(const struct xfrd_change *change)
{
	return change->has_old
		|| xfrd_skipped_has(change->xfrd->changes, change->wire);
}

enum nsd_err
xfrd_change_drop_old(struct xfrd_change *change)
{
	struct xfrd *xfrd = change->xfrd;
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		change->wire);
	enum nsd_err err = xfrd_skipped_remove(xfrd->changes, change->wire);

	if (err != NSD_OK || !change->has_old)
		return err;
	assert(zone != NULL && zone->listed_at != 0);
	err = zonelist_remove(xfrd->changes->list, zone->listed_at);
	change->has_old = err != NSD_OK;
	return err;
}

void
xfrd_change_drop_new(struct xfrd_change *change, bool old_is_durable)
{
	struct zonelist *list = change->xfrd->changes->list;

	assert(change->has_old && change->at != 0);
	if (old_is_durable && zonelist_remove(list, change->at) == NSD_OK)
		zonelist_free_place(list, change->at);
	else
		list->renew = true;
	change->has_old = false;
}

void
xfrd_change_unlist(struct xfrd_change *change)
{
	struct xfrd *xfrd = change->xfrd;
	struct zonelist *list = xfrd->changes->list;
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		change->wire);
	enum nsd_err err = NSD_OK;

	assert(change->is_listed);
	/* With has_old the old line is there still. */
	if (zone != NULL && !change->has_old)
		err = change_restore(xfrd, zone, change->at);
	/* A new line in another place goes when the old one is durable. */
	if (err == NSD_OK && change->at != 0 && zone != NULL)
		change->has_old = zone->listed_at != change->at;
	if (err == NSD_OK)
		err = xfrd_skipped_restore(xfrd->changes, change->wire);
	if (err == NSD_OK && change->at != 0 && zone == NULL) {
		err = zonelist_remove(list, change->at);
		if (err == NSD_OK)
			zonelist_free_place(list, change->at);
	}
	/* A line that cannot be written is not there in a new list. */
	list->renew |= err != NSD_OK;
}

void
xfrd_change_list_anew(struct xfrd_change *change)
{
	xfrd_change_unlist(change);
	/* Both lines are there. */
	change->xfrd->changes->list->renew |= change->has_old;
	change->has_old = false;
	change->is_listed = false;
	change->at = 0;
}

/* ---- the zone in xfrd ---------------------------------------------------- */

enum nsd_err
xfrd_change_commit(struct xfrd_change *change)
{
	struct xfrd *xfrd = change->xfrd;
	struct xfrd_zone_table *table = &xfrd->zones.table;
	/* A reconfig that was followed since the change was asked for may have
	 * brought or removed the zone: the published state counts. */
	struct xfrd_zone *zone = xfrd_zone_find(table, change->wire);
	enum nsd_err err = NSD_OK;

	assert((change->at == 0) == (change->kind == XFRD_CHANGE_DELETE));
	assert(change->is_listed && cds_list_empty(&change->same));
	if (zone != NULL && zone->listed_at != 0
		&& zone->listed_at != change->at)
		zonelist_free_place(xfrd->changes->list, zone->listed_at);
	xfrd_skipped_drop(xfrd->changes, change->wire);
	if (change->kind == XFRD_CHANGE_DELETE) {
		if (zone != NULL)
			xfrd_detach_remove(xfrd, zone);
		if (!change->comes_anew)
			xfrd_members_on_gone(xfrd, change->wire);
		return NSD_OK;
	}
	if (zone != NULL) {
		xfrd_produce_note(xfrd, zone);
		xfrd_detach_suspend(xfrd, zone);
	} else {
		err = xfrd_zone_add(table, change->wire, &zone);
	}
	if (err != NSD_OK)
		return err;
	xfrd_zone_set_listed(table, zone, true, change->at);
	if (change->member != NULL || change->drops_id)
		err = xfrd_zone_set_member(table, zone, change->member);
	if (err == NSD_OK) {
		xfrd_produce_note(xfrd, zone);
		xfrd_turn_add(xfrd, zone);
	}
	return err;
}
