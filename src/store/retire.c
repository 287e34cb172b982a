/* retire.c - objects that readers may still look at: kept until none does,
 * then freed. */
#include "config.h"

#include <stdlib.h>

#include "base/assert.h"
#include "store/ages.h"
#include "store/heap.h"
#include "store/holders.h"
#include "store/retire.h"
#include "store/trim.h"

#define BLOCK_FIRST 61u /* objects: 512 octets with the head */
#define BLOCK_MAX 8189u

/* The most objects that a reclaim looks at in vain, since another pin holds
 * them; the block in which it gets there is finished. */
#define VAIN_MAX 65536u

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

/* Adds an object to a list. False: there is no memory. */
static bool
retired_block_add(struct cds_list_head *list, uint64_t epoch, store_ref ref,
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

/* True if an object was retired in the current epoch. */
static bool
epoch_has_retired(struct store_writer *writer)
{
	return !cds_list_empty(&writer->retired)
		&& cds_list_entry(writer->retired.prev, struct retired_block,
			   entry)
				->epoch
			== writer->header->epoch;
}

void
store_retire(struct store_writer *writer, store_ref ref, size_t len)
{
	uint64_t octets = (uint64_t)store_granules(len) * STORE_GRANULE;

	if (ref == STORE_NONE)
		return;
	ASSERT_HOT(len > 0 && len <= STORE_OBJECT_MAX
		&& heap_has(writer, ref));
	pthread_mutex_lock(&writer->retire_lock);
	if (!epoch_has_retired(writer))
		ages_note_served(writer);
	writer->retired_total += octets;
	/* Without memory the object stays in use. That is safe, and the next
	 * mark and sweep finds it. */
	if (retired_block_add(&writer->retired, writer->header->epoch, ref,
		    (uint32_t)len))
		writer->retired_octets += octets;
	pthread_mutex_unlock(&writer->retire_lock);
}

/* ---- pins */

static bool
pin_is_there(const struct holders *holders, const struct pin_range *pin)
{
	for (unsigned i = 0; i < holders->count; i++)
		if (holders->pins[i].low == pin->low
			&& holders->pins[i].high == pin->high)
			return true;
	return false;
}

/* Counts the steps that may hold an object which was retired in an epoch. */
static unsigned
steps_until(const struct pin_steps *steps, uint64_t epoch)
{
	unsigned count = 0;

	while (count < steps->count && steps->pins[count].low <= epoch)
		count++;
	return count;
}

/* The first of count steps that may hold what was allocated in an epoch or
 * later; count if none does. */
static unsigned
steps_find(const struct pin_steps *steps, unsigned count, uint64_t born)
{
	unsigned from = 0;

	while (from < count) {
		unsigned middle = (from + count) / 2;

		if (steps->pins[middle].high < born)
			from = middle + 1;
		else
			count = middle;
	}
	return from;
}

/* ---- reclaiming */

/* The list of what waits for a step; made if need be. NULL: no memory. */
static struct held *
held_get(struct store_writer *writer, unsigned step)
{
	const struct pin_range *pin = &writer->steps.pins[step];
	struct held *held = writer->steps.held[step];

	if (held != NULL)
		return held;
	cds_list_for_each_entry(held, &writer->held, entry)
		if (held->pin.low == pin->low && held->pin.high == pin->high)
			goto out;
	held = malloc(sizeof(*held));
	if (held == NULL)
		return NULL;
	held->pin = *pin;
	held->octets = 0;
	CDS_INIT_LIST_HEAD(&held->blocks);
	cds_list_add_tail(&held->entry, &writer->held);
out:
	writer->steps.held[step] = held;
	return held;
}

/* Frees an object. */
static void
object_free(struct store_writer *writer, store_ref ref, uint32_t len)
{
	uint64_t octets = (uint64_t)store_granules(len) * STORE_GRANULE;

	ASSERT_HOT(writer->retired_octets >= octets);
	writer->retired_octets -= octets;
	writer->reclaimed_total += octets;
	store_free(&writer->heap, ref, len);
}

/* Puts an object aside until a pin is gone. */
static void
object_hold(struct store_writer *writer, unsigned step, uint64_t epoch,
	store_ref ref, uint32_t len)
{
	uint64_t octets = (uint64_t)store_granules(len) * STORE_GRANULE;
	struct held *held = held_get(writer, step);

	if (held != NULL && retired_block_add(&held->blocks, epoch, ref, len))
		held->octets += octets;
	else
		writer->retired_octets -= octets; /* as in store_retire */
}

/* Frees the objects of a block, or puts them aside. Returns how many it put
 * aside. */
static unsigned
block_settle(struct store_writer *writer, struct retired_block *block)
{
	unsigned count = steps_until(&writer->steps, block->epoch), held = 0;

	for (uint32_t i = 0; i < block->count; i++) {
		store_ref ref = block->objects[i].ref;
		uint32_t len = block->objects[i].len;
		unsigned step = count == 0 ? 0
			: steps_find(&writer->steps, count,
				writer->spans[span_of_granule(writer, ref)]
					.born);

		if (step == count) {
			object_free(writer, ref, len);
		} else {
			object_hold(writer, step, block->epoch, ref, len);
			held++;
		}
	}
	cds_list_del(&block->entry);
	free(block);
	writer_heartbeat(writer);
	return held;
}

/*
 * Settles objects that waited for pins which are gone, or whose upper end is
 * known now: these have other epochs than before. A look at an object that
 * another pin holds instead is in vain. A reader may change its pins all the
 * time, so such looks are bounded in each call; the rest stays for the next
 * ones.
 */
static void
held_settle(struct store_writer *writer)
{
	struct held *held, *next;
	struct retired_block *block, *next_block;
	unsigned vain = 0;

	cds_list_for_each_entry_safe(held, next, &writer->held, entry) {
		if (pin_is_there(&writer->holders, &held->pin))
			continue;
		/* At the end, so that each block has its turn. */
		cds_list_splice(&held->blocks, writer->unheld.prev);
		writer->unheld_octets += held->octets;
		cds_list_del(&held->entry);
		free(held);
	}
	cds_list_for_each_entry_safe(block, next_block, &writer->unheld,
		entry) {
		if (vain >= VAIN_MAX)
			break;
		writer->unheld_octets -= block->octets;
		vain += block_settle(writer, block);
	}
}

/* Ends the epoch, if objects were retired in it, and settles all objects that
 * were retired before readers came online. Under the lock. */
static void
reclaim_run(struct store_writer *writer)
{
	struct retired_block *block, *next;
	struct holders *holders = &writer->holders;
	uint64_t epoch = writer->header->epoch;

	/* Unlinked first, then the epoch: a reader that sees the new epoch
	 * cannot find what was retired in an older one. */
	if (epoch_has_retired(writer))
		rcu_store_release(&writer->header->epoch, epoch + 1);
	/* Either we find a reader online, or it finds what we have published:
	 * see store_reader_online. */
	rcu_full_barrier();
	holders_scan(writer, holders);
	holders_make_steps(holders, &writer->steps);
	held_settle(writer);
	cds_list_for_each_entry_safe(block, next, &writer->retired, entry) {
		if (holders->oldest_seen != 0
			&& block->epoch >= holders->oldest_seen)
			break;
		/* The epoch in which the objects were unlinked has ended. */
		assert(block->epoch < writer->header->epoch);
		(void)block_settle(writer, block);
	}
}

size_t
store_reclaim(struct store_writer *writer)
{
	bool some;
	size_t left;

	pthread_mutex_lock(&writer->retire_lock);
	some = writer->retired_octets > 0;
	if (some)
		reclaim_run(writer);
	left = (size_t)writer->retired_octets;
	pthread_mutex_unlock(&writer->retire_lock);
	if (some)
		trim_free_spans(writer);
	return left;
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
	blocks_forget(writer, &writer->unheld);
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
	blocks_fini(&writer->unheld);
	cds_list_for_each_entry_safe(held, next, &writer->held, entry) {
		blocks_fini(&held->blocks);
		free(held);
	}
}
