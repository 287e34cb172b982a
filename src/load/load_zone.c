/* load_zone.c - one zone of the configuration in the loader. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "build/build.h"
#include "load/load_diff.h"
#include "load/load_parts.h"
#include "load/load_rehash.h"
#include "load/load_zone.h"
#include "store/writer.h"
#include "zone/sources.h"

/* Octets of a zone file from which on several threads read it faster. */
#define LARGE_FILE (8u << 20)
#define DEFAULT_TTL_SEC 3600

const struct zone *
load_zone_published(const struct store_view *view,
	const struct load_zone *zone)
{
	const struct zone_entry *entry = store_get(view, zone->entry);
	store_ref ref = store_load_ref(&entry->zone);

	return ref == STORE_NONE ? NULL : store_get(view, ref);
}

static bool
source_is_changed(const struct zone_source *s)
{
	struct stat st;

	if (stat(s->path, &st) == -1)
		return s->inode != 0; /* it was not there then, either */
	return st.st_mtim.tv_sec != s->mtime_sec
		|| st.st_mtim.tv_nsec != (long)s->mtime_nsec
		|| st.st_ctim.tv_sec != s->ctime_sec
		|| st.st_ctim.tv_nsec != (long)s->ctime_nsec
		|| (uint64_t)st.st_size != s->size
		|| (uint64_t)st.st_ino != s->inode
		|| (uint64_t)st.st_dev != s->device;
}

/* Whether the files that a zone was read from, looked at now, are others than
 * at the last try, or others than its configuration names. */
static bool
load_zone_is_changed(const struct zone_sources *sources, const char *path)
{
	const struct zone_source *s;

	if (sources == NULL)
		return true;
	s = zone_sources_first(sources);
	if (strcmp(s->path, path) != 0)
		return true;
	for (unsigned i = 0; i < sources->count; i++) {
		if (source_is_changed(s))
			return true;
		s = zone_sources_next(s);
	}
	return false;
}

static bool
load_zone_is_due(const struct load_context *context,
	const struct load_zone *zone, const char *path)
{
	const struct store_view *view = store_writer_view(context->writer);
	bool loaded = load_zone_published(view, zone) != NULL;
	const struct zone_sources *sources = zone_sources_get(view,
		zone->entry);

	switch (context->which) {
	case LOAD_MISSING:
		return !loaded && load_zone_is_changed(sources, path);
	case LOAD_STALE:
		if (sources != NULL
			&& (sources->flags & ZONE_SOURCES_FAILED) != 0)
			return true;
		break;
	default:
		break;
	}
	return !loaded || load_zone_is_changed(sources, path);
}

bool
load_zone_is_secondary(const struct load_zone *zone)
{
	return zone->conf->options->request_xfr.count > 0;
}

static void
load_zone_on_parse(void *ctx, uint64_t done, uint64_t total)
{
	struct load_progress *p = ctx;

	__atomic_store_n(&p->stage, "reading", __ATOMIC_RELAXED);
	__atomic_store_n(&p->done, done, __ATOMIC_RELAXED);
	__atomic_store_n(&p->total, total, __ATOMIC_RELAXED);
}

static void
load_zone_on_build(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
	struct load_progress *p = ctx;

	__atomic_store_n(&p->stage, stage, __ATOMIC_RELAXED);
	__atomic_store_n(&p->done, done, __ATOMIC_RELAXED);
	__atomic_store_n(&p->total, total, __ATOMIC_RELAXED);
}

void
load_zone_fill_input(const struct load_context *context,
	const struct load_zone *zone, const struct zonefile_result *files,
	const char **names, struct zone_build_input *input)
{
	*input = (struct zone_build_input){
		.apex = zone->conf->wire,
		.files = names,
		.file_count = files->source_count,
		.threads = context->threads_max,
		.secondary = load_zone_is_secondary(zone),
		.nsec3_iterations_max = context->nsec3_iterations_max,
		.on_progress = load_zone_on_build,
		.progress_ctx = context->progress,
	};
	for (size_t i = 0; i < files->source_count; i++)
		names[i] = files->sources[i].path;
}

static enum nsd_err
load_zone_build(const struct load_context *context,
	const struct load_zone *zone, struct store_heap *heap, bool large,
	struct diag_sink *sink, struct zonefile_result *parsed, store_ref *out)
{
	const char **names = calloc(parsed->source_count + 1, sizeof(*names));
	struct zone_build_input input;
	enum nsd_err err = NSD_E_MEMORY;

	if (names != NULL) {
		load_zone_fill_input(context, zone, parsed, names, &input);
		input.batches = parsed->batches;
		if (!large) {
			input.threads = 1;
			input.on_progress = NULL;
		}
		err = zone_build(&input, context->writer, heap, sink, out);
	}
	if (err == NSD_E_MEMORY)
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"zone %s: out of memory", zone->conf->name);
	free(names);
	return err;
}

static enum nsd_err
load_zone_parse_whole(const struct load_context *context,
	struct load_zone *zone, const char *path, struct store_heap *heap,
	const struct zonefile_options *options, struct diag_sink *sink,
	struct load_result *result)
{
	struct zonefile_result *files = &result->files;
	enum nsd_err err;

