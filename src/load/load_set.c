/* load_set.c - the zones of the configuration in the loader. */
#include "config.h"

#include <assert.h>
#include <sys/mman.h>

#include "keep/table_edit.h"
#include "load/load_history.h"
#include "load/load_set.h"
#include "load/zone_setup.h"
#include "store/writer.h"
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

static struct load_zone *
set_take(struct load_set *set)
{
	struct load_zone *zone;

	if (set->free != NONE) {
		zone = &set->zones[set->free];
		assert(zone->conf == NULL);
		set->free = zone->entry;
	} else if (set->count < set->room) {
		zone = &set->zones[set->count++];
	} else {
		return NULL;
	}
	*zone = (struct load_zone){.entry = STORE_NONE};
	return zone;
}

struct load_zone *
load_set_take(struct load_set *set, const struct conf_zone *conf)
{
	struct load_zone *zone = set_take(set);

	if (zone != NULL)
		zone->conf = conf;
	return zone;
}

static void
set_give(struct load_set *set, struct load_zone *zone, bool pass)
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
		set_give(set, zone, false);
	}
}

/* ---- zones -------------------------------------------------------------- */

static enum nsd_err
set_list(const struct load_set *set, struct store_writer *writer,
	const struct conf *conf, struct load_zone *zone)
{
	struct zone_setups setups;
	enum nsd_err err = zone_setups_init_one(&setups, writer, conf,
		zone->conf, (uint32_t)(zone - set->zones));

	if (err != NSD_OK)
		return err;
	err = table_get(store_writer_view(writer)) == NULL
		? NSD_E_NOT_FOUND
		: table_adopt(writer, setups.items, &zone->entry);
	if (err == NSD_E_NOT_FOUND)
		err = table_add(writer, setups.items, 1, &zone->entry);
	zone_setups_fini(&setups);
	if (err == NSD_OK)
		load_history_settle(writer, zone);
	return err;
}

enum nsd_err
load_set_add(struct load_set *set, struct store_writer *writer,
	struct conf *conf, const char *name, const char *pattern,
	struct load_zone **zone)
{
	const struct conf_zone *added;
	struct load_zone *place;
	enum nsd_err err = conf_add_zone(conf, name, pattern, &added);

	if (err != NSD_OK)
		return err;
	place = load_set_take(set, added);
	if (place == NULL) {
		err = NSD_E_LIMIT;
		goto undo_conf;
	}
	err = set_list(set, writer, conf, place);
	if (err != NSD_OK)
		goto undo_place;
	*zone = place;
	return NSD_OK;
undo_place:
	set_give(set, place, false);
undo_conf:
	return conf_remove_zone(conf, added->wire) == NSD_OK ? err
							      : NSD_E_BUG;
}

struct load_zone *
load_set_find(const struct load_set *set, const struct store_view *view,
	const struct conf_zone *conf)
{
	const struct zone_entry *entry;
	store_ref ref;

	if (table_find_apex(view, conf->wire, &ref) != NSD_OK)
		return NULL;
	entry = store_get(view, ref);
	return entry->id < set->count && set->zones[entry->id].conf != NULL
			&& set->zones[entry->id].entry == ref
		? &set->zones[entry->id]
		: NULL;
}

enum nsd_err
load_set_list_anew(const struct load_set *set, struct store_writer *writer,
	const struct conf *conf, const struct conf_zone *zone)
{
	struct load_zone *found = load_set_find(set,
		store_writer_view(writer), zone);

	return found == NULL ? NSD_E_NOT_FOUND
			     : set_list(set, writer, conf, found);
}

enum nsd_err
load_set_change(struct load_set *set, struct store_writer *writer,
	struct conf *conf, const char *name, const char *pattern,
	struct load_zone **zone)
{
	const struct conf_zone *of_conf = conf_find_zone_text(conf, name);
	struct load_zone *found = of_conf == NULL ? NULL
		: load_set_find(set, store_writer_view(writer), of_conf);
	const char *old;
	enum nsd_err err;

	if (found == NULL)
		return NSD_E_NOT_FOUND;
	/* Threads that read it look at its options. */
	if (!load_zone_claim(found, false))
		return NSD_E_AGAIN;
	old = of_conf->pattern_name;
	err = conf_change_zone(conf, of_conf->wire, pattern);
	if (err == NSD_OK) {
		err = set_list(set, writer, conf, found);
		if (err != NSD_OK
			&& conf_change_zone(conf, of_conf->wire, old)
				!= NSD_OK)
			err = NSD_E_BUG;
	}
	/* The caller looks at its file in any case. */
	(void)load_zone_release(found);
	if (err == NSD_OK)
		*zone = found;
	return err;
}

enum nsd_err
load_set_drop(struct load_set *set, struct store_writer *writer,
	struct load_zone *zone, bool pass, struct load_set_removed *removed)
{
	const struct zone_entry *entry = store_get(store_writer_view(writer),
		zone->entry);
	enum nsd_err err;

	assert(zone->conf != NULL);
	/* This side sets removed and then looks at reading, load_read_zone
	 * does the opposite: one of the two sees the other. */
	__atomic_store_n(&zone->removed, true, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&zone->reading, __ATOMIC_SEQ_CST))
		return NSD_E_AGAIN;
	removed->entry = zone->entry;
	memcpy(removed->apex, entry->name, entry->leaf.name_len + 1u);
	err = table_take(writer, removed->apex, &removed->zone);
	if (err == NSD_OK)
		set_give(set, zone, pass);
	else
		__atomic_store_n(&zone->removed, false, __ATOMIC_SEQ_CST);
	return err;
}

enum nsd_err
load_set_remove(struct load_set *set, struct store_writer *writer,
	struct conf *conf, const char *name, bool pass,
	struct load_set_removed *removed)
{
	const struct conf_zone *zone_conf = conf_find_zone_text(conf, name);
	struct load_zone *zone = zone_conf == NULL ? NULL
		: load_set_find(set, store_writer_view(writer), zone_conf);
	enum nsd_err err = zone == NULL ? NSD_E_NOT_FOUND
		: load_set_drop(set, writer, zone, pass, removed);

	return err != NSD_OK ? err : conf_remove_zone(conf, zone_conf->wire);
}
