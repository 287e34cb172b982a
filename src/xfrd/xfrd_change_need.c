/* xfrd_change_need.c - says whether the zone list is needed. */
#include "config.h"

#include "base/log.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_change.h"

/* True if zones of a pattern, or of one zone, have members. */
static bool
changes_come_with(const struct settings_pattern *pattern)
{
	return pattern != NULL
		&& (pattern->catalog.role != CONF_CATALOG_NONE
			|| pattern->catalog.folder_at != 0);
}

bool
xfrd_change_is_needed(struct xfrd *xfrd)
{
	const struct store_view *view = xfrd_read_begin(xfrd);
	const struct settings *settings = settings_get(view);
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	const store_ref *patterns = settings_patterns(settings);
	bool needed =
		xfrd->role.server->conf->remote_control.control_enable;

	for (uint32_t i = 0; i < settings->pattern_count && !needed; i++)
		needed = changes_come_with(store_get(view, patterns[i]));
	for (uint32_t i = 0; i < table->end && !needed; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(table, i);
		struct xfrd_options options;

		if (zone == NULL)
			continue;
		options = xfrd_options_begin(xfrd, zone);
		needed = changes_come_with(options.pattern);
		xfrd_read_end(xfrd);
	}
	xfrd_read_end(xfrd);
	return needed;
}

void
xfrd_change_need(struct xfrd *xfrd)
{
	if (xfrd->changes != NULL || *xfrd->changes_why != '\0')
		return;
	log_notice("xfrd: zones may come and go now: ending, so that the next"
		   " one is let into the folder of the zone list");
	role_stop(&xfrd->role);
}
