/* loader_publish.c - publishes what came of reading zones, in the loader. */
#include "config.h"

#include <event2/event.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "keep/sources_edit.h"
#include "keep/table_edit.h"
#include "load/load_apply.h"
#include "load/load_deaths.h"
#include "proc/loader.h"
#include "store/writer.h"
#include "zone/sources.h"

/* Seconds until a zone is read again whose files changed while they were read,
 * or whose changes could not be applied. */
#define AGAIN_SEC 1
/* How often a zone is read again whose files change while they are read. */
#define RETRIES_MAX 5

static void
loader_log_serial(const struct loader *loader, const struct load_zone *zone,
	const uint32_t *old, uint32_t serial)
{
	if (loader->pass == LOADER_PASS_FIRST
		|| (old != NULL && serial == *old))
		return;
	/* RFC 1982 section 3.2 */
	if (old == NULL || (int32_t)(serial - *old) > 0)
		log_info("zone %s serial %u is updated to %u",
			zone->conf->name, (unsigned)(old != NULL ? *old : 0),
			(unsigned)serial);
	else
		log_info("zone %s serial is updated to %u", zone->conf->name,
			(unsigned)serial);
}

/* Publishes a result that is LOAD_SAME, LOAD_DIFFERS or LOAD_BUILT. */
static enum nsd_err
loader_publish(struct loader *loader, const struct load_result *result)
{
	const struct store_view *view = store_writer_view(loader->writer);
	struct load_zone *zone = result->zone;
	const struct zone *old = load_zone_published(view, zone);
	uint32_t old_serial = old != NULL ? old->serial : 0;
	struct zone_update_result done;
	enum nsd_err err;

	if (result->outcome == LOAD_BUILT) {
		loader_leave(loader, table_swap_zone(loader->writer,
					     zone->entry, result->built));
	} else if (result->outcome == LOAD_DIFFERS) {
		err = load_apply_diff(&loader->context, result, &done);
		if (err != NSD_OK)
			return err;
		load_settle_add(&loader->settle, zone->entry);
		log_at(2, LOG_LEVEL_INFO,
			"zone %s: %llu records added, %llu removed",
			zone->conf->name, (unsigned long long)done.added,
			(unsigned long long)done.removed);
	}
	log_at(1, LOG_LEVEL_INFO, "zone %s read with success",
		zone->conf->name);
	loader_log_serial(loader, zone, old != NULL ? &old_serial : NULL,
		load_zone_published(view, zone)->serial);
	if (result->begun_msec != 0)
		log_info("RSSAC002 load-time zone=%s serial=%u msec=%lld",
			zone->conf->name,
			(unsigned)load_zone_published(view, zone)->serial,
			(long long)(clock_now_msec() - result->begun_msec));
	zone->retries = 0;
	zone->whole = false;
	loader->result.read++;
	return NSD_OK;
}

/* Publishes the same records, hashed for another limit of iterations. */
static void
loader_publish_rehashed(struct loader *loader, const struct load_result *result)
{
	if (result->rehashed == STORE_NONE)
		return;
	loader_leave(loader, table_swap_zone(loader->writer,
				     result->zone->entry, result->rehashed));
	log_info("zone %s: hashed for at most %u NSEC3 iterations",
		result->zone->conf->name,
		(unsigned)loader->context.nsec3_iterations_max);
}

/* Notes the files that a zone was read from. To be called after its version is
 * published: a loader that dies in between has the file read once more. Failed
 * tries are noted too, to see when their files have changed. */
static void
loader_note_sources(struct loader *loader, const struct load_result *result)
{
	sources_set(loader->writer, result->zone->entry,
		result->files.sources, result->files.source_count,
		result->outcome == LOAD_FAILED ? ZONE_SOURCES_FAILED : 0);
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
		return;
	}
	loader->again = again;
	loader->again[loader->again_count++] = zone;
	if (loader->pass == LOADER_PASS_NONE)
		event_add(loader->again_event, &when);
}

void
loader_take_result(struct loader *loader, struct load_result *result)
{
	struct load_zone *zone = result->zone;

	pthread_mutex_lock(loader->context.busy_lock);
	zone->busy = false;
	pthread_mutex_unlock(loader->context.busy_lock);
	loader_publish_rehashed(loader, result);
	switch (result->outcome) {
	case LOAD_SAME:
	case LOAD_DIFFERS:
	case LOAD_BUILT:
		if (loader_publish(loader, result) == NSD_OK) {
			loader_note_sources(loader, result);
			break;
		}
		/* A build anew says why, with file and line. */
		zone->whole = true;
		loader_push_again(loader, zone, AGAIN_SEC);
		break;
	case LOAD_AGAIN:
		/* Its sources are not noted: it stays due. */
		if (zone->retries++ < RETRIES_MAX) {
			loader_push_again(loader, zone, AGAIN_SEC);
			break;
		}
		log_error("zone %s: its file keeps changing, giving up",
			zone->conf->name);
		zone->retries = 0;
		loader->result.failed++;
		break;
	case LOAD_FAILED:
		zone->whole = false;
		if (!result->blameless)
			loader_note_sources(loader, result);
		loader->result.failed++;
		loader->crowded |= result->crowded;
		break;
	case LOAD_UNCHANGED:
	case LOAD_LARGE:
	case LOAD_ABSENT:
	case LOAD_REHASHED:
		break;
	}
	load_deaths_survive(&loader->context, zone);
	diff_destroy(result->diff);
	zonefile_result_fini(&result->files);
	__atomic_store_n(&zone->reading, false, __ATOMIC_SEQ_CST);
}
