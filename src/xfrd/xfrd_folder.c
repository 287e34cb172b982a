/* xfrd_folder.c - has the zone files of a folder served as zones: see
 * xfrd_folder.h. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_folder.h"
#include "xfrd/xfrd_member_id.h"

/* The pause before changes that have failed are tried again; twice as long each
 * time. */
#define RETRY_SEC 10u
#define RETRY_MAX_SEC 3600u
/* Zones that are looked at in a turn of the loop. */
#define TURN_ZONES 5000u
/* Files with a bad name in the log, of a reading. */
#define LINES_MAX 20u

/* ---- names --------------------------------------------------------------- */

const char *
xfrd_folder_print_name(const uint8_t *apex, char out[NAME_TEXT_MAX])
{
	size_t len = name_print_text(apex, out);

	out[len > 1 ? len - 1 : len] = '\0';
	return out;
}

/* Gets the zone that a file is of. False: its name is not that of a zone, or is
 * written in another way. */
static bool
folder_parse_name(const char *name, uint8_t apex[NAME_MAX_LEN])
{
	char text[NAME_TEXT_MAX];

	return conf_parse_zone_name(name, apex)
		&& strcmp(xfrd_folder_print_name(apex, text), name) == 0;
}

static bool
folder_is_name(void *ctx, const char *name)
{
	uint8_t apex[NAME_MAX_LEN];

	return folder_parse_name(name, apex);
}

/* ---- bad names ----------------------------------------------------------- */

static struct xfrd_folder_bad *
folder_find_bad(const struct xfrd_folder *folder, const char *name)
{
	struct xfrd_folder_bad *bad;

	cds_list_for_each_entry(bad, &folder->bad, node)
		if (strcmp(bad->name, name) == 0)
			return bad;
	return NULL;
}

/* Notes a file that was not noted yet. */
static void
folder_note_bad(struct xfrd_folder *folder, const char *name)
{
	size_t size = strlen(name) + 1;
	struct xfrd_folder_bad *bad = NULL;

	if (folder->bad_count < XFRD_FOLDER_BAD_MAX)
		bad = malloc(sizeof(*bad) + size);
	if (bad == NULL) {
		folder->more_bad = true;
		return;
	}
	memcpy(bad->name, name, size);
	cds_list_add_tail(&bad->node, &folder->bad);
	if (folder->bad_count++ < LINES_MAX)
		log_error("%s: %s.zone is not taken: expected the name of a"
			  " zone, in lower case and without a final dot",
			folder->name, name);
}

static void
folder_forget_bad(struct xfrd_folder *folder, struct xfrd_folder_bad *bad)
{
	cds_list_del(&bad->node);
	free(bad);
	folder->bad_count--;
}

void
xfrd_folder_drop_bad(struct xfrd_folder *folder)
{
	struct xfrd_folder_bad *bad, *next;

	cds_list_for_each_entry_safe(bad, next, &folder->bad, node)
		folder_forget_bad(folder, bad);
	folder->more_bad = false;
}

/* ---- zones --------------------------------------------------------------- */

/* True if a zone that is a member of some folder has this pattern. */
static bool
folder_has_pattern(struct xfrd *xfrd, const struct xfrd_zone *zone,
	const char *name)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	const char *pattern = xfrd_options_pattern(&options);
	bool has = pattern != NULL && strcmp(pattern, name) == 0;

	xfrd_read_end(xfrd);
	return has;
}

static bool
folder_owns(void *ctx, const struct xfrd_zone *zone, const char *id)
{
	const struct xfrd_folder *folder = ctx;

	return strcmp(id, XFRD_MEMBER_OF_FOLDER) == 0
		&& folder_has_pattern(folder->xfrd, zone, folder->pattern);
}

struct xfrd_folder *
xfrd_folder_of_zone(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	const char *id = xfrd_zone_member(&xfrd->zones.table, zone);
	struct xfrd_folder *folder;

	cds_list_for_each_entry(folder, &xfrd->folders.list, node)
		if (id != NULL && folder_owns(folder, zone, id))
			return folder;
	return NULL;
}

