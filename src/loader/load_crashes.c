/* load_crashes.c - counts the loaders that have died while they read a zone. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "loader/load_crashes.h"
#include "loader/load_files.h"
#include "store/writer.h"
#include "zone/sources.h"
#include "zone/table.h"

#define SET_ASIDE (LOAD_CRASHES_MAX + 1u)

static uint8_t *
crashes_of(const struct load_context *context, const struct load_zone *zone)
{
	struct zone_entry *entry = store_edit(
		store_writer_heap(context->writer), zone->entry);

	return &entry->crash_count;
}

bool
load_crashes_is_suspect(const struct load_context *context,
	const struct load_zone *zone)
{
	return *crashes_of(context, zone) > 0;
}

void
load_crashes_survive(const struct load_context *context,
	const struct load_zone *zone)
{
	uint8_t *crash_count = crashes_of(context, zone);

	if (*crash_count != SET_ASIDE)
		*crash_count = 0;
}

void
load_crashes_forget(const struct load_context *context,
	const struct load_zone *zone)
{
	*crashes_of(context, zone) = 0;
}

/* Sets a zone aside until its file changes; files that it includes do not
 * count. */
static void
crashes_set_aside(const struct load_zone *zone, const char *path,
	const struct stat *st, struct load_result *result)
{
	struct zonefile_source *source = calloc(1, sizeof(*source));

	log_error("zone %s: %u loaders have died while they read %s; it is set"
		  " aside until that file changes",
		zone->conf->name, LOAD_CRASHES_MAX, path);
	result->outcome = LOAD_FAILED;
	if (source == NULL || (source->path = strdup(path)) == NULL) {
		free(source);
		return;
	}
	result->note = LOAD_NOTE_FAILED;
	source->mtime = st->st_mtim;
	source->ctime = st->st_ctim;
	source->size = (uint64_t)st->st_size;
	source->inode = st->st_ino;
	source->device = st->st_dev;
	result->files.sources = source;
	result->files.source_count = 1;
}

bool
load_crashes_begin(const struct load_context *context,
	const struct load_zone *zone, const char *path, const struct stat *st,
	struct load_result *result)
{
	uint8_t *crash_count = crashes_of(context, zone);

	if (*crash_count == SET_ASIDE
		&& load_files_have_changed(zone_sources_get(
			store_writer_view(context->writer), zone->entry),
			path))
		*crash_count = 0;
	if (*crash_count < LOAD_CRASHES_MAX) {
		++*crash_count;
		return true;
	}
	*crash_count = SET_ASIDE;
	crashes_set_aside(zone, path, st, result);
	return false;
}
