/* holders.c - which readers hold something back, by what their slots say. A
 * slot is written by another process: nothing in it is trusted. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "store/holders.h"

static const struct store_slot *
slot_of(const struct store_writer *writer, unsigned slot)
{
	assert(slot < writer->store->reader_max);
	return (const struct store_slot *)(const void *)(writer->slots
		+ (size_t)slot * STORE_PAGE);
}

static void
holders_add_pin(struct holders *holders, uint64_t low, uint64_t high)
{
	struct pin_range *pin;

	/* AXFRs that began at the same moment have the same pin. */
	for (unsigned i = 0; i < holders->count; i++)
		if (holders->pins[i].low == low
			&& holders->pins[i].high == high)
			return;
	if (holders->count < PIN_RANGES) {
		pin = &holders->pins[holders->count++];
		*pin = (struct pin_range){ low, high };
		return;
	}
	assert(holders->count == PIN_RANGES);
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
		slot_scan(slot_of(writer, i), holders);
}

/* The oldest first; of two of an age the one that reaches further. */
static int
compare_pins(const void *a, const void *b)
{
	const struct pin_range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->high < y->high) - (x->high > y->high);
}

void
holders_make_steps(const struct holders *holders, struct pin_steps *steps)
{
	struct pin_range pins[PIN_RANGES];

	memcpy(pins, holders->pins, holders->count * sizeof(*pins));
	if (holders->count > 1)
		qsort(pins, holders->count, sizeof(*pins), compare_pins);
	steps->count = 0;
	for (unsigned i = 0; i < holders->count; i++) {
		if (steps->count > 0
			&& pins[i].high <= steps->pins[steps->count - 1].high)
			continue;
		steps->pins[steps->count] = pins[i];
		steps->held[steps->count++] = NULL;
	}
}

uint64_t
store_epoch(const struct store_writer *writer)
{
	return writer->header->epoch;
}

bool
store_epoch_passed(struct store_writer *writer, uint64_t epoch)
{
	/* An epoch kept in a file may be newer than all of this store. */
	if (epoch > writer->header->epoch)
		epoch = writer->header->epoch;
	if (epoch == writer->header->epoch) {
		/* Other threads read it as they retire. */
		pthread_mutex_lock(&writer->retire_lock);
		rcu_store_release(&writer->header->epoch, epoch + 1);
		pthread_mutex_unlock(&writer->retire_lock);
	}
	/* As in store_reclaim. */
	rcu_full_barrier();
	for (unsigned i = 0; i < writer->store->reader_max; i++) {
		uint64_t seen = rcu_load_acquire(&slot_of(writer, i)->seen);

		if (seen != 0 && seen <= epoch)
			return false;
	}
	return true;
}

/* ---- who holds back */

/* Octets that wait for readers and were retired in an epoch or later. */
static uint64_t
octets_since(const struct store_writer *writer, uint64_t epoch)
{
	struct store_writer *w = (struct store_writer *)(uintptr_t)writer;
	const struct retired_block *block;
	uint64_t octets = 0;

	pthread_mutex_lock(&w->retire_lock);
	cds_list_for_each_entry(block, &w->retired, entry)
		if (block->epoch >= epoch)
			octets += block->octets;
	pthread_mutex_unlock(&w->retire_lock);
	return octets;
}

static bool
slot_has_pin(const struct store_slot *slot, const struct pin_range *pin)
{
	uint32_t pin_max = rcu_load_acquire(&slot->pin_max);

	for (uint32_t i = 0; i < pin_max && i < SLOT_PINS; i++)
		if (rcu_load_acquire(&slot->pins[i].low) == pin->low
			&& rcu_load_acquire(&slot->pins[i].high) == pin->high)
			return true;
	return false;
}

/* The oldest epoch of which a reader holds something back, or 0. out: the
 * octets, and whether a pin is the cause. */
static uint64_t
slot_holds(const struct store_writer *writer, const struct store_slot *slot,
	uint64_t *octets, bool *pinned)
{
	uint64_t oldest = rcu_load_acquire(&slot->seen);
	struct held *held;

	*pinned = false;
	*octets = oldest != 0 ? octets_since(writer, oldest) : 0;
	if (*octets == 0)
		oldest = 0;
	/* Once each, however many pins of it are the same. */
	cds_list_for_each_entry(held, &writer->held, entry) {
		if (!slot_has_pin(slot, &held->pin))
			continue;
		*octets += held->octets;
		if (oldest == 0 || held->pin.low < oldest) {
			oldest = held->pin.low;
			*pinned = true;
		}
	}
	return oldest;
}

/* Copies what another process wrote, made fit for a line of text. */
static void
copy_name(const struct store_slot *slot, char name[16])
{
	memcpy(name, slot->name, 16);
	name[15] = '\0';
	for (char *p = name; *p != '\0'; p++)
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
}

unsigned
store_count_readers(const struct store_writer *writer)
{
	unsigned count = 0;

	for (unsigned i = 0; i < writer->store->reader_max; i++)
		count += rcu_load_acquire(&slot_of(writer, i)->pid) != 0;
	return count;
}

bool
store_find_holder(struct store_writer *writer, int64_t now_msec,
	struct store_holder *holder)
{
	bool found = false;

	for (unsigned i = 0; i < writer->store->reader_max; i++) {
		const struct store_slot *slot = slot_of(writer, i);
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
