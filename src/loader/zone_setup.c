/* zone_setup.c - converts the zones of a configuration to setups for the
 * store. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "loader/load_settings.h"
#include "loader/zone_setup.h"
#include "store/writer.h"

/* Keeps the name as written, if the store would print the apex differently. */
static void
setup_name(struct zone_setup *setup, const struct conf_zone *zone)
{
	char text[NAME_TEXT_MAX];
	size_t len = name_print_text(zone->wire, text);

	if (strcmp(zone->name, text) == 0)
		setup->flags |= ZONE_ENTRY_DOT;
	else if (strlen(zone->name) != len - 1
		|| memcmp(zone->name, text, len - 1) != 0)
		setup->name = zone->name;
}

/* Keeps the name of the zone file, if the pattern gives another one. */
static void
setup_file(struct zone_setup *setup, const struct store_view *view,
	const struct conf_zone *zone)
{
	const struct settings_pattern *pattern = store_get(view,
		setup->pattern);
	const char *file = settings_pattern_text(pattern, pattern->file_at);

	if (zone->zonefile != NULL
		&& (file == NULL || strcmp(file, zone->zonefile) != 0))
		setup->file = zone->zonefile;
}

static void
setup_fill(struct zone_setup *setup, const struct store_view *view,
	const struct conf_zone *zone, uint32_t id)
{
	setup->apex = zone->wire;
	setup->id = id;
	if (conf_is_from_xfrd(zone->options))
		setup->flags |= ZONE_ENTRY_FROM_XFRD;
	if (zone->was_from_xfrd)
		setup->flags |= ZONE_ENTRY_WAS_FROM_XFRD;
	if (zone->pattern_name != NULL)
		setup->flags |= ZONE_ENTRY_LISTED;
	setup_name(setup, zone);
	setup_file(setup, view, zone);
}

enum nsd_err
zone_setups_init(struct zone_setups *setups, struct store_writer *writer,
	const struct conf *conf)
{
	const struct store_view *view = store_writer_view(writer);
	const struct conf_pattern *last = NULL;
	store_ref options = STORE_NONE, pattern = STORE_NONE;
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
			err = load_settings_pattern(setups->edit,
				zone->options, &options, &pattern);
		if (err != NSD_OK)
			break;
		last = zone->options;
		setups->items[i].options = options;
		setups->items[i].pattern = pattern;
		setup_fill(&setups->items[i], view, zone, (uint32_t)i);
	}
	if (err != NSD_OK)
		zone_setups_fini(setups);
	return err;
}

enum nsd_err
zone_setups_init_one(struct zone_setups *setups, struct store_writer *writer,
	const struct conf *conf, const struct conf_zone *zone, uint32_t id)
{
	const struct store_view *view = store_writer_view(writer);
	struct zone_setup *setup = calloc(1, sizeof(*setup));
	const struct settings_pattern *pattern;
	enum nsd_err err = NSD_OK;

	setups->edit = NULL;
	setups->items = setup;
	if (setup == NULL)
		return NSD_E_MEMORY;
	if (load_settings_find(view, conf, zone->options, &setup->pattern)) {
		pattern = store_get(view, setup->pattern);
		setup->options = pattern->options;
	} else {
		err = settings_edit_begin(writer, &setups->edit);
		if (err == NSD_OK)
			err = load_settings_pattern(setups->edit,
				zone->options, &setup->options,
				&setup->pattern);
	}
	if (err == NSD_OK)
		setup_fill(setup, view, zone, id);
	else
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
