/* load_read.c - reads a zone of the configuration, if it is to be read. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "compile/build.h"
#include "conf/chroot.h"
#include "loader/load_candidate.h"
#include "loader/load_crashes.h"
#include "loader/load_digest.h"
#include "loader/load_files.h"
#include "loader/load_findings.h"
#include "loader/load_history.h"
#include "loader/load_journal.h"
#include "loader/load_modes.h"
#include "loader/load_read.h"
#include "loader/load_reading.h"
#include "loader/load_rehash.h"
#include "loader/load_retire.h"
#include "loader/load_transfer.h"
#include "store/writer.h"
#include "zone/sources.h"

/* From this many octets on, several threads read a zone file faster. */
#define LARGE_FILE (8u << 20)
#define DEFAULT_TTL_SEC 3600

/* ---- whether ------------------------------------------------------------- */

/* True if a loader has died while the file waited for a verifier. */
static bool
read_is_awaited(const struct store_view *view, const struct load_zone *zone)
{
	const struct zone_entry *entry = store_get(view, zone->entry);

	return (entry->flags & ZONE_ENTRY_FILE_WAITS) != 0;
}

/* True if the zone's file is to be read in this pass, as its kind (enum
 * load_which) has it. */
static bool
read_is_due(const struct load_context *context, const struct load_zone *zone,
	const char *path)
{
	const struct store_view *view = store_writer_view(context->writer);
	bool loaded = load_zone_published(view, zone) != NULL;
	const struct zone_sources *sources = zone_sources_get(view,
		zone->entry);

	switch (context->which) {
	case LOAD_MISSING:
		if (!loaded || read_is_awaited(view, zone))
			return load_files_have_changed(sources, path);
		/* A zone whose file has another name now counts as missing, and
		 * so does a zone that was transferred, and is primary now. */
		return load_files_are_others(sources, path)
			|| (sources == NULL && !load_zone_is_from_xfrd(zone));
	case LOAD_STALE:
		if (sources != NULL
			&& (sources->flags & ZONE_SOURCES_FAILED) != 0)
			return true;
		break;
	case LOAD_CHANGED:
		break;
	}
	return !loaded || load_files_have_changed(sources, path);
}

/* Notes why a zone is not read. Without memory the log alone says it. */
static void __attribute__((format(printf, 2, 3)))
read_set_reasons(struct load_result *result, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(&result->reasons, format, args) == -1)
		result->reasons = NULL;
	va_end(args);
}

/* ---- how ----------------------------------------------------------------- */

static enum load_note
read_choose_note(enum nsd_err err)
{
	switch (err) {
	case NSD_OK:
		return LOAD_NOTE_READ;
	case NSD_E_SYSTEM:
		return LOAD_NOTE_UNREADABLE;
	case NSD_E_MEMORY: /* the files are not to blame */
	case NSD_E_PEER:
	case NSD_E_AGAIN:
		return LOAD_NOTE_NOTHING;
	default:
		return LOAD_NOTE_FAILED;
	}
}

/* Has a version that was built from the file judged by a program. */
static enum nsd_err
read_verify(const struct load_reading *r)
{
	struct load_candidate candidate = {
		.zone = r->zone,
		.built = r->result->built,
	};
	enum nsd_err err;

	if (r->result->outcome != LOAD_BUILT || r->zone->accepts)
		return NSD_OK;
	err = load_candidate_check(r->context, &candidate);
	r->result->built = candidate.built;
	if (err == NSD_E_REFUSED)
		diag_emit(r->sink, DIAG_ERROR, r->path, 0, 0, "%s",
			candidate.why);
	return err;
}

/* The plan of what to do with a zone. */
struct load_plan {
	const char *path; /* NULL: the zone has no file */
	struct stat st;   /* of the file */
	bool due;         /* the file is to be read */
	bool absent;      /* but is not there */
	bool rehash;      /* the served zone is to be hashed anew, if the file
			   * gives nothing new */
	bool large;       /* the file, if it is to be read; else the served
			   * zone */
};

