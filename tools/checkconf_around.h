/* checkconf_around.h - the files around a configuration of NSD 4, and what
 * becomes of them. */
#ifndef CHECKCONF_AROUND_H
#define CHECKCONF_AROUND_H

#include "checkconf_report.h"

/*
 * Looks at zone files, differences, zone list, timers, database and keys, and
 * gives notes to the report. Changes to the folder zonesdir, and adds the zones
 * of the list to conf. Cost: linear in zones and in the size of list and
 * timers; opens no zone file.
 */
void checkconf_around(struct conf *conf, struct checkconf_report *report);

#endif
