/* zone_change.h - zones that come and go while the server runs: the message,
 * and main's part. The loader's is load_set.h. */
#ifndef PROC_ZONE_CHANGE_H
#define PROC_ZONE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/channel.h"
#include "proc/supervisor.h"

struct zone_change {
	uint64_t ticket;     /* the caller's, comes back */
	const char *name;    /* of the zone, as it would be written */
	const char *pattern; /* "": the zone goes */
	enum nsd_err err;    /* what became of it */
	bool loaded;         /* its file is served */
};

/*
 * Asks the loader to serve a zone with the options of a pattern, from the file
 * that follows from them, or to serve it no more. Borrows the texts.
 * When it is done, or has failed, the hook on_zone_changed is called:
 * NSD_E_SYNTAX: no name of a zone; NSD_E_NOT_FOUND: no such pattern, or zone;
 * NSD_E_ZONE: it is there already; NSD_E_MEMORY. A zone whose file is absent
 * or broken is there all the same, and not loaded.
 * If the loader dies before that, nothing has happened, and the hook is not
 * called.
 * returns NSD_OK: it is sent; NSD_E_LIMIT: the names are too long;
 * NSD_E_AGAIN: no loader to take it; NSD_E_PEER.
 * Cost, with the loader's part: that of the zone itself, and for the set of
 * zones in proportion to the logarithm of their number.
 */
enum nsd_err zone_change_request(struct supervisor *s,
	const struct zone_change *change) MUST_USE;

/* supervisor.c: the loader's answer. */
void zone_change_on_done(struct supervisor *s, const struct ipc_message *m);

/* ---- the message, for both sides --------------------------------------- */

/* out: *payload and *len of it. NSD_E_LIMIT: the names are too long. */
enum nsd_err zone_change_write(const struct zone_change *change,
	struct ipc_zone *payload, size_t *len) MUST_USE;
/* Lends the texts from payload. NSD_E_WIRE. */
enum nsd_err zone_change_read(const struct ipc_message *m,
	struct ipc_zone *payload, struct zone_change *change) MUST_USE;

#endif