/* Reads the file, and logs its findings. */
static void
read_file(const struct load_context *context, struct load_zone *zone,
	const struct load_plan *plan, struct store_heap *heap, bool large,
	struct load_result *result)
{
	const char *path = plan->path;
	struct load_findings findings;
	struct load_reading r = {
		.context = context,
		.zone = zone,
		.path = path,
		.options = {
			.apex = zone->conf->wire,
			.default_ttl_sec = DEFAULT_TTL_SEC,
			.threads = large ? context->threads_max : 1,
			.secondary = load_zone_is_lenient(zone),
			.only_files = true,
			.is_seen = S_ISREG(plan->st.st_mode),
			.on_progress = large ? load_modes_on_parse : NULL,
			.progress_ctx = context->progress,
		},
		.large = large,
		.heap = heap,
		.sink = &findings.sink,
		.lacks = store_count_lacks(context->writer),
		.result = result,
	};
	enum nsd_err err;

	load_findings_init(&findings);
	log_at(5, LOG_LEVEL_INFO, "zone %s zonec_read(%s)", zone->conf->name,
		path);
	err = load_modes_run(&r);
	if (err == NSD_OK)
		err = load_digest_check_read(&r);
	if (err == NSD_OK)
		err = read_verify(&r);
	result->note = read_choose_note(err);
	if (err == NSD_OK && result->outcome != LOAD_KEPT) {
		load_findings_log_warnings(&findings, zone->conf->name, path);
		load_history_read(context, path, result);
	} else if (err == NSD_E_AGAIN || err == NSD_E_PEER) {
		result->outcome = LOAD_AGAIN;
	} else if (err != NSD_OK) {
		result->outcome = LOAD_FAILED;
		result->crowded = err == NSD_E_MEMORY && r.served != NULL
			&& store_count_lacks(context->writer) != r.lacks
			&& store_is_full(context->writer);
		load_findings_log_failure(&findings, zone->conf->name, path);
		read_set_reasons(result, "%szone %s file %s read with %u"
			" errors\n", findings.text, zone->conf->name, path,
			findings.sink.errors > 0
				? (unsigned)findings.sink.errors : 1);
	}
}

/* ---- the plan for a zone ------------------------------------------------- */

/* Notes that the file is not there. A secondary zone gets its file with the
 * first transfer, even if it is a primary by then. */
static void
read_note_absent(const struct load_context *context,
	const struct load_zone *zone, const char *path,
	struct load_result *result)
{
	const struct store_view *view = store_writer_view(context->writer);

	result->outcome = LOAD_KEPT;
	result->note = LOAD_NOTE_NONE;
	if (load_zone_is_lenient(zone)) {
		log_at(2, LOG_LEVEL_INFO, "zonefile %s does not exist", path);
	} else if (load_zone_is_received(view, zone)
		&& load_zone_published(view, zone) != NULL) {
		log_notice("zonefile %s does not exist: zone %s stays as it was"
			" %s", path, zone->conf->name,
			load_zone_takes_updates(zone) ? "updated"
						      : "transferred");
	} else {
		log_error("zonefile %s does not exist", path);
		read_set_reasons(result, "zone %s: zonefile %s does not"
			" exist\n", zone->conf->name, path);
		result->outcome = LOAD_FAILED;
		result->note = LOAD_NOTE_FAILED;
		result->awaited = load_zone_published(view, zone) == NULL;
	}
}

/* Logs once more, for the operator who asks for a reload, that the file failed
 * the last time and has not changed. */
static void
read_note_still_failed(const struct load_context *context,
	const struct load_zone *zone, const char *path)
{
	const struct zone_sources *sources = zone_sources_get(
		store_writer_view(context->writer), zone->entry);

	if (sources == NULL || (sources->flags & ZONE_SOURCES_FAILED) == 0)
		return;
	if (load_crashes_is_suspect(context, zone))
		log_error("zone %s file %s has not changed and is still set"
			  " aside",
			zone->conf->name, path);
	else if (load_zone_takes_updates(zone))
		log_error("zone %s file %s has not changed since it was not"
			  " taken, nsd-control reload %s says why",
			zone->conf->name, path, zone->conf->name);
	else
		log_error("zone %s file %s has not changed since it was read"
			  " with errors, nsd-checkzone %s %s shows them",
			zone->conf->name, path, zone->conf->name, path);
}

