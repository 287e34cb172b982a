/* xfrd_loader.h - requests and reports of xfrd to the loader. */
#ifndef XFRD_XFRD_LOADER_H
#define XFRD_XFRD_LOADER_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "ipc/channel.h"
#include "ipc/message.h"
#include "loader/load_text.h"
#include "process/requests.h"
#include "process/zone_message.h"

struct xfrd;

/*
 * Asks the loader to publish a transfer, or changes of a zone: see
 * loader/load_update.h. Borrows the text, whose octets must stay as they are
 * until on_end gets UPDATED (struct ipc_updated); see requests.h.
 * returns as requests_add.
 */
enum nsd_err xfrd_loader_update(struct xfrd *xfrd, const struct load_text *text,
	request_on_end *on_end, void *ctx) MUST_USE;

/* Reads the answer of an UPDATE. NULL: loaders have died of it, NSD_E_BUG. */
static inline void
xfrd_loader_read_updated(const struct ipc_message *answer,
	struct ipc_updated *updated)
{
	memset(updated, 0, sizeof(*updated));
	updated->err = NSD_E_BUG;
	if (answer == NULL)
		return;
	assert(answer->len >= IPC_UPDATED_MIN
		&& answer->len <= IPC_UPDATED_MAX);
	memcpy(updated, answer->payload, answer->len);
}

/*
 * Tells the loader how long a zone may be answered from (struct ipc_expiry).
 * apex: a whole wire name. The next loader has to be told again.
 * returns NSD_OK; NSD_E_AGAIN: there is no loader, or no credit: on_peer says
 * when to try again; NSD_E_MEMORY.
 */
enum nsd_err xfrd_loader_expire(struct xfrd *xfrd, const uint8_t *apex,
	uint64_t left_msec) MUST_USE;

/*
 * Asks the loader to serve zones with the options of a pattern, from the files
 * that follow from them; or to serve them no more. Borrows the message, of one
 * change at least. on_end gets ZONE_CHANGED (zone_message_read) with one change
 * at least, and as many of the first ones as are done; ask for the others
 * again. The err of each:
 *   NSD_OK           done. A zone whose file is absent or broken is there all
 *                    the same, and not loaded: file says so.
 *   NSD_E_SYNTAX     not the name of a zone
 *   NSD_E_NOT_FOUND  no such pattern, or no such zone to remove
 *   NSD_E_ZONE       the zone is there already
 *   NSD_E_LIMIT      no more zones can be added
 *   NSD_E_AGAIN      the zone's file is being read: try again soon
 *   NSD_E_MEMORY
 *
 * returns as requests_add.
 * Cost, with the loader's part: that of each zone itself, and for the set of
 * zones in proportion to the logarithm of their number.
 */
enum nsd_err xfrd_loader_change_zones(struct xfrd *xfrd,
	const struct zone_message *message, request_on_end *on_end, void *ctx)
	MUST_USE;

/*
 * Asks the loader to read the file of a zone, by its apex in lower case, or of
 * all (NULL), if it has changed. on_end gets READ_DONE (struct ipc_read_done);
 * or NULL: the loader died of it, and the request was not repeated.
 * returns as requests_add.
 */
enum nsd_err xfrd_loader_read(struct xfrd *xfrd, const uint8_t *apex,
	request_on_end *on_end, void *ctx) MUST_USE;
/* The same of a zone whose file was refused, or may have been: it is read
 * again, and not judged. */
enum nsd_err xfrd_loader_accept_file(struct xfrd *xfrd, const uint8_t *apex,
	request_on_end *on_end, void *ctx) MUST_USE;

#endif
