/* checkconf_around.h - the files around a configuration of NSD 4, and what
 * becomes of them. */
#ifndef CHECKCONF_AROUND_H
#define CHECKCONF_AROUND_H

#include <limits.h>
#include <stdbool.h>

#include "checkconf_report.h"

/* Changes to the folder zonesdir, as the server does; to be called once, as it
 * may be relative. False: that cannot be. folder: its path; "": none is set. */
bool checkconf_enter_zonesdir(const struct conf *conf, char folder[PATH_MAX]);

/*
 * Looks at zone files, differences, zone list, timers, database and keys, and
 * gives notes to the report. Adds the zones of the list to conf. In zonesdir.
 * Cost: linear in zones and in the size of list and timers; opens no zone file.
 */
void checkconf_around(struct conf *conf, struct checkconf_report *report);

#endif