/* Acts on files that are as they were at the last reading. If they were missing
 * in between, the zone's entry says that they have failed: the result corrects
 * that. A pass for missing zones does not compare times, and says nothing of
 * files. */
static void
read_note_unchanged(const struct load_context *context,
	const struct load_zone *zone, const char *path,
	struct load_result *result)
{
	const struct store_view *view = store_writer_view(context->writer);
	const struct zone_entry *entry = store_get(view, zone->entry);
	const struct zone_sources *sources = zone_sources_get(view,
		zone->entry);
	bool failed = sources != NULL
		&& (sources->flags & ZONE_SOURCES_FAILED) != 0;

	if (context->which == LOAD_MISSING)
		return;
	if (failed != ((entry->flags & ZONE_ENTRY_FILE_FAILED) != 0)) {
		result->outcome = LOAD_KEPT;
		result->note = LOAD_NOTE_AS_BEFORE;
	}
	if (context->which == LOAD_CHANGED) {
		read_note_still_failed(context, zone, path);
		load_crashes_survive(context, zone);
	}
}

/* True if the zone's files could not be used the last time either, and are as
 * they were. */
static bool
read_is_as_before(const struct load_context *context,
	const struct load_zone *zone, const char *path, bool absent)
{
	const struct store_view *view = store_writer_view(context->writer);
	const struct zone_entry *entry = store_get(view, zone->entry);
	const struct zone_sources *sources = zone_sources_get(view,
		zone->entry);

	if ((entry->flags & ZONE_ENTRY_FILE_FAILED) == 0)
		return false;
	/* A file that was not there has no record. */
	return sources == NULL ? absent
			       : (sources->flags & ZONE_SOURCES_FAILED) != 0
			&& !load_files_have_changed(sources, path);
}

/* Returns the path of the zone's file, as it is within the chroot; or NULL, and
 * sets the outcome: the zone has no file, or its name is too long. */
static const char *
read_find_path(const struct load_context *context,
	const struct load_zone *zone, char buffer[PATH_MAX],
	struct load_result *result)
{
	size_t len;
	enum nsd_err err = conf_zone_file_name(zone->conf, buffer, PATH_MAX,
		&len);

	if (err == NSD_OK)
		return conf_path_in_chroot(context->chroot, buffer);
	if (err == NSD_E_NOT_FOUND) {
		result->outcome = LOAD_KEPT;
		result->note = LOAD_NOTE_NONE;
	} else {
		log_error("zone %s: the name of its file is too long",
			zone->conf->name);
		result->outcome = LOAD_FAILED;
		result->note = LOAD_NOTE_FAILED;
	}
	return NULL;
}

static void
read_make_plan(const struct load_context *context,
	const struct load_zone *zone, const char *path, struct load_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->path = path;
	plan->due = path != NULL && read_is_due(context, zone, path);
	plan->rehash = load_rehash_is_wanted(context, zone, &plan->large);
	if (path == NULL || (!plan->due && !plan->rehash))
		return;
	plan->absent = stat(path, &plan->st) == -1 && errno == ENOENT;
	if (plan->due && !plan->absent)
		plan->large = plan->st.st_size >= LARGE_FILE;
}

/* True if the file is for a thread that may wait for a verifier: it differs
 * from what is served. What the journal leads on from is not verified, and
 * neither is a zone at a start. */
static bool
read_is_put_off(const struct load_context *context,
	const struct load_zone *zone, const struct load_plan *plan)
{
	return plan->due && !plan->absent && !context->awaits
		&& !context->is_start
		&& load_candidate_is_wanted(context, zone)
		&& !load_journal_has(context, zone)
		&& (context->journal == NULL || !load_zone_is_from_xfrd(zone));
}

