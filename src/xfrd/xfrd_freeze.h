/*
 * xfrd_freeze.h - zones that are frozen: UPDATEs of clients (RFC 2136) are
 * refused, so that their files can be edited by hand, until they are thawed.
 *
 * The file FOLDER/frozen, in the folder of the journal, has their names, one in
 * each line: they stay frozen over a restart.
 */
#ifndef XFRD_XFRD_FREEZE_H
#define XFRD_XFRD_FREEZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"

struct event;
struct xfrd;

struct xfrd_freezer {
	void *zones;    /* struct frozen_zone, of xfrd_apexes.h */
	struct cds_list_head list; /* the same */
	uint32_t count; /* of these */
	uint32_t thawed; /* count of zones, ever: freeze compares it */
	char *path;     /* of the file; NULL: none can be frozen */
	struct event *save_event; /* the file is to be written */
};

/* Reads which zones are frozen, at the start. NSD_E_MEMORY. */
enum nsd_err xfrd_freeze_init(struct xfrd *xfrd) MUST_USE;
/* Writes the file if that is due, at the end of this process. */
void xfrd_freeze_end(struct xfrd *xfrd);

/* True if a zone is frozen. apex: in lower case. Logarithmic. */
bool xfrd_freeze_has(const struct xfrd *xfrd, const uint8_t *apex);

/* Freezes a zone, or thaws it, until this process ends. NSD_E_MEMORY. */
enum nsd_err xfrd_freeze_add(struct xfrd *xfrd, const uint8_t *apex) MUST_USE;
void xfrd_freeze_remove(struct xfrd *xfrd, const uint8_t *apex);

/* Writes the file anew, durably. Blocks as long as that takes: operators freeze
 * zones rarely (doc/decisions/0172). Returns NSD_OK; NSD_E_DENIED: there is no
 * journal; NSD_E_SYSTEM with errno: the file is as it was; NSD_E_MEMORY. */
enum nsd_err xfrd_freeze_save(struct xfrd *xfrd) MUST_USE;

/* Forgets a zone, which goes: a zone of that name that comes is not frozen. The
 * file is written once for all zones that go in this turn of the loop. */
void xfrd_freeze_forget(struct xfrd *xfrd, const uint8_t *apex);

/* Returns the apex of a frozen zone, lent until it is thawed; NULL: none is. */
const uint8_t *xfrd_freeze_first(const struct xfrd *xfrd);
/* Puts a frozen zone behind all others: xfrd_freeze_first returns another. */
void xfrd_freeze_put_last(struct xfrd *xfrd, const uint8_t *apex);

#endif
