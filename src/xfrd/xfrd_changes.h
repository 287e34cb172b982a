/*
 * xfrd_changes.h - changes of zones that are under way: for the files that make
 * them.
 *
 *   xfrd_change_start.c  opens the zone list, and finds changes that the last
 *                        xfrd has left
 *   xfrd_change.c        gathers changes, and takes batches from step to step
 *   xfrd_change_save.c   zones that take updates are written before they go
 *   xfrd_change_list.c   the lines of changes
 *   xfrd_change_renew.c  the list is written anew
 *   xfrd_change_read.c   waits for large files of zones that have come
 *   xfrd_change_check.c  whether a change can be made
 *   xfrd_change_done.c   a change is done, or has failed
 *   xfrd_change_one.c    one change: created, found, ended
 *   xfrd_skipped.c       lines of the list whose pattern is not known now
 */
#ifndef XFRD_XFRD_CHANGES_H
#define XFRD_XFRD_CHANGES_H

#include <event2/util.h>

#include "base/list.h"
#include "conf/zonelist.h"
#include "ctl/syncer.h"
#include "dns/name.h"
#include "process/zone_message.h"
#include "xfrd/xfrd_change.h"

struct event;

/* Buckets of the table of changes by zone. */
#define XFRD_CHANGE_BUCKETS 4096u

struct xfrd_change {
	struct cds_list_head node; /* of one of the lists below */
	struct cds_list_head same; /* of a bucket, once it is of a batch */
	struct xfrd *xfrd;
	enum xfrd_change_kind kind; /* as found: PATTERN only if the zone was
				     * there */
	bool created;
	bool no_wait;
	bool comes_anew;           /* as of struct xfrd_change_ask */
	bool alone;                /* the loader is asked for it alone: it, or
				    * others with it, were the death of some */
	bool is_held;              /* updates of the zone wait (xfrd_save.h) */
	bool is_listed;            /* the line is written: */
	uint64_t at;               /* there; 0: it has none, as with DELETE */
	bool has_old;              /* the line that the zone had before is
				    * there, too */
	bool is_durable;           /* the list on the disk has what the change
				    * asks for, and no more */
	bool was_asked;            /* the loader was asked for it, and may have
				    * made it */
	xfrd_change_on_end *on_end; /* NULL: no user waits for it */
	void *ctx;
	char *pattern;             /* NULL with DELETE */
	char *member;              /* the ID that its line has or gets; or
				    * NULL */
	char *expect;              /* as of struct xfrd_change_ask */
	bool drops_id;             /* PATTERN: the ID goes, which is the label
				    * of a producer's member; member is NULL */
	enum ipc_zone_file file;   /* of a change that is made */
	enum xfrd_changed outcome; /* outcome of a failure, */
	const char *why;           /* and why */
	uint8_t wire[NAME_MAX_LEN];
	char name[];
};

/* A line of a list that is written anew. */
struct xfrd_new_line {
	struct xfrd_zone *zone;
	uint64_t at; /* where it is; 0: it is left out */
};

/* The step that a batch waits for. */
enum xfrd_changes_step {
	XFRD_CHANGES_NONE,    /* there is no batch */
	XFRD_CHANGES_LIST,    /* more changes are to be listed */
	XFRD_CHANGES_FLUSH,   /* the flush of its lines */
	XFRD_CHANGES_MOVE,    /* the same, once the old lines of zones whose new
			       * ones have other places are removed, as these
			       * are durable */
	XFRD_CHANGES_LOADER,  /* the loader does it */
	XFRD_CHANGES_RETURN,  /* lines of failed changes are taken back, and
			       * flushed */
	XFRD_CHANGES_MOVE_BACK, /* the same of lines that had another place:
				 * the new line is removed, as the old one is
				 * durable again */
	XFRD_CHANGES_RENEWAL, /* there is none: the list is written anew */
};