	/* What the parser has to say of a file that was read to the end it
	 * has said. */
	struct diag_sink *parser_sink = files->source_count > 0 ? NULL : sink;

	zonefile_result_fini(files);
	err = zonefile_parse(path, options, parser_sink, files);
	if (err == NSD_OK)
		err = load_zone_build(context, zone, heap,
			options->threads > 1, sink, files, &result->built);
	else if (err == NSD_E_MEMORY)
		diag_emit(sink, DIAG_ERROR, path, 0, 0, "out of memory");
	rrbatch_destroy_all(files->batches);
	files->batches = NULL;
	if (err == NSD_OK)
		result->outcome = LOAD_BUILT;
	return err;
}

/* Compares with the version that is served, or builds beside it in parts.
 * NSD_E_LIMIT: there is none, or the zone is small, or an odd one. */
static enum nsd_err
load_zone_parse_beside(const struct load_context *context,
	struct load_zone *zone, const char *path, struct store_heap *heap,
	const struct zonefile_options *options, bool large,
	struct diag_sink *sink, struct load_result *result)
{
	const struct store_view *view = store_writer_view(context->writer);
	struct zone_plan *plan = NULL;
	enum nsd_err err;

	if (large && load_zone_published(view, zone) != NULL
		&& zone_plan_create(zone->conf->wire, &plan) != NSD_OK)
		return NSD_E_MEMORY;
	err = load_diff_read(context, zone, path, options, plan, sink, result);
	if (err == NSD_E_LIMIT && plan != NULL)
		err = load_parts_read(context, zone, path, options, plan, heap,
			sink, result);
	zone_plan_destroy(plan);
	return err;
}

/* Compares or builds; what there is to say is in the log. */
static void
load_zone_parse(const struct load_context *context, struct load_zone *zone,
	const char *path, struct store_heap *heap, bool large,
	struct load_result *result)
{
	struct diag_sink sink = {.on_diag = log_diag};
	struct zonefile_options options = {
		.apex = zone->conf->wire,
		.default_ttl_sec = DEFAULT_TTL_SEC,
		.threads = large ? context->threads_max : 1,
		.secondary = load_zone_is_secondary(zone),
		.only_files = true,
		.on_progress = large ? load_zone_on_parse : NULL,
		.progress_ctx = context->progress,
	};
	enum nsd_err err;

	log_at(5, LOG_LEVEL_INFO, "zone %s zonec_read(%s)", zone->conf->name,
		path);
	err = load_zone_parse_beside(context, zone, path, heap, &options,
		large, &sink, result);
	if (err == NSD_E_LIMIT)
		err = load_zone_parse_whole(context, zone, path, heap,
			&options, &sink, result);
	else if (err == NSD_E_MEMORY)
		diag_emit(&sink, DIAG_ERROR, path, 0, 0, "out of memory");
	if (err == NSD_OK) {
		return;
	} else if (err == NSD_E_AGAIN) {
		result->outcome = LOAD_AGAIN;
	} else {
		result->outcome = LOAD_FAILED;
		result->blameless = err == NSD_E_MEMORY || err == NSD_E_SYSTEM;
		log_error("zone %s file %s read with %u errors",
			zone->conf->name, path,
			sink.errors > 0 ? (unsigned)sink.errors : 1);
	}
}

/* A secondary zone gets its file with the first transfer. */
static void
load_zone_is_absent(const struct load_zone *zone, const char *path,
	struct load_result *result)
{
	if (load_zone_is_secondary(zone)) {
		log_at(2, LOG_LEVEL_INFO, "zonefile %s does not exist", path);
		result->outcome = LOAD_ABSENT;
	} else {
		log_error("zonefile %s does not exist", path);
		result->outcome = LOAD_FAILED;
	}
}

/* ---- zones that loaders die of ------------------------------------------ */

#define SET_ASIDE (LOAD_DEATHS_MAX + 1u)

/* Only the loader looks at it; threads do at zones of their own. */
static uint8_t *
load_zone_deaths(const struct load_context *context,
	const struct load_zone *zone)
{
	struct zone_entry *entry = store_edit(
		store_writer_heap(context->writer), zone->entry);

	return &entry->deaths;
}

bool
load_zone_is_suspect(const struct load_context *context,
	const struct load_zone *zone)
{
	return *load_zone_deaths(context, zone) > 0;
}

void
load_zone_survived(const struct load_context *context,
	const struct load_zone *zone)
{
	uint8_t *deaths = load_zone_deaths(context, zone);

	if (*deaths != SET_ASIDE)
		*deaths = 0;
}

void
load_zone_forget_deaths(const struct load_context *context,
	const struct load_zone *zone)
{
	*load_zone_deaths(context, zone) = 0;
}

