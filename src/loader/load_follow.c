/* load_follow.c - another configuration, while zones of the one before are
 * served and some of them are being read. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/log.h"
#include "loader/load_follow.h"
#include "loader/load_history.h"
#include "loader/load_settings.h"
#include "loader/zone_setup.h"
#include "store/writer.h"
#include "zone/table.h"
#include "zonedb/table_edit.h"

/* ---- zones that cannot follow yet ---------------------------------------- */

static enum nsd_err
follow_put_off(struct load_follow *f, struct load_zone *zone)
{
	struct load_zone **behind;

	for (size_t i = 0; i < f->count; i++)
		if (f->behind[i] == zone)
			return NSD_OK;
	behind = grow_array(f->behind, f->count, &f->room, sizeof(*behind));
	if (behind == NULL)
		return NSD_E_MEMORY;
	f->behind = behind;
	f->behind[f->count++] = zone;
	return NSD_OK;
}

static enum nsd_err
follow_keep_former(struct load_follow *f, struct conf *conf)
{
	struct load_former *former = malloc(sizeof(*former));

	if (former == NULL)
		return NSD_E_MEMORY;
	*former = (struct load_former){f->formers, conf};
	f->formers = former;
	return NSD_OK;
}

/* Frees earlier configurations, as no zone points into them any more. */
static void
follow_drop_formers(struct load_follow *f)
{
	struct load_former *former;

	assert(f->count == 0);
	while ((former = f->formers) != NULL) {
		f->formers = former->next;
		if (former->conf == f->kept)
			conf_drop_zones(former->conf);
		else
			conf_destroy(former->conf);
		free(former);
	}
}

/* ---- zones that go ------------------------------------------------------- */

static enum nsd_err
follow_remove_others(struct load_follow *f, struct load_batch *batch,
	const struct conf *old)
{
	const struct store_view *view = store_writer_view(f->writer);
	enum nsd_err err = NSD_OK;
	size_t near = 0;

	for (size_t i = 0; i < old->zone_count && err == NSD_OK; i++) {
		const struct conf_zone *zone = old->zones[i];
		struct load_zone *found;

		if (conf_find_zone_near(batch->conf, zone->wire, &near)
			!= NULL)
			continue;
		found = load_set_find(f->set, view, zone);
		if (found != NULL)
			err = load_batch_drop(batch, found);
		if (err == NSD_E_AGAIN)
			err = follow_put_off(f, found);
	}
	return err;
}

/* ---- zones that stay ----------------------------------------------------- */

/* True if the zone becomes a primary or a secondary. Its files are forgotten
 * then, which a thread may look at: while one does, the whole change waits. */
static bool
follow_changes_role(const struct store_view *view, const struct load_zone *zone,
	const struct zone_setup *setup)
{
	const struct zone_entry *entry = store_get(view, zone->entry);

	return ((entry->flags ^ setup->flags) & ZONE_ENTRY_FROM_XFRD) != 0;
}

/* Has a zone that stays take its new options; later, if a thread reads it. */
static enum nsd_err
follow_stay(struct load_follow *f, struct load_zone *zone,
	const struct conf_zone *conf, const struct zone_setup *setup)
{
	const struct store_view *view = store_writer_view(f->writer);
	bool claimed = load_zone_claim(zone, false);
	enum nsd_err err = NSD_OK;

	if (claimed || !follow_changes_role(view, zone, setup))
		err = table_set_up(f->writer, zone->entry, setup);
	assert(load_set_at(f->set, view, zone->entry) == zone);
	/* The zone may have been about to go. */
	__atomic_store_n(&zone->removed, false, __ATOMIC_SEQ_CST);
	if (!claimed)
		return err == NSD_OK ? follow_put_off(f, zone) : err;
	zone->conf = conf;
	if (err == NSD_OK)
		load_history_prune(f->writer, zone);
	if (load_zone_release(zone))
		f->on_file(f->ctx, zone);
	return err;
}

/* ---- zones that come ----------------------------------------------------- */

/* Adds a zone that is new. */
static enum nsd_err
follow_come(struct load_follow *f, struct load_batch *batch,
	const struct conf_zone *conf, struct zone_setup *setup)
{
	struct load_zone *zone = load_set_take(f->set, conf);

	if (zone == NULL)
		return NSD_E_LIMIT;
	setup->id = (uint32_t)(zone - f->set->zones);
	return load_batch_list(batch, setup, zone);
}

