/* xfrd_members.c - compares what a source of member zones wants with the zones
 * that there are, and has them changed. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_change.h"
#include "xfrd/xfrd_member_id.h"
#include "xfrd/xfrd_members.h"

/* Zones that are looked at in a turn of the loop. */
#define TURN_ZONES 5000u
/* Refused members that a round writes to the log. */
#define LINES_MAX 20u

/* A change that is under way. */
struct members_change {
	struct cds_list_head node;    /* of members.changes */
	struct xfrd_members *members; /* NULL: the source has ended */
	struct xfrd *xfrd;
	enum xfrd_change_kind kind;
	bool comes_anew;              /* DELETE: an ADD follows */
	bool is_reset;                /* ADD: behind such a one */
	uint8_t apex[NAME_MAX_LEN];
	const char *pattern;          /* in texts, like the next ones */
	const char *id;
	const char *expect;           /* NULL: ADD */
	const char *had;              /* the ID that the zone had, or NULL */
	char texts[];
};

static const char *
member_print_name(const uint8_t *apex, char out[NAME_TEXT_MAX])
{
	size_t len = name_print_text(apex, out);

	/* Zones are written without the final dot, but for the root. */
	out[len > 1 ? len - 1 : len] = '\0';
	return out;
}

/* ---- marks --------------------------------------------------------------- */

/* Marks a zone, which stays. */
static void
mark_set(struct xfrd_members *members, const struct xfrd_zone *zone)
{
	size_t had = members->mark_room, at = zone->number / 8;
	uint8_t *marks;

	if (members->kind == XFRD_ROUND_PART)
		return;
	marks = grow_octets(members->marks, at + 1, &members->mark_room);
	if (marks == NULL) {
		/* Without its mark the zone would be deleted. */
		members->kind = XFRD_ROUND_PART;
		members->failed = true;
		return;
	}
	members->marks = marks;
	memset(marks + had, 0, members->mark_room - had);
	marks[at] |= (uint8_t)(1u << zone->number % 8);
}

static bool
mark_is_set(const struct xfrd_members *members, const struct xfrd_zone *zone)
{
	size_t at = zone->number / 8;

	return at < members->mark_room
		&& (members->marks[at] >> zone->number % 8 & 1) != 0;
}

bool
xfrd_members_has(const struct xfrd_members *members,
	const struct xfrd_zone *zone)
{
	return mark_is_set(members, zone);
}

/* ---- the source of a zone ------------------------------------------------ */

static bool
source_owns(const struct xfrd_members *members, const struct xfrd_zone *zone,
	const char *id)
{
	return id != NULL && members->hooks->owns(members->ctx, zone, id);
}

/* ---- refusals ------------------------------------------------------------ */

static void
member_refuse(struct xfrd_members *members, const struct xfrd_member_ask *ask,
	enum xfrd_refusal why, const char *text)
{
	char name[NAME_TEXT_MAX], reason[NAME_TEXT_MAX + 100];
	const struct xfrd_refused_member *refused = xfrd_members_keep_refused(
		members, ask, why, text);

	if (why == XFRD_REFUSAL_MOVED)
		return;
	if (refused != NULL && members->refusals < LINES_MAX)
		log_error("%s: member zone %s is not taken: %s", members->name,
			member_print_name(ask->apex, name),
			xfrd_members_print_refusal(refused, reason,
				sizeof(reason)));
	members->refusals++;
}

/* ---- changes ------------------------------------------------------------- */

static void
members_go_on(struct xfrd_members *members)
{
	static const struct timeval at_once = {.tv_sec = 0};

	/* Messages and signals have their turn. */
	if (!event_pending(members->event, EV_TIMEOUT, NULL))
		event_add(members->event, &at_once);
}

static const char *
change_copy_text(char **at, const char *text)
{
	const char *copy = *at;

	if (text == NULL)
		return NULL;
	memcpy(*at, text, strlen(text) + 1);
	*at += strlen(text) + 1;
	return copy;
}

static size_t
change_text_size(const char *text)
{
	return text != NULL ? strlen(text) + 1 : 0;
}

