/* parts_chain.c - makes the chain of NSEC3 records in a build in parts: each
 * range brings a piece of it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "build/parts_pass.h"
#include "keep/release.h"
#include "store/writer.h"

/* Checks the next hash of the last record so far, now that it is known which
 * record follows. */
static enum nsd_err
held_check(struct zone_parts *p, const uint8_t *follows)
{
	struct nsec3_entry *last = &p->entries[p->entry_count - 1];
	struct chain_item item = {.entry = *last, .rr = p->held_rr};
	enum nsd_err err;

	assert(p->entry_count > 0);
	if (p->held_rr == NULL)
		return NSD_OK;
	err = chain_check_item(&p->build, &item, follows);
	if (err != NSD_OK)
		return err;
	*last = item.entry;
	free(p->held_rr);
	p->held_rr = NULL;
	return NSD_OK;
}

struct rrbatch_rr *
parts_copy_record(const struct rrbatch_rr *rr)
{
	struct rrbatch_rr *copy = malloc(sizeof(*rr) + rr->rdlen);

	if (copy == NULL)
		return NULL;
	*copy = *rr;
	copy->owner_len = 0;
	memcpy(copy->data, rrbatch_rr_rdata(rr), rr->rdlen);
	return copy;
}

enum nsd_err
parts_take_chain(struct zone_parts *p)
{
	struct build *b = &p->build;
	struct chain_item *items = b->chain_items;
	size_t count = b->chain_count;
	enum nsd_err err = NSD_OK;

	if (count == 0)
		return NSD_OK;
	if (count > p->entry_room - p->entry_count)
		return NSD_E_AGAIN;
	for (size_t i = 0; i + 1 < count && err == NSD_OK; i++)
		err = chain_check_item(b, &items[i], items[i + 1].entry.hash);
	if (err == NSD_OK && p->entry_count > 0)
		err = held_check(p, items[0].entry.hash);
	if (err != NSD_OK)
		return err;
	if (items[count - 1].rr != NULL) {
		p->held_rr = parts_copy_record(items[count - 1].rr);
		if (p->held_rr == NULL)
			return NSD_E_MEMORY;
	}
	for (size_t i = 0; i < count; i++)
		p->entries[p->entry_count++] = items[i].entry;
	b->chain_count = 0;
	return NSD_OK;
}

enum nsd_err
parts_end_chain(struct zone_parts *p)
{
	struct build *b = &p->build;
	enum nsd_err err;

	if (b->params_rr == NULL)
		return NSD_OK;
	if (p->entry_count == 0) {
		chain_warn_of_no_record(b);
		return NSD_OK;
	}
	err = held_check(p, p->entries[0].hash);
	if (err == NSD_OK)
		err = chain_create(b, p->entries, p->entry_count);
	if (err != NSD_OK)
		return err;
	free(p->entries);
	p->entries = NULL;
	p->entry_count = p->entry_room = 0;
	return NSD_OK;
}

void
parts_undo_chain(struct zone_parts *p)
{
	struct store_heap *heap = build_packer(&p->build)->heap;
	struct releaser r = {store_heap_view(heap), heap, NULL, NULL};

	for (size_t i = 0; i < p->entry_count; i++)
		release_nsec3_record(&r, p->entries[i].record);
	p->entry_count = 0;
}
