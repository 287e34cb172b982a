/* control_find.c - the zone that a command names. */
#include "config.h"

#include <string.h>

#include "conf/conf.h"
#include "dns/name.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

const struct conf_zone *
control_find_zone(struct xfrd *xfrd, struct ctl_call *call, const char *name)
{
	const struct conf_zone *zone = conf_find_zone_text(
		xfrd->role.server->conf, name);
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
	const struct conf_zone *zone;

	*apex = NULL;
	if (name == NULL)
		return true;
	zone = control_find_zone(xfrd, call, name);
	if (zone == NULL)
		return false;
	*apex = zone->wire;
	return true;
}