static void members_on_changed(void *ctx, const struct xfrd_change_end *end);

static void
change_ask(struct members_change *change)
{
	char name[NAME_TEXT_MAX];
	const struct xfrd_change_ask ask = {
		.kind = change->kind,
		.name = member_print_name(change->apex, name),
		.pattern = change->pattern,
		.member = change->id,
		.expect = change->expect,
		.on_end = members_on_changed,
		.ctx = change,
		.no_wait = true,
		.comes_anew = change->comes_anew,
	};

	xfrd_change_zone(change->xfrd, &ask);
}

/* Begins a change of a zone, which is now a member with the ID expect, or is
 * not there (NULL). */
static void
change_begin(struct xfrd_members *members, enum xfrd_change_kind kind,
	const struct xfrd_member_ask *ask, const char *expect, bool comes_anew)
{
	struct members_change *change = malloc(sizeof(*change)
		+ change_text_size(ask->pattern) + change_text_size(ask->id)
		+ change_text_size(expect));
	char *at, name[NAME_TEXT_MAX];

	if (change == NULL) {
		members->failed = true;
		if (kind == XFRD_CHANGE_ADD)
			member_refuse(members, ask, XFRD_REFUSAL_FAILED,
				err_text(NSD_E_MEMORY));
		return;
	}
	*change = (struct members_change){
		.members = members,
		.xfrd = members->xfrd,
		.kind = kind,
		.comes_anew = comes_anew,
	};
	at = change->texts;
	memcpy(change->apex, ask->apex, name_len(ask->apex));
	change->pattern = change_copy_text(&at, ask->pattern);
	change->id = change_copy_text(&at, ask->id);
	change->expect = change->had = change_copy_text(&at, expect);
	cds_list_add_tail(&change->node, &members->changes);
	members->open++;
	if (kind == XFRD_CHANGE_ADD)
		log_at(3, LOG_LEVEL_INFO, "Adding '%s' PTR '%s'", change->id,
			member_print_name(change->apex, name));
	change_ask(change);
}

/* ---- a member ------------------------------------------------------------ */

/* Begins the change of a member, whose zone is there, to what is wanted; if
 * there is a difference. */
static void
member_change(struct xfrd_members *members, const struct xfrd_zone *zone,
	const char *id, const struct xfrd_member_ask *ask)
{
	struct xfrd_options options = xfrd_options_begin(members->xfrd, zone);
	const char *pattern = xfrd_options_pattern(&options);
	bool same = strcmp(id, ask->id) == 0 && pattern != NULL
		&& strcmp(pattern, ask->pattern) == 0;

	xfrd_read_end(members->xfrd);
	if (!same)
		change_begin(members, XFRD_CHANGE_PATTERN, ask, id, false);
}

/* Takes a member of another source, if it may be. */
static void
member_take(struct xfrd_members *members, const struct xfrd_zone *zone,
	const char *id, const struct xfrd_member_ask *ask)
{
	enum xfrd_take take = members->hooks->may_take != NULL
		? members->hooks->may_take(members->ctx, zone, id, ask)
		: XFRD_TAKE_NOT;

	switch (take) {
	case XFRD_TAKE_NOT:
		member_refuse(members, ask, XFRD_REFUSAL_MEMBER, id);
		break;
	case XFRD_TAKE_KEEP:
		change_begin(members, XFRD_CHANGE_PATTERN, ask, id, false);
		break;
	case XFRD_TAKE_RESET:
		change_begin(members, XFRD_CHANGE_DELETE, ask, id, true);
		break;
	}
}

