/* zone_message.c - the messages CHANGE_ZONE and ZONE_CHANGED. */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "role/zone_message.h"

#define HEAD_LEN offsetof(struct ipc_zone, text)

/* Octets of the lines that have room. */
static size_t
message_fit_lines(const char *lines, size_t room)
{
	size_t len = strlen(lines);

	if (len <= room)
		return len;
	while (room > 0 && lines[room - 1] != '\n')
		room--;
	return room;
}

/* Of a zone file they may have any octets: a terminal gets none of those that
 * move it. */
static void
message_copy_lines(char *out, const char *lines, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out[i] = (lines[i] != '\n' && (uint8_t)lines[i] < ' ')
				|| lines[i] == 0x7f
			? '?'
			: lines[i];
}

enum nsd_err
zone_message_write(const struct zone_change *change, struct ipc_zone *payload,
	size_t *len)
{
	size_t name_size = strlen(change->name) + 1;
	size_t pattern_size = strlen(change->pattern) + 1;
	const char *reasons = change->reasons != NULL ? change->reasons : "";
	size_t reasons_len, at = name_size + pattern_size;

	/* The last NUL is that of the reasons. */
	if (name_size > sizeof(payload->text)
		|| pattern_size >= sizeof(payload->text) - name_size)
		return NSD_E_LIMIT;
	reasons_len = message_fit_lines(reasons,
		sizeof(payload->text) - at - 1);
	payload->request = (struct ipc_request){
		.ticket = change->ticket,
		.again = change->again,
	};
	payload->err = change->err;
	payload->file = change->file;
	payload->anew = change->anew;
	memcpy(payload->text, change->name, name_size);
	memcpy(payload->text + name_size, change->pattern, pattern_size);
	message_copy_lines(payload->text + at, reasons, reasons_len);
	payload->text[at + reasons_len] = '\0';
	*len = HEAD_LEN + at + reasons_len + 1;
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
	change->file = (enum ipc_zone_file)payload->file;
	change->anew = payload->anew != 0;
	change->name = payload->text;
	change->pattern = change->name + strlen(change->name) + 1;
	/* Two more texts, and nothing behind them. */
	if (change->pattern >= end)
		return NSD_E_WIRE;
	change->reasons = change->pattern + strlen(change->pattern) + 1;
	if (change->reasons >= end
		|| change->reasons + strlen(change->reasons) + 1 != end)
		return NSD_E_WIRE;
	return NSD_OK;
}
