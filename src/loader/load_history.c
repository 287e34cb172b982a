/* load_history.c - the differences between versions of a zone, when its file is
 * read. */
#include "config.h"

#include <assert.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/log.h"
#include "loader/ixfr_file.h"
#include "loader/load_history.h"
#include "store/writer.h"
#include "zone/history.h"
#include "zonedb/table_edit.h"

/* A sink for faults of the files. */
struct history_sink {
	struct diag_sink sink; /* first */
	const struct load_zone *zone;
};

static void
history_on_diag(struct diag_sink *sink, const struct diag *d)
{
	const struct load_zone *zone = ((struct history_sink *)sink)->zone;

	log_write(log_diag_level(d), "zone %s: %s", zone->conf->name, d->text);
}

/* Finds the serial of the version that a result makes. False: it makes none, or
 * the changes themselves make the changeset. */
static bool
history_find_serial(const struct load_context *context,
	const struct load_result *result, uint32_t *serial)
{
	const struct store_view *view = store_writer_view(context->writer);

	if (result->outcome == LOAD_BUILT) {
		*serial = ((const struct zone *)store_get(view,
				   result->built))->serial;
		return true;
	}
	if ((result->outcome != LOAD_COMPARED
			&& result->outcome != LOAD_APPLIED)
		|| result->zone->conf->options->create_ixfr
		|| load_zone_takes_updates(result->zone))
		return false;
	for (size_t i = 0; i < result->change_count; i++) {
		const struct diff_change *change = &result->changes[i];

		if (change->add && change->rr.type == TYPE_SOA)
			return history_read_serial(change->rr.rdata,
				change->rr.rdlen, serial);
	}
	return false;
}

/* Returns when the last of the files that were read was changed, or put there,
 * also by a link. Files with differences to earlier versions are newer. */
static struct timespec
history_find_moment(const struct load_result *result)
{
	struct timespec moment = {.tv_sec = 0};
	struct stat st;

	for (size_t i = 0; i < result->files.source_count; i++) {
		const struct zonefile_source *file = &result->files.sources[i];

		if (fs_is_later(&file->ctime, &moment))
			moment = file->ctime;
		if (lstat(file->path, &st) == 0
			&& fs_is_later(&st.st_ctim, &moment))
			moment = st.st_ctim;
	}
	return moment;
}

/* True if this server has written the files of differences, and the new version
 * is not compared with the one that was served then. */
static bool
history_is_cut(const struct load_context *context,
	const struct load_result *result)
{
	return result->outcome == LOAD_BUILT
		&& result->zone->conf->options->create_ixfr
		&& load_zone_published(store_writer_view(context->writer),
			   result->zone) != NULL;
}

void
load_history_read(const struct load_context *context, const char *path,
	struct load_result *result)
{
	const struct load_zone *zone = result->zone;
	const struct history_limits limits = load_zone_get_history(zone);
	struct ixfr_wanted wanted = {
		.apex = zone->conf->wire,
		.limits = &limits,
	};
	struct history_sink sink = {{.on_diag = history_on_diag}, zone};
	struct timespec moment;

	if (limits.number == 0
		|| !history_find_serial(context, result, &wanted.serial))
		return;
	/* The files of differences of a secondary are written before its zone
	 * file: their times tell nothing. */
	if (!load_zone_is_from_xfrd(zone)) {
		result->history.stale = history_is_cut(context, result);
		moment = history_find_moment(result);
		wanted.since = &moment;
	}
	if (!result->history.stale)
		ixfr_file_read(path, &wanted, &sink.sink, &result->history);
}

/* True if there may be files of differences that do not belong to the published
 * version. */
static bool
history_is_stale(const struct load_context *context,
	const struct load_result *result)
{
	const struct load_zone *zone = result->zone;
	const struct zone_entry *entry = store_get(
		store_writer_view(context->writer), zone->entry);

	if (load_zone_is_from_xfrd(zone))
		return false;
	if (result->outcome == LOAD_BUILT)
		return result->history.stale;
	return zone->conf->options->create_ixfr
		&& load_zone_get_history(zone).number > 0
		&& entry->history == STORE_NONE;
}

static void
history_publish_drafts(const struct load_context *context,
	const struct load_result *result)
{
	const struct history_limits limits = load_zone_get_history(
		result->zone);
	const struct ixfr_drafts *drafts = &result->history;
	store_ref entry = result->zone->entry;

	assert(drafts->count > 0 && limits.number > 0);
	history_clear(context->writer, entry);
	for (size_t i = drafts->count; i-- > 0; )
		history_push(context->writer, entry, &drafts->items[i]);
	history_prune(context->writer, entry, &limits);
	log_at(2, LOG_LEVEL_INFO, "zone %s: %zu differences from files",
		result->zone->conf->name, drafts->count);
}

void
load_history_publish(const struct load_context *context,
	const struct load_result *result)
{
	if (result->history.count > 0)
		history_publish_drafts(context, result);
	if (result->outcome != LOAD_COMPARED || result->change_count > 0)
		table_set_changesets_stale(context->writer, result->zone->entry,
			history_is_stale(context, result));
}

void
load_history_prune(struct store_writer *writer, const struct load_zone *zone)
{
	const struct history_limits limits = load_zone_get_history(zone);

	history_prune(writer, zone->entry, &limits);
}