/* Compares a wanted member with the zone of its name. */
static void
member_compare(struct xfrd_members *members, const struct xfrd_member_ask *ask)
{
	struct xfrd_zone_table *table = &members->xfrd->zones.table;
	const struct xfrd_zone *zone = xfrd_zone_find(table, ask->apex);
	const char *id;

	if (zone == NULL) {
		change_begin(members, XFRD_CHANGE_ADD, ask, NULL, false);
		return;
	}
	id = xfrd_zone_member(table, zone);
	if (!zone->is_listed) {
		member_refuse(members, ask, XFRD_REFUSAL_FIXED, NULL);
	} else if (source_owns(members, zone, id)) {
		mark_set(members, zone);
		/* Another ID has the zone reset (RFC 9432 section 5.4). */
		if (strcmp(id, ask->id) == 0)
			member_change(members, zone, id, ask);
		else
			change_begin(members, XFRD_CHANGE_DELETE, ask, id,
				true);
	} else if (id != NULL && xfrd_member_id_has_source(members->xfrd,
			zone, id)) {
		member_take(members, zone, id, ask);
	} else {
		member_refuse(members, ask, XFRD_REFUSAL_BY_HAND, id);
	}
}

/* ---- changes end --------------------------------------------------------- */

/* True if a zone that has come is to be transferred whatever its serial is: all
 * state is reset (RFC 9432 section 5.6), also that in a file which an earlier
 * zone of this name has left. The xfrd that had it go may have died since. */
static bool
change_is_reset(const struct members_change *change,
	const struct xfrd_zone *zone, bool is_later)
{
	struct xfr_status status;

	if (change->kind != XFRD_CHANGE_ADD || zone->handle == XFR_NONE
		|| strcmp(change->id, XFRD_MEMBER_OF_FOLDER) == 0)
		return false;
	xfr_get_status(change->xfrd->zones.machine, zone->handle,
		clock_now_msec(), &status);
	return change->is_reset || is_later || status.has_data;
}

/* True if a zone stays, and is another source's from now on. */
static bool
change_has_moved(const struct members_change *change)
{
	return change->kind == XFRD_CHANGE_PATTERN && change->had != NULL
		&& strcmp(change->had, change->id) != 0;
}

/* Marks the zone of a change that is done, and counts. */
static void
change_take(const struct members_change *change, bool is_later)
{
	struct xfrd_members *members = change->members;
	struct xfrd_zones *zones = &members->xfrd->zones;
	const struct xfrd_zone *zone = xfrd_zone_find(&zones->table,
		change->apex);

	if (zone != NULL && change->kind != XFRD_CHANGE_DELETE) {
		mark_set(members, zone);
		if (change->had != NULL)
			xfrd_members_on_moved(members, zone, change->had);
	}
	if (zone != NULL && (change->is_reset || change_has_moved(change)))
		xfrd_members_on_came_anew(members->xfrd, change->apex);
	if (zone != NULL && change_is_reset(change, zone, is_later)) {
		xfr_on_command(zones->machine, zone->handle, clock_now_msec(),
			true);
		xfrd_zones_go_on(members->xfrd);
	}
	switch (change->kind) {
	case XFRD_CHANGE_ADD:
		members->added++;
		break;
	case XFRD_CHANGE_DELETE:
		members->deleted++;
		break;
	case XFRD_CHANGE_PATTERN:
		members->changed++;
		break;
	}
}

/* Takes the end of a change that was not done. */
static void
change_fail(const struct members_change *change,
	const struct xfrd_change_end *end)
{
	const struct xfrd_member_ask ask = {
		.apex = change->apex,
		.pattern = change->pattern,
		.id = change->id,
	};
	struct xfrd_members *members = change->members;
	bool deletes = change->kind == XFRD_CHANGE_DELETE
		&& !change->comes_anew;

	switch (end->outcome) {
	case XFRD_CHANGED_NO_PATTERN:
		member_refuse(members, &ask, XFRD_REFUSAL_PATTERN,
			change->pattern);
		break;
	case XFRD_CHANGED_NO_NAME:
		member_refuse(members, &ask, XFRD_REFUSAL_NAME, NULL);
		break;
	case XFRD_CHANGED_UNLISTED:
	case XFRD_CHANGED_FAILED:
		members->failed = true;
		if (!deletes)
			member_refuse(members, &ask, XFRD_REFUSAL_FAILED,
				end->why);
		break;
	default:
		/* The zone has come, gone or moved meanwhile. */
		if (!deletes)
			member_compare(members, &ask);
		break;
	}
}

