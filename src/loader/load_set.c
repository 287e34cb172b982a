/* load_set.c - the zones of the configuration in the loader. */
#include "config.h"

#include <assert.h>
#include <sys/mman.h>

#include "loader/load_set.h"
#include "zone/table.h"

#define NONE UINT32_MAX

/* Threads and lists point at zones, so these never move. There is address space
 * for many more zones, and memory only for those that are used. */
enum nsd_err
load_set_init(struct load_set *set, size_t count)
{
	size_t room = count + LOAD_SET_MORE;
	void *p = mmap(NULL, room * sizeof(*set->zones),
		PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	/* The zones that are there can do without the rest. */
	if (p == MAP_FAILED) {
		room = count + 1;
		p = mmap(NULL, room * sizeof(*set->zones),
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	}
	if (p == MAP_FAILED)
		return NSD_E_MEMORY;
	set->zones = p;
	set->count = count;
	set->room = room;
	set->free = NONE;
	set->resting = NONE;
	return NSD_OK;
}

/* ---- places ------------------------------------------------------------- */

struct load_zone *
load_set_take(struct load_set *set, const struct conf_zone *conf)
{
	struct load_zone *zone;

	if (set->free != NONE) {
		zone = &set->zones[set->free];
		assert(zone->conf == NULL && !zone->reading);
		set->free = zone->entry;
	} else if (set->count < set->room) {
		zone = &set->zones[set->count++];
	} else {
		return NULL;
	}
	assert(conf != NULL && set->count <= set->room);
	*zone = (struct load_zone){.conf = conf, .entry = STORE_NONE};
	return zone;
}

void
load_set_give(struct load_set *set, struct load_zone *zone, bool pass)
{
	uint32_t *list = pass ? &set->resting : &set->free;

	assert(zone >= set->zones && zone < set->zones + set->count);
	assert(!__atomic_load_n(&zone->reading, __ATOMIC_RELAXED));
	zone->conf = NULL;
	zone->entry = *list;
	*list = (uint32_t)(zone - set->zones);
}

void
load_set_end_pass(struct load_set *set)
{
	while (set->resting != NONE) {
		struct load_zone *zone = &set->zones[set->resting];

		set->resting = zone->entry;
		load_set_give(set, zone, false);
	}
}

/* ---- zones -------------------------------------------------------------- */

struct load_zone *
load_set_at(const struct load_set *set, const struct store_view *view,
	store_ref ref)
{
	const struct zone_entry *entry = store_get(view, ref);

	return entry->id < set->count && set->zones[entry->id].conf != NULL
			&& set->zones[entry->id].entry == ref
		? &set->zones[entry->id]
		: NULL;
}

struct load_zone *
load_set_find(const struct load_set *set, const struct store_view *view,
	const struct conf_zone *conf)
{
	store_ref ref;

	return table_find_apex(view, conf->wire, &ref) == NSD_OK
		? load_set_at(set, view, ref)
		: NULL;
}
