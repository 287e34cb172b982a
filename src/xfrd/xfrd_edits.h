/*
 * xfrd_edits.h - zones that have edits: for the files that make them up
 * (xfrd_edit.h).
 *
 *   xfrd_edit.c        the way of an edit
 *   xfrd_edit_renew.c  a zone is written to the journal whole
 *   xfrd_edit_zone.c   zones that have edits, and when they go on
 */
#ifndef XFRD_XFRD_EDITS_H
#define XFRD_XFRD_EDITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "dns/name.h"
#include "journal/journal.h"
#include "store/store.h"
#include "xfrd/xfrd_edit.h"

struct xfrd_zone;
struct zone_cursor;

struct xfrd_edit {
	struct cds_list_head node; /* of edit_zone.waiting or .taken */
	enum changes_kind kind;
	uint32_t from, to;
	char source[JOURNAL_SOURCE_MAX + 1];
	bool is_told;
	bool is_update;
	xfrd_edit_on_end *on_end;
	void *ctx;
	size_t len;
	uint8_t records[];
};

/* A zone that has edits. */
struct edit_zone {
	uint8_t apex[NAME_MAX_LEN];   /* must be first: it is looked for */
	struct cds_list_head node;    /* of edits.ready, .paused or .full, or
				       * of none */
	struct cds_list_head flush_node; /* of edits.flushed, or of none */
	struct xfrd *xfrd;
	struct cds_list_head waiting; /* in the order in which they came */
	struct cds_list_head taken;   /* of the entry under way */
	enum {
		EDIT_NONE,    /* there is no entry */
		EDIT_FLUSH,   /* the journal makes it durable */
		EDIT_PUBLISH, /* the loader is to be asked */
		EDIT_LOADER,  /* the loader has it in hand */
		EDIT_RENEW,   /* the whole zone is written to the journal */
		EDIT_RENEWED, /* the journal makes that durable */
	} step;
	uint64_t entry;               /* RENEW: the newest one of those that go
				       * then */
	uint64_t len;                 /* octets of its text */
	/* Of RENEW: */
	struct journal_transfer *text;
	struct store_pin pin;
	struct zone_cursor *cursor;
	uint32_t serial;
	/* Of RENEW and RENEWED: */
	xfrd_edit_on_renewed *on_renewed; /* or NULL */
};

/* ---- xfrd_edit_zone.c ---------------------------------------------------- */

/* Finds a zone that has edits; NULL: it has none. */
struct edit_zone *xfrd_edit_zone_find(const struct xfrd *xfrd,
	const uint8_t *apex);
/* Finds it, or makes it. NULL: no memory. */
struct edit_zone *xfrd_edit_zone_get(struct xfrd *xfrd, const uint8_t *apex);
void xfrd_edit_zone_free(struct edit_zone *z);

/* Takes the zone's next step in the next turn of the loop. */
void xfrd_edit_zone_soon(struct edit_zone *z);
/* Tries the zone's next step again after a while. */
void xfrd_edit_zone_pause(struct edit_zone *z);
/* True if the journal has no room: then xfrd_edit_go_on has the zone's next
 * step taken. */
bool xfrd_edit_zone_lacks_room(struct edit_zone *z) MUST_USE;
/* Ends an entry, which is to be made durable. Takes text. */
void xfrd_edit_zone_flush(struct edit_zone *z, struct journal_transfer *text,
	const struct journal_end *end);

/* Prints the name of the zone. Returns out. */
const char *xfrd_edit_zone_print_name(const struct edit_zone *z,
	char out[NAME_TEXT_MAX]);

/* ---- xfrd_edit_renew.c --------------------------------------------------- */

/* Begins to write the served version of a zone without an entry under way, as
 * xfrd_edit_renew does. */
enum nsd_err xfrd_edit_renew_begin(struct edit_zone *z, struct xfrd_zone *zone)
	MUST_USE;
/* Writes the next records of the zone. No version of it comes meanwhile. */
void xfrd_edit_renew_go_on(struct edit_zone *z);
/* The renewal has ended: no entry is under way, and its asker is told. why: as
 * for xfrd_edit_on_renewed. */
void xfrd_edit_renew_tell(struct edit_zone *z, const char *why);

#endif
