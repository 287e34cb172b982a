/* xfrd_change_start.c - opens the zone list, and goes on with changes that the
 * last xfrd has left. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "conf/chroot.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"

/* Repeats a change whose line is in the list, or is not any more, before others
 * come. line: NULL: it has none. */
static enum nsd_err
changes_repeat(struct xfrd *xfrd, const struct xfrd_change_ask *ask,
	const struct zonelist_line *line)
{
	struct xfrd_change *change = xfrd_change_create(xfrd, ask);
	bool is_name;

	assert(xfrd->changes->step == XFRD_CHANGES_NONE);
	if (change == NULL)
		return NSD_E_MEMORY;
	is_name = conf_parse_zone_name(ask->name, change->wire);
	assert(is_name); /* the name was found before */
	change->is_listed = true;
	change->at = line != NULL ? line->offset : 0;
	cds_list_add_tail(&change->node, &xfrd->changes->waiting);
	/* The change is noted to find a second line of its zone. */
	xfrd_change_note(change);
	return NSD_OK;
}

/* The context of reading the list. */
struct changes_read {
	struct xfrd *xfrd;
	bool *gone; /* by number: zones whose line is marked as deleted */
	bool lacks; /* memory */
};

/* Takes a line of a zone that is not published. */
static enum nsd_err
changes_on_new(struct xfrd *xfrd, const struct zonelist_line *line)
{
	const struct xfrd_change_ask ask = {
		.kind = XFRD_CHANGE_ADD,
		.name = line->name,
		.pattern = line->pattern,
		.member = line->id,
	};
	uint8_t wire[NAME_MAX_LEN];

	if (!conf_parse_zone_name(line->name, wire)) {
		xfrd->changes->unused++;
		return NSD_OK;
	}
	if (!xfrd_has_pattern(xfrd, line->pattern))
		return xfrd_skipped_add(xfrd->changes, wire, line);
	if (xfrd_change_find(xfrd, wire) == NULL)
		return changes_repeat(xfrd, &ask, line);
	xfrd->changes->odd = true;
	return NSD_OK;
}

/* Takes the line of a zone that is published with this pattern. */
static enum nsd_err
changes_on_zone(struct xfrd *xfrd, struct xfrd_zone *zone, const char *pattern,
	const struct zonelist_line *line)
{
	struct xfrd_zone_table *table = &xfrd->zones.table;
	char name[NAME_TEXT_MAX];
	const struct xfrd_change_ask ask = {
		.kind = XFRD_CHANGE_PATTERN,
		.name = name,
		.pattern = line->pattern,
		.member = line->id,
	};
	bool is_same = strcmp(pattern, line->pattern) == 0;
	bool is_member = line->id != NULL
		&& (is_same || zonelist_id_is_of_source(line->id));
	enum nsd_err err;

	xfrd_zone_set_listed(table, zone, true, line->offset);
	/* A member is one before its new pattern is published, too, and if that
	 * fails. A zone that is none may have had the ID of a line that was
	 * deleted. */
	err = xfrd_zone_set_member(table, zone, is_member ? line->id : NULL);
	if (is_same || err != NSD_OK)
		return err;
	(void)xfrd_zone_print_name(xfrd, zone, name);
	return changes_repeat(xfrd, &ask, line);
}

/* Takes a line of the list, whose zone the loader has mostly published. */
static enum nsd_err
changes_on_line(void *ctx, const struct zonelist_line *line)
{
	struct xfrd *xfrd = ((struct changes_read *)ctx)->xfrd;
	struct xfrd_zone *zone = xfrd_zone_find_text(&xfrd->zones.table,
		line->name);
	struct xfrd_options options;
	const char *pattern;
	enum nsd_err err = NSD_OK;

	/* A line that is cut short was not reported as done, or the loader has
	 * published its zone. */
	if (line->cut)
		return NSD_OK;
	if (zone == NULL)
		return changes_on_new(xfrd, line);
	options = xfrd_options_begin(xfrd, zone);
	pattern = xfrd_options_pattern(&options);
	if (pattern != NULL && zone->is_listed && zone->listed_at == 0
		&& xfrd_has_pattern(xfrd, line->pattern)) {
		err = changes_on_zone(xfrd, zone, pattern, line);
	} else {
		/* Main has logged such lines at the start. A second line would
		 * bring a deleted zone back; without it nothing is lost. */
		xfrd->changes->odd = true;
		xfrd->changes->unused += !zone->is_listed;
	}
	xfrd_read_end(xfrd);
	return err;
}

