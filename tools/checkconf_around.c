/* checkconf_around.c - the files around a configuration of NSD 4, and what
 * becomes of them. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "checkconf_around.h"
#include "conf/chroot.h"
#include "conf/zonelist.h"
#include "xfr/state.h"

/* The octets that a database of NSD 4 begins with. */
static const uint8_t database_mark[8] = {
	0, 'b', '0', 'v', 'b', 'd', 'u', 0 };

static void
around_tell(struct checkconf_report *report, enum conf_migrate_kind kind,
	const char *file, const char *text)
{
	const struct conf_migrate_note note = {
		.kind = kind, .file = file, .text = text };

	checkconf_report_note(report, &note);
}

static bool
path_is_set(const char *path)
{
	return path != NULL && *path != '\0';
}

bool
checkconf_enter_zonesdir(const struct conf *conf, char folder[PATH_MAX])
{
	const char *name = conf->server.zonesdir;

	folder[0] = '\0';
	return !path_is_set(name)
		|| (conf_path_outside_chroot(conf->server.chroot, name, folder)
			&& chdir(folder) == 0);
}

/* ---- zone files ---------------------------------------------------------- */

/* Zones of which the same is said: the first one's file and name, and how many
 * there are. */
struct around_found {
	char file[PATH_MAX];
	const char *zone;
	uint32_t count;
};

static void
found_add(struct around_found *found, const char *file,
	const struct conf_zone *zone)
{
	if (found->count++ > 0)
		return;
	snprintf(found->file, sizeof(found->file), "%s", file);
	found->zone = zone->name;
}

static void
found_tell(const struct around_found *found, struct checkconf_report *report,
	enum conf_migrate_kind kind, const char *text)
{
	const struct conf_migrate_note note = {
		.kind = kind,
		.file = found->file,
		.zone = found->zone,
		.text = text,
		.more = found->count - 1,
	};

	if (found->count > 0)
		checkconf_report_note(report, &note);
}

struct around_zones {
	struct around_found here;    /* zone files that are there */
	struct around_found unread;  /* of primary zones, that are not */
	struct around_found unwritten; /* the same of secondary ones */
	struct around_found differences, old_differences;
};

/* Looks at ZONEFILE.ixfr. Of a zone without primaries one that is older than
 * the zone file is of other versions (doc/decisions/0092). */
static void
zone_find_differences(struct around_zones *zones,
	const struct conf_zone *zone, const char *file,
	const struct stat *zonefile)
{
	char path[PATH_MAX];
	struct stat st;
	int len = snprintf(path, sizeof(path), "%s.ixfr", file);

	if (len < 0 || (size_t)len >= sizeof(path) || stat(path, &st) != 0)
		return;
	if (zone->options->request_xfr.count == 0
		&& fs_is_later(&zonefile->st_ctim, &st.st_ctim))
		found_add(&zones->old_differences, path, zone);
	else
		found_add(&zones->differences, path, zone);
}

static void
zone_find_files(struct around_zones *zones, const struct conf *conf,
	const struct conf_zone *zone)
{
	char name[PATH_MAX], path[PATH_MAX];
	struct stat st;
	size_t len;

	if (conf_zone_file_name(zone, name, sizeof(name), &len) != NSD_OK
		|| zone->options->catalog == CONF_CATALOG_PRODUCER
		|| !conf_path_outside_chroot(conf->server.chroot, name, path))
		return;
	if (stat(path, &st) == 0) {
		found_add(&zones->here, path, zone);
		if (zone->options->store_ixfr)
			zone_find_differences(zones, zone, path, &st);
	} else if (zone->options->request_xfr.count > 0) {
		found_add(&zones->unwritten, path, zone);
	} else {
		found_add(&zones->unread, path, zone);
	}
}

static void
around_zone_files(const struct conf *conf, struct checkconf_report *report)
{
	struct around_zones zones = { .here = { .count = 0 } };
	size_t i;

	for (i = 0; i < conf->zone_count; i++)
		zone_find_files(&zones, conf, conf->zones[i]);
	found_tell(&zones.here, report, CONF_MIGRATE_TAKEN_OVER,
		"the zone file is read; nsd-mem -c FILE says what is wrong "
		"with it");
	found_tell(&zones.unread, report, CONF_MIGRATE_TO_DO,
		"there is no such zone file: the zone answers SERVFAIL, also "
		"where NSD has it in its database");
	found_tell(&zones.unwritten, report, CONF_MIGRATE_TO_DO,
		"there is no such zone file: have NSD write it "
		"(nsd-control write), or the zone is transferred anew");
	found_tell(&zones.differences, report, CONF_MIGRATE_TAKEN_OVER,
		"the differences are served (IXFR)");
	found_tell(&zones.old_differences, report, CONF_MIGRATE_DIFFERS,
		"the differences are older than the zone file, and are not "
		"served");
}

/* ---- zone list ----------------------------------------------------------- */

struct around_list {
	struct diag_sink sink; /* first */
	struct checkconf_report *report;
	const char *path;
};

