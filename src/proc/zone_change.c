/* zone_change.c - zones that come and go while the server runs: the message,
 * and main's part. */
#include "config.h"

#include <string.h>

#include "base/log.h"
#include "proc/children.h"
#include "proc/zone_change.h"

#define HEAD_LEN offsetof(struct ipc_zone, text)

enum nsd_err
zone_change_write(const struct zone_change *change, struct ipc_zone *payload,
	size_t *len)
{
	size_t name_size = strlen(change->name) + 1;
	size_t pattern_size = strlen(change->pattern) + 1;

	if (name_size > sizeof(payload->text)
		|| pattern_size > sizeof(payload->text) - name_size)
		return NSD_E_LIMIT;
	payload->ticket = change->ticket;
	payload->err = change->err;
	payload->loaded = change->loaded;
	memcpy(payload->text, change->name, name_size);
	memcpy(payload->text + name_size, change->pattern, pattern_size);
	*len = HEAD_LEN + name_size + pattern_size;
	return NSD_OK;
}

enum nsd_err
zone_change_read(const struct ipc_message *m, struct ipc_zone *payload,
	struct zone_change *change)
{
	const char *end;

	if (m->len <= HEAD_LEN || m->len > sizeof(*payload))
		return NSD_E_WIRE;
	memcpy(payload, m->payload, m->len);
	end = (const char *)payload + m->len;
	if (end[-1] != '\0')
		return NSD_E_WIRE;
	change->ticket = payload->ticket;
	change->err = (enum nsd_err)payload->err;
	change->loaded = payload->loaded != 0;
	change->name = payload->text;
	change->pattern = change->name + strlen(change->name) + 1;
	/* A second text, and nothing behind it. */
	if (change->pattern >= end
		|| change->pattern + strlen(change->pattern) + 1 != end)
		return NSD_E_WIRE;
	return NSD_OK;
}

/* ---- main --------------------------------------------------------------- */

enum nsd_err
zone_change_request(struct supervisor *s, const struct zone_change *change)
{
	struct ipc_zone payload;
	size_t len;
	enum nsd_err err = zone_change_write(change, &payload, &len);

	if (err != NSD_OK)
		return err;
	if (s->loader.current == NULL)
		return NSD_E_AGAIN;
	return child_send(s->loader.current, IPC_CHANGE_ZONE, &payload, len,
		NULL, 0);
}

/* The next loader takes the zones from main's configuration: only what one has
 * done is put there, so that a zone is served for good or was never added. */
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
	enum nsd_err err = zone_change_read(m, &payload, &change);

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