/* Takes the zone of another folder, whose file was moved from there. */
static enum xfrd_take
folder_may_take(void *ctx, const struct xfrd_zone *zone, const char *id,
	const struct xfrd_member_ask *ask)
{
	struct xfrd_folder *folder = ctx;
	struct xfrd_folder *other = xfrd_folder_of_zone(folder->xfrd, zone);
	char name[NAME_TEXT_MAX];

	if (other == NULL || xfrd_watch_has(&other->watch,
				     xfrd_folder_print_name(ask->apex, name)))
		return XFRD_TAKE_NOT;
	other->count -= other->count > 0;
	other->is_kept &= other->count > 0;
	folder->count++;
	return XFRD_TAKE_KEEP;
}

static void
folder_want(struct xfrd_folder *folder, const uint8_t *apex)
{
	const struct xfrd_member_ask ask = {
		.apex = apex,
		.pattern = folder->pattern,
		.id = XFRD_MEMBER_OF_FOLDER,
	};

	xfrd_members_want(&folder->members, &ask);
}

/* ---- rounds -------------------------------------------------------------- */

static bool
folder_is_busy(void *ctx)
{
	const struct xfrd_folder *folder = ctx;

	return folder->step == XFRD_FOLDER_MISSES
		|| folder->step == XFRD_FOLDER_WAITS
		|| xfrd_members_is_full(&folder->members);
}

/* Members are not counted yet while they are looked through. */
static uint64_t
folder_count_zones(void *ctx)
{
	const struct xfrd_folder *folder = ctx;

	return folder->step == XFRD_FOLDER_MISSES ? UINT64_MAX : folder->count;
}

static bool
folder_on_begin(void *ctx)
{
	struct xfrd_folder *folder = ctx;

	if (folder->step != XFRD_FOLDER_IDLE
		|| xfrd_members_is_busy(&folder->members))
		return false;
	xfrd_members_begin(&folder->members, XFRD_ROUND_WHOLE);
	folder->step = XFRD_FOLDER_READS;
	xfrd_folder_drop_bad(folder);
	return true;
}

static bool
folder_on_found(void *ctx, const char *name)
{
	struct xfrd_folder *folder = ctx;
	const struct xfrd_zone *zone;
	uint8_t apex[NAME_MAX_LEN];

	assert(folder->step == XFRD_FOLDER_READS);
	if (!folder_parse_name(name, apex)) {
		folder_note_bad(folder, name);
		return false;
	}
	zone = xfrd_zone_find(&folder->xfrd->zones.table, apex);
	/* Once for all that is read of a zone: each time has its cost. */
	(void)xfrd_read_begin(folder->xfrd);
	/* A file that is being written is waited for. */
	if (zone != NULL || !xfrd_watch_is_fresh(&folder->watch, name))
		folder_want(folder, apex);
	xfrd_read_end(folder->xfrd);
	return true;
}

/* Ends a reading whose files were all seen. Zones without one are looked for
 * once those that it brings have come. */
static void
folder_begin_misses(struct xfrd_folder *folder)
{
	folder->step = XFRD_FOLDER_MISSES;
	folder->next = 0;
	folder->count = 0;
	folder->is_kept = false;
	event_active(folder->event, EV_TIMEOUT, 0);
}

static void
folder_on_read(void *ctx, const char *why)
{
	struct xfrd_folder *folder = ctx;

	if (folder->step == XFRD_FOLDER_READS && why == NULL) {
		folder->fails = false;
		folder_begin_misses(folder);
		return;
	}
	if (why != NULL && !folder->fails)
		log_error("%s cannot be read: %s: its zones stay as they are",
			folder->name, why);
	folder->fails = why != NULL;
	if (folder->step != XFRD_FOLDER_READS)
		return;
	folder->step = XFRD_FOLDER_WAITS;
	xfrd_members_stop(&folder->members);
}

static void
folder_keep(struct xfrd_folder *folder)
{
	if (!folder->is_kept)
		log_error("%s has no zone files any more: its zones stay as"
			  " they are", folder->name);
	folder->is_kept = true;
}

