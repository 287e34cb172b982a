/*
 * xfrd_edit.h - versions of zones that are made in this process: by the
 * producer of a catalog (xfrd_produce.h), and of UPDATEs of clients
 * (xfrd_client_update.h).
 *
 * A version goes the way of a transfer: it is made durable in the journal, then
 * the loader publishes it, and secondaries are told of it. So it is written to
 * the zone's file, and sent by IXFR, as one of a transfer is, and no death
 * loses it once it was served.
 *
 * The versions of a zone go one after the other. Those that are asked for while
 * one is under way wait, and go together: as one entry of the journal, and one
 * change of the loader, which does all of them or none. The journal makes
 * entries of different zones durable with one flush.
 *
 * A renewal writes the served version of a zone to the journal whole, in place
 * of the differences that have led to it: of a zone with such versions, or of a
 * secondary zone (xfrd_keep_bound.c).
 */
#ifndef XFRD_XFRD_EDIT_H
#define XFRD_XFRD_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "xfr/changes.h"

struct event;
struct journal_done;
struct xfrd;
struct xfrd_zone;

/* The source of versions that are made here: as of struct xfrd_edit_ask. */
#define XFRD_EDIT_SOURCE "this server"
/* Why a text does not come into the journal: journal_fills_disk. */
#define XFRD_FILLS_DISK "it takes more than half of the room on the disk"
/* The most octets of differences that one edit may have. */
#define XFRD_EDIT_DIFFS_MAX (4u << 20)

struct xfrd_edits {
	void *zones;                /* struct edit_zone, of xfrd_apexes.h:
				     * those with edits */
	/* Of these: */
	struct cds_list_head ready;   /* a step is to be taken */
	struct cds_list_head paused;  /* a step is to be tried again */
	struct cds_list_head full;    /* the journal has no room */
	struct cds_list_head flushed; /* the journal makes an entry durable, in
				       * the order in which those ended */
	struct event *event;          /* zones are ready */
	struct event *pause_event;    /* the pause is over */
};

struct xfrd_edit_end {
	/* NSD_OK: the version is durable and served. NSD_E_INEXACT: it does not
	 * fit the served one, or one that it waited for has failed. Otherwise
	 * as journal_put, or of the loader's answer (load_update.h). */
	enum nsd_err err;
	const char *why; /* of a failure, for people; lent for the call */
};

/* Takes the end of an edit. It may ask for others. */
typedef void xfrd_edit_on_end(void *ctx, const struct xfrd_edit_end *end);

struct xfrd_edit_ask {
	const uint8_t *apex;    /* in lower case */
	/* XFR_DIFFS: one version or more, from serial `from`, which is served,
	 * or which the edit of the zone that was asked for before leads to.
	 * XFR_WHOLE: all records of the zone; from does not count. */
	enum changes_kind kind;
	uint32_t from, to;
	const uint8_t *records; /* of xfr/changes.h, without a head */
	size_t len;             /* octets */
	const char *source;     /* for the log, and for the comment of the
				 * zone's file: who has made it */
	bool is_told;           /* the asker writes the line of the log */
	bool is_update;         /* clients have sent it: no other has it */
	xfrd_edit_on_end *on_end;
	void *ctx;
};

/* NSD_E_MEMORY. */
enum nsd_err xfrd_edit_init(struct xfrd *xfrd) MUST_USE;

/*
 * Asks for a version. Borrows *ask, its name and its records. on_end is called
 * once, unless this process ends; never from within this call.
 * returns NSD_OK; NSD_E_DENIED: there is no journal; NSD_E_LIMIT: more than
 *     XFRD_EDIT_DIFFS_MAX octets of differences; NSD_E_MEMORY. After a failure
 *     nothing has happened.
 */
enum nsd_err xfrd_edit(struct xfrd *xfrd, const struct xfrd_edit_ask *ask)
	MUST_USE;

/*
 * Has the newest entry of the journal published, if it leads on from the served
 * version: the last xfrd may have died before that. To be called for a zone
 * that has no edits.
 * returns NSD_OK: on_end will be called, as of xfrd_edit; NSD_E_NOT_FOUND:
 *     there is no such entry; NSD_E_MEMORY: to be called again before any
 *     version is made, or the next entry would not fit behind that one.
 */
enum nsd_err xfrd_edit_resume(struct xfrd *xfrd, const uint8_t *apex,
	xfrd_edit_on_end *on_end, void *ctx) MUST_USE;

/* Takes the end of a renewal. why: NULL: the journal has the zone whole, and
 * what had led there has gone; else why not, for people, lent for the call. */
typedef void xfrd_edit_on_renewed(struct xfrd *xfrd, const uint8_t *apex,
	const char *why);

/*
 * Has the served version of a zone written to the journal whole, in place of
 * what has led there. Until on_renewed is called, which is once, and never from
 * within this call, nobody else puts an entry of the zone into the journal: it
 * would go, too. If this is under way already, its end is waited for.
 * returns NSD_OK; NSD_E_AGAIN: another version of the zone is on its way, or
 *     none is served; NSD_E_MEMORY; NSD_E_SYSTEM with errno: as journal_put.
 */
enum nsd_err xfrd_edit_renew(struct xfrd *xfrd, struct xfrd_zone *zone,
	xfrd_edit_on_renewed *on_renewed) MUST_USE;
/* True if that is under way. */
bool xfrd_edit_renews(const struct xfrd *xfrd, const uint8_t *apex);
/* Ends renewals that pin versions up to an epoch (process/holder_bounds.h). */
void xfrd_edit_renew_let_go(struct xfrd *xfrd, uint64_t epoch);

/* Takes an entry that is durable, or could not be written. False: it is no
 * edit's. */
bool xfrd_edit_on_durable(struct xfrd *xfrd, const struct journal_done *done)
	MUST_USE;

/* The journal has room again. */
void xfrd_edit_go_on(struct xfrd *xfrd);

#endif