/* Takes a line of a zone that has been deleted: that of a catalog's member has
 * an ID, too. The zone has the ID still, in case the deletion fails. */
static void
changes_on_free(void *ctx, const struct zonelist_line *line)
{
	struct changes_read *read = ctx;
	struct xfrd_zone_table *table = &read->xfrd->zones.table;
	struct xfrd_zone *zone = xfrd_zone_find_text(table, line->name);
	const char *space = strrchr(line->name, ' ');
	char name[ZONELIST_LINE_MAX];

	if (zone == NULL && space != NULL) {
		snprintf(name, sizeof(name), "%.*s",
			(int)(space - line->name), line->name);
		zone = xfrd_zone_find_text(table, name);
		if (zone != NULL && zone->is_listed && zone->listed_at == 0)
			read->lacks |= xfrd_zone_set_member(table, zone,
				line->pattern) != NSD_OK;
	}
	if (zone != NULL) {
		assert(zone->number < table->end);
		read->gone[zone->number] = true;
	}
}

static enum nsd_err
changes_remove(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	char name[NAME_TEXT_MAX];
	const struct xfrd_change_ask ask = {
		.kind = XFRD_CHANGE_DELETE,
		.name = xfrd_zone_print_name(xfrd, zone, name),
	};

	return changes_repeat(xfrd, &ask, NULL);
}

/* Leaves a zone out that was deleted while another store was filled: the next
 * xfrd reads that store. Until then the zone is not in the list. */
static void
changes_leave_out(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	xfrd_zone_set_listed(&xfrd->zones.table, zone, false, 0);
}

/* Removes zones whose line is marked as deleted. Zones without any line were
 * lost as the list was cut short: they stay, and are written to it anew. */
static enum nsd_err
changes_remove_unlisted(const struct changes_read *read)
{
	struct xfrd *xfrd = read->xfrd;
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	enum nsd_err err = NSD_OK;
	size_t kept = 0;

	for (uint32_t i = 0; i < table->end && err == NSD_OK; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(table, i);

		if (zone == NULL || !zone->is_listed || zone->listed_at != 0)
			continue;
		if (read->gone[i])
			err = changes_remove(xfrd, zone);
		else if (xfrd->is_behind)
			changes_leave_out(xfrd, zone);
		else
			kept++;
	}
	if (kept == 0)
		return err;
	log_error("zone list %s was cut short: it is written anew, with %zu"
		  " zones that it has lost", xfrd->changes->list->path, kept);
	xfrd->changes->list->renew = true;
	return err;
}

/* Keeps zones that have been added, though the file is gone: it is made
 * anew. */
static void
changes_keep_unlisted(struct xfrd *xfrd, const char *path)
{
	uint32_t count = xfrd->zones.table.listed_count;

	if (count == 0)
		return;
	log_error("zone list %s is gone: it is written anew, with the %u"
		  " zones that it had", path, (unsigned)count);
	xfrd->changes->list->renew = true;
}

