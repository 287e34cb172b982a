/* holders.c - which readers hold something back, by what their slots say. A
 * slot is written by another process: nothing in it is trusted. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "store/ages.h"
#include "store/holders.h"

static const struct store_slot *
slot_of(const struct store_writer *writer, unsigned slot)
{
	assert(slot < writer->store->reader_max);
	return (const struct store_slot *)(const void *)(writer->slots
		+ (size_t)slot * STORE_PAGE);
}

static void
holders_add_pin(struct holders *holders, uint32_t place,
	const struct pin_range *found)
{
	struct pin_range *pin;

	/* AXFRs that began at the same moment have the same pin. */
	for (unsigned i = 0; i < holders->count; i++)
		if (holders->pins[i].low == found->low
			&& holders->pins[i].high == found->high)
			return;
	if (holders->count < PIN_RANGES) {
		holders->pins[holders->count++] = *found;
		return;
	}
	assert(holders->count == PIN_RANGES);
	if (holders->merged_at == SLOT_PINS)
		holders->merged_at = place;
	pin = &holders->pins[PIN_RANGES - 1];
	if (found->low < pin->low)
		pin->low = found->low;
	if (found->high > pin->high)
		pin->high = found->high;
}

/* Reads the pin in a place of a slot; pin_max before it. False: no pin is
 * there. */
static bool
slot_get_pin(const struct store_slot *slot, uint32_t place,
	struct pin_range *pin)
{
	if (place >= rcu_load_acquire(&slot->pin_max))
		return false;
	pin->low = rcu_load_acquire(&slot->pins[place].low);
	pin->high = rcu_load_acquire(&slot->pins[place].high);
	return pin->low != 0;
}

void
holders_scan(const struct store_writer *writer, struct holders *holders)
{
	unsigned readers = writer->store->reader_max;
	uint32_t most = 0;
	struct pin_range pin;

	holders->oldest_seen = 0;
	holders->count = 0;
	holders->merged_at = SLOT_PINS;
	/* `seen` before the pins: see store_reader_pin. */
	for (unsigned i = 0; i < readers; i++) {
		const struct store_slot *slot = slot_of(writer, i);
		uint64_t seen = rcu_load_acquire(&slot->seen);
		uint32_t pin_max = rcu_load_acquire(&slot->pin_max);

		if (seen != 0
			&& (holders->oldest_seen == 0
				|| seen < holders->oldest_seen))
			holders->oldest_seen = seen;
		if (pin_max > most)
			most = pin_max;
	}
	/* The first pins of all readers, then the second ones: if there are too
	 * many, the pins of readers with most are merged. */
	for (uint32_t place = 0; place < most && place < SLOT_PINS; place++)
		for (unsigned i = 0; i < readers; i++)
			if (slot_get_pin(slot_of(writer, i), place, &pin))
				holders_add_pin(holders, place, &pin);
}

/* Orders pins by age, the oldest first; of equal age the one that reaches
 * further first. */
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

void
store_end_epoch(struct store_writer *writer)
{
	/* The lock: other threads read the epoch as they retire. */
	pthread_mutex_lock(&writer->retire_lock);
	rcu_store_release(&writer->header->epoch, writer->header->epoch + 1);
	pthread_mutex_unlock(&writer->retire_lock);
}

bool
store_epoch_passed(struct store_writer *writer, uint64_t epoch)
{
	/* An epoch kept in a file may be newer than all of this store. */
	if (epoch > writer->header->epoch)
		epoch = writer->header->epoch;
	if (epoch == writer->header->epoch)
		store_end_epoch(writer);
	/* As in store_reclaim. */
	rcu_full_barrier();
	for (unsigned i = 0; i < writer->store->reader_max; i++) {
		uint64_t seen = rcu_load_acquire(&slot_of(writer, i)->seen);

		if (seen != 0 && seen <= epoch)
			return false;
	}
	return true;
}

/* ---- readers that hold memory back */

/* The most blocks of a list that are looked at; the rest is taken to be alike.
 * A reader may keep millions. */
#define LOOK_MAX 4096u

/* Counts the octets of a list, `total` in all, that were retired in an epoch or
 * later; of a long list, an estimate. */
static uint64_t
octets_since(const struct cds_list_head *list, uint64_t total, uint64_t epoch)
{
	const struct retired_block *block;
	uint64_t octets = 0, since = 0;
	unsigned count = 0;

	cds_list_for_each_entry(block, list, entry) {
		if (++count > LOOK_MAX)
			return (uint64_t)((double)total * (double)since
				/ (double)octets);
		octets += block->octets;
		if (block->epoch >= epoch)
			since += block->octets;
	}
	return since;
}

/* The objects that a reader keeps, as far as they were looked at. */
struct kept {
	uint64_t oldest; /* epoch; 0: nothing */
	uint64_t octets;
	bool pinned;     /* the oldest is, by a pin */
};