/* A line of the list that this server cannot take is a zone that is lost. */
static void
list_on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct around_list *list = (struct around_list *)(void *)sink;
	const struct conf_migrate_note note = {
		.kind = CONF_MIGRATE_TO_DO,
		.file = d->file != NULL ? d->file : list->path,
		.line = d->line,
		.text = d->text,
	};

	checkconf_report_note(list->report, &note);
}

static void
around_list(struct conf *conf, struct checkconf_report *report)
{
	struct around_list list = {
		.sink = { .on_diag = list_on_diag },
		.report = report,
		.path = conf->server.zonelistfile,
	};
	size_t before = conf->zone_count;
	char text[128];
	bool cut;

	if (!path_is_set(list.path)
		|| zonelist_load(conf, list.path, &list.sink, &cut) != NSD_OK
		|| conf->zone_count == before)
		return;
	snprintf(text, sizeof(text), "%zu zones that were added at run time",
		conf->zone_count - before);
	around_tell(report, CONF_MIGRATE_TAKEN_OVER, list.path, text);
}

/* ---- timers -------------------------------------------------------------- */

/* Reads a file of timers. False: it is wrong, or cannot be read. */
static bool
state_read(struct xfr_state_parser *parser, int fd)
{
	char text[16384];
	ssize_t len;

	while ((len = read(fd, text, sizeof(text))) > 0)
		if (xfr_state_parse(parser, text, (size_t)len) != NSD_OK)
			return false;
	return len == 0 && xfr_state_parse_end(parser) == NSD_OK;
}

static void
around_state(const struct conf *conf, struct checkconf_report *report)
{
	const char *name = conf->server.xfrdfile;
	struct xfr_state_parser parser;
	char path[PATH_MAX], text[128];
	struct stat st;
	int fd;

	if (!path_is_set(name) || conf->secondary_count == 0
		|| !conf_path_outside_chroot(conf->server.chroot, name, path)
		|| fs_open_to_read(path, false, &fd, &st) != NSD_OK)
		return;
	xfr_state_parse_begin(&parser, path, NULL);
	if (state_read(&parser, fd)) {
		snprintf(text, sizeof(text), "the timers of %u secondary zones",
			(unsigned)parser.zones_read);
		around_tell(report, CONF_MIGRATE_TAKEN_OVER, path, text);
	} else {
		around_tell(report, CONF_MIGRATE_DIFFERS, path, "these are no "
			"timers: each secondary zone asks its primaries at the "
			"start");
	}
	close(fd);
}

/* ---- database ------------------------------------------------------------ */

static void
database_look(const struct conf *conf, const char *name,
	struct checkconf_report *report)
{
	uint8_t mark[sizeof(database_mark)];
	char path[PATH_MAX];
	struct stat st;
	int fd;

	if (!conf_path_outside_chroot(conf->server.chroot, name, path)
		|| fs_open_to_read(path, false, &fd, &st) != NSD_OK)
		return;
	if (read(fd, mark, sizeof(mark)) == (ssize_t)sizeof(mark)
		&& memcmp(mark, database_mark, sizeof(mark)) == 0)
		around_tell(report, CONF_MIGRATE_TO_DO, path, "the database "
			"of NSD 4 is not read: have NSD write its zones "
			"(nsd-control write), stop it, and move the file away, "
			"as an NSD that comes back would take its old zones");
	close(fd);
}

/* The database has a name in nsd.conf, or lies beside the timers. */
static void
around_database(const struct conf *conf, struct checkconf_report *report)
{
	const char *named = conf->server.database;
	const char *beside = conf->server.xfrdfile;
	const char *slash = path_is_set(beside) ? strrchr(beside, '/') : NULL;
	char path[PATH_MAX];
	int len;

	if (path_is_set(named))
		database_look(conf, named, report);
	if (slash == NULL)
		return;
	len = snprintf(path, sizeof(path), "%.*s/nsd.db",
		(int)(slash - beside), beside);
	if (len > 0 && (size_t)len < sizeof(path)
		&& (named == NULL || strcmp(named, path) != 0))
		database_look(conf, path, report);
}

/* ---- keys of the control channel ----------------------------------------- */

static void
around_keys(const struct conf *conf, struct checkconf_report *report)
{
	const struct conf_remote_control *c = &conf->remote_control;
	const char *const files[] = { c->server_key_file, c->server_cert_file,
		c->control_key_file, c->control_cert_file };
	size_t i;

	if (!c->control_enable || (c->control_interface.count > 0
		&& c->control_interface.items[0].text[0] == '/'))
		return;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (path_is_set(files[i]) && access(files[i], F_OK) != 0
			&& errno == ENOENT)
			around_tell(report, CONF_MIGRATE_TO_DO, files[i],
				"there is no such file, and without it the "
				"server does not start: call "
				"nsd-control-setup");
}

void
checkconf_around(struct conf *conf, struct checkconf_report *report)
{
	around_list(conf, report);
	around_zone_files(conf, report);
	around_state(conf, report);
	around_database(conf, report);
	around_keys(conf, report);
}