/* A zone that was to come anew may not be there: its name is free then. */
static void
change_tell_free(const struct members_change *change)
{
	struct xfrd *xfrd = change->xfrd;

	if ((change->comes_anew || change->is_reset)
		&& xfrd_zone_find(&xfrd->zones.table, change->apex) == NULL)
		xfrd_members_on_gone(xfrd, change->apex);
}

static bool
change_is_done(const struct members_change *change, enum xfrd_changed outcome)
{
	return outcome == XFRD_CHANGED || outcome == XFRD_CHANGED_UNREAD
		|| (change->kind == XFRD_CHANGE_DELETE
			&& outcome == XFRD_CHANGED_ABSENT);
}

static void
members_on_changed(void *ctx, const struct xfrd_change_end *end)
{
	struct members_change *change = ctx;
	struct xfrd_members *members = change->members;
	bool done = change_is_done(change, end->outcome);

	if (members == NULL) {
		change_tell_free(change);
		free(change);
		return;
	}
	if (done && change->comes_anew) {
		change->kind = XFRD_CHANGE_ADD;
		change->comes_anew = false;
		change->is_reset = true;
		change->expect = NULL;
		change_ask(change);
		return;
	}
	assert(members->open > 0);
	cds_list_del(&change->node);
	members->open--;
	change_tell_free(change);
	if (done)
		change_take(change, end->is_later);
	else
		change_fail(change, end);
	free(change);
	members_go_on(members);
}

/* ---- rounds -------------------------------------------------------------- */

bool
xfrd_members_is_busy(const struct xfrd_members *members)
{
	return members->step != XFRD_MEMBERS_REST;
}

void
xfrd_members_begin(struct xfrd_members *members, enum xfrd_round kind)
{
	assert(members->step == XFRD_MEMBERS_REST && members->open == 0);
	if (kind != XFRD_ROUND_PART)
		xfrd_members_forget_all_refused(members);
	free(members->marks);
	members->marks = NULL;
	members->mark_room = 0;
	members->step = XFRD_MEMBERS_WANT;
	members->kind = kind;
	members->failed = false;
	members->next = 0;
	members->added = members->deleted = members->changed = 0;
	members->refusals = members->unwanted = 0;
}

void
xfrd_members_want(struct xfrd_members *members,
	const struct xfrd_member_ask *ask)
{
	assert(members->step == XFRD_MEMBERS_WANT);
	xfrd_members_forget_refused(members, ask->apex);
	member_compare(members, ask);
}

void
xfrd_members_refuse(struct xfrd_members *members,
	const struct xfrd_member_ask *ask, enum xfrd_refusal why,
	const char *text, bool stays)
{
	struct xfrd_zone_table *table = &members->xfrd->zones.table;
	const struct xfrd_zone *zone = xfrd_zone_find(table, ask->apex);
	const char *id = zone != NULL ? xfrd_zone_member(table, zone) : NULL;

	assert(members->step == XFRD_MEMBERS_WANT);
	member_refuse(members, ask, why, text);
	if (zone == NULL || !source_owns(members, zone, id))
		return;
	if (stays)
		mark_set(members, zone);
	else
		change_begin(members, XFRD_CHANGE_DELETE, ask, id, false);
}

void
xfrd_members_drop(struct xfrd_members *members, const uint8_t *apex,
	const char *id)
{
	const struct xfrd_member_ask ask = {.apex = apex, .id = id};
	struct xfrd_zone_table *table = &members->xfrd->zones.table;
	const struct xfrd_zone *zone = xfrd_zone_find(table, apex);
	const char *has = zone != NULL ? xfrd_zone_member(table, zone) : NULL;

	xfrd_members_forget_refused_id(members, apex, id);
	if (has != NULL && strcmp(has, id) == 0
		&& source_owns(members, zone, has))
		change_begin(members, XFRD_CHANGE_DELETE, &ask, id, false);
}

