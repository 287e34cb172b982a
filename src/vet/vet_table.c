/* vet_table.c - the table of zones, and its entries with their options and
 * lists of files. */
#include <stdlib.h>

#include "base/grow.h"
#include "store/writer.h"
#include "vet/vet_part.h"
#include "zone/objects.h"
#include "zone/sources.h"
#include "zone/table.h"

#define TABLE_SPLIT 64u /* parts of the table */

/* ---- entries ----------------------------------------------------------- */

/* A new zone at the end, all zero; NULL without memory. */
static struct vet_zone *
zones_add(struct vet_list *list)
{
	struct vet_zone *zones = grow_array(list->zones, list->count,
		&list->room, sizeof(*zones));

	if (zones == NULL) {
		list->no_memory = true;
		return NULL;
	}
	list->zones = zones;
	memset(&zones[list->count], 0, sizeof(*zones));
	return &zones[list->count++];
}

/* Every path ends with a null octet, and the records end where the object
 * does. */
static bool
vet_sources(struct vet_part *p, store_ref ref)
{
	const struct zone_sources *s = vet_get(p, VET_SOURCES, ref,
		sizeof(*s));
	const struct zone_source *source;
	size_t at = sizeof(*s);

	if (s == NULL)
		return false;
	if (s->len < sizeof(*s))
		return vet_fail(p, VET_SOURCES, ref, "ends within its head");
	if (!vet_claim(p, VET_SOURCES, ref, s->len))
		return false;
	source = zone_sources_first(s);
	for (unsigned i = 0; i < s->count; i++) {
		if (s->len - at < sizeof(*source) || source->path_len == 0
			|| source->path_len > s->len - at - sizeof(*source)
			|| source->path[source->path_len - 1] != '\0')
			return vet_fail(p, VET_SOURCES, ref,
				"has paths that do not end");
		source = zone_sources_next(source);
		at = (size_t)((const uint8_t *)source - (const uint8_t *)s);
		if (at > s->len)
			return vet_fail(p, VET_SOURCES, ref,
				"ends within a record");
	}
	return s->count > 0 || vet_fail(p, VET_SOURCES, ref, "has none");
}

/* Flags, options, files and differences of an entry. The zone can be loaded
 * anew without them. */
static bool
vet_belongings(struct vet_part *p, const struct zone_entry *entry,
	store_ref ref)
{
	const uint32_t known = ZONE_ENTRY_SECONDARY | ZONE_ENTRY_FILE_FAILED
		| ZONE_ENTRY_STEPS_STALE;

	if ((entry->flags & ~known) != 0)
		return vet_fail(p, VET_ENTRY, ref, "has unknown flags");
	return (entry->options == STORE_NONE || vet_options(p, entry->options))
		&& (entry->sources == STORE_NONE
			|| vet_sources(p, entry->sources))
		&& vet_history(p, entry->history);
}

/* The configuration says anew who may ask and what is counted, and xfrd when
 * the zone expires: the clock of that begins with the boot. Nobody reads the
 * entry yet, and no other object overlaps it. */
static void
entry_forget(struct vet_part *p, store_ref ref)
{
	struct zone_entry *entry = store_edit(
		store_writer_heap(p->vet->writer), ref);

	/* Pages of a file that are not written stay clean. */
	if (entry->options != STORE_NONE)
		entry->options = STORE_NONE;
	if (entry->expires_sec != 0)
		entry->expires_sec = 0;
	if (entry->group != 0)
		entry->group = 0;
}

static bool
vet_entry(struct vet_part *p, store_ref ref)
{
	const struct zone_table *table = table_get(p->vet->view);
	const struct zone_entry *entry = vet_get(p, VET_ENTRY, ref,
		sizeof(*entry));
	struct vet_list *list = p->leaf_ctx;
	struct vet_zone *zone;

	if (entry == NULL
		|| !vet_claim(p, VET_ENTRY, ref, zone_entry_size(entry)))
		return false;
	if (entry->leaf.name_at != offsetof(struct zone_entry, name)
		|| entry->leaf.name_len >= NAME_MAX_LEN
		|| !vet_name(entry->name, entry->leaf.name_len,
			entry->leaf.labels)
		|| entry->name[entry->leaf.name_len] != 0
		|| !table_may_serve(table, entry->name))
		return vet_fail(p, VET_ENTRY, ref, "has no name");
	zone = zones_add(list);
	if (zone == NULL)
		return false;
	zone->entry = entry;
	zone->entry_ref = ref;
	zone->ref = entry->zone;
	if (!p->vet->only_look)
		entry_forget(p, ref);
	if (!vet_belongings(p, entry, ref)) {
		/* A fault of this zone, and not of the table. A zone without a
		 * fault would count as sound, whatever was refused. */
		(void)vet_fail(p, VET_ENTRY, ref, "has what is not sound");
		zone->fault = p->fault;
		p->fault.text = NULL;
	}
	return true;
}

