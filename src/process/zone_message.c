/* zone_message.c - the messages CHANGE_ZONE and ZONE_CHANGED. */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "process/zone_message.h"

#define HEAD_LEN offsetof(struct ipc_zone, text)
/* Octets of a change before its texts. */
#define ONE_LEN 3u

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

/* Copies lines, which may have any octets of a zone file: control characters,
 * which move a terminal, become '?'. */
static void
message_copy_lines(char *out, const char *lines, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out[i] = (lines[i] != '\n' && (uint8_t)lines[i] < ' ')
				|| lines[i] == 0x7f
			? '?'
			: lines[i];
}

void
zone_message_init(struct zone_message *message)
{
	message->payload.request = (struct ipc_request){.ticket = 0};
	message->payload.more = 0;
	message->len = HEAD_LEN;
	message->at = 0;
}

enum nsd_err
zone_message_add(struct zone_message *message, const struct zone_change *change)
{
	size_t name_size = strlen(change->name) + 1;
	size_t pattern_size = strlen(change->pattern) + 1;
	const char *reasons = change->reasons != NULL ? change->reasons : "";
	size_t room = sizeof(message->payload) - message->len, reasons_len;
	char *out = (char *)&message->payload + message->len;

	/* The last NUL is that of the reasons. */
	if (room < ONE_LEN + 1 || name_size > room - ONE_LEN - 1
		|| pattern_size > room - ONE_LEN - 1 - name_size)
		return NSD_E_LIMIT;
	room -= ONE_LEN + name_size + pattern_size + 1;
	reasons_len = message_fit_lines(reasons, room);
	out[0] = (char)change->err;
	out[1] = (char)change->file;
	out[2] = (char)change->anew;
	out += ONE_LEN;
	memcpy(out, change->name, name_size);
	memcpy(out + name_size, change->pattern, pattern_size);
	out += name_size + pattern_size;
	message_copy_lines(out, reasons, reasons_len);
	out[reasons_len] = '\0';
	message->len += ONE_LEN + name_size + pattern_size + reasons_len + 1;
	return NSD_OK;
}

/* Takes the text at *at, and moves *at behind it. NULL: the text has no end. */
static const char *
message_next_text(const struct zone_message *message, size_t *at)
{
	const char *text = message->payload.text + *at;
	size_t left = message->len - HEAD_LEN - *at;
	const char *end = memchr(text, '\0', left);

	if (end == NULL)
		return NULL;
	*at += (size_t)(end - text) + 1;
	return text;
}

/* Reads the next change. NSD_E_NOT_FOUND: there is none. */
static enum nsd_err
message_parse(struct zone_message *message, struct zone_change *change)
{
	const char *head = message->payload.text + message->at;
	size_t left = message->len - HEAD_LEN - message->at;
	size_t at = message->at + ONE_LEN;

	if (left == 0)
		return NSD_E_NOT_FOUND;
	if (left < ONE_LEN)
		return NSD_E_WIRE;
	change->err = (enum nsd_err)(uint8_t)head[0];
	change->file = (enum ipc_zone_file)(uint8_t)head[1];
	change->anew = head[2] != 0;
	change->name = message_next_text(message, &at);
	if (change->name != NULL)
		change->pattern = message_next_text(message, &at);
	if (change->name == NULL || change->pattern == NULL)
		return NSD_E_WIRE;
	change->reasons = message_next_text(message, &at);
	if (change->reasons == NULL)
		return NSD_E_WIRE;
	message->at = at;
	return NSD_OK;
}

enum nsd_err
zone_message_read(struct zone_message *message, const struct ipc_message *m)
{
	struct zone_change change;
	enum nsd_err err;

	if (m->len < IPC_ZONE_MIN || m->len > sizeof(message->payload))
		return NSD_E_WIRE;
	memcpy(&message->payload, m->payload, m->len);
	message->len = m->len;
	message->at = 0;
	do {
		err = message_parse(message, &change);
	} while (err == NSD_OK);
	message->at = 0;
	return err == NSD_E_NOT_FOUND ? NSD_OK : err;
}

bool
zone_message_next(struct zone_message *message, struct zone_change *change)
{
	return message_parse(message, change) == NSD_OK;
}