/* Follows the plan: the file first, as it may have other records than the
 * served zone. */
static void
read_follow_plan(const struct load_context *context, struct load_zone *zone,
	const struct load_plan *plan, struct store_heap *heap, bool large,
	struct load_result *result)
{
	bool read = plan->due && !plan->absent;

	result->as_before = plan->due && read_is_as_before(context, zone,
		plan->path, plan->absent);
	if (plan->due && plan->absent)
		read_note_absent(context, zone, plan->path, result);
	if (!read && !plan->rehash)
		return;
	if (plan->path != NULL && !load_crashes_begin(context, zone, plan->path,
				      &plan->st, result))
		return;
	if (read) {
		/* Updates would keep the old hashes. */
		zone->whole |= plan->rehash;
		read_file(context, zone, plan, heap, large, result);
	}
	if (plan->rehash && result->outcome != LOAD_BUILT)
		load_rehash_run(context, zone, heap, large, result);
}

/* Reads a zone from the journal, which may be further than its file: for a
 * secondary, or for one that was a secondary and was not written before the
 * end. */
static bool
read_from_journal(const struct load_context *context, struct load_zone *zone,
	const struct load_plan *plan, const struct load_task *task,
	struct load_result *result)
{
	bool file = plan->due && !plan->absent;

	if (!load_journal_has(context, zone))
		return false;
	if (load_journal_build(context, zone, file ? plan->path : NULL, task,
		    result)) {
		result->note = LOAD_NOTE_READ;
		return true;
	}
	if (file || plan->rehash || !load_journal_is_ahead(context, zone))
		return false;
	/* The loop brings the served version further. */
	result->outcome = LOAD_KEPT;
	result->note = LOAD_NOTE_NOTHING;
	return true;
}

static void
read_zone(const struct load_context *context, struct load_zone *zone,
	struct store_heap *heap, bool large, struct load_result *result)
{
	char buffer[PATH_MAX];
	const char *path = read_find_path(context, zone, buffer, result);
	struct load_plan plan;

	read_make_plan(context, zone, path, &plan);
	load_retire_await(context, zone->conf->wire);
	if (read_from_journal(context, zone, &plan,
		    &(struct load_task){heap, large, NULL}, result))
		return;
	if (!plan.due && !plan.rehash) {
		if (path != NULL)
			read_note_unchanged(context, zone, path, result);
	} else if (read_is_put_off(context, zone, &plan)) {
		result->outcome = LOAD_PUT_OFF;
	} else if (plan.large && !large) {
		result->outcome = LOAD_LARGE;
	} else {
		read_follow_plan(context, zone, &plan, heap, large, result);
	}
}

void
load_read_zone(const struct load_context *context, struct load_zone *zone,
	struct store_heap *heap, bool large, struct load_result *result)
{
	memset(result, 0, sizeof(*result));
	result->zone = zone;
	result->outcome = LOAD_UNCHANGED;
	if (context->timed)
		result->begun_msec = clock_now_msec();
	if (context->of_transfers) {
		const struct load_task task = {heap, large, zone->transfer};

		load_retire_await(context, zone->conf->wire);
		if (task.text->is_rest) {
			result->outcome = LOAD_APPLIED;
			result->err = load_journal_catch_up(context, zone,
				heap);
		} else {
			load_transfer_read(context, zone, &task, result);
		}
		return;
	}
	if (context->awaits) {
		read_zone(context, zone, heap, large, result);
		if (result->outcome == LOAD_UNCHANGED)
			result->outcome = LOAD_KEPT;
		return;
	}
	if (!load_zone_claim(zone, true))
		return;
	if (!__atomic_load_n(&zone->removed, __ATOMIC_SEQ_CST))
		read_zone(context, zone, heap, large, result);
	if (result->outcome == LOAD_UNCHANGED || result->outcome == LOAD_LARGE)
		(void)load_zone_release(zone);
}
