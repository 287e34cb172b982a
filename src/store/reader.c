/* reader.c - a process that reads the store: its view, slot and pins. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/rcu.h"
#include "store/file.h"

struct store_reader {
	struct store_view view;
	struct store_slot *slot;
	const struct store_header *header;
	uint64_t seen;   /* as in the slot */
	size_t mapped;   /* octets of view; 0: the writer's mapping */
	size_t last_pins; /* how many share the last place in the slot */
	bool pins_open;  /* the upper end of some is not known yet */
};

static enum nsd_err
reader_map(struct store *store, unsigned slot, struct store_reader *reader)
{
	/* In the writer's process its mapping does for both: the process can
	 * write to the store anyway. */
	if (store->writer_base != NULL && store->writer_pid == getpid()) {
		reader->view.base = store->writer_base;
		reader->slot = (struct store_slot *)(store->writer_slots
			+ (size_t)slot * STORE_PAGE);
		return NSD_OK;
	}
	if (store->read_fd < 0)
		return NSD_E_DENIED;
	reader->view.base = file_map(store->read_fd, store->reservation,
		PROT_READ);
	if (reader->view.base == NULL)
		return NSD_E_SYSTEM;
	reader->slot = mmap(NULL, STORE_PAGE, PROT_READ | PROT_WRITE,
		MAP_SHARED, store->slots_fd, (off_t)slot * STORE_PAGE);
	if (reader->slot == MAP_FAILED) {
		munmap((void *)(uintptr_t)reader->view.base,
			store->reservation);
		return NSD_E_SYSTEM;
	}
	reader->mapped = store->reservation;
	return NSD_OK;
}

/* Takes out whatever a former reader left in the slot. */
static void
slot_clear(struct store_slot *slot)
{
	for (uint32_t i = 0; i < slot->pin_max && i < SLOT_PINS; i++)
		rcu_store_release(&slot->pins[i].low, 0);
	rcu_store_release(&slot->pin_max, 0);
	rcu_store_release(&slot->seen, 0);
	memset(slot->name, 0, sizeof(slot->name));
}

enum nsd_err
store_reader_open(struct store *store, unsigned slot, const char *name,
	struct store_reader **reader)
{
	struct store_reader *r;
	enum nsd_err err;
	size_t len = strlen(name);

	if (slot >= store->reader_max)
		return NSD_E_LIMIT;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return NSD_E_MEMORY;
	err = reader_map(store, slot, r);
	if (err != NSD_OK) {
		free(r);
		return err;
	}
	r->header = (const struct store_header *)r->view.base;
	if (len >= sizeof(r->slot->name))
		len = sizeof(r->slot->name) - 1;
	slot_clear(r->slot);
	memcpy(r->slot->name, name, len);
	rcu_store_release(&r->slot->pid, getpid());
	if (store->maker != getpid() && r->mapped != 0)
		file_drop_descriptors(store);
	*reader = r;
	return NSD_OK;
}

void
store_reader_close(struct store_reader *reader)
{
	if (reader == NULL)
		return;
	rcu_store_release(&reader->slot->pid, 0);
	slot_clear(reader->slot);
	if (reader->mapped != 0) {
		munmap(reader->slot, STORE_PAGE);
		munmap((void *)(uintptr_t)reader->view.base, reader->mapped);
	}
	free(reader);
}

const struct store_view *
store_reader_view(const struct store_reader *reader)
{
	return &reader->view;
}

void
store_reader_online(struct store_reader *reader)
{
	ASSERT_HOT(reader->seen == 0);
	reader->seen = rcu_load_acquire(&reader->header->epoch);
	ASSERT_HOT(reader->seen != 0);
	rcu_store_relaxed(&reader->slot->seen, reader->seen);
	/* Either the writer's scan of the slots finds us online, or we find
	 * all that it published before the scan. */
	rcu_full_barrier();
}

/* Sets the upper end of new pins: all that they hold had been published when
 * this epoch was loaded. */
static void
pins_close(struct store_reader *reader, uint64_t epoch)
{
	struct store_slot *slot = reader->slot;

	assert(slot->pin_max <= SLOT_PINS);
	for (uint32_t i = 0; i < slot->pin_max; i++)
		if (slot->pins[i].high == UINT64_MAX)
			rcu_store_relaxed(&slot->pins[i].high, epoch);
	reader->pins_open = false;
}

void
store_reader_quiescent(struct store_reader *reader)
{
	uint64_t epoch = rcu_load_acquire(&reader->header->epoch);

	if (reader->pins_open)
		pins_close(reader, epoch);
	if (epoch == reader->seen)
		return;
	if (reader->seen == 0) {
		store_reader_online(reader);
		return;
	}
	ASSERT_HOT(epoch > reader->seen);
	/* Release: all our reads of the old version come before this. */
	reader->seen = epoch;
	rcu_store_release(&reader->slot->seen, epoch);
}

void
store_reader_offline(struct store_reader *reader)
{
	if (reader->pins_open)
		pins_close(reader, rcu_load_acquire(&reader->header->epoch));
	reader->seen = 0;
	rcu_store_release(&reader->slot->seen, 0);
}

enum nsd_err
store_reader_pin(struct store_reader *reader, struct store_pin *pin)
{
	struct store_slot *slot = reader->slot;
	uint32_t i = 0;

	if (reader->seen == 0)
		return NSD_E_BUG;
	while (i < SLOT_PINS - 1 && slot->pins[i].low != 0)
		i++;
	if (i == SLOT_PINS - 1)
		reader->last_pins++;
	if (i >= slot->pin_max)
		rcu_store_release(&slot->pin_max, i + 1);
	/* The upper end first: with an old one the pin would hold too little.
	 * When we move on, `seen` is stored with release order: a writer that
	 * sees the new `seen` sees the pin. */
	rcu_store_relaxed(&slot->pins[i].high, UINT64_MAX);
	if (slot->pins[i].low == 0)
		rcu_store_release(&slot->pins[i].low, reader->seen);
	reader->pins_open = true;
	pin->index = i;
	return NSD_OK;
}

bool
store_reader_has_pinned(const struct store_reader *reader,
	const struct store_pin *pin, uint64_t epoch)
{
	assert(pin->index < SLOT_PINS);
	return reader->slot->pins[pin->index].low <= epoch;
}

void
store_reader_unpin(struct store_reader *reader, struct store_pin *pin)
{
	assert(pin->index < SLOT_PINS);
	assert(reader->slot->pins[pin->index].low != 0);
	assert(pin->index != SLOT_PINS - 1 || reader->last_pins > 0);
	/* The last place is in use until the last pin is gone that shares
	 * it. */
	if (pin->index == SLOT_PINS - 1 && --reader->last_pins > 0)
		return;
	rcu_store_release(&reader->slot->pins[pin->index].low, 0);
}

store_ref
store_root(const struct store_view *view, enum store_root root)
{
	const struct store_header *header =
		(const struct store_header *)view->base;

	ASSERT_HOT((unsigned)root < STORE_ROOT_COUNT);
	return rcu_load_acquire(&header->roots[root]);
}
