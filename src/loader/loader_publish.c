/* loader_publish.c - publishes the results of reading zones. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <limits.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "conf/chroot.h"
#include "dns/serial.h"
#include "loader/load_apply.h"
#include "loader/load_crashes.h"
#include "loader/load_expiry.h"
#include "loader/load_files.h"
#include "loader/load_history.h"
#include "loader/load_journal.h"
#include "loader/loader.h"
#include "store/writer.h"
#include "zone/sources.h"
#include "zonedb/history_edit.h"
#include "zonedb/release.h"
#include "zonedb/sources_edit.h"
#include "zonedb/table_edit.h"

/* Seconds until a zone is read again whose files changed while they were read,
 * or whose changes could not be applied. */
#define AGAIN_SEC 1
/* How often a zone is read again whose files change while they are read. */
#define RETRIES_MAX 5

void
loader_log_serial(const struct load_zone *zone, const uint32_t *old,
	uint32_t serial)
{
	if (old != NULL && serial == *old)
		return;
	if (old == NULL || serial_is_newer(serial, *old))
		log_info("zone %s serial %u is updated to %u",
			zone->conf->name, (unsigned)(old != NULL ? *old : 0),
			(unsigned)serial);
	else
		log_info("zone %s serial is updated to %u", zone->conf->name,
			(unsigned)serial);
}

/* Notes that changes of a zone were published, and logs that. */
static void
loader_note_applied(struct loader *loader, const struct load_result *result,
	const struct zone_update_result *done, struct ipc_updated *updated)
{
	load_settle_add(&loader->settle, result->zone->entry);
	log_at(2, LOG_LEVEL_INFO, "zone %s: %llu records added, %llu removed",
		result->zone->conf->name, (unsigned long long)done->added,
		(unsigned long long)done->removed);
	if (updated != NULL) {
		updated->added = done->added;
		updated->removed = done->removed;
		updated->names = (uint32_t)done->names;
	}
}

static enum nsd_err
loader_apply_diff(struct loader *loader, const struct load_result *result,
	struct ipc_updated *updated)
{
	struct load_apply_options options = {.verify = false};
	struct zone_update_result done;
	enum nsd_err err;

	if (updated != NULL)
		options.limits = loader->context.limits;
	err = load_apply_diff(&loader->context, result, &options, &done);
	if (err == NSD_OK)
		loader_note_applied(loader, result, &done, updated);
	return err;
}

/* Puts the new version in the place of the old one, which may go then. */
static void
loader_swap(struct loader *loader, const struct load_result *result,
	struct ipc_updated *updated)
{
	const struct store_view *view = store_writer_view(loader->writer);
	const struct zone *made = store_get(view, result->built);
	const struct zone *old = load_zone_published(view, result->zone);

	assert(result->built != STORE_NONE);
	if (updated != NULL) {
		updated->added = made->rr_count;
		updated->removed = old != NULL ? old->rr_count : 0;
		updated->names = (uint32_t)made->node_count;
	}
	/* The differences between this version and the one before are not
	 * known. */
	history_clear(loader->writer, result->zone->entry);
	load_retire_add(&loader->retire, loader->writer,
		result->zone->conf->wire,
		table_swap_zone(loader->writer, result->zone->entry,
			result->built));
}

static void
loader_log_read(const struct loader *loader, const struct load_result *result,
	uint32_t serial)
{
	const char *name = result->zone->conf->name;

	log_at(1, LOG_LEVEL_INFO, "zone %s read with success", name);
	if (result->begun_msec != 0)
		log_info("RSSAC002 load-time zone=%s serial=%u msec=%lld",
			name, (unsigned)serial,
			(long long)(clock_now_msec() - result->begun_msec));
}

/* Notes the zone's file as if it had been read, after a forced transfer whose
 * version is not newer than the one before. Else the next reload would bring
 * the newer version of the file back; so the file is read only once it
 * changes. */
static void
loader_pass_over_file(struct loader *loader, const struct load_zone *zone)
{
	char path[PATH_MAX];
	size_t len;

	if (conf_zone_file_name(zone->conf, path, sizeof(path), &len)
		== NSD_OK)
		load_files_note(loader->writer, zone->entry,
			conf_path_in_chroot(loader->context.chroot, path));
}

enum nsd_err
loader_publish(struct loader *loader, const struct load_result *result,
	struct ipc_updated *updated)
{
	const struct store_view *view = store_writer_view(loader->writer);
	struct load_zone *zone = result->zone;
	const struct zone *old = load_zone_published(view, zone);
	uint32_t old_serial = old != NULL ? old->serial : 0, serial;
	enum nsd_err err = NSD_OK;