/* The file alone, without what it includes, is what it waits for. */
static void
load_zone_set_aside(const struct load_zone *zone, const char *path,
	const struct stat *st, struct load_result *result)
{
	struct zonefile_source *source = calloc(1, sizeof(*source));

	log_error("zone %s: %u loaders have died while they read %s; it is set"
		  " aside until that file changes",
		zone->conf->name, LOAD_DEATHS_MAX, path);
	result->outcome = LOAD_FAILED;
	if (source == NULL || (source->path = strdup(path)) == NULL) {
		free(source);
		result->blameless = true;
		return;
	}
	source->mtime = st->st_mtim;
	source->ctime = st->st_ctim;
	source->size = (uint64_t)st->st_size;
	source->inode = st->st_ino;
	source->device = st->st_dev;
	result->files.sources = source;
	result->files.source_count = 1;
}

/* True if it is not to be read again; else one more loader is at it. */
static bool
load_zone_is_deadly(const struct load_context *context,
	const struct load_zone *zone, const char *path, const struct stat *st,
	struct load_result *result)
{
	uint8_t *deaths = load_zone_deaths(context, zone);

	if (*deaths == SET_ASIDE && load_zone_is_changed(zone_sources_get(
			store_writer_view(context->writer), zone->entry),
			path))
		*deaths = 0;
	if (*deaths < LOAD_DEATHS_MAX) {
		++*deaths;
		return false;
	}
	*deaths = SET_ASIDE;
	load_zone_set_aside(zone, path, st, result);
	return true;
}

/* Its file, as we see it; or NULL: none, with the outcome. */
static const char *
load_zone_get_path(const struct load_context *context,
	const struct load_zone *zone, char buffer[PATH_MAX],
	struct load_result *result)
{
	size_t len;
	enum nsd_err err = conf_zone_file_name(zone->conf, buffer, PATH_MAX,
		&len);

	if (err == NSD_OK)
		return conf_path_in_chroot(context->chroot, buffer);
	if (err == NSD_E_NOT_FOUND) {
		result->outcome = LOAD_ABSENT;
	} else {
		log_error("zone %s: the name of its file is too long",
			zone->conf->name);
		result->outcome = LOAD_FAILED;
	}
	return NULL;
}

/* What is to be done with a zone. */
struct load_plan {
	const char *path; /* NULL: it has no file */
	struct stat st;   /* of that */
	bool due;         /* it is to be read */
	bool absent;      /* but is not there */
	bool rehash;      /* what is served, if the file gives nothing new */
	bool large;       /* that, or the file if it is to be read */
};

static void
load_zone_make_plan(const struct load_context *context,
	const struct load_zone *zone, const char *path, struct load_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->path = path;
	plan->due = path != NULL && load_zone_is_due(context, zone, path);
	plan->rehash = load_rehash_is_wanted(context, zone, &plan->large);
	if (path == NULL || (!plan->due && !plan->rehash))
		return;
	plan->absent = stat(path, &plan->st) == -1 && errno == ENOENT;
	if (plan->due && !plan->absent)
		plan->large = plan->st.st_size >= LARGE_FILE;
}

/* The file comes first: it may say other things than what is served. */
static void
load_zone_follow_plan(const struct load_context *context,
	struct load_zone *zone, const struct load_plan *plan,
	struct store_heap *heap, bool large, struct load_result *result)
{
	bool read = plan->due && !plan->absent;

	if (plan->due && plan->absent)
		load_zone_is_absent(zone, plan->path, result);
	if (!read && !plan->rehash)
		return;
	if (plan->path != NULL && load_zone_is_deadly(context, zone,
				      plan->path, &plan->st, result))
		return;
	if (read) {
		/* A difference would keep the hashes that there are. */
		zone->whole |= plan->rehash;
		load_zone_parse(context, zone, plan->path, heap, large,
			result);
	}
	if (plan->rehash && result->outcome != LOAD_BUILT)
		load_rehash_run(context, zone, heap, large, result);
}

static void
load_zone_run(const struct load_context *context, struct load_zone *zone,
	struct store_heap *heap, bool large, struct load_result *result)
{
	char buffer[PATH_MAX];
	const char *path = load_zone_get_path(context, zone, buffer, result);
	struct load_plan plan;

	load_zone_make_plan(context, zone, path, &plan);
	if (!plan.due && !plan.rehash) {
		/* One that is changed is left out of other passes, too. */
		if (path != NULL && context->which == LOAD_CHANGED)
			load_zone_survived(context, zone);
	} else if (plan.large && !large) {
		result->outcome = LOAD_LARGE;
	} else {
		load_zone_follow_plan(context, zone, &plan, heap, large,
			result);
	}
}

void
load_zone_read(const struct load_context *context, struct load_zone *zone,
	struct store_heap *heap, bool large, struct load_result *result)
{
	memset(result, 0, sizeof(*result));
	result->zone = zone;
	result->outcome = LOAD_UNCHANGED;
	/* Before the look at removed, whose side does it the other way round:
	 * one of the two sees the other. */
	__atomic_store_n(&zone->reading, true, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&zone->removed, __ATOMIC_SEQ_CST))
		load_zone_run(context, zone, heap, large, result);
	if (result->outcome == LOAD_UNCHANGED || result->outcome == LOAD_LARGE)
		__atomic_store_n(&zone->reading, false, __ATOMIC_SEQ_CST);
}
