/*
 * xfrd_save.h - has the zone files of zones that take UPDATEs of clients
 * written before these zones may go: else updates that were answered would be
 * lost with the journal of the zone.
 */
#ifndef XFRD_XFRD_SAVE_H
#define XFRD_XFRD_SAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct xfrd;

/* Octets of the text about files that cannot be written, with its NUL. */
#define XFRD_SAVE_WHY_MAX 1000u

/* The end of a save. why: lent for the call; empty: the files have all; else a
 * line, without its newline, for each of the first files that cannot be
 * written. */
typedef void xfrd_save_on_end(void *ctx, const char *why);

/* True if a zone has updates that its file may lack, or that are under way. */
bool xfrd_save_is_needed(const struct xfrd *xfrd, const uint8_t *apex);

/*
 * Has the files of a zone, or of all zones that take updates (NULL), written.
 * Updates that come from now on wait, until xfrd_client_update_release is
 * called for the same, also after a failure. on_end is called once; never from
 * within this call.
 * returns NSD_OK; NSD_E_MEMORY: nothing has happened, and nothing is held.
 */
enum nsd_err xfrd_save(struct xfrd *xfrd, const uint8_t *apex,
	xfrd_save_on_end *on_end, void *ctx) MUST_USE;

/* ---- for main, which reads nsd.conf by itself ---------------------------- */

/* A save that main has asked for. */
struct xfrd_save_asked {
	enum {
		XFRD_SAVE_NONE,
		XFRD_SAVE_WRITES,
		XFRD_SAVE_WRITTEN, /* updates wait for main's word */
	} step;
	uint64_t ticket; /* for the answer */
	bool is_over;    /* of WRITES: main does not wait any more */
};

/* BROADCAST_SAVE: saves all zones, and sends OBEYED with the ticket. Files that
 * cannot be written are logged. */
void xfrd_save_on_ask(struct xfrd *xfrd, uint64_t ticket);
/* BROADCAST_SAVED: lets updates go on; is_followed: once another configuration
 * is followed. */
void xfrd_save_on_over(struct xfrd *xfrd, bool is_followed);

#endif
