/* zone_setup.h - converts the zones of a configuration to the setups that the
 * table of zones takes. */
#ifndef LOADER_ZONE_SETUP_H
#define LOADER_ZONE_SETUP_H

#include <stddef.h>

#include "base/err.h"
#include "conf/conf.h"
#include "zonedb/settings_edit.h"
#include "zonedb/table_edit.h"

struct store_writer;

/* Zones of one pattern have the same options in the store. */
struct zone_setups {
	struct zone_setup *items;   /* in the order of conf->zones */
	struct settings_edit *edit; /* makes the zones' options */
};

/* Makes a setup for each zone of conf, which is kept until zone_setups_fini.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_LIMIT: a list of addresses is too
 * long. */
enum nsd_err zone_setups_init(struct zone_setups *setups,
	struct store_writer *writer, const struct conf *conf) MUST_USE;
/* As zone_setups_init, for one zone of conf: items[0], with that id; edit is
 * NULL if the options of its pattern are published (load_settings_publish). */
enum nsd_err zone_setups_init_one(struct zone_setups *setups,
	struct store_writer *writer, const struct conf *conf,
	const struct conf_zone *zone, uint32_t id) MUST_USE;
void zone_setups_fini(struct zone_setups *setups);

#endif
