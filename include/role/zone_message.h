/* zone_message.h - the messages CHANGE_ZONE and ZONE_CHANGED. */
#ifndef ROLE_ZONE_MESSAGE_H
#define ROLE_ZONE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/channel.h"

/* A zone that is to come or go, or has. */
struct zone_change {
	uint64_t ticket;     /* comes back */
	bool again;          /* a loader that has died may have done it */
	const char *name;    /* of the zone, as it would be written */
	const char *pattern; /* "": the zone goes */
	bool anew;           /* one that is there gets this pattern */
	enum nsd_err err;    /* what became of it */
	enum ipc_zone_file file; /* what became of its file */
	const char *reasons; /* of IPC_ZONE_BROKEN: lines; else "" or, to be
			      * written, NULL */
};

/* Writes the payload of a message, and its length. Of the reasons it writes as
 * many whole lines as there is room for. NSD_E_LIMIT: the names are too long
 * for one. */
enum nsd_err zone_message_write(const struct zone_change *change,
	struct ipc_zone *payload, size_t *len) MUST_USE;

/* Reads a message. The texts of *change are in *payload. NSD_E_WIRE: the
 * message does not end with three texts. */
enum nsd_err zone_message_read(const struct ipc_message *m,
	struct ipc_zone *payload, struct zone_change *change) MUST_USE;

#endif
