/*
 * xfrd_change.h - zones come, go and get other patterns while the server runs
 * (addzone, delzone, changezone).
 *
 * Changes are done in batches, one after the other (doc/decisions/0157):
 * changes that are asked for while a batch is under way are the next one. A
 * batch is
 *   1. written to the zone list, which is the truth (0084), and durable there,
 *   2. published by the loader (loader/load_batch.h),
 *   3. taken over by xfrd itself, and told as done, once the loader has read
 *      the zone's file, if there is one; a secondary zone begins to be fetched.
 * If 1 fails the batch has failed. Changes that 2 refuses have failed; their
 * lines become what they were, and that is durable before it is told. If xfrd
 * dies, the next one goes on from the list; if the loader dies, the next one is
 * asked again. So a change that was told as done is so, and any other is done
 * as a whole or not at all.
 */
#ifndef XFRD_XFRD_CHANGE_H
#define XFRD_XFRD_CHANGE_H

#include <stdbool.h>

#include "base/err.h"

struct xfrd;

enum xfrd_change_kind {
	XFRD_CHANGE_ADD,
	XFRD_CHANGE_DELETE,
	XFRD_CHANGE_PATTERN, /* adds the zone if it is not there */
};

enum xfrd_changed {
	XFRD_CHANGED,            /* done, in every process */
	XFRD_CHANGED_EXISTS,     /* ADD: the zone is there already */
	XFRD_CHANGED_ABSENT,     /* DELETE: the zone is not there */
	XFRD_CHANGED_FIXED,      /* DELETE, PATTERN: the zone is in nsd.conf */
	XFRD_CHANGED_NO_PATTERN, /* there is no such pattern */
	XFRD_CHANGED_NO_NAME,    /* not the name of a zone */
	XFRD_CHANGED_UNLISTED,   /* the zone list cannot be written */
	XFRD_CHANGED_FAILED,     /* for another reason */
	XFRD_CHANGED_UNREAD,     /* done, but the zone is not as its file
				  * says */
	XFRD_CHANGED_MEMBER,     /* DELETE, PATTERN: the zone is a member of a
				  * catalog or a folder, which alone may change
				  * it */
	XFRD_CHANGED_OTHER,      /* the same: the zone has another ID than
				  * `expect`, or none */
};

struct xfrd_change_end {
	enum xfrd_changed outcome;
	bool created;    /* PATTERN: the zone was not there, and was added */
	bool is_later;   /* done, and its file may be read later */
	const char *why; /* UNLISTED, FAILED; UNREAD: lines; MEMBER: its ID:
			  * lent for the call */
};

/* Takes the end of a change. It may begin others. */
typedef void xfrd_change_on_end(void *ctx, const struct xfrd_change_end *end);

struct xfrd_change_ask {
	enum xfrd_change_kind kind;
	const char *name;    /* of the zone, as it is to be written */
	const char *pattern; /* ADD, PATTERN */
	const char *member;  /* ADD, PATTERN: the ID that the zone's line gets;
			      * NULL: none, or it keeps its own */
	const char *expect;  /* DELETE, PATTERN: the ID that the zone must have
			      * by then; PATTERN adds no zone then. NULL: the
			      * operator asks, so it must be no member of a
			      * consumer or of a folder */
	xfrd_change_on_end *on_end;
	void *ctx;
	bool no_wait;        /* a file that takes long is not waited for */
	bool comes_anew;     /* DELETE: the asker adds the zone again, so its
			      * name does not become free; if it cannot, it
			      * calls xfrd_members_on_gone */
};

/*
 * Has a zone changed. Borrows *ask and its texts. Changes are done in the order
 * in which they were asked for, those of different zones perhaps together.
 * on_end is called once; before this returns, if the zone list cannot be used.
 */
void xfrd_change_zone(struct xfrd *xfrd, const struct xfrd_change_ask *ask);

/*
 * Opens the zone list, and makes the changes between the list and the store
 * that the last xfrd has left. To be called before this process is confined to
 * its calls. Without a list, or without memory, changes are refused, which is
 * logged.
 */
void xfrd_change_init(struct xfrd *xfrd);

/* True if the zone list is needed, by what is published: there is a control
 * channel, a catalog, or a folder of zone files. Cost: linear in the zones
 * without a control channel. */
bool xfrd_change_is_needed(struct xfrd *xfrd);

/* The zone list is needed from now on. No confined process can be let into
 * another folder: so if this one has not opened the list, it ends, and the next
 * one does. */
void xfrd_change_need(struct xfrd *xfrd);

/* Finds the folder of the zone list, to be reached when this process is
 * confined; NULL: it is never written. out has room for size octets. */
const char *xfrd_change_find_folder(const struct xfrd *xfrd, char *out,
	size_t size);

#endif