/* A member without a file stays, until that has been gone for a while; if the
 * folder has no file at all, as long as it has none. */
static void
folder_miss(struct xfrd_folder *folder, const struct xfrd_zone *zone)
{
	const uint8_t *apex = xfrd_zone_apex(zone);
	char name[NAME_TEXT_MAX];

	folder_want(folder, apex);
	if (folder->watch.found > 0 || folder->watch.may_empty)
		xfrd_watch_pause(&folder->watch,
			xfrd_folder_print_name(apex, name), XFRD_PAUSE_GONE);
	else
		folder_keep(folder);
}

/* Looks at the next zones. True: that was the last. */
static bool
folder_find_misses(struct xfrd_folder *folder)
{
	const struct xfrd_zone_table *table = &folder->xfrd->zones.table;

	for (unsigned i = 0; i < TURN_ZONES && folder->next < table->end
		&& !xfrd_members_is_full(&folder->members); i++) {
		const struct xfrd_zone *zone = xfrd_zone_at(table,
			folder->next++);

		if (zone == NULL || !zone->is_member)
			continue;
		if (xfrd_members_has(&folder->members, zone)) {
			folder->count++;
		} else if (folder_owns(folder, zone,
				xfrd_zone_member(table, zone))) {
			folder->count++;
			folder_miss(folder, zone);
		}
	}
	return folder->next >= table->end;
}

/* Events tell of changes from when the folder was watched. Those from before,
 * and those of another folder that is here now, are for the loader to find; but
 * files of zones that came later were read later. */
static void
folder_end_misses(struct xfrd_folder *folder)
{
	folder->counted = folder->members.added;
	if (folder->count > folder->counted)
		folder->xfrd->folders.changed = 2;
	xfrd_folder_read_changed(folder->xfrd);
	if (!folder->is_read)
		log_info("%s: %" PRIu64 " zone files", folder->name,
			folder->watch.found);
	folder->is_read = true;
	/* Another folder may be there by now, or none. */
	folder->watch.is_empty = folder->is_kept;
	folder->step = XFRD_FOLDER_WAITS;
	xfrd_members_end(&folder->members);
}

void
xfrd_folder_on_event(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval retry = {.tv_sec = 0};
	struct xfrd_folder *folder = arg;

	if (folder->failed) {
		folder->failed = false;
		xfrd_watch_read(&folder->watch);
	}
	if (folder->step != XFRD_FOLDER_MISSES
		|| (folder->next == 0 && folder->members.open > 0))
		return;
	if (folder_find_misses(folder))
		folder_end_misses(folder);
	else if (!xfrd_members_is_full(&folder->members))
		event_add(folder->event, &retry);
}

/* ---- single files -------------------------------------------------------- */

static void
folders_note_changed(struct xfrd *xfrd, const uint8_t *apex)
{
	struct xfrd_folders *folders = &xfrd->folders;

	if (folders->changed++ == 0)
		memcpy(folders->changed_apex, apex, name_len(apex));
}

/* Begins a round of single files, unless one is under way. */
static void
folder_begin_files(struct xfrd_folder *folder)
{
	if (folder->step == XFRD_FOLDER_FILES)
		return;
	assert(folder->step == XFRD_FOLDER_IDLE);
	xfrd_members_begin(&folder->members, XFRD_ROUND_PART);
	folder->step = XFRD_FOLDER_FILES;
}

static void
folder_on_file(void *ctx, const char *name)
{
	struct xfrd_folder *folder = ctx;
	struct xfrd *xfrd = folder->xfrd;
	const struct xfrd_zone *zone;
	uint8_t apex[NAME_MAX_LEN];

	if (!folder_parse_name(name, apex)) {
		if (folder_find_bad(folder, name) == NULL)
			folder_note_bad(folder, name);
		return;
	}
	zone = xfrd_zone_find(&xfrd->zones.table, apex);
	/* The writer replaces the files of secondary zones. */
	if (zone != NULL && xfrd_folder_of_zone(xfrd, zone) == folder) {
		if (!xfrd_zone_is_secondary(xfrd, zone))
			folders_note_changed(xfrd, apex);
		return;
	}
	folder_begin_files(folder);
	folder_want(folder, apex);
}