	switch (result->outcome) {
	case LOAD_APPLIED:
		old_serial = result->old_serial;
		loader_note_applied(loader, result, &result->done, updated);
		break;
	case LOAD_BUILT:
		loader_swap(loader, result, updated);
		break;
	case LOAD_COMPARED:
		if (result->change_count > 0)
			err = loader_apply_diff(loader, result, updated);
		break;
	default:
		err = NSD_E_BUG;
	}
	if (err != NSD_OK)
		return err;
	load_history_publish(&loader->context, result);
	serial = load_zone_published(view, zone)->serial;
	if (updated == NULL)
		loader_log_read(loader, result, serial);
	if (updated != NULL || loader->pass != LOADER_PASS_FIRST)
		loader_log_serial(zone, old != NULL ? &old_serial : NULL,
			serial);
	if (updated != NULL && old != NULL
		&& !serial_is_newer(serial, old_serial))
		loader_pass_over_file(loader, zone);
	zone->retries = 0;
	zone->whole = false;
	loader->result.read += updated == NULL;
	return NSD_OK;
}

/* Drops a file's result if a transfer has brought a newer version meanwhile. */
static void
loader_drop_older(struct loader *loader, struct load_result *result)
{
	const struct store_view *view = store_writer_view(loader->writer);
	const struct zone *old = load_zone_published(view, result->zone);
	const struct zone *made;

	if (result->outcome != LOAD_BUILT || old == NULL
		|| !load_zone_is_received(view, result->zone))
		return;
	made = store_get(view, result->built);
	if ((int32_t)(made->serial - old->serial) >= 0)
		return;
	table_set_candidate(loader->writer, result->zone->entry, STORE_NONE);
	load_retire_add(&loader->retire, loader->writer,
		result->zone->conf->wire, result->built);
	result->outcome = LOAD_KEPT;
}

/* Publishes the same records, hashed for another limit of iterations. */
static void
loader_publish_rehashed(struct loader *loader, const struct load_result *result)
{
	if (result->rehashed == STORE_NONE)
		return;
	load_retire_add(&loader->retire, loader->writer,
		result->zone->conf->wire,
		table_swap_zone(loader->writer, result->zone->entry,
			result->rehashed));
	log_info("zone %s: hashed for at most %u NSEC3 iterations",
		result->zone->conf->name,
		(unsigned)loader->context.nsec3_iterations_max);
}

/* Forgets the files of a zone that needs none any more. */
static void
loader_forget_sources(struct loader *loader, store_ref entry)
{
	if (zone_sources_get(store_writer_view(loader->writer), entry) != NULL)
		sources_set(loader->writer, entry, NULL, 0, 0);
	else
		sources_set_failed(loader->writer, entry, false);
}

/* Notes the serial of the file that was read. */
static void
loader_note_serial(struct loader *loader, const struct load_result *result)
{
	const struct load_zone *zone = result->zone;
	const struct zone *served = load_zone_published(
		store_writer_view(loader->writer), zone);

	if (result->is_passed_over)
		sources_set_serial(loader->writer, zone->entry,
			result->file_serial);
	else if (served != NULL && result->outcome != LOAD_KEPT)
		sources_set_serial(loader->writer, zone->entry,
			served->serial);
}

/* Notes the state of a zone's files. To be called after its version is
 * published: a loader that dies in between has the file read once more. Failed
 * tries are noted too, to see when their files have changed. */
static void
loader_note_files(struct loader *loader, const struct load_result *result)
{
	struct store_writer *writer = loader->writer;
	store_ref entry = result->zone->entry;
	const struct zone_sources *sources;

	switch (result->note) {
	case LOAD_NOTE_NOTHING:
		break;
	case LOAD_NOTE_READ:
		sources_set(writer, entry, result->files.sources,
			result->files.source_count, 0);
		loader_note_serial(loader, result);
		break;
	case LOAD_NOTE_FAILED:
		sources_set(writer, entry, result->files.sources,
			result->files.source_count, ZONE_SOURCES_FAILED);
		break;
	case LOAD_NOTE_UNREADABLE:
		sources_set_failed(writer, entry, true);
		break;
	case LOAD_NOTE_NONE:
		loader_forget_sources(loader, entry);
		break;
	case LOAD_NOTE_AS_BEFORE:
		sources = zone_sources_get(store_writer_view(writer), entry);
		sources_set_failed(writer, entry, sources != NULL
			&& (sources->flags & ZONE_SOURCES_FAILED) != 0);
		break;
	}
}

