/*
 * xfrd.h - the role that will keep secondary zones fresh and take control
 * commands; so far it can ask the loader for what those need.
 *
 * Nobody in the product asks yet. tests/lib/nsd_update.c does.
 */
#ifndef PROC_XFRD_H
#define PROC_XFRD_H

#include "load/load_text.h"
#include "proc/requests.h"
#include "proc/role.h"
#include "proc/zone_message.h"

struct store_reader;

struct xfrd {
	struct role role;
	struct store_reader *reader;
	struct requests requests; /* to the loader */
};

/*
 * Asks the loader to publish changes of a zone, as load/load_update.h tells.
 * Borrows the text, whose octets must stay as they are until on_end gets
 * UPDATED (struct ipc_updated); see requests.h.
 * returns as requests_add.
 */
enum nsd_err xfrd_update(struct xfrd *xfrd, const struct load_text *text,
	request_on_end *on_end, void *ctx) MUST_USE;

/*
 * Tells the loader how long a zone may be answered from (struct ipc_expiry).
 * apex: a whole wire name. The next loader does not know it: say it again.
 * returns NSD_OK; NSD_E_AGAIN: there is no loader, or no credit: on_peer says
 * when to try again; NSD_E_MEMORY.
 */
enum nsd_err xfrd_expire(struct xfrd *xfrd, const uint8_t *apex,
	uint64_t left_msec) MUST_USE;

/*
 * Asks the loader to serve a zone with the options of a pattern, from the file
 * that follows from them; or to serve it no more. Borrows the texts; the rest
 * of *change is set here. on_end gets ZONE_CHANGED (zone_message_read) with
 * err:
 *   NSD_OK           done. A zone whose file is absent or broken is there all
 *                    the same, and not loaded.
 *   NSD_E_SYNTAX     not the name of a zone
 *   NSD_E_NOT_FOUND  no such pattern, or no such zone to remove
 *   NSD_E_ZONE       the zone is there already
 *   NSD_E_LIMIT      no more zones can be added
 *   NSD_E_MEMORY
 *
 * returns as requests_add; NSD_E_LIMIT: the names are too long.
 * Cost, with the loader's part: that of the zone itself, and for the set of
 * zones in proportion to the logarithm of their number.
 */
enum nsd_err xfrd_change_zone(struct xfrd *xfrd, struct zone_change *change,
	request_on_end *on_end, void *ctx) MUST_USE;

#endif
