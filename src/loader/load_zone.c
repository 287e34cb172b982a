/* load_zone.c - a zone of the configuration, as the loader has it. */
#include "config.h"

#include <assert.h>

#include "loader/load_zone.h"
#include "store/writer.h"
#include "zone/sources.h"
#include "zone/table.h"

const struct zone *
load_zone_published(const struct store_view *view,
	const struct load_zone *zone)
{
	const struct zone_entry *entry = store_get(view, zone->entry);
	store_ref ref = store_load_ref(&entry->zone);

	assert(zone->entry != STORE_NONE);
	return ref == STORE_NONE ? NULL : store_get(view, ref);
}

bool
load_zone_is_from_xfrd(const struct load_zone *zone)
{
	return conf_is_from_xfrd(zone->conf->options);
}

bool
load_zone_takes_updates(const struct load_zone *zone)
{
	return conf_takes_updates(zone->conf->options);
}

bool
load_zone_is_lenient(const struct load_zone *zone)
{
	return load_zone_is_from_xfrd(zone) && !load_zone_takes_updates(zone);
}

bool
load_zone_is_updated(const struct store_view *view,
	const struct load_zone *zone)
{
	const struct zone *served = load_zone_published(view, zone);
	const struct zone_sources *sources = zone_sources_get(view,
		zone->entry);

	return load_zone_takes_updates(zone) && served != NULL
		&& (sources == NULL
			|| (sources->flags & ZONE_SOURCES_SERIAL) == 0
			|| sources->serial != served->serial);
}

bool
load_zone_is_received(const struct store_view *view,
	const struct load_zone *zone)
{
	return load_zone_is_from_xfrd(zone) || (zone->conf->was_from_xfrd
		&& load_zone_published(view, zone) != NULL
		&& zone_sources_get(view, zone->entry) == NULL);
}

/* The differences of a catalog, whatever store-ixfr says: xfrd looks at those
 * of one that is consumed, and no consumer of one that is produced is to take
 * all of its members for each one more. */
#define CATALOG_CHANGESETS 16u
/* Of a zone that takes updates, at least: each update is a version, and
 * secondaries may be minutes behind. ixfr-size bounds them, too. */
#define UPDATES_CHANGESETS 1000u

static uint32_t
zone_count_changesets(const struct conf_pattern *options)
{
	uint32_t number = options->store_ixfr ? options->ixfr_number : 0;

	if (conf_takes_updates(options))
		return number > UPDATES_CHANGESETS ? number
						   : UPDATES_CHANGESETS;
	if (options->store_ixfr)
		return number;
	return options->catalog != CONF_CATALOG_NONE ? CATALOG_CHANGESETS : 0;
}

struct history_limits
load_zone_get_history(const struct load_zone *zone)
{
	const struct conf_pattern *options = zone->conf->options;

	return (struct history_limits){
		.number = zone_count_changesets(options),
		.octets = options->ixfr_size,
	};
}

/* A pass sets `skipped` before it tries to claim the zone: else the other could
 * release it in between, and the file would not be looked at. */
bool
load_zone_claim(struct load_zone *zone, bool pass)
{
	if (pass)
		__atomic_store_n(&zone->skipped, true, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&zone->reading, true, __ATOMIC_SEQ_CST))
		return false;
	if (pass)
		__atomic_store_n(&zone->skipped, false, __ATOMIC_SEQ_CST);
	return true;
}

bool
load_zone_release(struct load_zone *zone)
{
	assert(__atomic_load_n(&zone->reading, __ATOMIC_RELAXED));
	__atomic_store_n(&zone->reading, false, __ATOMIC_SEQ_CST);
	return __atomic_exchange_n(&zone->skipped, false, __ATOMIC_SEQ_CST);
}

void
load_zone_end_busy(const struct load_context *context, struct load_zone *zone)
{
	pthread_mutex_lock(context->busy_lock);
	zone->busy = false;
	pthread_mutex_unlock(context->busy_lock);
}

void
load_zone_note_progress(struct load_progress *p, const char *stage,
	uint64_t done, uint64_t total)
{
	__atomic_store_n(&p->stage, stage, __ATOMIC_RELAXED);
	__atomic_store_n(&p->done, done, __ATOMIC_RELAXED);
	__atomic_store_n(&p->total, total, __ATOMIC_RELAXED);
}

static void
load_zone_on_build(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
	load_zone_note_progress(ctx, stage, done, total);
}

void
load_zone_fill_input(const struct load_context *context,
	const struct load_zone *zone, const struct zonefile_result *files,
	const char *const *names, struct zone_build_input *input)
{
	*input = (struct zone_build_input){
		.apex = zone->conf->wire,
		.files = names,
		.file_count = files->source_count,
		.threads = context->threads_max,
		.secondary = load_zone_is_lenient(zone),
		.nsec3_iterations_max = context->nsec3_iterations_max,
		.on_progress = load_zone_on_build,
		.progress_ctx = context->progress,
	};
	if (context->of_transfers)
		input->limits = context->limits;
}
