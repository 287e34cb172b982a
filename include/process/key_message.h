/* key_message.h - the messages KEY, CHANGE_KEY and KEY_DONE. */
#ifndef PROCESS_KEY_MESSAGE_H
#define PROCESS_KEY_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/key_edit.h"
#include "ipc/channel.h"

/* A change of a key, or its result. */
struct key_message {
	uint64_t ticket;
	enum nsd_err err;
	struct key_edit edit;  /* no text is NULL */
	const uint8_t *secret; /* of KEY; else it is empty */
	uint32_t secret_len;
};

/* Writes the payload of a message, and its length. NSD_E_LIMIT: names and
 * secret are too long for one. */
enum nsd_err key_message_write(const struct key_message *message,
	struct ipc_key *payload, size_t *len) MUST_USE;

/* Reads a message. Texts and secret are in *payload. NSD_E_WIRE: it does not
 * have what the table says. */
enum nsd_err key_message_read(const struct ipc_message *m,
	struct ipc_key *payload, struct key_message *message) MUST_USE;

#endif
