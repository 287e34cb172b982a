/* zone_message.h - the messages CHANGE_ZONE and ZONE_CHANGED: changes of zones,
 * and what became of them. */
#ifndef PROCESS_ZONE_MESSAGE_H
#define PROCESS_ZONE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/channel.h"

/* A zone that is to come or go, or has. */
struct zone_change {
	const char *name;    /* of the zone, as it would be written */
	const char *pattern; /* "": the zone goes */
	bool anew;           /* false: a new zone; true: a zone that is there
			      * gets this pattern */
	enum nsd_err err;    /* result of the change */
	enum ipc_zone_file file; /* result of reading the zone's file */
	const char *reasons; /* of IPC_ZONE_BROKEN: lines; else "" or, to be
			      * written, NULL */
};

/* A message, and where it is being read or ends. */
struct zone_message {
	struct ipc_zone payload;
	size_t len; /* octets of the payload */
	size_t at;  /* offset of the next change in its text */
};

/* Begins a message without changes. */
void zone_message_init(struct zone_message *message);

/* Adds a change. Of the reasons it writes as many whole lines as there is room
 * for. NSD_E_LIMIT: there is no room for the names; nothing is added. */
enum nsd_err zone_message_add(struct zone_message *message,
	const struct zone_change *change) MUST_USE;

/* Takes a received payload, after a check of all its changes. NSD_E_WIRE: the
 * payload is no row of changes. */
enum nsd_err zone_message_read(struct zone_message *message,
	const struct ipc_message *m) MUST_USE;

/* Reads the next change, whose texts are in the message. False: there is no
 * other one. */
bool zone_message_next(struct zone_message *message,
	struct zone_change *change);

#endif
