/* zone_setup.c - converts the zones of a configuration to what the store
 * takes. */
#include "config.h"

#include <stdlib.h>

#include "load/load_settings.h"
#include "load/zone_setup.h"
#include "store/writer.h"

static void
setup_fill(struct zone_setup *setup, const struct conf_zone *zone, uint32_t id)
{
	setup->apex = zone->wire;
	setup->id = id;
	setup->flags = zone->options->request_xfr.count > 0
		? ZONE_ENTRY_SECONDARY
		: 0;
}

enum nsd_err
zone_setups_init(struct zone_setups *setups, struct store_writer *writer,
	const struct conf *conf)
{
	const struct conf_pattern *last = NULL;
	store_ref options = STORE_NONE;
	enum nsd_err err;

	setups->edit = NULL;
	setups->items = calloc(conf->zone_count + 1, sizeof(*setups->items));
	if (setups->items == NULL)
		return NSD_E_MEMORY;
	err = settings_edit_begin(writer, &setups->edit);
	for (size_t i = 0; i < conf->zone_count && err == NSD_OK; i++) {
		const struct conf_zone *zone = conf->zones[i];

		/* Zones of one pattern mostly stand together. */
		if (zone->options != last)
			err = load_settings_options(setups->edit,
				zone->options, &options);
		last = zone->options;
		setup_fill(&setups->items[i], zone, (uint32_t)i);
		setups->items[i].options = options;
	}
	if (err != NSD_OK)
		zone_setups_fini(setups);
	return err;
}

enum nsd_err
zone_setups_init_one(struct zone_setups *setups, struct store_writer *writer,
	const struct conf *conf, const struct conf_zone *zone, uint32_t id)
{
	enum nsd_err err;

	setups->edit = NULL;
	setups->items = calloc(1, sizeof(*setups->items));
	if (setups->items == NULL)
		return NSD_E_MEMORY;
	setup_fill(setups->items, zone, id);
	if (load_settings_find(store_writer_view(writer), conf, zone->options,
		    &setups->items->options))
		return NSD_OK;
	err = settings_edit_begin(writer, &setups->edit);
	if (err == NSD_OK)
		err = load_settings_options(setups->edit, zone->options,
			&setups->items->options);
	if (err != NSD_OK)
		zone_setups_fini(setups);
	return err;
}

void
zone_setups_fini(struct zone_setups *setups)
{
	settings_edit_end(setups->edit);
	free(setups->items);
	setups->items = NULL;
	setups->edit = NULL;
}
