/* zone_change.c - main's part when zones come and go while the server runs. */
#include "config.h"

#include "base/log.h"
#include "proc/child.h"
#include "proc/zone_change.h"

enum nsd_err
zone_change_request(struct supervisor *s, const struct zone_change *change)
{
	struct ipc_zone payload;
	size_t len;
	enum nsd_err err = zone_message_write(change, &payload, &len);

	if (err != NSD_OK)
		return err;
	if (s->loader.current == NULL)
		return NSD_E_AGAIN;
	return child_send(s->loader.current, IPC_CHANGE_ZONE, &payload, len,
		NULL, 0);
}

/* Puts into main's configuration what a loader has done, and only that. The
 * next loader takes its zones from there. So a zone is served for good, or was
 * never added. */
static enum nsd_err
zone_change_keep(struct conf *conf, const struct zone_change *change)
{
	const struct conf_zone *zone;

	if (*change->pattern != '\0')
		return conf_add_zone(conf, change->name, change->pattern,
			&zone);
	zone = conf_find_zone_text(conf, change->name);
	return zone == NULL ? NSD_E_NOT_FOUND
			    : conf_remove_zone(conf, zone->wire);
}

void
zone_change_on_done(struct supervisor *s, const struct ipc_message *m)
{
	struct zone_change change;
	struct ipc_zone payload;
	enum nsd_err err = zone_message_read(m, &payload, &change);

	if (err != NSD_OK)
		return;
	if (change.err == NSD_OK) {
		err = zone_change_keep(s->server.conf, &change);
		if (err != NSD_OK)
			log_error("zone %s: main cannot keep its change: %s",
				change.name, err_text(err));
	}
	if (s->hooks != NULL)
		s->hooks->on_zone_changed(&change, s->hooks->ctx);
}
