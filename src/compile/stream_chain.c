/* stream_chain.c - makes the chain of NSEC3 records in a build from a stream:
 * each part brings a piece of it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "compile/stream_pass.h"
#include "store/writer.h"
#include "zonedb/release.h"

/* Checks the next hash of the last record so far, now that it is known which
 * record follows. */
static enum nsd_err
held_check(struct zone_stream *s, const uint8_t *follows)
{
	struct nsec3_entry *last = &s->entries[s->entry_count - 1];
	struct chain_item item = {.entry = *last, .rr = s->held_rr};
	enum nsd_err err;

	assert(s->entry_count > 0);
	if (s->held_rr == NULL)
		return NSD_OK;
	err = chain_check_item(&s->build, &item, follows);
	if (err != NSD_OK)
		return err;
	*last = item.entry;
	free(s->held_rr);
	s->held_rr = NULL;
	return NSD_OK;
}

struct rrbatch_rr *
stream_copy_record(const struct rrbatch_rr *rr)
{
	struct rrbatch_rr *copy = malloc(sizeof(*rr) + rr->rdlen);

	if (copy == NULL)
		return NULL;
	*copy = *rr;
	copy->owner_len = 0;
	memcpy(copy->data, rrbatch_rr_rdata(rr), rr->rdlen);
	return copy;
}

static enum nsd_err
entries_reserve(struct zone_stream *s, size_t count)
{
	size_t room = s->entry_room > 0 ? s->entry_room : 1024;
	struct nsec3_entry *entries;

	while (room < s->entry_count + count)
		room += room / 2;
	if (room == s->entry_room)
		return NSD_OK;
	entries = realloc(s->entries, room * sizeof(*entries));
	if (entries == NULL)
		return NSD_E_MEMORY;
	s->entries = entries;
	s->entry_room = room;
	return NSD_OK;
}

enum nsd_err
stream_take_chain(struct zone_stream *s)
{
	struct build *b = &s->build;
	struct chain_item *items = b->chain_items;
	size_t count = b->chain_count;
	enum nsd_err err = NSD_OK;

	if (count == 0)
		return NSD_OK;
	err = entries_reserve(s, count);
	for (size_t i = 0; i + 1 < count && err == NSD_OK; i++)
		err = chain_check_item(b, &items[i], items[i + 1].entry.hash);
	if (err == NSD_OK && s->entry_count > 0)
		err = held_check(s, items[0].entry.hash);
	if (err != NSD_OK)
		return err;
	if (items[count - 1].rr != NULL) {
		s->held_rr = stream_copy_record(items[count - 1].rr);
		if (s->held_rr == NULL)
			return NSD_E_MEMORY;
	}
	for (size_t i = 0; i < count; i++)
		s->entries[s->entry_count++] = items[i].entry;
	b->chain_count = 0;
	return NSD_OK;
}

enum nsd_err
stream_end_chain(struct zone_stream *s)
{
	struct build *b = &s->build;
	enum nsd_err err;

	if (b->params_rr == NULL)
		return NSD_OK;
	/* There is room for hashes, but no chain. */
	if (s->entry_count == 0)
		return NSD_E_LIMIT;
	err = held_check(s, s->entries[0].hash);
	if (err == NSD_OK)
		err = chain_create(b, s->entries, s->entry_count);
	if (err != NSD_OK)
		return err;
	free(s->entries);
	s->entries = NULL;
	s->entry_count = s->entry_room = 0;
	return NSD_OK;
}

void
stream_undo_chain(struct zone_stream *s)
{
	struct store_heap *heap = build_packer(&s->build)->heap;
	struct releaser r = {store_heap_view(heap), heap, NULL, NULL};

	for (size_t i = 0; i < s->entry_count; i++)
		release_nsec3_record(&r, s->entries[i].record);
	s->entry_count = 0;
}
