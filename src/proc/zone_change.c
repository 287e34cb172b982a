/* zone_change.c - main's part when zones come and go while the server runs. */
#include "config.h"

#include "base/log.h"
#include "dns/name.h"
#include "proc/zone_change.h"
#include "role/zone_message.h"

static enum nsd_err
zone_change_apply(struct conf *conf, const struct zone_change *change)
{
	const struct conf_zone *zone;
	uint8_t wire[NAME_MAX_LEN];

	if (change->anew && conf_parse_zone_name(change->name, wire)
		&& conf_find_zone(conf, wire) != NULL)
		return conf_change_zone(conf, wire, change->pattern);
	if (*change->pattern != '\0')
		return conf_add_zone(conf, change->name, change->pattern,
			&zone);
	zone = conf_find_zone_text(conf, change->name);
	return zone == NULL ? NSD_E_NOT_FOUND
			    : conf_remove_zone(conf, zone->wire);
}

void
zone_change_keep(struct conf *conf, const struct ipc_message *m)
{
	struct zone_message message;
	struct zone_change change;

	if (zone_message_read(&message, m) != NSD_OK)
		return;
	while (zone_message_next(&message, &change)) {
		enum nsd_err err = zone_change_apply(conf, &change);

		if (err != NSD_OK)
			log_error("zone %s: main cannot keep its change: %s",
				change.name, err_text(err));
	}
}
