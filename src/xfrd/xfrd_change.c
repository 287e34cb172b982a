/* xfrd_change.c - has zones come, go and get other patterns, everywhere, in
 * batches. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "conf/zonelist.h"
#include "dns/name.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"
#include "xfrd/xfrd_member_id.h"

/* Changes of a batch: their lines are written in one turn. */
#define BATCH_MAX 4096u
/* A message to the loader has as many changes as come to this many octets,
 * which leaves room for reports about files. */
#define MESSAGE_LEN_MAX 1000u
/* Messages that the loader has in hand, at most: transfers need it, too. */
#define ASKED_MAX 4u
/* The pause before the loader is given changes again that it could not take, or
 * do yet. */
#define AGAIN_MSEC 20
/* A change that comes this long after a failed renewal has it tried again: the
 * operator may have made room for it. */
#define RENEW_AGAIN_MSEC 1000

static void
change_end(struct xfrd_change *change, enum xfrd_changed outcome,
	const char *why)
{
	const struct xfrd_change_end end = {
		.outcome = outcome,
		.created = change->created,
		.why = why,
	};
	xfrd_change_on_end *on_end = change->on_end;
	void *ctx = change->ctx;

	xfrd_change_free(change);
	if (on_end != NULL)
		on_end(ctx, &end);
}

static void
change_move(struct xfrd_change *change, struct cds_list_head *list)
{
	cds_list_del(&change->node);
	cds_list_add_tail(&change->node, list);
}

/* ---- a batch is gathered, and listed ------------------------------------- */

/* Reads the texts of a change. False: *outcome is the fault. */
static bool
change_parse(struct xfrd_change *change, enum xfrd_changed *outcome)
{
	*outcome = XFRD_CHANGED_NO_PATTERN;
	if (change->kind != XFRD_CHANGE_DELETE
		&& !xfrd_has_pattern(change->xfrd, change->pattern))
		return false;
	/* An empty line of delzones is no error in NSD. */
	*outcome = change->kind == XFRD_CHANGE_DELETE && *change->name == '\0'
		? XFRD_CHANGED_ABSENT
		: XFRD_CHANGED_NO_NAME;
	return conf_parse_zone_name(change->name, change->wire);
}

/* True if the zone is published with the pattern that it is to get, and has the
 * ID that it is to get. */
static bool
change_has_pattern(const struct xfrd_change *change,
	const struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(change->xfrd, zone);
	const char *pattern = xfrd_options_pattern(&options);
	const char *id = xfrd_zone_member(&change->xfrd->zones.table, zone);
	bool has = pattern != NULL && strcmp(pattern, change->pattern) == 0
		&& (change->member == NULL
			|| (id != NULL && strcmp(id, change->member) == 0));

	xfrd_read_end(change->xfrd);
	return has;
}

/* True if who asks may change a zone that is there. Changes that a dead xfrd
 * has left were checked by it. */
static bool
change_may(const struct xfrd_change *change, const struct xfrd_zone *zone,
	enum xfrd_changed *outcome)
{
	const char *id = xfrd_zone_member(&change->xfrd->zones.table, zone);

	*outcome = XFRD_CHANGED_FIXED;
	if (!zone->is_listed)
		return false;
	*outcome = XFRD_CHANGED_OTHER;
	if (change->expect != NULL)
		return id != NULL && strcmp(id, change->expect) == 0;
	*outcome = XFRD_CHANGED_MEMBER;
	return change->on_end == NULL || id == NULL
		|| !xfrd_member_id_has_source(change->xfrd, zone, id);
}