void
xfrd_members_end(struct xfrd_members *members)
{
	assert(members->step == XFRD_MEMBERS_WANT);
	members->step = XFRD_MEMBERS_WAIT;
	members_go_on(members);
}

void
xfrd_members_stop(struct xfrd_members *members)
{
	members->kind = XFRD_ROUND_PART;
	xfrd_members_end(members);
}

/* Looks whether a zone is a member that was not wanted. */
static void
gone_look(struct xfrd_members *members, const struct xfrd_zone *zone)
{
	struct xfrd_member_ask ask = {.apex = xfrd_zone_apex(zone)};
	const char *id;

	if (mark_is_set(members, zone))
		return;
	ask.id = id = xfrd_zone_member(&members->xfrd->zones.table, zone);
	if (!source_owns(members, zone, id))
		return;
	members->unwanted++;
	if (members->kind == XFRD_ROUND_WHOLE)
		change_begin(members, XFRD_CHANGE_DELETE, &ask, id, false);
}

/* Looks at the next zones. True: that was the last. */
static bool
gone_turn(struct xfrd_members *members)
{
	const struct xfrd_zone_table *table = &members->xfrd->zones.table;

	for (unsigned i = 0; i < TURN_ZONES && members->next < table->end
		&& !xfrd_members_is_full(members); i++) {
		const struct xfrd_zone *zone = xfrd_zone_at(table,
			members->next++);

		if (zone != NULL && zone->is_member)
			gone_look(members, zone);
	}
	return members->next >= table->end;
}

static void
round_end(struct xfrd_members *members)
{
	uint64_t lines = members->refusals;

	if (lines > LINES_MAX)
		log_error("%s: %" PRIu64 " more member zones are not taken",
			members->name, lines - LINES_MAX);
	if (members->added + members->deleted + members->changed > 0)
		log_info("%s: member zones: %" PRIu64 " added, %" PRIu64
			 " changed, %" PRIu64 " deleted", members->name,
			members->added, members->changed, members->deleted);
	free(members->marks);
	members->marks = NULL;
	members->mark_room = 0;
	members->step = XFRD_MEMBERS_REST;
	members->hooks->on_end(members->ctx, members->failed);
}

static void
members_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd_members *members = arg;

	switch (members->step) {
	case XFRD_MEMBERS_REST:
		break;
	case XFRD_MEMBERS_WANT:
		if (!xfrd_members_is_full(members)
			&& members->hooks->on_room != NULL)
			members->hooks->on_room(members->ctx);
		break;
	case XFRD_MEMBERS_WAIT:
		if (members->open > 0)
			break;
		members->step = XFRD_MEMBERS_GONE;
		if (members->kind == XFRD_ROUND_PART)
			members->next = members->xfrd->zones.table.end;
		/* Fall through. */
	case XFRD_MEMBERS_GONE:
		if (!gone_turn(members)) {
			if (!xfrd_members_is_full(members))
				members_go_on(members);
		} else if (members->open == 0) {
			round_end(members);
		}
		break;
	}
}

/* ---- sources ------------------------------------------------------------- */

enum nsd_err
xfrd_members_init(struct xfrd_members *members, struct xfrd *xfrd,
	const struct xfrd_source_hooks *hooks, void *ctx, const char *name)
{
	memset(members, 0, sizeof(*members));
	members->event = event_new(xfrd->role.base, -1, 0, members_on_event,
		members);
	if (members->event == NULL)
		return NSD_E_MEMORY;
	members->xfrd = xfrd;
	members->hooks = hooks;
	members->ctx = ctx;
	members->name = name;
	CDS_INIT_LIST_HEAD(&members->refused);
	CDS_INIT_LIST_HEAD(&members->changes);
	cds_list_add_tail(&members->node, &xfrd->sources);
	return NSD_OK;
}

void
xfrd_members_fini(struct xfrd_members *members)
{
	struct members_change *change;

	cds_list_for_each_entry(change, &members->changes, node)
		change->members = NULL;
	xfrd_members_forget_all_refused(members);
	cds_list_del(&members->node);
	event_free(members->event);
	free(members->marks);
}
