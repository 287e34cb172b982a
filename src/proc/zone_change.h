/* zone_change.h - main's part when zones come and go while the server runs. The
 * loader's part is loader_zones.c. */
#ifndef PROC_ZONE_CHANGE_H
#define PROC_ZONE_CHANGE_H

#include "proc/supervisor.h"
#include "proc/zone_message.h"

/*
 * Asks the loader to serve a zone with the options of a pattern, from the file
 * that follows from them; or to serve it no more. Borrows the texts.
 *
 * When it is done, or has failed, the hook on_zone_changed is called with the
 * same ticket and err:
 *   NSD_OK           done. A zone whose file is absent or broken is there all
 *                    the same, and not loaded.
 *   NSD_E_SYNTAX     not the name of a zone
 *   NSD_E_NOT_FOUND  no such pattern, or no such zone to remove
 *   NSD_E_ZONE       the zone is there already
 *   NSD_E_LIMIT      no more zones can be added
 *   NSD_E_MEMORY
 * If the loader dies before that, nothing has happened, and the hook is not
 * called.
 *
 * returns NSD_OK: the message is sent; NSD_E_LIMIT: the names are too long;
 * NSD_E_AGAIN: there is no loader to take it, or it does not read; NSD_E_PEER:
 * the loader has died; NSD_E_SYSTEM.
 * Cost, with the loader's part: that of the zone itself, and for the set of
 * zones in proportion to the logarithm of their number.
 */
enum nsd_err zone_change_request(struct supervisor *s,
	const struct zone_change *change) MUST_USE;

/* The loader has answered: keeps what was done, and calls the hook. */
void zone_change_on_done(struct supervisor *s, const struct ipc_message *m);

#endif