/* True if there is something to be done. *outcome: if not, why. */
static bool
change_check(struct xfrd_change *change, const struct xfrd_zone *zone,
	enum xfrd_changed *outcome)
{
	*outcome = XFRD_CHANGED_EXISTS;
	if (change->kind == XFRD_CHANGE_ADD)
		return zone == NULL;
	*outcome = XFRD_CHANGED_ABSENT;
	if (zone == NULL) {
		change->created = change->kind == XFRD_CHANGE_PATTERN
			&& change->expect == NULL;
		if (change->created)
			change->kind = XFRD_CHANGE_ADD;
		return change->created;
	}
	if (!change_may(change, zone, outcome))
		return false;
	*outcome = XFRD_CHANGED;
	/* A change that a dead xfrd has left may be done by the loader, but not
	 * in this xfrd. */
	if (change->kind == XFRD_CHANGE_DELETE || change->on_end == NULL
		|| !change_has_pattern(change, zone))
		return true;
	xfrd_change_note_idle(change->xfrd, zone);
	return false;
}

static void
change_refuse(struct xfrd_change *change, const char *why)
{
	if (xfrd_change_is_told(change))
		log_error("zone %s cannot be changed: %s: %s", change->name,
			change->xfrd->changes->list->path, why);
	change_end(change, XFRD_CHANGED_UNLISTED, why);
}

/* Writes the line of a change. False: the change has ended. */
static bool
change_list(struct xfrd_change *change)
{
	struct xfrd *xfrd = change->xfrd;
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		change->wire);
	enum xfrd_changed outcome;
	enum nsd_err err;

	if (!change_check(change, zone, &outcome)) {
		change_end(change, outcome, outcome == XFRD_CHANGED_MEMBER
			? xfrd_zone_member(&xfrd->zones.table, zone)
			: NULL);
		return false;
	}
	err = xfrd_change_list(change, zone);
	if (err == NSD_OK)
		return true;
	/* AGAIN: a list that is to be written anew, and cannot be. */
	change_refuse(change, err == NSD_E_AGAIN
		? strerror(xfrd->changes->failed_error)
		: err_reason(err));
	return false;
}

/* Takes a change into the batch, or ends it. False: it is for the next one, as
 * this one has another change of its zone. */
static bool
change_begin(struct xfrd_change *change)
{
	struct xfrd_changes *changes = change->xfrd->changes;
	enum xfrd_changed outcome;

	assert(changes->step == XFRD_CHANGES_NONE);
	if (!change->is_listed && !change_parse(change, &outcome)) {
		change_end(change, outcome, NULL);
		return true;
	}
	if (xfrd_change_find(changes, change->wire) != NULL)
		return false;
	if (!change->is_listed) {
		if (!change_list(change))
			return true;
		/* The batch ends early if the list is to be written anew,
		 * which depends on this count. Changes that were listed before
		 * do not count: one of them may stay busy for long, and must
		 * not end the batches of all others. */
		changes->more += (change->kind == XFRD_CHANGE_ADD)
			- (change->kind == XFRD_CHANGE_DELETE);
	}
	change_move(change, &changes->batch);
	changes->batch_count++;
	xfrd_change_note(change);
	return true;
}

/* Has the list flushed, and waits for that. The folder, too: the file may have
 * been made just now. */
static void
changes_flush(struct xfrd_changes *changes, enum xfrd_changes_step step)
{
	changes->flush = syncer_ask(changes->syncer, changes->list->fd,
		changes->list->folder);
	changes->step = step;
}

/* Begins a batch of all changes that have come in this turn of the loop; before
 * that, the list is written anew if need be. */
static void
changes_begin(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;
	struct xfrd_change *change;

	assert(cds_list_empty(&changes->batch)
		&& cds_list_empty(&changes->busy)
		&& cds_list_empty(&changes->failed));
	assert(changes->asked_count == 0);
	changes->batch_count = 0;
	changes->more = 0;
	changes->turned = false;
	zonelist_look(changes->list);
	do {
		if (xfrd_change_wants_renewal(xfrd)
			&& xfrd_change_renew(xfrd)) {
			changes->step = XFRD_CHANGES_RENEWAL;
			return;
		}
		while ((change = list_first_or_null(&changes->waiting,
				struct xfrd_change, node)) != NULL
			&& changes->batch_count < BATCH_MAX
			&& !xfrd_change_wants_renewal(xfrd)
			&& change_begin(change))
			;
	} while (changes->batch_count == 0 && xfrd_change_wants_renewal(xfrd));
	if (changes->batch_count == 0)
		return;
	changes_flush(changes, XFRD_CHANGES_FLUSH);
}