static enum nsd_err
follow_zones(struct load_follow *f, struct load_batch *batch,
	struct zone_setup *setups)
{
	const struct store_view *view = store_writer_view(f->writer);
	const struct conf *new = batch->conf;
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < new->zone_count && err == NSD_OK; i++) {
		const struct conf_zone *zone = new->zones[i];
		/* The zone may be one that is still to go. */
		struct load_zone *found = load_set_find(f->set, view, zone);

		if (found == NULL) {
			err = follow_come(f, batch, zone, &setups[i]);
			continue;
		}
		setups[i].id = (uint32_t)(found - f->set->zones);
		err = follow_stay(f, found, zone, &setups[i]);
	}
	return err;
}

/* ---- whole configurations ------------------------------------------------ */

static void
follow_on_missing(void *ctx, const struct conf_zone *zone)
{
	log_error("pattern does not exist for zone %s pattern %s", zone->name,
		zone->pattern_name);
}

static struct load_batch
follow_batch(const struct load_follow *f, struct conf *conf, bool pass)
{
	return (struct load_batch){
		.set = f->set,
		.writer = f->writer,
		.conf = conf,
		.pass = pass,
		.on_removed = f->on_removed,
		.ctx = f->ctx,
	};
}

/* Zones that come take their places in the set first, and zones that go give
 * theirs back then: a place with another zone in it would be taken for that of
 * a zone that stays. */
static enum nsd_err
follow_publish(struct load_follow *f, const struct conf *old, struct conf *new,
	bool pass)
{
	struct load_batch batch = follow_batch(f, new, pass);
	struct zone_setups setups;
	enum nsd_err err = zone_setups_init(&setups, f->writer, new);

	if (err != NSD_OK)
		return err;
	err = load_settings_publish(setups.edit, new);
	if (err == NSD_OK)
		err = follow_zones(f, &batch, setups.items);
	zone_setups_fini(&setups);
	if (err == NSD_OK)
		err = follow_remove_others(f, &batch, old);
	load_batch_publish(&batch);
	return err;
}

enum nsd_err
load_follow_begin(struct load_follow *f, struct conf *old, struct conf *new,
	bool pass)
{
	enum nsd_err err;

	assert(old != new);
	/* This loader alone knows the zones that were added at run time, and
	 * which zones were secondary: main's configuration has neither. */
	err = conf_add_listed(new, old, follow_on_missing, NULL);
	conf_keep_roles(new, old);
	if (err == NSD_OK)
		err = follow_keep_former(f, old);
	if (err == NSD_OK)
		err = follow_publish(f, old, new, pass);
	if (err == NSD_OK && f->count == 0)
		follow_drop_formers(f);
	return err;
}

/* Follows the configuration with a zone that could not at first. True: that is
 * done. */
static bool
follow_again(struct load_follow *f, struct load_batch *batch,
	struct load_zone *zone, enum nsd_err *err)
{
	const struct zone_entry *entry;
	const struct conf_zone *now;

	if (zone->conf == NULL)
		return true; /* the zone was removed meanwhile */
	entry = store_get(store_writer_view(f->writer), zone->entry);
	now = conf_find_zone(batch->conf, entry->name);
	if (now == NULL) {
		*err = load_batch_drop(batch, zone);
		if (*err != NSD_E_AGAIN)
			return true;
		*err = NSD_OK;
		return false;
	}
	if (!load_zone_claim(zone, false))
		return false;
	assert(!zone->busy);
	zone->conf = now;
	*err = load_batch_list_anew(batch, now);
	(void)load_zone_release(zone);
	/* The zone may have another file by now. */
	f->on_file(f->ctx, zone);
	return true;
}

enum nsd_err
load_follow_up(struct load_follow *f, struct conf *conf, bool pass)
{
	struct load_batch batch = follow_batch(f, conf, pass);
	enum nsd_err err = NSD_OK;
	size_t left = 0;

	if (f->count == 0)
		return NSD_OK;
	for (size_t i = 0; i < f->count; i++)
		if (err != NSD_OK
			|| !follow_again(f, &batch, f->behind[i], &err))
			f->behind[left++] = f->behind[i];
	load_batch_publish(&batch);
	f->count = left;
	if (err == NSD_OK && left == 0)
		follow_drop_formers(f);
	return err;
}
