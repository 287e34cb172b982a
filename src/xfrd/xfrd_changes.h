/*
 * xfrd_changes.h - changes of zones that are under way: for the files that have
 * them done.
 *
 *   xfrd_change_start.c  opens the zone list, and goes on with what the last
 *                        xfrd has left
 *   xfrd_change.c        takes each change from step to step
 *   xfrd_change_list.c   the first steps, and the way back: the zone list
 *   xfrd_change_read.c   waits for large files of zones that have come
 *   xfrd_change_one.c    one change: made, found, freed
 */
#ifndef XFRD_XFRD_CHANGES_H
#define XFRD_XFRD_CHANGES_H

#include <event2/util.h>

#include "base/list.h"
#include "conf/zonelist.h"
#include "ctl/syncer.h"
#include "dns/name.h"
#include "xfrd/xfrd_change.h"

struct event;

/* To find changes of the same zone. */
#define XFRD_CHANGE_BUCKETS 1024u

struct xfrd_change {
	struct cds_list_head node; /* of one of the lists below */
	struct cds_list_head same; /* of a bucket, once it has begun */
	struct cds_list_head echoes; /* changes that want what this one brings:
				      * they end with it */
	enum xfrd_changed outcome; /* of an echo */
	struct xfrd *xfrd;
	enum xfrd_change_kind kind; /* what it has come to: PATTERN is that of
				     * a zone that was there */
	bool created;
	uint64_t synced;           /* this number, and it is durable */
	xfrd_change_on_end *on_end; /* NULL: nobody waits for it */
	void *ctx;
	bool hasty;
	char *pattern;             /* NULL with DELETE */
	char *old_pattern;         /* of the loader's; NULL: it has no such
				    * zone */
	char *old_member;          /* its ID in a catalog; NULL: it has none */
	char *why;                 /* of one that was taken back: what is told
				    * when that is durable */
	uint8_t wire[NAME_MAX_LEN];
	char name[];
};

/* A change goes through these lists, in order, or ends before. */
struct xfrd_changes {
	struct zonelist *list;     /* NULL: it cannot be used */
	struct syncer *syncer;     /* the same */
	struct event *again_event;
	struct event *sync_event;  /* at the end of the turn */
	struct cds_list_head held;   /* while the list is written anew */
	struct cds_list_head listed; /* to be durable in the list */
	struct cds_list_head ready;  /* for the loader */
	struct cds_list_head asked;  /* of the loader */
	struct cds_list_head undone; /* instead: taken back, to be durable */
	unsigned asked_count;
	struct cds_list_head same[XFRD_CHANGE_BUCKETS];
	int renewed_fd;            /* FILE~, while it is flushed; or -1 */
	bool renewing;
	struct event *renew_event; /* after a renewal that failed: */
	bool resting;              /* it is not tried now */
	unsigned pause_sec;        /* how long not; 0: the last one was well */
	int failed_error;          /* errno of the last one that was not */
	int64_t failed_msec;       /* and when */
	bool in_turn;              /* xfrd_changes_go_on is at work */
	bool odd;                  /* the list has lines that are no zone */
	size_t unused;             /* lines of it that would be zones, and are
				    * lost when it is written anew */
};

/* A change that is in no list yet. NULL: without memory. */
struct xfrd_change *xfrd_change_create(struct xfrd *xfrd,
	const struct xfrd_change_ask *ask) MUST_USE;
void xfrd_change_free(struct xfrd_change *change);
/* It has begun: its zone has changed in the list and in xfrd. */
void xfrd_change_note(struct xfrd_change *change);
/* The next change of the same zone after one that has begun; or NULL. */
struct xfrd_change *xfrd_change_find_next(const struct xfrd_change *change);
/* The newest change that has begun of the zone that another one is about, which
 * has not; or NULL. */
struct xfrd_change *xfrd_change_find_last(const struct xfrd_change *change);
/* xfrd_change_list.c: has xfrd know of a change, and writes it to the zone
 * list. zone: the one that it is about; NULL: there is none yet. Without NSD_OK
 * nothing has changed. */
enum nsd_err xfrd_change_do(struct xfrd_change *change,
	struct xfrd_zone *zone) MUST_USE;
/* Takes that back, unless another change of the zone has come. What fails is
 * found at the next start of xfrd. */
void xfrd_change_undo(struct xfrd_change *change);
/* Does what can be done now. */
void xfrd_changes_go_on(struct xfrd *xfrd);
/* Timers, and what the syncer calls. */
void xfrd_changes_on_again(evutil_socket_t fd, short what, void *arg);
void xfrd_changes_on_sync(evutil_socket_t fd, short what, void *arg);
void xfrd_changes_on_renew(evutil_socket_t fd, short what, void *arg);
void xfrd_changes_on_synced(void *ctx, uint64_t number, int error);
/* xfrd_change_read.c: waits until the loader has read the file of a zone that
 * has come, and tells whoever has asked for the change. Takes the change. */
void xfrd_change_await_file(struct xfrd_change *change);
/* What an error is; of NSD_E_SYSTEM errno. */
const char *xfrd_change_text(enum nsd_err err);

#endif
