/*
 * xfrd_refused.h - versions of zones that the loader has judged and refused:
 * what is wrong with them, and whether an operator takes them all the same
 * (doc/decisions/0176).
 *
 * A zone has at most one, that which was refused last, until a version is
 * served or the primaries have none that is newer. It is lost with xfrd: the
 * next check brings it again.
 */
#ifndef XFRD_XFRD_REFUSED_H
#define XFRD_XFRD_REFUSED_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/message.h"
#include "xfrd/xfrd_zone.h"

struct xfrd_refused_version {
	uint32_t number;    /* of its zone; must be first: it is looked for */
	uint32_t serial;
	uint32_t check;     /* enum ipc_check that it has not passed */
	uint32_t times;     /* in a row that the serial was refused */
	int64_t since_msec; /* clock_now_msec: the first of these */
	uint32_t primary;   /* index of the one that gave it last; XFR_NONE: it
			     * came from nobody */
	bool is_accepted;   /* an operator takes it, in the check that is under
			     * way */
	char why[IPC_WHY_MAX + 1]; /* printable */
};

/* Notes a version that the loader has refused: updated->refused is not 0.
 * Without memory nothing is noted. */
void xfrd_refused_note(struct xfrd_zone_table *table, struct xfrd_zone *zone,
	const struct ipc_updated *updated, uint32_t primary);
/* Finds that of a zone, lent until the next note or drop. NULL: there is
 * none. */
struct xfrd_refused_version *xfrd_refused_find(
	const struct xfrd_zone_table *table, const struct xfrd_zone *zone);
/* Forgets that of a zone, if there is one. */
void xfrd_refused_drop(struct xfrd_zone_table *table, struct xfrd_zone *zone);

/* Returns the checks (enum ipc_check, or-ed) that a version is not judged by,
 * as an operator takes it: all of them, if it is the one that was refused; the
 * one that has refused that, if it is newer. */
uint32_t xfrd_refused_accepts(const struct xfrd_zone_table *table,
	const struct xfrd_zone *zone, uint32_t serial);

/* The word for a check, of one bit: in zonestatus, status, replies and the
 * log. */
const char *xfrd_refused_check_word(uint32_t check);

#endif
