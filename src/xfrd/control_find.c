/* control_find.c - the zone that a command names. */
#include "config.h"

#include <string.h>

#include "dns/name.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_member_id.h"

struct xfrd_zone *
control_find_zone(struct xfrd *xfrd, struct ctl_call *call, const char *name)
{
	struct xfrd_zone *zone = xfrd_zone_find_text(&xfrd->zones.table, name);
	static const uint8_t root[] = {0};
	uint8_t wire[NAME_MAX_LEN];
	const char *why;
	size_t len;

	if (zone != NULL)
		return zone;
	if (name_parse_text(name, strlen(name), root, wire, &len, &why)
		!= NSD_OK)
		ctl_printf(call, "error cannot parse zone name '%s'\n", name);
	else
		ctl_printf(call, "error zone %s not configured\n", name);
	ctl_end(call);
	return NULL;
}

bool
control_find_apex(struct xfrd *xfrd, struct ctl_call *call,
	const uint8_t **apex)
{
	const char *name = ctl_argument(call, 0);
	struct xfrd_zone *zone;

	*apex = NULL;
	if (name == NULL)
		return true;
	zone = control_find_zone(xfrd, call, name);
	if (zone == NULL)
		return false;
	*apex = xfrd_zone_apex(zone);
	return true;
}

const char *
control_find_member_id(const struct xfrd *xfrd, const struct xfrd_zone *zone,
	const struct xfrd_options *options, char out[NAME_TEXT_MAX])
{
	const char *id = xfrd_zone_member(&xfrd->zones.table, zone);
	uint8_t label[LABEL_MAX_LEN + 1], name[NAME_MAX_LEN];
	const uint8_t *catalog;

	if (id != NULL && xfrd_member_id_parse(id, label, name))
		return id;
	if (options->pattern == NULL)
		return NULL;
	catalog = settings_pattern_name(options->pattern,
		options->pattern->catalog.producer_at);
	if (catalog == NULL || !xfrd_produce_find_member(xfrd, zone, options,
			catalog, name))
		return NULL;
	(void)name_print_text(name, out);
	return out;
}