static void
kept_add(struct kept *kept, uint64_t epoch, uint64_t octets, bool pinned)
{
	kept->octets += octets;
	if (octets == 0 || (kept->oldest != 0 && kept->oldest <= epoch))
		return;
	kept->oldest = epoch;
	kept->pinned = pinned;
}

/* The oldest pin of a slot that is among those which `held` waits for; 0: none
 * is. */
static uint64_t
slot_find_pin(const struct store_writer *writer, const struct store_slot *slot,
	const struct pin_range *held)
{
	const struct holders *holders = &writer->holders;
	const struct pin_range *merged = &holders->pins[PIN_RANGES - 1];
	bool is_merged = holders->merged_at < SLOT_PINS
		&& held->low == merged->low && held->high == merged->high;
	uint64_t oldest = 0;
	struct pin_range pin;

	for (uint32_t i = 0; i < SLOT_PINS; i++) {
		if (i >= rcu_load_relaxed(&slot->pin_max))
			break;
		if (!slot_get_pin(slot, i, &pin))
			continue;
		if (pin.low == held->low && pin.high == held->high)
			return pin.low;
		if (is_merged && i >= holders->merged_at
			&& pin.low >= held->low && pin.high <= held->high
			&& (oldest == 0 || pin.low < oldest))
			oldest = pin.low;
	}
	return oldest;
}

/* The oldest pin of a slot, whether something waits for it or not; 0: it has
 * none. */
static uint64_t
slot_find_oldest(const struct store_slot *slot)
{
	uint64_t oldest = 0;
	struct pin_range pin;

	for (uint32_t i = 0; i < SLOT_PINS; i++) {
		if (i >= rcu_load_relaxed(&slot->pin_max))
			break;
		if (slot_get_pin(slot, i, &pin)
			&& (oldest == 0 || pin.low < oldest))
			oldest = pin.low;
	}
	return oldest;
}

/* Finds what the reader of a slot keeps. Under the lock. */
static void
slot_holds(struct store_writer *writer, const struct store_slot *slot,
	struct kept *kept)
{
	uint64_t seen = rcu_load_acquire(&slot->seen), pin, held_octets = 0;
	struct held *held;

	*kept = (struct kept){.oldest = 0};
	/* Each list of held objects once, even if several pins of the slot are
	 * the same. */
	cds_list_for_each_entry(held, &writer->held, entry) {
		held_octets += held->octets;
		pin = slot_find_pin(writer, slot, &held->pin);
		if (pin != 0)
			kept_add(kept, pin, held->octets, true);
	}
	/* Objects that waited for pins which have gone, until a reclaim looks
	 * at them. Other readers may keep them; but a reader that changes its
	 * pins all the time is not to seem to keep nothing. */
	pin = writer->unheld_octets > 0 ? slot_find_oldest(slot) : 0;
	if (pin != 0)
		kept_add(kept, pin, octets_since(&writer->unheld,
			writer->unheld_octets, pin), true);
	if (seen != 0)
		kept_add(kept, seen, octets_since(&writer->retired,
			writer->retired_octets - writer->unheld_octets
				- held_octets, seen), false);
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

unsigned
store_get_reader_max(const struct store_writer *writer)
{
	return writer->store->reader_max;
}

bool
store_get_holder(struct store_writer *writer, unsigned at, int64_t now_msec,
	struct store_holder *holder)
{
	const struct store_slot *slot = slot_of(writer, at);
	struct kept kept;
	uint64_t served;

	pthread_mutex_lock(&writer->retire_lock);
	slot_holds(writer, slot, &kept);
	ages_note_served(writer);
	ages_note(writer, now_msec);
	served = ages_get_served(writer, kept.oldest);
	pthread_mutex_unlock(&writer->retire_lock);
	if (kept.oldest == 0)
		return false;
	holder->slot = at;
	holder->pid = rcu_load_relaxed(&slot->pid);
	copy_name(slot, holder->name);
	holder->epoch = kept.oldest;
	holder->pinned = kept.pinned;
	holder->octets = kept.octets;
	holder->age_msec = ages_get(writer, kept.oldest, now_msec);
	holder->served = served;
	return true;
}

bool
store_find_holder(struct store_writer *writer, int64_t now_msec,
	struct store_holder *holder)
{
	struct store_holder one;
	bool found = false;

	for (unsigned i = 0; i < writer->store->reader_max; i++) {
		if (!store_get_holder(writer, i, now_msec, &one)
			|| (found && one.age_msec <= holder->age_msec))
			continue;
		found = true;
		*holder = one;
	}
	return found;
}

uint64_t
store_find_epoch(const struct store_writer *writer, int64_t age_msec,
	int64_t now_msec)
{
	return ages_find(writer, age_msec, now_msec);
}