struct xfrd_changes {
	struct zonelist *list;     /* NULL: cannot be used */
	struct syncer *syncer;     /* the same */
	struct event *begin_event; /* next step: at the end of the turn, or
				    * after a while */
	struct cds_list_head waiting; /* for the next batch */
	struct cds_list_head saving;  /* files of their zones are written */
	struct cds_list_head batch;   /* the loader is to be asked for these */
	struct cds_list_head busy;    /* the loader could not do these yet */
	struct cds_list_head failed;  /* and these not at all */
	struct cds_list_head made;    /* the loader has made these, and not
				       * published them yet */
	struct cds_list_head done;    /* published changes, which xfrd is to
				       * make */
	unsigned batch_count;
	int64_t begun_msec;        /* when the batch began */
	unsigned asked_count;         /* messages to it; these have theirs */
	enum xfrd_changes_step step;
	unsigned in_a_row;         /* changes since there were none */
	int64_t held_msec;         /* when fetches last had a turn beside them
				    * (xfrd_turn.c) */
	uint64_t flush;            /* number of the one that is waited for */
	struct cds_list_head same[XFRD_CHANGE_BUCKETS]; /* changes of the
							 * batch */
	long more;                 /* zones that the batch brings, but for those
				    * that were listed before it */
	int renewed_fd;            /* FILE~, while it is flushed; or -1 */
	struct xfrd_new_line *lines; /* of that, in its order: no zone of the
				    * list comes or goes meanwhile; or NULL */
	size_t line_count;
	struct event *renew_event; /* after a renewal that failed: */
	bool paused;               /* no renewal is tried now */
	unsigned pause_sec;        /* how long; 0: the last one was well */
	int failed_error;          /* errno of the last one that failed */
	int64_t failed_msec;       /* and when */
	bool odd;                  /* the list has lines that are no zone, or
				    * second ones */
	void *skipped;             /* lines that were skipped, of <search.h>, by
				    * apex */
	size_t unused;             /* lines skipped, and those that are
				    * lost when the list is written anew */
};

/* Creates a change that is in no list yet. NULL: without memory. */
struct xfrd_change *xfrd_change_create(struct xfrd *xfrd,
	const struct xfrd_change_ask *ask) MUST_USE;
void xfrd_change_free(struct xfrd_change *change);
/* Adds a change to those that are found by zone; takes it out. */
void xfrd_change_note(struct xfrd_change *change);
void xfrd_change_forget(struct xfrd_change *change);
/* Finds the change of a zone that was noted. NULL: there is none. */
struct xfrd_change *xfrd_change_find(const struct xfrd *xfrd,
	const uint8_t *wire);

/* Moves a change to the end of a list. */
void xfrd_change_move(struct xfrd_change *change, struct cds_list_head *list);
/* Ends a change, which is freed. */
void xfrd_change_end(struct xfrd_change *change, enum xfrd_changed outcome,
	const char *why);

/* True if the log is to have a failure of a change: sources log a few of
 * theirs themselves. */
bool xfrd_change_is_told(const struct xfrd_change *change);

/* ---- xfrd_change_check.c ------------------------------------------------- */

/* Reads the texts of a change. False: *outcome is the fault. */
bool xfrd_change_parse(struct xfrd_change *change, enum xfrd_changed *outcome);
/* True if there is something to be done. *outcome: if not, why. */
bool xfrd_change_check(struct xfrd_change *change, const struct xfrd_zone *zone,
	enum xfrd_changed *outcome);

/* True if who asks may change a zone that is there. Changes that a dead xfrd
 * has left were checked by it. *outcome: if not, why. */
bool xfrd_change_check_asker(const struct xfrd_change *change,
	const struct xfrd_zone *zone, enum xfrd_changed *outcome);

/* ---- xfrd_change_save.c -------------------------------------------------- */

/* Has the file of the zone of a change written, if the zone may lose updates by
 * it, and takes the change until then: it comes back as the first that waits,
 * or ends. False: nothing is to be written. */
bool xfrd_change_save(struct xfrd_change *change) MUST_USE;

/* ---- xfrd_change_done.c -------------------------------------------------- */

/* True if what the change asks for is published. A loader may have made the
 * change, and have died before it could say so. */
bool xfrd_change_is_published(const struct xfrd_change *change);
/* Ends a change that all other processes have made. If xfrd cannot make it, the
 * next xfrd has it. */
void xfrd_change_finish(struct xfrd_change *change,
	const struct zone_change *done);
/* Has a change fail, or end as done if it is published. */
void xfrd_change_fail(struct xfrd_change *change, enum xfrd_changed outcome,
	const char *why);