/* ---- asking the loader --------------------------------------------------- */

/* True if the change is done by the loader's answer to it, which may not be the
 * first. */
static bool
change_is_done(const struct xfrd_change *change, enum nsd_err err)
{
	if (err == NSD_OK)
		return true;
	/* A zone that is not there is gone: the loader may have refused to add
	 * it. */
	if (change->kind == XFRD_CHANGE_DELETE && err == NSD_E_NOT_FOUND)
		return true;
	/* The zone was added before the last xfrd died. */
	return change->on_end == NULL && change->kind == XFRD_CHANGE_ADD
		&& err == NSD_E_ZONE;
}

/* Ends a change that all other processes have made. If xfrd cannot make it, the
 * next xfrd has it. */
static void
change_finish(struct xfrd_change *change, const struct zone_change *done)
{
	struct xfrd *xfrd = change->xfrd;

	/* No change is done, and reported, without its line in the list. */
	assert(change->is_listed
		&& xfrd->changes->step != XFRD_CHANGES_NONE);
	xfrd_change_forget(change);
	if (xfrd_change_commit(change) != NSD_OK) {
		log_error("zone %s: out of memory", change->name);
		role_stop(&xfrd->role);
	}
	if (change->kind == XFRD_CHANGE_DELETE && xfrd->journal != NULL)
		journal_drop(xfrd->journal, change->wire);
	/* The zone's file may have another name. */
	if (change->kind == XFRD_CHANGE_PATTERN)
		xfrd_write_look(xfrd);
	if (done->file == IPC_ZONE_LATER && change->on_end != NULL
		&& !change->no_wait)
		xfrd_change_await_file(change);
	else if (done->file == IPC_ZONE_BROKEN)
		change_end(change, XFRD_CHANGED_UNREAD, done->reasons);
	else
		change_end(change, XFRD_CHANGED, NULL);
}

/* True if what the change asks for is published. A loader may have made the
 * change, and have died before it could say so. */
static bool
change_is_published(const struct xfrd_change *change)
{
	struct xfrd *xfrd = change->xfrd;
	struct xfrd_options options = xfrd_options_find(xfrd, change->wire);
	const char *pattern = xfrd_options_pattern(&options);
	bool is = change->kind == XFRD_CHANGE_DELETE ? options.entry == NULL
		: pattern != NULL && strcmp(pattern, change->pattern) == 0;

	xfrd_read_end(xfrd);
	/* Another store has what has come and gone. */
	return is && !xfrd->is_behind;
}

/* Has a change fail, or end as done if it is published. */
static void
change_fail(struct xfrd_change *change, enum xfrd_changed outcome,
	const char *why)
{
	/* The state of the file is not known: READ tells it. */
	static const struct zone_change done = {.file = IPC_ZONE_LATER};
	struct xfrd_changes *changes = change->xfrd->changes;

	if (!change->has_old && change_is_published(change)) {
		change_finish(change, &done);
		return;
	}
	if (xfrd_change_is_told(change))
		log_error("zone %s cannot be changed: %s", change->name, why);
	change->outcome = outcome;
	change->why = why;
	change_move(change, &changes->failed);
}

/* Changes that the loader was asked for in a message. */
struct changes_asked {
	struct xfrd *xfrd;
	struct cds_list_head list;
};

