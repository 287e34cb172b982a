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
#include "xfrd/xfrd_members.h"

/* Changes of a batch: their lines are flushed, and published, together. */
#define BATCH_MAX 4096u
/* Changes of it that are looked at, and listed, in a turn of the loop; and done
 * ones that xfrd makes in one. */
#define TURN_LINES 512u
#define TURN_DONE 256u
/* A batch waits that long for a source of member zones that is about to ask for
 * more, so that its changes are published together; and looks that often. */
#define GATHER_MSEC 10
#define GATHER_LOOK_MSEC 1
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

/* ---- a batch is gathered, and listed ------------------------------------- */

static void
change_refuse(struct xfrd_change *change, const char *why)
{
	if (xfrd_change_is_told(change))
		log_error("zone %s cannot be changed: %s: %s", change->name,
			change->xfrd->changes->list->path, why);
	xfrd_change_end(change, XFRD_CHANGED_UNLISTED, why);
}

/* Writes the line of a change. NSD_E_AGAIN: a dead loader may have made it, so
 * it has to wait; after other failures it has ended. */
static enum nsd_err
change_list(struct xfrd_change *change)
{
	struct xfrd *xfrd = change->xfrd;
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		change->wire);
	enum xfrd_changed outcome;
	enum nsd_err err;

	if (!xfrd_change_check(change, zone, &outcome)) {
		xfrd_change_end(change, outcome, outcome == XFRD_CHANGED_MEMBER
			? xfrd_zone_member(&xfrd->zones.table, zone)
			: NULL);
		return NSD_E_DENIED;
	}
	err = xfrd_change_list(change, zone);
	if (err == NSD_OK)
		return NSD_OK;
	if (change->alone)
		return NSD_E_AGAIN;
	/* AGAIN: a list that is to be written anew, and cannot be. */
	change_refuse(change, err == NSD_E_AGAIN
		? strerror(xfrd->changes->failed_error)
		: err_reason(err));
	return NSD_E_SYSTEM;
}

/* Takes a change into the batch, or ends it. False: it is for the next one, as
 * this one has another change of its zone, or it cannot be listed now. */
static bool
change_begin(struct xfrd_change *change)
{
	struct xfrd_changes *changes = change->xfrd->changes;
	enum xfrd_changed outcome;

	assert(changes->step == XFRD_CHANGES_NONE
		|| changes->step == XFRD_CHANGES_LIST);
	if (!change->is_listed && !xfrd_change_parse(change, &outcome)) {
		xfrd_change_end(change, outcome, NULL);
		return true;
	}
	if (xfrd_change_find(change->xfrd, change->wire) != NULL)
		return false;
	if (!change->is_listed && xfrd_change_save(change))
		return true;
	if (!change->is_listed) {
		enum nsd_err err = change_list(change);

		if (err != NSD_OK)
			return err != NSD_E_AGAIN;
		/* The batch ends early if the list is to be written anew,
		 * which depends on this count. Changes that were listed before
		 * do not count: one of them may stay busy for long, and must
		 * not end the batches of all others. */
		changes->more += (change->kind == XFRD_CHANGE_ADD)
			- (change->kind == XFRD_CHANGE_DELETE);
	}
	xfrd_change_move(change, &changes->batch);
	changes->batch_count++;
	changes->in_a_row++;
	xfrd_change_note(change);
	return true;
}

/* Goes on after a while, unless that is to be before. */
static void
changes_wait(struct xfrd_changes *changes, int msec)
{
	const struct timeval wait = {.tv_usec = msec * 1000};

	if (!event_pending(changes->begin_event, EV_TIMEOUT, NULL))
		event_add(changes->begin_event, &wait);
}

