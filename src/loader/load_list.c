/* load_list.c - brings the zones of the configuration and of the store
 * together. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "dns/name.h"
#include "loader/load_expiry.h"
#include "loader/load_history.h"
#include "loader/load_list.h"
#include "loader/load_settings.h"
#include "loader/zone_setup.h"
#include "settings/pattern.h"
#include "store/writer.h"
#include "zone/table.h"
#include "zonedb/mark.h"
#include "zonedb/retire.h"
#include "zonedb/table_edit.h"

enum nsd_err
load_list_sweep(struct store_writer *writer, uint64_t *octets)
{
	struct store_sweep *sweep;
	enum nsd_err err = store_sweep_begin(writer, &sweep);

	if (err != NSD_OK)
		return err;
	mark_roots(writer, sweep);
	err = store_sweep_end(sweep, octets);
	if (err == NSD_OK)
		(void)store_reclaim(writer);
	return err;
}

/* A zone of a store. It may be one of nsd.conf by now. */
static enum nsd_err
list_restore_zone(const struct store_view *view,
	const struct zone_entry *entry, struct conf *conf)
{
	const unsigned was = ZONE_ENTRY_FROM_XFRD | ZONE_ENTRY_WAS_FROM_XFRD;
	const struct settings_pattern *pattern = store_get(view,
		entry->pattern);
	const char *of = settings_pattern_text(pattern, pattern->name_at);
	char text[NAME_TEXT_MAX];
	const char *name = zone_entry_name(view, entry, text);
	const struct conf_zone *zone = NULL;
	enum nsd_err err = NSD_OK;

	if ((entry->flags & ZONE_ENTRY_LISTED) != 0 && of != NULL)
		err = conf_add_zone(conf, name, of, &zone);
	if (err == NSD_E_NOT_FOUND)
		log_error("pattern does not exist for zone %s pattern %s",
			name, of);
	if ((entry->flags & was) != 0 && zone == NULL)
		zone = conf_find_zone(conf, entry->name);
	if ((entry->flags & was) != 0 && zone != NULL)
		conf_note_role(conf, zone);
	return err == NSD_E_MEMORY ? err : NSD_OK;
}

enum nsd_err
load_list_restore(const struct store_view *view, struct conf *conf)
{
	const struct zone_table *table = table_get(view);
	enum nsd_err err = NSD_OK;
	struct trie_iter iter;
	store_ref ref;

	if (table == NULL)
		return NSD_OK;
	trie_iter_init(&iter, view, &table->apexes.root);
	while (err == NSD_OK && (ref = trie_iter_next(&iter)) != STORE_NONE)
		err = list_restore_zone(view, store_get(view, ref), conf);
	return err;
}

/* Adds an entry for each zone that has none. */
static enum nsd_err
list_add_missing(struct store_writer *writer, const struct zone_setup *setups,
	size_t count, struct load_zone *zones)
{
	struct zone_setup *missing = calloc(count + 1, sizeof(*missing));
	store_ref *entries = calloc(count + 1, sizeof(*entries));
	enum nsd_err err = NSD_E_MEMORY;
	size_t n = 0;

	if (missing != NULL && entries != NULL) {
		for (size_t i = 0; i < count; i++)
			if (zones[i].entry == STORE_NONE)
				missing[n++] = setups[i];
		err = table_add(writer, missing, n, entries);
	}
	for (size_t i = 0; err == NSD_OK && i < n; i++)
		zones[missing[i].id].entry = entries[i];
	free(missing);
	free(entries);
	return err;
}

static void
list_on_removed(void *ctx, store_ref entry)
{
	struct store_writer *writer = ctx;
	const struct zone_entry *e = store_get(store_writer_view(writer),
		entry);

	retire_zone(writer, e->zone);
}

/* Removes the zones of the store that are not in the list. *others: how many
 * there are at most; set to how many were removed. */
static enum nsd_err
list_remove_others(struct store_writer *writer, const struct load_zone *zones,
	size_t count, size_t *others)
{
	const struct store_view *view = store_writer_view(writer);
	const struct zone_entry **gone = calloc(*others, sizeof(*gone));
	struct table_change *change;
	struct trie_iter iter;
	store_ref ref;
	size_t n = 0;
	enum nsd_err err = NSD_E_MEMORY;

	if (gone != NULL)
		err = table_change_begin(writer, &change);
	if (err != NSD_OK) {
		free(gone);
		return err;
	}
	trie_iter_init(&iter, view, &table_get(view)->apexes.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE && n < *others) {
		const struct zone_entry *entry = store_get(view, ref);

		if (entry->id >= count || zones[entry->id].entry != ref)
			gone[n++] = entry;
	}
	for (size_t i = 0; i < n && err == NSD_OK; i++)
		err = table_change_remove(change, gone[i]->name);
	table_change_publish(change, list_on_removed, writer);
	*others = n;
	free(gone);
	return err;
}

enum nsd_err
load_list_publish(struct store_writer *writer, const struct conf *conf,
	struct load_zone *zones, struct load_list_result *result)
{
	const struct zone_table *table = table_get(store_writer_view(writer));
	size_t count = conf->zone_count, kept = 0, others;
	struct zone_setups setups;
	enum nsd_err err = zone_setups_init(&setups, writer, conf);

	if (err != NSD_OK)
		return err;
	err = load_settings_publish(setups.edit, conf);
	for (size_t i = 0; i < count && err == NSD_OK; i++) {
		zones[i].conf = conf->zones[i];
		zones[i].entry = STORE_NONE;
		if (table == NULL)
			continue;
		err = table_adopt(writer, &setups.items[i], &zones[i].entry);
		if (err == NSD_OK) {
			load_history_prune(writer, &zones[i]);
			load_expiry_resume(store_writer_view(writer),
				&zones[i]);
		}
		kept += err == NSD_OK;
		if (err == NSD_E_NOT_FOUND)
			err = NSD_OK;
	}
	others = table != NULL ? table->zone_count - kept : 0;
	if (err == NSD_OK && others > 0)
		err = list_remove_others(writer, zones, count,
			&others);
	if (err == NSD_OK)
		err = list_add_missing(writer, setups.items, count, zones);
	zone_setups_fini(&setups);
	*result = (struct load_list_result){kept, count - kept, others};
	return err;
}
