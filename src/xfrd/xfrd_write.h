/* xfrd_write.h - functions of xfrd_write_zone.c for xfrd_write.c. */
#ifndef XFRD_XFRD_WRITE_H
#define XFRD_XFRD_WRITE_H

#include <stdbool.h>

#include "journal/journal.h"
#include "xfrd/xfrd.h"

/* The work that a zone needs. */
enum xfrd_write_need {
	WRITE_NOTHING,
	WRITE_LOOK, /* only the zone's file has the version: see if it is
		     * there */
	WRITE_ZONE,
};

/* Decides about a zone. *entry leads to the served version; its id is 0 if no
 * entry of the journal does. */
enum xfrd_write_need xfrd_write_need_of(struct xfrd *xfrd,
	struct xfrd_zone *zone, struct journal_entry *entry);
/* The same in a round for files alone: changed zones have time, unless their
 * changes lead on from a file that may not be there. */
enum xfrd_write_need xfrd_write_need_of_file(struct xfrd *xfrd,
	struct xfrd_zone *zone, struct journal_entry *entry);

/* Asks the writer for a zone. on_end has ctx xfrd. False: it cannot be asked
 * for now. */
bool xfrd_write_ask(struct xfrd *xfrd, struct xfrd_zone *zone,
	const struct journal_entry *entry, request_on_end *on_end) MUST_USE;
/* Has this xfrd, or the next one, know that a file could not be written. */
void xfrd_write_set_failed(const struct xfrd *xfrd, bool failed);
bool xfrd_write_has_failed(const struct xfrd *xfrd) MUST_USE;

/* Notes the outcome of writing a zone. */
void xfrd_write_note(struct xfrd *xfrd, struct xfrd_zone *zone,
	const struct ipc_written *written);

/* ---- xfrd_loader.c */

/* Tells the loader that the file of a zone was written; on_end is called when
 * it knows that. returns as requests_add. */
enum nsd_err xfrd_loader_note_file(struct xfrd *xfrd, const uint8_t *apex,
	const struct ipc_written *written, request_on_end *on_end, void *ctx)
	MUST_USE;

#endif