/* Goes on in the next turn of the loop, so that others have theirs. */
static void
changes_turn(struct xfrd_changes *changes)
{
	static const struct timeval at_once = {.tv_sec = 0};

	event_add(changes->begin_event, &at_once);
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

/* Takes changes into the batch, for a turn of the loop. True: others can have
 * another turn, or are to come. */
static bool
changes_gather(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;
	unsigned turn = 0;

	while (changes->batch_count < BATCH_MAX
		&& !xfrd_change_wants_renewal(xfrd)) {
		struct xfrd_change *change = list_first_or_null(
			&changes->waiting, struct xfrd_change, node);

		if (change == NULL)
			return xfrd_members_want_more(xfrd)
				&& clock_now_msec() - changes->begun_msec
					< GATHER_MSEC;
		if (turn++ == TURN_LINES)
			return true;
		if (!change_begin(change))
			return false;
	}
	return false;
}

/* Lists the changes of a batch. */
static void
changes_list(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;
	bool more = changes_gather(xfrd);

	if (changes->batch_count == 0)
		more &= !cds_list_empty(&changes->waiting);
	if (!more && changes->batch_count > 0) {
		changes_flush(changes, XFRD_CHANGES_FLUSH);
		return;
	}
	changes->step = more ? XFRD_CHANGES_LIST : XFRD_CHANGES_NONE;
	if (more && cds_list_empty(&changes->waiting))
		changes_wait(changes, GATHER_LOOK_MSEC);
	else if (more || xfrd_change_wants_renewal(xfrd))
		changes_turn(changes);
	else if (!cds_list_empty(&changes->waiting))
		changes_wait(changes, AGAIN_MSEC);
}

/* Begins a batch of all changes that have come in this turn of the loop; before
 * that, the list is written anew if need be. */
static void
changes_begin(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;

	assert(cds_list_empty(&changes->batch)
		&& cds_list_empty(&changes->busy)
		&& cds_list_empty(&changes->failed));
	assert(changes->asked_count == 0);
	changes->batch_count = 0;
	changes->begun_msec = clock_now_msec();
	changes->more = 0;
	zonelist_look(changes->list);
	if (xfrd_change_wants_renewal(xfrd) && xfrd_change_renew(xfrd))
		changes->step = XFRD_CHANGES_RENEWAL;
	else
		changes_list(xfrd);
}

/* ---- asking the loader --------------------------------------------------- */

/* Changes that the loader was asked for in a message. */
struct changes_asked {
	struct xfrd *xfrd;
	struct cds_list_head list;
};

/* Takes back a message that loaders have died of: its only change has failed;
 * several are asked for again, one by one. */
static void
changes_give_up(struct xfrd_changes *changes, struct changes_asked *asked)
{
	struct xfrd_change *change = list_first_or_null(&asked->list,
		struct xfrd_change, node);

	if (change != NULL && change->node.next == &asked->list)
		xfrd_change_fail(change, XFRD_CHANGED_FAILED,
			"loaders have died of it");
	while ((change = list_first_or_null(&asked->list, struct xfrd_change,
			node)) != NULL) {
		change->alone = true;
		xfrd_change_move(change, &changes->busy);
	}
}

/* Changes that were made are published. */
static void
changes_take_made(struct xfrd_changes *changes)
{
	struct xfrd_change *change, *next;

	cds_list_for_each_entry_safe(change, next, &changes->made, node)
		xfrd_change_move(change, &changes->done);
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
	changes->asked_count--;
	if (answer == NULL || zone_message_read(&message, answer) != NSD_OK) {
		changes_give_up(changes, asked);
	} else {
		while ((change = list_first_or_null(&asked->list,
				struct xfrd_change, node)) != NULL
			&& zone_message_next(&message, &done))
			xfrd_change_take_answer(change, &done);
		if (message.payload.more == 0)
			changes_take_made(changes);
	}
	cds_list_splice(&asked->list, &changes->batch);
	free(asked);
	xfrd_changes_go_on(xfrd);
}

void
xfrd_changes_on_loader_gone(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;

	if (changes == NULL)
		return;
	cds_list_splice(&changes->made, &changes->batch);
	CDS_INIT_LIST_HEAD(&changes->made);
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
			xfrd_change_fail(change, XFRD_CHANGED_FAILED,
				err_reason(err));
			continue;
		}
		xfrd_change_move(change, list);
		count++;
		if (change->alone)
			break;
	}
}