static void
change_take_answer(struct xfrd_change *change, const struct zone_change *done)
{
	if (change_is_done(change, done->err))
		change_finish(change, done);
	else if (done->err == NSD_E_AGAIN)
		change_move(change, &change->xfrd->changes->busy);
	else
		change_fail(change, XFRD_CHANGED_FAILED, err_text(done->err));
}

/* Takes back a message that loaders have died of: its only change has failed;
 * several are asked for again, one by one. */
static void
changes_give_up(struct xfrd_changes *changes, struct changes_asked *asked)
{
	struct xfrd_change *change = cds_list_first_entry(&asked->list,
		struct xfrd_change, node);

	if (change->node.next == &asked->list)
		change_fail(change, XFRD_CHANGED_FAILED,
			"loaders have died of it");
	while ((change = list_first_or_null(&asked->list, struct xfrd_change,
			node)) != NULL) {
		change->alone = true;
		change_move(change, &changes->busy);
	}
}

/* Takes the loader's answer. Changes that it has not come to are asked for
 * again. */
static void
changes_on_answer(void *ctx, const struct ipc_message *answer)
{
	struct changes_asked *asked = ctx;
	struct xfrd *xfrd = asked->xfrd;
	struct xfrd_changes *changes = xfrd->changes;
	struct zone_message message;
	struct zone_change done;
	struct xfrd_change *change;

	assert(changes->asked_count > 0
		&& changes->step == XFRD_CHANGES_LOADER);
	assert(!cds_list_empty(&asked->list));
	changes->asked_count--;
	if (answer == NULL || zone_message_read(&message, answer) != NSD_OK) {
		changes_give_up(changes, asked);
	} else {
		while ((change = list_first_or_null(&asked->list,
				struct xfrd_change, node)) != NULL
			&& zone_message_next(&message, &done))
			change_take_answer(change, &done);
	}
	cds_list_splice(&asked->list, &changes->batch);
	free(asked);
	xfrd_changes_go_on(xfrd);
}

/* Adds to a message the changes that go with it, and moves them to a list. */
static void
changes_put(struct xfrd_changes *changes, struct zone_message *message,
	struct cds_list_head *list)
{
	struct xfrd_change *change, *next;
	unsigned count = 0;

	cds_list_for_each_entry_safe(change, next, &changes->batch, node) {
		const struct zone_change wanted = {
			.name = change->name,
			.pattern = change->pattern != NULL ? change->pattern
							   : "",
			.anew = change->kind == XFRD_CHANGE_PATTERN,
		};
		enum nsd_err err;

		if (count > 0
			&& (change->alone || message->len > MESSAGE_LEN_MAX))
			break;
		err = zone_message_add(message, &wanted);
		if (err != NSD_OK && count > 0)
			break;
		if (err != NSD_OK) {
			change_fail(change, XFRD_CHANGED_FAILED,
				err_reason(err));
			continue;
		}
		change_move(change, list);
		count++;
		if (change->alone)
			break;
	}
}

/* Asks the loader for some changes. Without NSD_OK to be tried again. */
static enum nsd_err
changes_ask_some(struct xfrd *xfrd)
{
	struct changes_asked *asked = malloc(sizeof(*asked));
	struct xfrd_changes *changes = xfrd->changes;
	struct zone_message message;
	enum nsd_err err;

	if (asked == NULL)
		return NSD_E_MEMORY;
	asked->xfrd = xfrd;
	CDS_INIT_LIST_HEAD(&asked->list);
	zone_message_init(&message);
	changes_put(changes, &message, &asked->list);
	if (cds_list_empty(&asked->list)) {
		free(asked);
		return NSD_OK; /* the changes have failed */
	}
	err = xfrd_loader_change_zones(xfrd, &message, changes_on_answer,
		asked);
	if (err != NSD_OK) {
		cds_list_splice(&asked->list, &changes->batch);
		free(asked);
		return err;
	}
	changes->asked_count++;
	return NSD_OK;
}

