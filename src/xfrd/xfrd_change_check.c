/* xfrd_change_check.c - whether a change of a zone can be made, and may be. */
#include "config.h"

#include <string.h>

#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"
#include "xfrd/xfrd_member_id.h"

bool
xfrd_change_parse(struct xfrd_change *change, enum xfrd_changed *outcome)
{
	*outcome = XFRD_CHANGED_NO_PATTERN;
	if (change->kind != XFRD_CHANGE_DELETE
		&& !xfrd_has_pattern(change->xfrd, change->pattern))
		return false;
	/* An empty line of delzones is no error in NSD. */
	*outcome = change->kind == XFRD_CHANGE_DELETE && *change->name == '\0'
		? XFRD_CHANGED_ABSENT
		: XFRD_CHANGED_NO_NAME;
	return conf_parse_zone_name(change->name, change->wire);
}

/* True if the zone is published with the pattern that it is to get, and has the
 * ID that it is to get. */
static bool
change_has_pattern(const struct xfrd_change *change,
	const struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(change->xfrd, zone);
	const char *pattern = xfrd_options_pattern(&options);
	const char *id = xfrd_zone_member(&change->xfrd->zones.table, zone);
	bool has = pattern != NULL && strcmp(pattern, change->pattern) == 0
		&& (change->member == NULL
			|| (id != NULL && strcmp(id, change->member) == 0));

	xfrd_read_end(change->xfrd);
	return has;
}

bool
xfrd_change_check_asker(const struct xfrd_change *change,
	const struct xfrd_zone *zone, enum xfrd_changed *outcome)
{
	const char *id = xfrd_zone_member(&change->xfrd->zones.table, zone);

	*outcome = XFRD_CHANGED_FIXED;
	if (!zone->is_listed)
		return false;
	*outcome = XFRD_CHANGED_OTHER;
	if (change->expect != NULL)
		return id != NULL && strcmp(id, change->expect) == 0;
	*outcome = XFRD_CHANGED_MEMBER;
	return change->on_end == NULL || id == NULL
		|| !xfrd_member_id_has_source(change->xfrd, zone, id);
}

bool
xfrd_change_check(struct xfrd_change *change, const struct xfrd_zone *zone,
	enum xfrd_changed *outcome)
{
	*outcome = XFRD_CHANGED_EXISTS;
	if (change->kind == XFRD_CHANGE_ADD)
		return zone == NULL;
	*outcome = XFRD_CHANGED_ABSENT;
	if (zone == NULL) {
		change->created = change->kind == XFRD_CHANGE_PATTERN
			&& change->expect == NULL;
		if (change->created)
			change->kind = XFRD_CHANGE_ADD;
		return change->created;
	}
	if (!xfrd_change_check_asker(change, zone, outcome))
		return false;
	*outcome = XFRD_CHANGED;
	/* A change that a dead xfrd has left may be done by the loader, but not
	 * in this xfrd. */
	if (change->kind == XFRD_CHANGE_DELETE || change->on_end == NULL
		|| !change_has_pattern(change, zone))
		return true;
	xfrd_change_note_idle(change->xfrd, zone);
	return false;
}