/* Takes the loader's answer about a change. */
void xfrd_change_take_answer(struct xfrd_change *change,
	const struct zone_change *done);

/* ---- xfrd_change_list.c -------------------------------------------------- */

/* Writes the line of a change. zone: the one that it is about; NULL: there is
 * none. Without NSD_OK nothing has changed. */
enum nsd_err xfrd_change_list(struct xfrd_change *change,
	const struct xfrd_zone *zone) MUST_USE;
/* True if there are lines that the zone had before in other places than the
 * new one. */
bool xfrd_change_has_old(const struct xfrd_change *change);
/* Removes these, as the new line is durable. NSD_E_SYSTEM with errno: some are
 * there still. */
enum nsd_err xfrd_change_drop_old(struct xfrd_change *change) MUST_USE;
/* The change has failed: its line becomes what it was, or else the whole list
 * is written anew. With change->has_old, xfrd_change_drop_new is to follow. */
void xfrd_change_unlist(struct xfrd_change *change);
/* The same of a change that cannot fail: its line is to be written again, with
 * another batch. */
void xfrd_change_list_anew(struct xfrd_change *change);
/* Removes the new line of a zone whose old line is durable. Where the old line
 * could not be flushed, both stay until the whole list is written anew. */
void xfrd_change_drop_new(struct xfrd_change *change, bool old_is_durable);
/* Makes a change in xfrd itself, as it is done elsewhere, and frees places of
 * lines. */
enum nsd_err xfrd_change_commit(struct xfrd_change *change) MUST_USE;
/* Logs that a zone gets the pattern that it has. To NSD that is a change,
 * too. */
void xfrd_change_note_idle(struct xfrd *xfrd, const struct xfrd_zone *zone);

/* ---- xfrd_change_renew.c ------------------------------------------------- */

/* Returns the number of zones that there will be with the batch. */
size_t xfrd_change_count_zones(const struct xfrd *xfrd);
/* True if the list is to be written anew before a batch begins, or goes on to
 * be gathered. */
bool xfrd_change_wants_renewal(const struct xfrd *xfrd);
/* Begins a renewal. False: it could not be begun, and is tried again later. */
bool xfrd_change_renew(struct xfrd *xfrd);
/* A flush of the renewal has ended. True: the renewal goes on. */
bool xfrd_change_renew_next(struct xfrd *xfrd, int error);

/* ---- xfrd_skipped.c ------------------------------------------------------ */

/* Notes a line that adds no zone, as its pattern is not known. NSD_E_MEMORY. */
enum nsd_err xfrd_skipped_add(struct xfrd_changes *changes,
	const uint8_t *wire, const struct zonelist_line *line) MUST_USE;
/* True if there are such lines of a zone. */
bool xfrd_skipped_has(const struct xfrd_changes *changes, const uint8_t *wire);
/* Removes these from the list, as the new line of their zone is durable; makes
 * them what they were. NSD_E_SYSTEM with errno: some are. */
enum nsd_err xfrd_skipped_remove(struct xfrd_changes *changes,
	const uint8_t *wire) MUST_USE;
enum nsd_err xfrd_skipped_restore(struct xfrd_changes *changes,
	const uint8_t *wire) MUST_USE;
/* Frees the places of those that were removed; forgets all, as the list was
 * written anew. */
void xfrd_skipped_drop(struct xfrd_changes *changes, const uint8_t *wire);
void xfrd_skipped_drop_all(struct xfrd_changes *changes);

/* ---- xfrd_change.c ------------------------------------------------------- */

/* Takes the next steps that are possible now. */
void xfrd_changes_go_on(struct xfrd *xfrd);
/* The loader has died: changes that it had not published are asked for
 * again. */
void xfrd_changes_on_loader_gone(struct xfrd *xfrd);
/* Events, and what the syncer calls. */
void xfrd_changes_on_event(evutil_socket_t fd, short what, void *arg);
void xfrd_changes_on_renew(evutil_socket_t fd, short what, void *arg);
void xfrd_changes_on_synced(void *ctx, uint64_t number, int error);

/* ---- xfrd_change_read.c -------------------------------------------------- */

/* Waits until the loader has read the file of a zone that has come, and then
 * ends the change, which is taken. */
void xfrd_change_await_file(struct xfrd_change *change);

#endif
