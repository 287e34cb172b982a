/* load_batch.c - zones that come, go and get other options, published
 * together. */
#include "config.h"

#include <assert.h>

#include "loader/load_batch.h"
#include "loader/load_history.h"
#include "loader/zone_setup.h"
#include "store/writer.h"
#include "zone/table.h"

/* Most batches change no set of zones, or a single zone. */
static enum nsd_err
batch_open(struct load_batch *b)
{
	return b->change != NULL ? NSD_OK
				 : table_change_begin(b->writer, &b->change);
}

static enum nsd_err
batch_find_entry(const struct load_batch *b, const uint8_t *apex,
	store_ref *entry)
{
	return b->change != NULL
		? table_change_find(b->change, apex, entry)
		: table_find_apex(store_writer_view(b->writer), apex, entry);
}

static struct load_zone *
batch_find(const struct load_batch *b, const struct conf_zone *conf)
{
	store_ref entry;

	return conf != NULL
			&& batch_find_entry(b, conf->wire, &entry) == NSD_OK
		? load_set_at(b->set, store_writer_view(b->writer), entry)
		: NULL;
}

enum nsd_err
load_batch_list(struct load_batch *b, const struct zone_setup *setup,
	struct load_zone *zone)
{
	const struct store_view *view = store_writer_view(b->writer);
	enum nsd_err err;

	assert(setup->id == (uint32_t)(zone - b->set->zones));
	if (batch_find_entry(b, setup->apex, &zone->entry) == NSD_OK) {
		err = table_set_up(b->writer, zone->entry, setup);
	} else {
		err = batch_open(b);
		if (err == NSD_OK)
			err = table_change_add(b->change, setup, &zone->entry);
	}
	/* Readers of the table lead back here by the entry. */
	assert(err != NSD_OK
		|| load_set_at(b->set, view, zone->entry) == zone);
	return err;
}

static enum nsd_err
batch_list_one(struct load_batch *b, struct load_zone *zone)
{
	struct zone_setups setups;
	enum nsd_err err = zone_setups_init_one(&setups, b->writer, b->conf,
		zone->conf, (uint32_t)(zone - b->set->zones));

	if (err != NSD_OK)
		return err;
	err = load_batch_list(b, setups.items, zone);
	zone_setups_fini(&setups);
	if (err == NSD_OK)
		load_history_prune(b->writer, zone);
	return err;
}

enum nsd_err
load_batch_add(struct load_batch *b, const char *name, const char *pattern,
	struct load_zone **zone)
{
	const struct conf_zone *added;
	struct load_zone *place;
	enum nsd_err err = conf_add_zone(b->conf, name, pattern, &added);

	if (err != NSD_OK)
		return err;
	place = load_set_take(b->set, added);
	if (place == NULL) {
		err = NSD_E_LIMIT;
		goto undo_conf;
	}
	err = batch_list_one(b, place);
	if (err != NSD_OK)
		goto undo_place;
	*zone = place;
	return NSD_OK;
undo_place:
	load_set_give(b->set, place, false);
undo_conf:
	return conf_remove_zone(b->conf, added->wire) == NSD_OK ? err
								: NSD_E_BUG;
}

enum nsd_err
load_batch_list_anew(struct load_batch *b, const struct conf_zone *zone)
{
	struct load_zone *found = batch_find(b, zone);

	return found == NULL ? NSD_E_NOT_FOUND : batch_list_one(b, found);
}

enum nsd_err
load_batch_change(struct load_batch *b, const char *name, const char *pattern,
	struct load_zone **zone)
{
	const struct conf_zone *of_conf = conf_find_zone_text(b->conf, name);
	struct load_zone *found = batch_find(b, of_conf);
	const char *old;
	enum nsd_err err;

	if (found == NULL)
		return NSD_E_NOT_FOUND;
	/* A thread that reads the zone looks at its options. */
	if (!load_zone_claim(found, false))
		return NSD_E_AGAIN;
	old = of_conf->pattern_name;
	err = conf_change_zone(b->conf, of_conf->wire, pattern);
	if (err == NSD_OK) {
		err = batch_list_one(b, found);
		if (err != NSD_OK
			&& conf_change_zone(b->conf, of_conf->wire, old)
				!= NSD_OK)
			err = NSD_E_BUG;
	}
	/* The caller looks at the zone's file in any case. */
	(void)load_zone_release(found);
	if (err == NSD_OK)
		*zone = found;
	return err;
}

enum nsd_err
load_batch_drop(struct load_batch *b, struct load_zone *zone)
{
	const struct zone_entry *entry = store_get(
		store_writer_view(b->writer), zone->entry);
	enum nsd_err err;

	assert(zone->conf != NULL);
	/* This side sets removed and then looks at reading, load_read_zone
	 * does the opposite: one of the two sees the other. */
	__atomic_store_n(&zone->removed, true, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&zone->reading, __ATOMIC_SEQ_CST))
		return NSD_E_AGAIN;
	err = batch_open(b);
	if (err == NSD_OK)
		err = table_change_remove(b->change, entry->name);
	if (err == NSD_OK)
		load_set_give(b->set, zone, b->pass);
	else
		__atomic_store_n(&zone->removed, false, __ATOMIC_SEQ_CST);
	return err;
}

enum nsd_err
load_batch_remove(struct load_batch *b, const char *name)
{
	const struct conf_zone *conf = conf_find_zone_text(b->conf, name);
	struct load_zone *zone = batch_find(b, conf);
	enum nsd_err err = zone == NULL ? NSD_E_NOT_FOUND
					: load_batch_drop(b, zone);

	return err != NSD_OK ? err : conf_remove_zone(b->conf, conf->wire);
}

void
load_batch_publish(struct load_batch *b)
{
	if (b->change != NULL)
		table_change_publish(b->change, b->on_removed, b->ctx);
	b->change = NULL;
}
