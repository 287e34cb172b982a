/* zone_message.c - the messages CHANGE_ZONE and ZONE_CHANGED. */
#include "config.h"

#include <string.h>

#include "role/zone_message.h"

#define HEAD_LEN offsetof(struct ipc_zone, text)

enum nsd_err
zone_message_write(const struct zone_change *change, struct ipc_zone *payload,
	size_t *len)
{
	size_t name_size = strlen(change->name) + 1;
	size_t pattern_size = strlen(change->pattern) + 1;

	if (name_size > sizeof(payload->text)
		|| pattern_size > sizeof(payload->text) - name_size)
		return NSD_E_LIMIT;
	payload->request = (struct ipc_request){
		.ticket = change->ticket,
		.again = change->again,
	};
	payload->err = change->err;
	payload->loaded = change->loaded;
	payload->anew = change->anew;
	memcpy(payload->text, change->name, name_size);
	memcpy(payload->text + name_size, change->pattern, pattern_size);
	*len = HEAD_LEN + name_size + pattern_size;
	return NSD_OK;
}

enum nsd_err
zone_message_read(const struct ipc_message *m, struct ipc_zone *payload,
	struct zone_change *change)
{
	const char *end;

	if (m->len <= HEAD_LEN || m->len > sizeof(*payload))
		return NSD_E_WIRE;
	memcpy(payload, m->payload, m->len);
	end = (const char *)payload + m->len;
	if (end[-1] != '\0')
		return NSD_E_WIRE;
	change->ticket = payload->request.ticket;
	change->again = payload->request.again != 0;
	change->err = (enum nsd_err)payload->err;
	change->loaded = payload->loaded != 0;
	change->anew = payload->anew != 0;
	change->name = payload->text;
	change->pattern = change->name + strlen(change->name) + 1;
	/* A second text, and nothing behind it. */
	if (change->pattern >= end
		|| change->pattern + strlen(change->pattern) + 1 != end)
		return NSD_E_WIRE;
	return NSD_OK;
}