static void
changes_wait(struct xfrd_changes *changes)
{
	static const struct timeval wait = {.tv_usec = AGAIN_MSEC * 1000};

	event_add(changes->begin_event, &wait);
}

/* ---- the end of a batch -------------------------------------------------- */

/* Takes back the lines of failed changes, which are reported once the lines are
 * as they were, also after a power cut. */
static void
changes_return(struct xfrd_changes *changes)
{
	struct xfrd_change *change;

	assert(cds_list_empty(&changes->batch) && changes->asked_count == 0);
	cds_list_for_each_entry(change, &changes->failed, node)
		xfrd_change_unlist(change);
	changes_flush(changes, XFRD_CHANGES_RETURN);
}

/* Ends a batch. Busy changes begin the next one. */
static void
changes_end_batch(struct xfrd_changes *changes)
{
	struct xfrd_change *change;

	assert(changes->step != XFRD_CHANGES_NONE && changes->asked_count == 0);
	assert(cds_list_empty(&changes->batch)
		&& cds_list_empty(&changes->failed));
	cds_list_for_each_entry(change, &changes->busy, node)
		xfrd_change_forget(change);
	if (!cds_list_empty(&changes->busy))
		changes_wait(changes);
	else
		event_active(changes->begin_event, EV_TIMEOUT, 0);
	cds_list_splice(&changes->busy, &changes->waiting);
	CDS_INIT_LIST_HEAD(&changes->busy);
	changes->step = XFRD_CHANGES_NONE;
}

/* Asks the loader for the changes of the batch that it was not asked for yet.
 * If none are left, and it has answered all, the batch ends. */
static void
changes_ask(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;

	assert(changes->asked_count <= ASKED_MAX);
	while (!cds_list_empty(&changes->batch)
		&& changes->asked_count < ASKED_MAX
		&& changes_ask_some(xfrd) == NSD_OK)
		;
	if (changes->asked_count > 0)
		return;
	/* No answer is due that would wake xfrd up. */
	if (!cds_list_empty(&changes->batch))
		changes_wait(changes);
	else if (!cds_list_empty(&changes->failed))
		changes_return(changes);
	else
		changes_end_batch(changes);
}

/* Ends the failed changes. error: of the flush: their lines may come again. */
static void
changes_end_failed(struct xfrd_changes *changes, int error)
{
	struct xfrd_change *change;

	while ((change = list_first_or_null(&changes->failed,
			struct xfrd_change, node)) != NULL) {
		if (error != 0 && xfrd_change_is_told(change))
			log_error("zone %s: a change that failed may come"
				  " again: %s: %s", change->name,
				changes->list->path, strerror(error));
		change_end(change, change->outcome, change->why);
	}
}

/* Refuses a batch that could not be flushed: some of its lines may be on the
 * disk. */
static void
changes_refuse(struct xfrd_changes *changes, int error)
{
	struct xfrd_change *change;

	assert(changes->step == XFRD_CHANGES_FLUSH
		|| changes->step == XFRD_CHANGES_MOVE);
	log_error("cannot write %s: %s", changes->list->path, strerror(error));
	while ((change = list_first_or_null(&changes->batch, struct xfrd_change,
			node)) != NULL)
		change_fail(change, XFRD_CHANGED_UNLISTED, strerror(error));
	changes_return(changes);
}

/* Removes the old lines of zones that have new ones in other places. True:
 * there were some. */
static bool
changes_drop_old(struct xfrd_changes *changes)
{
	struct xfrd_change *change, *next;
	bool dropped = false;

	cds_list_for_each_entry_safe(change, next, &changes->batch, node) {
		if (!xfrd_change_has_old(change))
			continue;
		if (xfrd_change_drop_old(change) == NSD_OK)
			dropped = true;
		else
			change_fail(change, XFRD_CHANGED_UNLISTED,
				strerror(errno));
	}
	return dropped;
}