static enum nsd_err
changes_read_list(struct xfrd *xfrd, const char *path)
{
	struct xfrd_changes *changes = xfrd->changes;
	struct changes_read read = {
		.xfrd = xfrd,
		.gone = calloc(xfrd->zones.table.end + 1u, sizeof(*read.gone)),
	};
	const struct zonelist_reader reader = {
		.ctx = &read,
		.on_zone = changes_on_line,
		.on_free = changes_on_free,
	};
	/* Main has logged faults of the list at the start. */
	struct diag_sink sink = {.on_diag = NULL};
	enum nsd_err err = NSD_E_MEMORY;

	/* Once for all lines: each time has its cost. */
	(void)xfrd_read_begin(xfrd);
	if (read.gone != NULL)
		err = zonelist_open(path, xfrd->role.server->list, &reader,
			&sink, &changes->list);
	if (err == NSD_OK && read.lacks)
		err = NSD_E_MEMORY;
	/* Without a file it is not known which zones are to go. */
	if (err == NSD_OK && changes->list->fd == -1)
		changes_keep_unlisted(xfrd, path);
	else if (err == NSD_OK)
		err = changes_remove_unlisted(&read);
	xfrd_read_end(xfrd);
	free(read.gone);
	return err;
}

static enum nsd_err
changes_open_list(struct xfrd *xfrd, const char *path)
{
	struct xfrd_changes *changes = xfrd->changes;
	struct event_base *base = xfrd->role.base;
	enum nsd_err err = changes_read_list(xfrd, path);
	struct xfrd_change *change;

	if (err != NSD_OK)
		return err;
	cds_list_for_each_entry(change, &changes->waiting, node)
		xfrd_change_forget(change);
	changes->list->renew |= changes->odd && changes->list->fd != -1;
	changes->begin_event = event_new(base, -1, 0, xfrd_changes_on_event,
		xfrd);
	changes->renew_event = event_new(base, -1, 0, xfrd_changes_on_renew,
		xfrd);
	return changes->begin_event == NULL || changes->renew_event == NULL
		? NSD_E_MEMORY
		: syncer_create(base, xfrd_changes_on_synced, xfrd,
			  &changes->syncer);
}

void
xfrd_change_init(struct xfrd *xfrd)
{
	const struct server *server = xfrd->role.server;
	struct xfrd_changes *changes = calloc(1, sizeof(*changes));
	const char *path = conf_path_in_chroot(server->chroot,
		server->conf->server.zonelistfile);
	enum nsd_err err = NSD_E_MEMORY;

	assert(xfrd->changes == NULL);
	xfrd->changes = changes;
	if (changes != NULL) {
		CDS_INIT_LIST_HEAD(&changes->waiting);
		CDS_INIT_LIST_HEAD(&changes->saving);
		CDS_INIT_LIST_HEAD(&changes->batch);
		CDS_INIT_LIST_HEAD(&changes->busy);
		CDS_INIT_LIST_HEAD(&changes->failed);
		CDS_INIT_LIST_HEAD(&changes->made);
		CDS_INIT_LIST_HEAD(&changes->done);
		for (unsigned i = 0; i < XFRD_CHANGE_BUCKETS; i++)
			CDS_INIT_LIST_HEAD(&changes->same[i]);
		changes->renewed_fd = -1;
		err = changes_open_list(xfrd, path);
	}
	if (err == NSD_OK) {
		xfrd_changes_go_on(xfrd);
		return;
	}
	snprintf(xfrd->changes_why, sizeof(xfrd->changes_why),
		"zone list %s: %s", path, err_reason(err));
	log_error("zones cannot be added or deleted: %s", xfrd->changes_why);
	xfrd->changes = NULL;
}

const char *
xfrd_change_find_folder(const struct xfrd *xfrd, char *out, size_t size)
{
	const struct server *server = xfrd->role.server;
	const char *path = server->conf->server.zonelistfile;
	char *slash;

	if (path == NULL || *path == '\0')
		return NULL;
	path = conf_path_in_chroot(server->chroot, path);
	if ((size_t)snprintf(out, size, "%s", path) >= size)
		return NULL;
	slash = strrchr(out, '/');
	if (slash == NULL)
		return ".";
	slash[slash == out] = '\0';
	return out;
}
