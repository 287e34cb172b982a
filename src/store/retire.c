/* retire.c - objects that readers may still look at, and who these are. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "store/writer.h"

#define BLOCK_FIRST 61u /* objects: 512 octets with the head */
#define BLOCK_MAX 8189u

/* ---- blocks */

/* The block at the end of a list that takes an object of this epoch, or NULL. */
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

/* False if there is no memory to remember it by. */
static bool
block_add(struct cds_list_head *list, uint64_t epoch, store_ref ref,
	uint32_t len)
{
	struct retired_block *block = block_get(list, epoch);

	if (block == NULL)
		return false;
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
	writer->retired_total += octets;
	/* If not, the object stays used: that is safe, and mark and sweep
	 * finds it. */
	if (block_add(&writer->retired, writer->header->epoch, ref,
		    (uint32_t)len))
		writer->retired_octets += octets;
}

/* ---- readers */

const struct store_slot *
writer_slot(const struct store_writer *writer, unsigned slot)
{
	return (const struct store_slot *)(const void *)(writer->slots
		+ (size_t)slot * STORE_PAGE);
}

static void
holders_add_pin(struct holders *holders, uint64_t low, uint64_t high)
{
	struct pin_range *pin;

	/* AXFRs of one moment have the same. */
	for (unsigned i = 0; i < holders->count; i++)
		if (holders->pins[i].low == low
			&& holders->pins[i].high == high)
			return;
	if (holders->count < PIN_RANGES) {
		pin = &holders->pins[holders->count++];
		*pin = (struct pin_range){ low, high };
		return;
	}
	pin = &holders->pins[PIN_RANGES - 1];
	if (low < pin->low)
		pin->low = low;
	if (high > pin->high)
		pin->high = high;
}

static void
slot_scan(const struct store_slot *slot, struct holders *holders)
{
	/* In this order: see store_reader_pin. */
	uint64_t seen = rcu_load_acquire(&slot->seen);
	uint32_t pin_max = rcu_load_acquire(&slot->pin_max);

	if (seen != 0
		&& (holders->oldest_seen == 0 || seen < holders->oldest_seen))
		holders->oldest_seen = seen;
	for (uint32_t i = 0; i < pin_max && i < SLOT_PINS; i++) {
		uint64_t low = rcu_load_acquire(&slot->pins[i].low);
		uint64_t high = rcu_load_acquire(&slot->pins[i].high);

		if (low != 0)
			holders_add_pin(holders, low, high);
	}
}

void
holders_scan(const struct store_writer *writer, struct holders *holders)
{
	holders->oldest_seen = 0;
	holders->count = 0;
	for (unsigned i = 0; i < writer->store->reader_max; i++)
		slot_scan(writer_slot(writer, i), holders);
}

/* A pin that may hold the object, or NULL. */
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

/* Frees an object, or lets it wait for a pin. */
static void
object_settle(struct store_writer *writer, uint64_t epoch, store_ref ref,
	uint32_t len)
{
	const struct pin_range *pin = find_pin(writer, epoch, ref);
	uint64_t octets = (uint64_t)store_granules(len) * STORE_GRANULE;
	struct held *held;

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

/* What waited for pins that are gone, or whose upper end is known now. */
static void
held_settle(struct store_writer *writer)
{
	struct held *held, *next;
	struct retired_block *block, *next_block;
	CDS_LIST_HEAD(gone);

	/* Settling may make further ones: take these off first. */
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
	/* Either we see that a reader is online, or it sees what we have
	 * published: see store_reader_online. */
	rcu_full_barrier();
	holders_scan(writer, holders);
	held_settle(writer);
	cds_list_for_each_entry_safe(block, next, &writer->retired, entry) {
		if (holders->oldest_seen != 0
			&& block->epoch >= holders->oldest_seen)
			break;
		block_settle(writer, block);
	}
	trim_some(writer);
	return (size_t)writer->retired_octets;
}

uint64_t
store_epoch(const struct store_writer *writer)
{
	return writer->header->epoch;
}

bool
store_epoch_passed(struct store_writer *writer, uint64_t epoch)
{
	/* One of a store that was attached again may be newer than any. */
	if (epoch > writer->header->epoch)
		epoch = writer->header->epoch;
	if (epoch == writer->header->epoch)
		rcu_store_release(&writer->header->epoch, epoch + 1);
	/* As in store_reclaim. */
	rcu_full_barrier();
	for (unsigned i = 0; i < writer->store->reader_max; i++) {
		uint64_t seen = rcu_load_acquire(&writer_slot(writer, i)->seen);

		if (seen != 0 && seen <= epoch)
			return false;
	}
	return true;
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
retired_forget(struct store_writer *writer)
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
retired_fini(struct store_writer *writer)
{
	struct held *held, *next;

	blocks_fini(&writer->retired);
	cds_list_for_each_entry_safe(held, next, &writer->held, entry) {
		blocks_fini(&held->blocks);
		free(held);
	}
}

/* ---- who holds back */

static uint64_t
octets_since(const struct store_writer *writer, uint64_t epoch)
{
	const struct retired_block *block;
	uint64_t octets = 0;

	cds_list_for_each_entry(block, &writer->retired, entry)
		if (block->epoch >= epoch)
			octets += block->octets;
	return octets;
}

/* The oldest epoch by which a reader holds something back, or 0. */
static uint64_t
slot_holds(const struct store_writer *writer, const struct store_slot *slot,
	uint64_t *octets, bool *pinned)
{
	uint64_t oldest = rcu_load_acquire(&slot->seen);
	uint32_t pin_max = rcu_load_acquire(&slot->pin_max);
	struct held *held;

	*pinned = false;
	*octets = oldest != 0 ? octets_since(writer, oldest) : 0;
	if (*octets == 0)
		oldest = 0;
	for (uint32_t i = 0; i < pin_max && i < SLOT_PINS; i++) {
		uint64_t low = rcu_load_acquire(&slot->pins[i].low);
		uint64_t high = rcu_load_acquire(&slot->pins[i].high);

		cds_list_for_each_entry(held, &writer->held, entry) {
			if (held->pin.low != low || held->pin.high != high)
				continue;
			*octets += held->octets;
			if (oldest == 0 || low < oldest) {
				oldest = low;
				*pinned = true;
			}
		}
	}
	return oldest;
}

/* What others wrote, as text of a line. */
static void
copy_name(const struct store_slot *slot, char name[16])
{
	memcpy(name, slot->name, 16);
	name[15] = '\0';
	for (char *p = name; *p != '\0'; p++)
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
}

bool
store_find_holder(struct store_writer *writer, int64_t now_msec,
	struct store_holder *holder)
{
	bool found = false;

	for (unsigned i = 0; i < writer->store->reader_max; i++) {
		const struct store_slot *slot = writer_slot(writer, i);
		struct holding *holding = &writer->holdings[i];
		uint64_t octets;
		bool pinned;
		uint64_t epoch = slot_holds(writer, slot, &octets, &pinned);

		if (epoch != holding->epoch || epoch == 0) {
			holding->epoch = epoch;
			holding->since_msec = now_msec;
		}
		if (epoch == 0
			|| (found
				&& now_msec - holding->since_msec
					<= holder->age_msec))
			continue;
		found = true;
		holder->slot = i;
		holder->pid = rcu_load_relaxed(&slot->pid);
		copy_name(slot, holder->name);
		holder->epoch = epoch;
		holder->pinned = pinned;
		holder->octets = octets;
		holder->age_msec = now_msec - holding->since_msec;
	}
	return found;
}