/* Removes the new lines of zones that have got their old ones back. True: there
 * were some. Without the old ones on the disk, they go with the list. */
static bool
changes_drop_new(struct xfrd_changes *changes, bool old_is_durable)
{
	struct xfrd_change *change;
	bool dropped = false;

	cds_list_for_each_entry(change, &changes->failed, node) {
		if (!change->has_old)
			continue;
		xfrd_change_drop_new(change, old_is_durable);
		dropped = true;
	}
	return dropped;
}

/* ---- steps --------------------------------------------------------------- */

void
xfrd_changes_go_on(struct xfrd *xfrd)
{
	/* Fetches that waited for the last batch (xfrd_turn.c). */
	if (xfrd->changes->step == XFRD_CHANGES_NONE)
		xfrd_zones_go_on(xfrd);
	if (xfrd->changes->step == XFRD_CHANGES_NONE
		&& xfrd->follow.step == XFRD_FOLLOW_WANTED)
		xfrd_follow_begin(xfrd);
	else if (xfrd->changes->step == XFRD_CHANGES_NONE
		&& xfrd->follow.step == XFRD_FOLLOW_NONE)
		changes_begin(xfrd);
	else if (xfrd->changes->step == XFRD_CHANGES_LOADER)
		changes_ask(xfrd);
}

void
xfrd_changes_on_event(evutil_socket_t fd, short what, void *arg)
{
	xfrd_changes_go_on(arg);
}

void
xfrd_changes_on_renew(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;

	xfrd->changes->paused = false;
	xfrd_changes_go_on(xfrd);
}

void
xfrd_changes_on_synced(void *ctx, uint64_t number, int error)
{
	struct xfrd *xfrd = ctx;
	struct xfrd_changes *changes = xfrd->changes;

	if (number < changes->flush)
		return;
	switch (changes->step) {
	case XFRD_CHANGES_NONE:
	case XFRD_CHANGES_LOADER:
		return; /* for a flush that is no longer awaited */
	case XFRD_CHANGES_FLUSH:
	case XFRD_CHANGES_MOVE:
		if (error != 0) {
			changes_refuse(changes, error);
			return;
		}
		if (changes->step == XFRD_CHANGES_FLUSH
			&& changes_drop_old(changes)) {
			changes_flush(changes, XFRD_CHANGES_MOVE);
			return;
		}
		changes->step = XFRD_CHANGES_LOADER;
		break;
	case XFRD_CHANGES_RETURN:
		if (changes_drop_new(changes, error == 0) && error == 0) {
			changes_flush(changes, XFRD_CHANGES_MOVE_BACK);
			return;
		}
		/* Fall through. */
	case XFRD_CHANGES_MOVE_BACK:
		changes_end_failed(changes, error);
		changes_end_batch(changes);
		return;
	case XFRD_CHANGES_RENEWAL:
		if (xfrd_change_renew_next(xfrd, error))
			return;
		changes->step = XFRD_CHANGES_NONE;
		break;
	}
	xfrd_changes_go_on(xfrd);
}

void
xfrd_change_zone(struct xfrd *xfrd, const struct xfrd_change_ask *ask)
{
	struct xfrd_changes *changes = xfrd->changes;
	struct xfrd_change *change = changes != NULL
		? xfrd_change_create(xfrd, ask)
		: NULL;

	if (change == NULL) {
		const struct xfrd_change_end end = {
			.outcome = XFRD_CHANGED_UNLISTED,
			.why = changes != NULL ? err_text(NSD_E_MEMORY)
					       : xfrd->changes_why,
		};

		ask->on_end(ask->ctx, &end);
		return;
	}
	if (changes->paused
		&& clock_now_msec() - changes->failed_msec >= RENEW_AGAIN_MSEC)
		changes->paused = false;
	cds_list_add_tail(&change->node, &changes->waiting);
	event_active(changes->begin_event, EV_TIMEOUT, 0);
}