/* Asks the loader for some changes, or to publish those that it has made, with
 * a message that has none. Without NSD_OK to be tried again. */
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
	if (!cds_list_empty(&changes->batch)) {
		changes_put(changes, &message, &asked->list);
		if (cds_list_empty(&asked->list)) {
			free(asked);
			return NSD_OK; /* the changes have failed */
		}
	}
	/* Changes that other messages leave come behind this one. */
	message.payload.more = !cds_list_empty(&changes->batch)
		|| changes->asked_count > 0;
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
		&& cds_list_empty(&changes->made)
		&& cds_list_empty(&changes->done)
		&& cds_list_empty(&changes->failed));
	cds_list_for_each_entry(change, &changes->busy, node)
		xfrd_change_forget(change);
	if (!cds_list_empty(&changes->busy))
		changes_wait(changes, AGAIN_MSEC);
	else
		changes_turn(changes);
	cds_list_splice(&changes->busy, &changes->waiting);
	CDS_INIT_LIST_HEAD(&changes->busy);
	changes->step = XFRD_CHANGES_NONE;
}

/* Makes published changes in xfrd, for a turn of the loop. */
static void
changes_make_done(struct xfrd_changes *changes)
{
	struct xfrd_change *change;

	for (unsigned i = 0; i < TURN_DONE
		&& (change = list_first_or_null(&changes->done,
			struct xfrd_change, node)) != NULL; i++) {
		const struct zone_change done = {.file = change->file};

		xfrd_change_finish(change, &done);
	}
}

/* True if the loader is to be asked for something. */
static bool
changes_have_more(struct xfrd_changes *changes)
{
	return !cds_list_empty(&changes->batch)
		|| (changes->asked_count == 0
			&& !cds_list_empty(&changes->made));
}

/* Asks the loader for the changes of the batch that it was not asked for yet.
 * If none are left, and it has answered all, the batch ends. */
static void
changes_ask(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;

	assert(changes->asked_count <= ASKED_MAX);
	while (changes_have_more(changes) && changes->asked_count < ASKED_MAX
		&& changes_ask_some(xfrd) == NSD_OK)
		;
	changes_make_done(changes);
	if (!cds_list_empty(&changes->done)) {
		changes_turn(changes);
		return;
	}
	if (changes->asked_count > 0)
		return;
	/* No answer is due that would wake xfrd up. */
	if (changes_have_more(changes))
		changes_wait(changes, AGAIN_MSEC);
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
		xfrd_change_end(change, change->outcome, change->why);
	}
}

/* The list on the disk has the lines of the batch: the loader may do it. */
static void
changes_note_durable(struct xfrd_changes *changes)
{
	struct xfrd_change *change;

	cds_list_for_each_entry(change, &changes->batch, node)
		change->is_durable = change->was_asked = true;
	changes->step = XFRD_CHANGES_LOADER;
}

/* Refuses a batch that could not be flushed: some of its lines may be on the
 * disk. A change that a dead loader has published cannot fail, and is not done
 * before its line is durable. */
static void
changes_refuse(struct xfrd_changes *changes, int error)
{
	struct xfrd_change *change;

	assert(changes->step == XFRD_CHANGES_FLUSH
		|| changes->step == XFRD_CHANGES_MOVE);
	log_error("cannot write %s: %s", changes->list->path, strerror(error));
	while ((change = list_first_or_null(&changes->batch, struct xfrd_change,
			node)) != NULL) {
		if (change->was_asked && !change->is_durable
			&& xfrd_change_is_published(change)) {
			xfrd_change_list_anew(change);
			xfrd_change_move(change, &changes->busy);
			continue;
		}
		xfrd_change_fail(change, XFRD_CHANGED_UNLISTED,
			strerror(error));
	}
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
			xfrd_change_fail(change, XFRD_CHANGED_UNLISTED,
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
	else if (xfrd->changes->step == XFRD_CHANGES_LIST)
		changes_list(xfrd);
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
	case XFRD_CHANGES_LIST:
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
		changes_note_durable(changes);
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
	changes_turn(changes);
}
