/* retire.c - objects that readers may still look at: kept until none does,
 * then freed. */
#include "config.h"

#include <stdlib.h>

#include "base/assert.h"
#include "store/heap.h"
#include "store/holders.h"
#include "store/retire.h"
#include "store/trim.h"

#define BLOCK_FIRST 61u /* objects: 512 octets with the head */
#define BLOCK_MAX 8189u

/* ---- blocks of retired objects */

/* The block at the end of a list, with room for an object of this epoch. It is
 * made if need be. NULL: no memory. */
static struct retired_block *
block_get(struct cds_list_head *list, uint64_t epoch)
{
	uint32_t max = BLOCK_FIRST;
	struct retired_block *block;

	if (!cds_list_empty(list)) {
		block = cds_list_entry(list->prev, struct retired_block,
			entry);
		if (block->epoch == epoch && block->count < block->max)
			return block;
		if (block->epoch == epoch)
			max = BLOCK_MAX;
	}
	block = malloc(sizeof(*block) + max * sizeof(block->objects[0]));
	if (block == NULL)
		return NULL;
	block->epoch = epoch;
	block->octets = 0;
	block->count = 0;
	block->max = max;
	cds_list_add_tail(&block->entry, list);
	return block;
}

/* False: there is no memory to remember the object. */
static bool
block_add(struct cds_list_head *list, uint64_t epoch, store_ref ref,
	uint32_t len)
{
	struct retired_block *block = block_get(list, epoch);

	if (block == NULL)
		return false;
	ASSERT_HOT(block->count < block->max);
	block->objects[block->count].ref = ref;
	block->objects[block->count].len = len;
	block->count++;
	block->octets += (uint64_t)store_granules(len) * STORE_GRANULE;
	return true;
}

void
store_retire(struct store_writer *writer, store_ref ref, size_t len)
{
	uint64_t octets = (uint64_t)store_granules(len) * STORE_GRANULE;

	if (ref == STORE_NONE)
		return;
	ASSERT_HOT(len > 0 && len <= STORE_OBJECT_MAX
		&& heap_has(writer, ref));
	writer->retired_total += octets;
	/* Without memory the object stays in use. That is safe, and the next
	 * mark and sweep finds it. */
	if (block_add(&writer->retired, writer->header->epoch, ref,
		    (uint32_t)len))
		writer->retired_octets += octets;
}

/* ---- pins */

/* Finds a pin that may hold an object, or NULL. */
static const struct pin_range *
find_pin(const struct store_writer *w, uint64_t epoch, store_ref ref)
{
	uint64_t born = w->spans[span_of_granule((struct store_writer *)
					(uintptr_t)w, ref)].born;

	for (unsigned i = 0; i < w->holders.count; i++) {
		const struct pin_range *pin = &w->holders.pins[i];

		if (pin->low <= epoch && born <= pin->high)
			return pin;
	}
	return NULL;
}

static bool
pin_is_there(const struct holders *holders, const struct pin_range *pin)
{
	for (unsigned i = 0; i < holders->count; i++)
		if (holders->pins[i].low == pin->low
			&& holders->pins[i].high == pin->high)
			return true;
	return false;
}

/* ---- reclaiming */

/* The list of what waits for a pin; made if need be. NULL: no memory. */
static struct held *
held_get(struct store_writer *writer, const struct pin_range *pin)
{
	struct held *held;

	cds_list_for_each_entry(held, &writer->held, entry)
		if (held->pin.low == pin->low && held->pin.high == pin->high)
			return held;
	held = malloc(sizeof(*held));
	if (held == NULL)
		return NULL;
	held->pin = *pin;
	held->octets = 0;
	CDS_INIT_LIST_HEAD(&held->blocks);
	cds_list_add_tail(&held->entry, &writer->held);
	return held;
}

