/* loader_counts.c - the loader's part of statistics: how large the store is,
 * and which zones are counted together (zonestats). */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>

#include "base/log.h"
#include "loader/load_pool.h"
#include "loader/loader.h"
#include "process/counts.h"
#include "store/writer.h"
#include "zonedb/table_edit.h"

/* Longer names of groups are cut. */
#define NAME_MAX_OCTETS 1100u
#define SAY_SEC 1

/* ---- the store ----------------------------------------------------------- */

static void
count_put(uint64_t *at, uint64_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static void
counts_say_store(struct loader *loader)
{
	struct counts_store *to = counts_get_store(
		loader->role.server->counts);
	struct store_stats stats;

	store_get_stats(loader->writer, &stats);
	count_put(&to->live, stats.live);
	count_put(&to->free, stats.free);
	count_put(&to->mapped, stats.mapped);
	count_put(&to->retired, stats.retired);
	count_put(&to->epoch, stats.epoch);
	count_put(&to->oldest, stats.oldest_reader_epoch);
	count_put(&to->pins, stats.pins);
	count_put(&to->config, conf_memory_size(loader->role.server->conf));
}

void
loader_on_counts(evutil_socket_t fd, short what, void *arg)
{
	counts_say_store(arg);
}

void
loader_say_counts(struct loader *loader)
{
	struct timeval when = {.tv_sec = SAY_SEC};

	/* Changes in a row do not put the event off. */
	if (!event_pending(loader->counts_event, EV_TIMEOUT, NULL))
		event_add(loader->counts_event, &when);
}

void
loader_say_pass(struct loader *loader)
{
	struct counts_store *to = counts_get_store(
		loader->role.server->counts);
	size_t left = loader->suspect_count - loader->suspect_next;

	assert(loader->suspect_next <= loader->suspect_count);
	if (loader->pass == LOADER_PASS_NONE) {
		count_put(&to->to_look, 0);
		count_put(&to->looked, 0);
		return;
	}
	/* Suspects are read one after the other, behind all others. */
	count_put(&to->looked, loader->pool == NULL || loader->suspect_next > 0
			? loader->result.zones - left
			: load_pool_progress(loader->pool));
	count_put(&to->to_look, loader->result.zones);
}

/* ---- groups of zones ----------------------------------------------------- */

enum nsd_err
loader_init_counts(struct loader *loader)
{
	struct textlist names;

	counts_get_names(loader->role.server->counts, &names);
	return textlist_writer_create(&names, &loader->groups);
}

static bool
loader_find_group(struct loader *loader, const char *name, size_t len,
	uint32_t *group)
{
	const struct counts *counts = loader->role.server->counts;
	struct textlist names;

	/* The group may be new. */
	counts_get_names(counts, &names);
	return counts_grow(counts, textlist_count(&names) + 1)
		&& textlist_add(loader->groups, name, len, group) == NSD_OK;
}

void
loader_count_zone(struct loader *loader, const struct load_zone *zone)
{
	char name[NAME_MAX_OCTETS + 1];
	uint32_t group = 0;
	size_t len;

	assert(zone->conf != NULL && zone->entry != STORE_NONE);
	if (conf_zone_group_name(zone->conf, name, sizeof(name), &len)
			== NSD_OK
		&& !loader_find_group(loader, name, len, &group)) {
		group = 0;
		if (!loader->groups_full)
			log_error("zone %s: no room for zonestats %s, which"
				  " is not counted", zone->conf->name, name);
		loader->groups_full = true;
	}
	table_set_group(loader->writer, zone->entry, group);
	counts_set_empty(loader->role.server->counts, group, false);
}

/* Writes for each group whether it has zones. Without memory, groups that have
 * had some are all shown. */
static void
loader_find_empty(struct loader *loader)
{
	const struct counts *counts = loader->role.server->counts;
	const struct store_view *view = store_writer_view(loader->writer);
	struct textlist names;
	uint32_t count;
	bool *used;

	counts_get_names(counts, &names);
	count = textlist_count(&names);
	used = calloc((size_t)count + 1, sizeof(*used));
	if (used == NULL)
		return;
	for (size_t i = 0; i < loader->set.count; i++) {
		const struct load_zone *zone = &loader->set.zones[i];
		const struct zone_entry *entry;

		if (zone->conf == NULL)
			continue;
		entry = store_get(view, zone->entry);
		if (entry->group <= count)
			used[entry->group] = true;
	}
	for (uint32_t i = 1; i <= count; i++)
		counts_set_empty(counts, i, !used[i]);
	free(used);
}

void
loader_count_zones(struct loader *loader)
{
	for (size_t i = 0; i < loader->set.count; i++)
		if (loader->set.zones[i].conf != NULL)
			loader_count_zone(loader, &loader->set.zones[i]);
	loader_find_empty(loader);
}
