/* key_message.c - the messages KEY, CHANGE_KEY and KEY_DONE. */
#include "config.h"

#include <string.h>

#include "process/key_message.h"

#define HEAD_LEN offsetof(struct ipc_key, text)
#define TEXTS 3u

enum nsd_err
key_message_write(const struct key_message *message, struct ipc_key *payload,
	size_t *len)
{
	const char *const texts[TEXTS] = {message->edit.zone,
		message->edit.key, message->edit.algorithm};
	size_t at = 0;

	*payload = (struct ipc_key){
		.request.ticket = message->ticket,
		.err = message->err,
		.what = message->edit.what,
		.handle_at = message->edit.handle.at,
		.handle_id = message->edit.handle.id,
		.secret_len = message->secret_len,
	};
	for (unsigned i = 0; i < TEXTS; i++) {
		size_t size = strlen(texts[i]) + 1;

		if (size > sizeof(payload->text) - at)
			return NSD_E_LIMIT;
		memcpy(payload->text + at, texts[i], size);
		at += size;
	}
	if (message->secret_len > sizeof(payload->text) - at)
		return NSD_E_LIMIT;
	if (message->secret_len > 0)
		memcpy(payload->text + at, message->secret,
			message->secret_len);
	*len = HEAD_LEN + at + message->secret_len;
	return NSD_OK;
}

enum nsd_err
key_message_read(const struct ipc_message *m, struct ipc_key *payload,
	struct key_message *message)
{
	const char *texts[TEXTS], *at = payload->text, *end;

	if (m->len <= HEAD_LEN || m->len > sizeof(*payload))
		return NSD_E_WIRE;
	memcpy(payload, m->payload, m->len);
	end = (const char *)payload + m->len;
	for (unsigned i = 0; i < TEXTS; i++) {
		const char *nul = memchr(at, '\0', (size_t)(end - at));

		if (nul == NULL)
			return NSD_E_WIRE;
		texts[i] = at;
		at = nul + 1;
	}
	if (payload->secret_len != (size_t)(end - at)
		|| payload->what >= KEY_EDIT_COUNT)
		return NSD_E_WIRE;
	*message = (struct key_message){
		.ticket = payload->request.ticket,
		.err = (enum nsd_err)payload->err,
		.edit = {
			.what = (enum key_edit_what)payload->what,
			.zone = texts[0],
			.key = texts[1],
			.algorithm = texts[2],
			.handle = {payload->handle_at, payload->handle_id},
		},
		.secret = (const uint8_t *)at,
		.secret_len = payload->secret_len,
	};
	return NSD_OK;
}