static void
loader_tell_older(const struct loader *loader, const struct load_zone *zone)
{
	const struct zone *served = load_zone_published(
		store_writer_view(loader->writer), zone);

	log_at(1, LOG_LEVEL_INFO,
		"zone %s: its file is older than serial %u, which is served:"
		" it is not read",
		zone->conf->name,
		served != NULL ? (unsigned)served->serial : 0);
}

void
loader_push_again(struct loader *loader, struct load_zone *zone, int wait_sec)
{
	struct timeval when = {.tv_sec = wait_sec};
	struct load_zone **again = grow_array(loader->again,
		loader->again_count, &loader->again_room, sizeof(*again));

	if (again == NULL) {
		log_error("zone %s: out of memory", zone->conf->name);
		loader->result.failed++;
		loader_note_failed(loader, zone, false, NULL);
		return;
	}
	loader->again = again;
	loader->again[loader->again_count++] = zone;
	if (loader->pass == LOADER_PASS_NONE)
		event_add(loader->again_event, &when);
}

/* Has a zone read again whose files changed while they were read. They are not
 * noted: the zone stays due. */
static void
loader_read_again(struct loader *loader, struct load_zone *zone)
{
	if (zone->retries++ < RETRIES_MAX) {
		loader_push_again(loader, zone, AGAIN_SEC);
		return;
	}
	log_error("zone %s: its file keeps changing, giving up",
		zone->conf->name);
	zone->retries = 0;
	sources_set_failed(loader->writer, zone->entry, true);
	loader->result.failed++;
	loader_note_failed(loader, zone, false, NULL);
}

/* Acts on the outcome of reading a zone. */
static void
loader_act_on(struct loader *loader, struct load_result *result)
{
	struct load_zone *zone = result->zone;

	loader_publish_rehashed(loader, result);
	loader_drop_older(loader, result);
	switch (result->outcome) {
	case LOAD_COMPARED:
	case LOAD_APPLIED:
	case LOAD_BUILT:
		if (loader_publish(loader, result, NULL) == NSD_OK) {
			zone->is_behind = false;
			break;
		}
		/* A build anew says why, with file and line. */
		zone->whole = true;
		loader_push_again(loader, zone, AGAIN_SEC);
		return;
	case LOAD_AGAIN:
		loader_read_again(loader, zone);
		return;
	case LOAD_KEPT:
		if (result->note != LOAD_NOTE_READ)
			break;
		loader_tell_older(loader, zone);
		zone->whole = false;
		break;
	case LOAD_FAILED:
		zone->whole = false;
		loader->result.failed++;
		loader_note_failed(loader, zone, result->as_before,
			result->reasons);
		loader_note_unread(loader, result);
		loader->crowded |= result->crowded;
		break;
	case LOAD_UNCHANGED:
	case LOAD_LARGE:
	case LOAD_PUT_OFF:
		return;
	}
	loader_note_files(loader, result);
}

void
loader_take_result(struct loader *loader, struct load_result *result)
{
	const struct load_context *context = &loader->context;
	struct load_zone *zone = result->zone;
	bool journal = load_journal_has(context, zone)
		|| (context->journal != NULL && load_zone_is_from_xfrd(zone));

	/* The claim has kept the zone from being changed or removed
	 * meanwhile. */
	assert(zone->conf != NULL && zone->reading);
	table_set_file_waits(loader->writer, zone->entry,
		result->outcome == LOAD_PUT_OFF);
	if (result->outcome == LOAD_PUT_OFF && loader_queue_file(loader, zone))
		return;
	load_zone_end_busy(context, zone);
	if (journal)
		load_journal_hold(context, zone);
	loader_act_on(loader, result);
	diff_destroy(result->diff);
	zonefile_result_fini(&result->files);
	ixfr_file_release(&result->history);
	free(result->reasons);
	/* Catch up with the journal, unless the zone is read again first. */
	if (journal && result->outcome != LOAD_AGAIN) {
		loader_replay(loader, zone);
		return;
	}
	/* A predecessor may have left the expiry held, for a journal that is
	 * gone. */
	if (!journal && !zone->is_behind)
		load_expiry_let_go(loader->writer, zone);
	load_crashes_survive(&loader->context, zone);
	/* A pass leaves out a zone that waits for a verifier. */
	if (load_zone_release(zone))
		loader_push_again(loader, zone, 0);
}
