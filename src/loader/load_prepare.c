/* load_prepare.c - makes the indexes that updates of large zones need, a little
 * at a time. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "loader/load_prepare.h"
#include "store/writer.h"

/* From this many records on, the first change would take 0.5 ms. */
#define RECORDS_MIN 2000u
#define STEP_NAMES 2000u

static bool
prepare_wants(const struct store_view *view, const struct load_zone *zone)
{
	const struct zone *version = load_zone_published(view, zone);

	return version != NULL && version->share == STORE_NONE
		&& version->rr_count >= RECORDS_MIN;
}

void
load_prepare_begin(struct load_prepare *prepare, struct store_writer *writer,
	const struct load_zone *zones, size_t zone_count)
{
	const struct store_view *view = store_writer_view(writer);
	size_t count = 0;

	for (size_t i = 0; i < zone_count; i++)
		count += prepare_wants(view, &zones[i]);
	if (count == 0)
		return;
	/* Without memory the first change of a zone takes long. */
	prepare->entries = malloc(count * sizeof(*prepare->entries));
	if (prepare->entries == NULL)
		return;
	for (size_t i = 0; i < zone_count; i++)
		if (prepare_wants(view, &zones[i])
			&& update_prepare_begin(writer, zones[i].entry,
				   &prepare->zone)
				== NSD_OK)
			prepare->entries[prepare->count++] = zones[i].entry;
}

bool
load_prepare_is_wanted(const struct load_prepare *prepare)
{
	return prepare->at_one || prepare->next < prepare->count;
}

static bool
prepare_is_held(const struct load_prepare *prepare,
	struct store_writer *writer)
{
	const struct zone_entry *entry = store_get(store_writer_view(writer),
		prepare->zone.entry);

	return entry->candidate != STORE_NONE;
}

bool
load_prepare_step(struct load_prepare *prepare, struct store_writer *writer)
{
	assert(prepare->next <= prepare->count);
	if (!prepare->at_one && prepare->next < prepare->count) {
		store_ref entry = prepare->entries[prepare->next++];

		prepare->zone.entry = entry;
		prepare->at_one = !prepare_is_held(prepare, writer)
			&& update_prepare_begin(writer, entry,
					  &prepare->zone)
			== NSD_OK;
	}
	/* A candidate has the index: what it lacks costs memory only. */
	if (prepare->at_one && prepare_is_held(prepare, writer))
		prepare->at_one = false;
	if (prepare->at_one)
		prepare->at_one = update_prepare_step(writer,
					  &prepare->zone, STEP_NAMES)
			== NSD_E_AGAIN;
	if (load_prepare_is_wanted(prepare))
		return true;
	free(prepare->entries);
	*prepare = (struct load_prepare){.entries = NULL};
	return false;
}

void
load_prepare_remove(struct load_prepare *prepare, store_ref entry)
{
	if (prepare->at_one && prepare->zone.entry == entry)
		prepare->at_one = false;
	for (size_t i = prepare->next; i < prepare->count; i++) {
		if (prepare->entries[i] != entry)
			continue;
		prepare->entries[i] = prepare->entries[--prepare->count];
		return;
	}
}