static void
folder_on_gone(void *ctx, const char *name)
{
	struct xfrd_folder *folder = ctx;
	struct xfrd_folder_bad *bad;
	uint8_t apex[NAME_MAX_LEN];

	if (!folder_parse_name(name, apex)) {
		bad = folder_find_bad(folder, name);
		if (bad != NULL)
			folder_forget_bad(folder, bad);
		return;
	}
	folder_begin_files(folder);
	xfrd_members_drop(&folder->members, apex, XFRD_MEMBER_OF_FOLDER);
}

static void
folder_on_empty(void *ctx)
{
	folder_keep(ctx);
}

static void
folder_on_turn(void *ctx)
{
	struct xfrd_folder *folder = ctx;

	xfrd_folder_read_changed(folder->xfrd);
	if (folder->step != XFRD_FOLDER_FILES)
		return;
	folder->step = XFRD_FOLDER_WAITS;
	xfrd_members_end(&folder->members);
}

/* All files of all zones are looked at, whether they have changed. */
static void
folder_on_lost(void *ctx)
{
	struct xfrd_folder *folder = ctx;

	log_notice("%s: more files have changed than the kernel tells of: it is"
		   " read anew", folder->name);
	folder->xfrd->folders.changed = 2;
	xfrd_folder_read_changed(folder->xfrd);
}

const struct xfrd_watch_hooks xfrd_folder_watch_hooks = {
	.is_busy = folder_is_busy,
	.is_name = folder_is_name,
	.count = folder_count_zones,
	.on_begin = folder_on_begin,
	.on_found = folder_on_found,
	.on_read = folder_on_read,
	.on_file = folder_on_file,
	.on_gone = folder_on_gone,
	.on_empty = folder_on_empty,
	.on_turn = folder_on_turn,
	.on_lost = folder_on_lost,
};

/* ---- hooks of the members ------------------------------------------------ */

static void
folder_on_free(void *ctx, const struct xfrd_refused_member *refused)
{
	struct xfrd_folder *folder = ctx;
	char name[NAME_TEXT_MAX];

	if (refused == NULL)
		xfrd_watch_read(&folder->watch);
	else
		xfrd_watch_pause(&folder->watch,
			xfrd_folder_print_name(refused->apex, name),
			XFRD_PAUSE_READY);
	xfrd_watch_go_on(&folder->watch);
}

static void
folder_go_on(void *ctx)
{
	struct xfrd_folder *folder = ctx;

	if (folder->step == XFRD_FOLDER_MISSES)
		event_active(folder->event, EV_TIMEOUT, 0);
	else
		xfrd_watch_go_on(&folder->watch);
}

static void
folder_on_end(void *ctx, bool failed)
{
	struct xfrd_folder *folder = ctx;
	const struct xfrd_members *members = &folder->members;
	struct timeval retry = {.tv_sec = 0};

	folder->count += members->added - folder->counted;
	folder->counted = 0;
	folder->count -= members->deleted < folder->count ? members->deleted
							  : folder->count;
	folder->step = XFRD_FOLDER_IDLE;
	folder->retry_sec = !failed ? 0
		: folder->retry_sec == 0 ? RETRY_SEC
		: folder->retry_sec < RETRY_MAX_SEC ? 2 * folder->retry_sec
		: RETRY_MAX_SEC;
	if (failed) {
		folder->failed = true;
		retry.tv_sec = folder->retry_sec;
		event_add(folder->event, &retry);
	}
	xfrd_watch_go_on(&folder->watch);
}

const struct xfrd_source_hooks xfrd_folder_source_hooks = {
	.owns = folder_owns,
	.may_take = folder_may_take,
	.on_free = folder_on_free,
	.on_room = folder_go_on,
	.on_end = folder_on_end,
};