/* ---- the table --------------------------------------------------------- */

static void
table_part_run(void *ctx, size_t i, struct vet_scratch *scratch)
{
	struct vet_part *p = (struct vet_part *)ctx + i;

	p->scratch = scratch;
	if (p->fault.text == NULL)
		(void)vet_trie(p);
}

/* Adds the zones of all lists to the first. */
static enum nsd_err
lists_join(struct vet_list *lists, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (lists[i].no_memory)
			return NSD_E_MEMORY;
	for (size_t i = 1; i < count; i++)
		for (size_t n = 0; n < lists[i].count; n++) {
			struct vet_zone *zone = zones_add(&lists[0]);

			if (zone == NULL)
				return NSD_E_MEMORY;
			*zone = lists[i].zones[n];
		}
	return NSD_OK;
}

/* The trie of apexes. Its entries go to the first list. */
static enum nsd_err
vet_apexes(struct vet *vet, const struct zone_table *table,
	struct vet_part *parts, struct vet_list *lists,
	struct vet_fault *fault)
{
	enum nsd_err err;
	size_t count;

	vet_part_init(&parts[0], vet, NULL, vet->scratch);
	vet_trie_init(&parts[0], &table->apexes, vet_entry);
	count = vet_trie_split(parts, TABLE_SPLIT);
	for (size_t i = 0; i < count; i++)
		parts[i].leaf_ctx = &lists[i];
	vet_run(vet, count, table_part_run, parts);
	err = lists_join(lists, count);
	if (err == NSD_OK && !vet_trie_join(parts, count)) {
		*fault = parts[0].fault;
		err = NSD_E_BUG;
	}
	for (size_t i = 1; i < count; i++) {
		parts[0].held += parts[i].held;
		free(lists[i].zones);
	}
	return err;
}

/* The settings, after all entries: parts[0] has what these hold. Zones with
 * faults hold less, or more, than can be told. */
static bool
settings_are_sound(struct vet_part *p, const struct vet_list *zones)
{
	if (!vet_settings(p))
		return false;
	for (size_t i = 0; i < zones->count; i++)
		if (zones->zones[i].fault.text != NULL)
			return true;
	return p->held == 0
		|| vet_fail(p, VET_SETTINGS,
			store_root(p->vet->view, STORE_ROOT_SETTINGS),
			"have other holders than they say");
}

/* The table's own object. */
static bool
table_is_sound(struct vet_part *p, store_ref ref)
{
	const struct zone_table *table = vet_get(p, VET_TABLE, ref,
		sizeof(*table));

	for (unsigned i = STORE_ROOT_SETTINGS + 1; i < STORE_ROOT_COUNT; i++)
		if (store_root(p->vet->view, (enum store_root)i)
			!= STORE_NONE)
			return vet_fail(p, VET_NONE, STORE_NONE,
				"has more than zones and settings");
	return table != NULL && vet_claim(p, VET_TABLE, ref, sizeof(*table));
}

enum nsd_err
vet_table(struct vet *vet, struct vet_list *zones, struct vet_fault *fault)
{
	store_ref ref = store_root(vet->view, STORE_ROOT_ZONES);
	const struct zone_table *table = table_get(vet->view);
	struct vet_part *parts = malloc(TABLE_SPLIT * sizeof(*parts));
	struct vet_list lists[TABLE_SPLIT] = {{NULL, 0, 0, false}};
	enum nsd_err err = NSD_OK;

	if (parts == NULL)
		return NSD_E_MEMORY;
	vet_part_init(&parts[0], vet, NULL, vet->scratch);
	if (!table_is_sound(&parts[0], ref)) {
		*fault = parts[0].fault;
		err = NSD_E_BUG;
	} else if (!trie_is_empty(&table->apexes)) {
		err = vet_apexes(vet, table, parts, lists, fault);
	}
	*zones = lists[0];
	if (err == NSD_OK && !settings_are_sound(&parts[0], zones)) {
		*fault = parts[0].fault;
		err = NSD_E_BUG;
	}
	if (err == NSD_OK && (table->zone_count != zones->count
			|| table->only != (zones->count == 1
				? zones->zones[0].entry_ref : STORE_NONE))) {
		*fault = (struct vet_fault){.kind = vet_kind_text(VET_TABLE),
			.text = "has not as many zones as it says",
			.ref = ref};
		err = NSD_E_BUG;
	}
	free(parts);
	return err;
}