/* Frees an object, or puts it aside until a pin is gone. */
static void
object_settle(struct store_writer *writer, uint64_t epoch, store_ref ref,
	uint32_t len)
{
	const struct pin_range *pin = find_pin(writer, epoch, ref);
	uint64_t octets = (uint64_t)store_granules(len) * STORE_GRANULE;
	struct held *held;

	ASSERT_HOT(writer->retired_octets >= octets);
	if (pin == NULL) {
		writer->retired_octets -= octets;
		writer->reclaimed_total += octets;
		store_free(&writer->heap, ref, len);
		return;
	}
	held = held_get(writer, pin);
	if (held != NULL && block_add(&held->blocks, epoch, ref, len))
		held->octets += octets;
	else
		writer->retired_octets -= octets; /* as in store_retire */
}

static void
block_settle(struct store_writer *writer, struct retired_block *block)
{
	for (uint32_t i = 0; i < block->count; i++)
		object_settle(writer, block->epoch, block->objects[i].ref,
			block->objects[i].len);
	cds_list_del(&block->entry);
	free(block);
}

/* Settles what waited for pins that are gone, or whose upper end is known now:
 * these have other epochs than before. */
static void
held_settle(struct store_writer *writer)
{
	struct held *held, *next;
	struct retired_block *block, *next_block;
	CDS_LIST_HEAD(gone);

	/* Settling may add to the list: take these off it first. */
	cds_list_for_each_entry_safe(held, next, &writer->held, entry)
		if (!pin_is_there(&writer->holders, &held->pin))
			cds_list_move(&held->entry, &gone);
	cds_list_for_each_entry_safe(held, next, &gone, entry) {
		cds_list_for_each_entry_safe(block, next_block, &held->blocks,
			entry)
			block_settle(writer, block);
		free(held);
	}
}

size_t
store_reclaim(struct store_writer *writer)
{
	struct retired_block *block, *next;
	struct holders *holders = &writer->holders;
	uint64_t epoch = writer->header->epoch;

	if (writer->retired_octets == 0)
		return 0;
	/* Unlinked first, then the epoch: a reader that sees the new epoch
	 * cannot find what was retired in an older one. */
	if (!cds_list_empty(&writer->retired)
		&& cds_list_entry(writer->retired.prev, struct retired_block,
			   entry)
				->epoch
			== epoch)
		rcu_store_release(&writer->header->epoch, epoch + 1);
	/* Either we find a reader online, or it finds what we have published:
	 * see store_reader_online. */
	rcu_full_barrier();
	holders_scan(writer, holders);
	held_settle(writer);
	cds_list_for_each_entry_safe(block, next, &writer->retired, entry) {
		if (holders->oldest_seen != 0
			&& block->epoch >= holders->oldest_seen)
			break;
		/* The epoch has ended in which these were unlinked. */
		assert(block->epoch < writer->header->epoch);
		block_settle(writer, block);
	}
	trim_free_spans(writer);
	return (size_t)writer->retired_octets;
}

/* ---- the end */

static void
blocks_forget(struct store_writer *writer, struct cds_list_head *blocks)
{
	struct retired_block *block;

	cds_list_for_each_entry(block, blocks, entry)
		for (uint32_t i = 0; i < block->count; i++)
			heap_free_granules(writer, block->objects[i].ref,
				store_granules(block->objects[i].len));
}

void
retire_forget(struct store_writer *writer)
{
	struct held *held;

	blocks_forget(writer, &writer->retired);
	cds_list_for_each_entry(held, &writer->held, entry)
		blocks_forget(writer, &held->blocks);
}

static void
blocks_fini(struct cds_list_head *blocks)
{
	struct retired_block *block, *next;

	cds_list_for_each_entry_safe(block, next, blocks, entry)
		free(block);
}

void
retire_fini(struct store_writer *writer)
{
	struct held *held, *next;

	blocks_fini(&writer->retired);
	cds_list_for_each_entry_safe(held, next, &writer->held, entry) {
		blocks_fini(&held->blocks);
		free(held);
	}
}
