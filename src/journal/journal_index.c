/* journal_index.c - the live entries of a journal, for processes that only read
 * it. */
#include "journal/journal_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "dns/serial.h"
#include "journal/live.h"
#include "journal/recover.h"

/* How often the folder is read anew if a segment goes meanwhile. */
#define TRIES 10

struct journal_index {
	struct live live;
};

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

/* The entries that lead on, as they are gone through by their ids. */
struct chain_search {
	const struct journal_query *query;
	bool begun;      /* a serial is reached */
	uint32_t serial; /* which */
	bool met;        /* the zone's present serial was reached, or a whole
			  * zone */
	struct journal_chain chain;
	size_t first;    /* of the chain, that leads there: those before it do
			  * so if this one, a whole zone, was never applied */
	size_t room;
};

static enum nsd_err
search_add(struct chain_search *search, const struct journal_entry *entry)
{
	struct journal_entry *entries = grow_array(search->chain.entries,
		search->chain.count, &search->room, sizeof(*entries));

	if (entries == NULL)
		return NSD_E_MEMORY;
	search->chain.entries = entries;
	entries[search->chain.count++] = *entry;
	search->serial = entry->to;
	search->begun = search->met = true;
	return NSD_OK;
}

/* Notes that the way has come to the present version. */
static void
search_arrive(struct chain_search *search)
{
	search->chain.count = search->first = 0;
	search->serial = search->query->serial;
	search->begun = search->met = true;
}

/* Goes back to an earlier serial of the way. False: the way has not come by
 * it. */
static bool
search_go_back(struct chain_search *search, uint32_t serial)
{
	const struct journal_entry *entries = search->chain.entries;
	size_t count = search->chain.count, first;

	while (count > 0 && entries[count - 1].to != serial)
		count--;
	if (count == 0)
		return false;
	first = count - 1;
	while (first > 0 && entries[first].kind != JOURNAL_WHOLE)
		first--;
	search->chain.count = count;
	search->first = first;
	search->serial = serial;
	return true;
}

/* Takes an entry if it leads on. A whole zone needs no entries before it, and
 * the present version none that lead to it. Differences from an earlier serial
 * of the way were received when that was served: what came between could not be
 * kept or applied, and no note of its end has come to the disk. An entry that
 * does not follow is passed over: it was never applied. */
static enum nsd_err
search_on(struct chain_search *search, const struct journal_entry *entry)
{
	const struct journal_query *query = search->query;
	enum nsd_err err;

	if (entry->kind == JOURNAL_WHOLE)
		search->first = search->chain.count;
	else if (query->has_serial && entry->from == query->serial)
		search->chain.count = search->first = 0;
	else if (!search->begun || (entry->from != search->serial
		&& !search_go_back(search, entry->from))) {
		if (query->has_serial && entry->to == query->serial)
			search_arrive(search);
		return NSD_OK;
	}
	err = search_add(search, entry);
	if (err == NSD_OK && query->has_serial && entry->to == query->serial)
		search_arrive(search);
	return err;
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
	if (err == NSD_OK && !search.met)
		err = NSD_E_NOT_FOUND;
	if (err != NSD_OK) {
		free(search.chain.entries);
		return err;
	}
	*chain = search.chain;
	chain->count -= search.first;
	if (chain->count > 0)
		memmove(chain->entries, chain->entries + search.first,
			chain->count * sizeof(*chain->entries));
	return NSD_OK;
}

void
journal_chain_fini(struct journal_chain *chain)
{
	free(chain->entries);
	chain->entries = NULL;
	chain->count = 0;
}
