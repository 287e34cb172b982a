/*
 * load_update.h - changes of a zone that come in a message, for the loader.
 *
 * The file of IPC_UPDATE, all numbers in network order:
 *
 *   +0 kind 1, apex (wire name), then for each record
 *      action 1, owner (wire name), TYPE 2, TTL 4, RDLENGTH 2, RDATA
 *
 * Names are whole and uncompressed. In the server as it is nobody sends one;
 * transfers will, and tests play main and do.
 */
#ifndef PROC_LOAD_UPDATE_H
#define PROC_LOAD_UPDATE_H

#include "base/err.h"
#include "ipc/message.h"
#include "proc/load_zone.h"

enum load_update_kind {
	LOAD_UPDATE_CHANGE,      /* of a zone that is served */
	LOAD_UPDATE_ADD_ZONE,    /* a new one, of the records that are added */
	LOAD_UPDATE_REMOVE_ZONE, /* no records */
};

enum load_update_action {
	LOAD_UPDATE_REMOVE,
	LOAD_UPDATE_ADD,
	LOAD_UPDATE_REMOVE_RRSET, /* TYPE 255: all of the name; no RDATA */
};

/*
 * Applies the changes in a file of len octets, all or none, and publishes them.
 * Findings go to the log. zones: those of the configuration, by entry id.
 * out: *result but for its ticket; *entry: of the zone of the configuration that
 *      has changed, or none.
 */
void load_update_apply(const struct load_context *context,
	const struct load_zone *zones, size_t zone_count, int fd, uint64_t len,
	struct ipc_updated *result, store_ref *entry);

#endif
