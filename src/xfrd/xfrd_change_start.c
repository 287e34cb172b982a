/* xfrd_change_start.c - opens the zone list, and goes on with what the last
 * xfrd has left. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"

/* What is in the list, or is not any more, comes first. line: NULL: it has
 * none. */
static enum nsd_err
changes_repeat(struct xfrd *xfrd, const struct xfrd_change_ask *ask,
	const struct zonelist_line *line)
{
	struct xfrd_change *change = xfrd_change_create(xfrd, ask);

	if (change == NULL)
		return NSD_E_MEMORY;
	if (line != NULL && line->id != NULL) {
		change->member = strdup(line->id);
		if (change->member == NULL) {
			xfrd_change_free(change);
			return NSD_E_MEMORY;
		}
	}
	if (!conf_parse_zone_name(ask->name, change->wire))
		abort(); /* it was looked up */
	change->is_listed = true;
	change->at = line != NULL ? line->offset : 0;
	cds_list_add_tail(&change->node, &xfrd->changes->waiting);
	/* To find a second line of it. */
	xfrd_change_note(change);
	return NSD_OK;
}

/* While the list is read. */
struct changes_read {
	struct xfrd *xfrd;
	size_t known; /* zones that main knew */
	bool *gone;   /* by their places: these have a line that says so */
};

/* A line of a zone that main did not know. */
static enum nsd_err
changes_on_new(struct xfrd *xfrd, const struct zonelist_line *line)
{
	const struct conf *conf = xfrd->role.server->conf;
	const struct xfrd_change_ask ask = {
		.kind = XFRD_CHANGE_ADD,
		.name = line->name,
		.pattern = line->pattern,
	};
	uint8_t wire[NAME_MAX_LEN];

	if (conf_find_pattern(conf, line->pattern) == NULL
		|| !conf_parse_zone_name(line->name, wire)) {
		xfrd->changes->unused++;
		return NSD_OK;
	}
	if (xfrd_change_find(xfrd->changes, wire) == NULL)
		return changes_repeat(xfrd, &ask, line);
	xfrd->changes->odd = true;
	xfrd->changes->unused++;
	return NSD_OK;
}

/* A line of the list, which main has mostly taken in. */
static enum nsd_err
changes_on_line(void *ctx, const struct zonelist_line *line)
{
	struct xfrd *xfrd = ((struct changes_read *)ctx)->xfrd;
	struct conf *conf = xfrd->role.server->conf;
	const struct conf_zone *zone = conf_find_zone_text(conf, line->name);
	struct xfrd_change_ask ask = {
		.kind = XFRD_CHANGE_PATTERN,
		.pattern = line->pattern,
	};

	/* Nobody was told that it is there, or main knows the whole of it. */
	if (line->cut)
		return NSD_OK;
	if (zone == NULL)
		return changes_on_new(xfrd, line);
	if (zone->pattern_name == NULL || zone->listed_at != 0
		|| conf_find_pattern(conf, line->pattern) == NULL) {
		/* Main has said so. A second line would bring a zone back that
		 * has been deleted. */
		xfrd->changes->odd = true;
		xfrd->changes->unused++;
		return NSD_OK;
	}
	conf_note_listed(conf, zone, line->offset);
	if (strcmp(zone->pattern_name, line->pattern) == 0)
		return conf_note_member(conf, zone, line->id);
	ask.name = zone->name;
	return changes_repeat(xfrd, &ask, line);
}

/* A line of a zone that has been deleted: that of a catalog's member has an
 * ID, too. */
static void
changes_on_free(void *ctx, const struct zonelist_line *line)
{
	const struct changes_read *read = ctx;
	const struct conf *conf = read->xfrd->role.server->conf;
	const struct conf_zone *zone = conf_find_zone_text(conf, line->name);
	const char *space = strrchr(line->name, ' ');
	char name[ZONELIST_LINE_MAX];

	if (zone == NULL && space != NULL) {
		snprintf(name, sizeof(name), "%.*s",
			(int)(space - line->name), line->name);
		zone = conf_find_zone_text(conf, name);
	}
	if (zone != NULL && zone->index < read->known)
		read->gone[zone->index] = true;
}

/* Zones that have no line any more, but one that they had, go. Without either,
 * somebody has cut the list short: they stay, and are written to it anew. */
static enum nsd_err
changes_remove_unlisted(const struct changes_read *read)
{
	struct xfrd *xfrd = read->xfrd;
	struct conf *conf = xfrd->role.server->conf;
	enum nsd_err err = NSD_OK;
	size_t kept = 0;

	for (size_t i = conf->zone_count; i > 0 && err == NSD_OK; i--) {
		const struct conf_zone *zone = conf->zones[i - 1];
		const struct xfrd_change_ask ask = {
			.kind = XFRD_CHANGE_DELETE,
			.name = zone->name,
		};

		if (zone->pattern_name == NULL || zone->listed_at != 0)
			continue;
		if (!read->gone[i - 1]) {
			kept++;
			continue;
		}
		err = changes_repeat(xfrd, &ask, NULL);
	}
	if (kept == 0)
		return err;
	log_error("zone list %s was cut short: it is written anew, with %zu"
		  " zones that it has lost", xfrd->changes->list->path, kept);
	xfrd->changes->list->renew = true;
	return err;
}

/* Zones that have been added, and the file is gone: it is made anew. */
static void
changes_keep_unlisted(struct xfrd *xfrd, const char *path)
{
	const struct conf *conf = xfrd->role.server->conf;
	size_t count = 0;

	for (size_t i = 0; i < conf->zone_count; i++)
		count += conf->zones[i]->pattern_name != NULL;
	if (count == 0)
		return;
	log_error("zone list %s is gone: it is written anew, with the %zu"
		  " zones that it had", path, count);
	xfrd->changes->list->renew = true;
}

static enum nsd_err
changes_read_list(struct xfrd *xfrd, const char *path)
{
	struct xfrd_changes *changes = xfrd->changes;
	const size_t known = xfrd->role.server->conf->zone_count;
	struct changes_read read = {
		.xfrd = xfrd,
		.known = known,
		.gone = calloc(known + 1, sizeof(*read.gone)),
	};
	const struct zonelist_reader reader = {
		.ctx = &read,
		.on_zone = changes_on_line,
		.on_free = changes_on_free,
	};
	/* Main has said what is wrong with it. */
	struct diag_sink sink = {.on_diag = NULL};
	enum nsd_err err = NSD_E_MEMORY;

	if (read.gone != NULL)
		err = zonelist_open(path, xfrd->role.server->list, &reader,
			&sink, &changes->list);
	/* Without a file nothing says which zones are to go. */
	if (err == NSD_OK && changes->list->fd == -1)
		changes_keep_unlisted(xfrd, path);
	else if (err == NSD_OK)
		err = changes_remove_unlisted(&read);
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

	xfrd->changes = changes;
	if (changes != NULL) {
		CDS_INIT_LIST_HEAD(&changes->waiting);
		CDS_INIT_LIST_HEAD(&changes->batch);
		CDS_INIT_LIST_HEAD(&changes->busy);
		CDS_INIT_LIST_HEAD(&changes->failed);
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
		"zone list %s: %s", path, xfrd_change_text(err));
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
