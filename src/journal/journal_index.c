/* journal_index.c - the live entries of a journal, for processes that only read
 * it. */
#include "journal/journal_index.h"

#include <stdlib.h>

#include "base/grow.h"
#include "dns/serial.h"
#include "journal/live.h"
#include "journal/recover.h"

/* How often the folder is read anew if a segment goes meanwhile. */
#define TRIES 10

struct journal_index {
	struct live live;
};

/* Drops entries that are still to be judged: xfrd brings them again. */
static void
index_drop_doubtful(struct live *live)
{
	struct live_segment *segment;
	struct live_entry *entry, *next;

	cds_list_for_each_entry(segment, &live->segments, node)
		cds_list_for_each_entry_safe(entry, next, &segment->entries,
			in_segment)
			if (entry->entry.is_doubtful)
				live_remove(live, entry);
}

enum nsd_err
journal_index_open(int dirfd, struct diag_sink *sink,
	struct journal_index **result)
{
	struct journal_index *index = malloc(sizeof(*index));
	struct recover_result recovered;
	enum nsd_err err = NSD_E_NOT_FOUND;

	if (index == NULL)
		return NSD_E_MEMORY;
	for (int i = 0; i < TRIES && err == NSD_E_NOT_FOUND; i++) {
		err = live_init(&index->live);
		if (err == NSD_OK)
			err = recover_segments(dirfd, i < TRIES - 1
				? RECOVER_LOOK : RECOVER_TAKE, sink,
				&index->live, &recovered);
		if (err != NSD_OK)
			live_fini(&index->live);
	}
	if (err != NSD_OK) {
		free(index);
		return err == NSD_E_NOT_FOUND ? NSD_E_AGAIN : err;
	}
	index_drop_doubtful(&index->live);
	*result = index;
	return NSD_OK;
}

void
journal_index_close(struct journal_index *index)
{
	if (index == NULL)
		return;
	live_fini(&index->live);
	free(index);
}

uint64_t
journal_index_count(const struct journal_index *index)
{
	return index->live.entry_count;
}

const struct journal_entry *
journal_index_newest(const struct journal_index *index, const uint8_t *apex)
{
	const struct live_zone *zone = live_find_zone(&index->live, apex);

	return zone != NULL ? &live_newest(zone)->entry : NULL;
}

const struct journal_entry *
journal_index_oldest(const struct journal_index *index, const uint8_t *apex)
{
	const struct live_zone *zone = live_find_zone(&index->live, apex);

	return zone != NULL ? &cds_list_entry(zone->entries.next,
				      struct live_entry, in_zone)->entry
			    : NULL;
}

bool
journal_index_went_back(const struct journal_index *index, const uint8_t *apex,
	uint32_t serial)
{
	const struct live_zone *zone = live_find_zone(&index->live, apex);
	const struct live_entry *entry;

	if (zone == NULL)
		return false;
	cds_list_for_each_entry(entry, &zone->entries, in_zone)
		if (entry->entry.is_back
			&& !serial_is_newer(serial, entry->entry.from))
			return true;
	return false;
}

/* ---- chains */

#define NO_STEP SIZE_MAX

/* An entry that can be reached. */
struct chain_step {
	struct journal_entry entry;
	size_t before; /* the step that leads to it; NO_STEP: it is a whole
			* zone, or the present version leads to it */
	bool arrives;  /* the present version is reached */
};

/* The entries that can be reached, as all are gone through by their ids. */
struct chain_search {
	const struct journal_query *query;
	struct chain_step *steps;
	size_t count, room;
};

/* Finds the latest step that leads to a serial; mostly that is the last one. */
static size_t
search_find(const struct chain_search *search, uint32_t serial)
{
	size_t i = search->count;

	while (i-- > 0)
		if (search->steps[i].entry.to == serial)
			return i;
	return NO_STEP;
}

/* Takes an entry if it can be reached. A whole zone needs no entries before it,
 * and the present version none that lead to it. */
static enum nsd_err
search_on(struct chain_search *search, const struct journal_entry *entry)
{
	const struct journal_query *query = search->query;
	struct chain_step step = {.entry = *entry, .before = NO_STEP};
	struct chain_step *steps;

	step.arrives = query->has_serial && entry->to == query->serial;
	if (entry->kind != JOURNAL_WHOLE && !step.arrives
		&& !(query->has_serial && entry->from == query->serial)) {
		step.before = search_find(search, entry->from);
		if (step.before == NO_STEP)
			return NSD_OK;
	}
	steps = grow_array(search->steps, search->count, &search->room,
		sizeof(*steps));
	if (steps == NULL)
		return NSD_E_MEMORY;
	search->steps = steps;
	steps[search->count++] = step;
	return NSD_OK;
}

/* Makes the chain to the last step. Entries that are not on the way could not
 * be kept or applied, and no note of their end has come to the disk; or others
 * were received while they waited. */
static enum nsd_err
search_end(const struct chain_search *search, struct journal_chain *chain)
{
	size_t last = search->count - 1, count = 0, at;

	*chain = (struct journal_chain){.count = 0};
	if (search->count == 0)
		return NSD_E_NOT_FOUND;
	if (search->steps[last].arrives)
		return NSD_OK;
	for (at = last; at != NO_STEP; at = search->steps[at].before)
		count++;
	chain->entries = calloc(count, sizeof(*chain->entries));
	if (chain->entries == NULL)
		return NSD_E_MEMORY;
	chain->count = count;
	for (at = last; at != NO_STEP; at = search->steps[at].before)
		chain->entries[--count] = search->steps[at].entry;
	return NSD_OK;
}

enum nsd_err
journal_find(const struct journal_index *index,
	const struct journal_query *query, struct journal_chain *chain)
{
	const struct live_zone *zone = live_find_zone(&index->live,
		query->apex);
	struct chain_search search = {.query = query};
	const struct live_entry *entry;
	enum nsd_err err = NSD_OK;

	if (zone == NULL)
		return NSD_E_NOT_FOUND;
	cds_list_for_each_entry(entry, &zone->entries, in_zone) {
		if (query->before != 0 && entry->entry.id >= query->before)
			break;
		err = search_on(&search, &entry->entry);
		if (err != NSD_OK)
			break;
	}
	if (err == NSD_OK)
		err = search_end(&search, chain);
	free(search.steps);
	return err;
}

void
journal_chain_fini(struct journal_chain *chain)
{
	free(chain->entries);
	chain->entries = NULL;
	chain->count = 0;
}
