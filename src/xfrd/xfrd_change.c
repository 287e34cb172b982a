/* xfrd_change.c - has zones come, go and get other patterns, everywhere. */
#include "config.h"

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

/* The loader has so many of ours in hand, at most: transfers need it, too. */
#define ASKED_MAX 64u
/* What it could not take is given to it again after this. */
#define AGAIN_MSEC 100
/* A list that could not be written anew is tried again after this, then after
 * twice as long each time; or with a change that comes after the first of
 * these. */
#define RENEW_PAUSE_SEC 1u
#define RENEW_PAUSE_SEC_MAX 60u

static void changes_end_echoes(struct cds_list_head *echoes,
	enum xfrd_changed outcome, const char *why);

/* Its echoes are told behind it. */
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
	struct cds_list_head echoes;

	CDS_INIT_LIST_HEAD(&echoes);
	cds_list_splice(&change->echoes, &echoes);
	xfrd_change_free(change);
	if (on_end != NULL)
		on_end(ctx, &end);
	changes_end_echoes(&echoes, outcome, why);
}

/* What has failed has failed for them, too. */
static void
changes_end_echoes(struct cds_list_head *echoes, enum xfrd_changed outcome,
	const char *why)
{
	bool failed = outcome == XFRD_CHANGED_UNLISTED
		|| outcome == XFRD_CHANGED_FAILED;
	struct xfrd_change *echo;

	while ((echo = list_first_or_null(echoes, struct xfrd_change, node))
		!= NULL)
		change_end(echo, failed ? outcome : echo->outcome,
			failed ? why : NULL);
}

/* There is nothing to be done. But the zone may be so only because of a change
 * that is not in effect yet: that is waited for. */
static void
change_end_idle(struct xfrd_change *change, enum xfrd_changed outcome)
{
	struct xfrd_change *last = NULL;

	if (outcome == XFRD_CHANGED || outcome == XFRD_CHANGED_EXISTS
		|| outcome == XFRD_CHANGED_ABSENT)
		last = xfrd_change_find_last(change);
	if (last == NULL || change->hasty) {
		change_end(change, outcome, NULL);
		return;
	}
	change->outcome = outcome;
	cds_list_del(&change->node);
	cds_list_add_tail(&change->node, &last->echoes);
}

static struct conf *
change_conf(const struct xfrd_change *change)
{
	return change->xfrd->role.server->conf;
}

/* Takes it back, and tells why once that is durable, too: what was told as
 * failed is not there after a power cut. Takes the change. */
static void
change_fail(struct xfrd_change *change, const char *why)
{
	struct xfrd_changes *changes = change->xfrd->changes;

	log_error("zone %s cannot be changed: %s", change->name, why);
	xfrd_change_undo(change);
	/* It is no change of its zone any more. */
	cds_list_del_init(&change->same);
	change->why = strdup(why);
	change->synced = syncer_ask(changes->syncer, changes->list->fd,
		changes->list->folder);
	cds_list_del(&change->node);
	cds_list_add_tail(&change->node, &changes->undone);
}

/* ---- asking the loader --------------------------------------------------- */

/* What the loader says of a change that it was asked for before. */
static bool
change_is_done(const struct xfrd_change *change, enum nsd_err err)
{
	if (err == NSD_OK)
		return true;
	/* What is not there is gone: the loader may have refused it. */
	if (change->kind == XFRD_CHANGE_DELETE)
		return err == NSD_E_NOT_FOUND;
	/* It was done when the last xfrd died. */
	return change->on_end == NULL && change->kind == XFRD_CHANGE_ADD
		&& err == NSD_E_ZONE;
}

static void
change_finish(struct xfrd_change *change, const struct zone_change *done)
{
	struct xfrd *xfrd = change->xfrd;
	struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		change->wire);

	if (change->kind == XFRD_CHANGE_DELETE) {
		/* Another change may have brought it back. */
		if (xfrd->journal != NULL && zone == NULL)
			journal_drop(xfrd->journal, change->wire);
	} else if (zone != NULL) {
		xfrd_turn_join(xfrd, zone);
		/* Its file may have another name. */
		if (change->kind == XFRD_CHANGE_PATTERN)
			xfrd_write_look(xfrd);
	}
	if (done->file == IPC_ZONE_LATER && change->on_end != NULL
		&& !change->hasty) {
		changes_end_echoes(&change->echoes, XFRD_CHANGED, NULL);
		xfrd_change_await_file(change);
	} else if (done->file == IPC_ZONE_BROKEN) {
		change_end(change, XFRD_CHANGED_UNREAD, done->reasons);
	} else {
		change_end(change, XFRD_CHANGED, NULL);
	}
}

static void
change_on_answer(void *ctx, const struct ipc_message *answer)
{
	struct xfrd_change *change = ctx;
	struct xfrd *xfrd = change->xfrd;
	struct zone_change done = {.err = NSD_E_BUG};
	struct ipc_zone payload;
	const char *why = "loaders have died of it";

	if (answer != NULL) {
		if (zone_message_read(answer, &payload, &done) != NSD_OK)
			done.err = NSD_E_WIRE;
		why = err_text(done.err);
	}
	xfrd->changes->asked_count--;
	if (change_is_done(change, done.err)) {
		change_finish(change, &done);
	} else {
		change_fail(change, why);
	}
	xfrd_changes_go_on(xfrd);
}

/* Changes of one zone are asked for one after the other. */
static bool
change_is_free(const struct xfrd_change *change)
{
	const struct xfrd_changes *changes = change->xfrd->changes;
	size_t len = name_len(change->wire);
	const struct xfrd_change *other;

	cds_list_for_each_entry(other, &changes->asked, node)
		if (memcmp(other->wire, change->wire, len) == 0)
			return false;
	return true;
}

/* False: it is to be tried again. */
static bool
change_ask(struct xfrd_change *change)
{
	struct xfrd_changes *changes = change->xfrd->changes;
	struct zone_change wanted = {
		.name = change->name,
		.pattern = change->pattern != NULL ? change->pattern : "",
		.anew = change->kind == XFRD_CHANGE_PATTERN,
	};
	enum nsd_err err;

	if (changes->asked_count == ASKED_MAX || !change_is_free(change))
		return false;
	err = xfrd_loader_change_zone(change->xfrd, &wanted, change_on_answer,
		change);
	if (err == NSD_E_AGAIN || err == NSD_E_MEMORY)
		return false;
	if (err != NSD_OK) {
		change_fail(change, xfrd_change_text(err));
		return true;
	}
	cds_list_del(&change->node);
	cds_list_add_tail(&change->node, &changes->asked);
	changes->asked_count++;
	return true;
}

/* ---- beginning ----------------------------------------------------------- */

/* Finds out whether there is something to be done. *outcome: if not, why. */
static bool
change_check(struct xfrd_change *change, struct xfrd_zone **zone,
	enum xfrd_changed *outcome)
{
	const struct conf *conf = change_conf(change);

	*outcome = XFRD_CHANGED_NO_PATTERN;
	if (change->kind != XFRD_CHANGE_DELETE
		&& conf_find_pattern(conf, change->pattern) == NULL)
		return false;
	/* An empty line of delzones is no error in NSD. */
	*outcome = change->kind == XFRD_CHANGE_DELETE && *change->name == '\0'
		? XFRD_CHANGED_ABSENT
		: XFRD_CHANGED_NO_NAME;
	if (!conf_parse_zone_name(change->name, change->wire))
		return false;
	*zone = xfrd_zone_find(&change->xfrd->zones.table, change->wire);
	*outcome = XFRD_CHANGED_EXISTS;
	if (change->kind == XFRD_CHANGE_ADD)
		return *zone == NULL;
	*outcome = XFRD_CHANGED_ABSENT;
	if (*zone == NULL)
		return change->kind == XFRD_CHANGE_PATTERN;
	*outcome = XFRD_CHANGED_FIXED;
	if ((*zone)->conf->pattern_name == NULL)
		return false;
	*outcome = XFRD_CHANGED;
	return change->kind == XFRD_CHANGE_DELETE
		|| strcmp((*zone)->conf->pattern_name, change->pattern) != 0;
}

static void
changes_sync(struct xfrd_changes *changes)
{
	struct xfrd_change *change;
	uint64_t number;

	/* The folder, too: the file may have been made just now. */
	number = syncer_ask(changes->syncer, changes->list->fd,
		changes->list->folder);
	cds_list_for_each_entry_reverse(change, &changes->listed, node) {
		if (change->synced != 0)
			break;
		change->synced = number;
	}
}

static void
change_begin(struct xfrd_change *change)
{
	struct xfrd_changes *changes = change->xfrd->changes;
	struct xfrd_zone *zone = NULL;
	enum xfrd_changed outcome;
	enum nsd_err err;

	if (!change_check(change, &zone, &outcome)) {
		/* To NSD, a zone that gets the pattern it has changes, too. */
		if (outcome == XFRD_CHANGED)
			zonelist_note_change(changes->list,
				change_conf(change), zone->conf);
		change_end_idle(change, outcome);
		return;
	}
	err = xfrd_change_do(change, zone);
	if (err != NSD_OK) {
		/* A list that is to be written anew, and cannot be. */
		const char *why = err == NSD_E_AGAIN
			? strerror(changes->failed_error)
			: xfrd_change_text(err);

		log_error("zone %s cannot be changed: %s: %s", change->name,
			changes->list->path, why);
		change_end(change, XFRD_CHANGED_UNLISTED, why);
		return;
	}
	cds_list_del(&change->node);
	cds_list_add_tail(&change->node, &changes->listed);
	xfrd_change_note(change);
}

/* ---- the list is written anew -------------------------------------------- */

static bool
changes_are_idle(struct xfrd_changes *changes)
{
	return cds_list_empty(&changes->listed)
		&& cds_list_empty(&changes->ready)
		&& cds_list_empty(&changes->asked)
		&& cds_list_empty(&changes->undone);
}

static bool
changes_want_renewal(const struct xfrd *xfrd)
{
	const struct xfrd_changes *changes = xfrd->changes;

	return !changes->resting
		&& zonelist_wants_renewal(changes->list,
			xfrd->role.server->conf);
}

/* A list that is whole is gone on with meanwhile; to one that is not, nothing
 * is added. */
static void
changes_fail_renewal(struct xfrd_changes *changes)
{
	struct timeval pause;

	changes->failed_error = errno;
	changes->failed_msec = clock_now_msec();
	changes->pause_sec = changes->pause_sec == 0 ? RENEW_PAUSE_SEC
						     : 2 * changes->pause_sec;
	if (changes->pause_sec > RENEW_PAUSE_SEC_MAX)
		changes->pause_sec = RENEW_PAUSE_SEC_MAX;
	log_error("cannot write %s anew: %s; again in %u s",
		changes->list->path, strerror(changes->failed_error),
		changes->pause_sec);
	pause = (struct timeval){.tv_sec = changes->pause_sec};
	changes->resting = true;
	event_add(changes->renew_event, &pause);
	changes->renewing = false;
	changes->renewed_fd = -1;
}

void
xfrd_changes_on_renew(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;

	xfrd->changes->resting = false;
	xfrd_changes_go_on(xfrd);
}

/* False: it could not be begun. */
static bool
changes_renew(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;

	changes->renewing = true;
	if (changes->unused > 0)
		log_warning("zone list %s is written anew without %zu lines of"
			    " zones that could not be added from it",
			changes->list->path, changes->unused);
	changes->unused = 0;
	if (zonelist_renew(changes->list, xfrd->role.server->conf,
		    &changes->renewed_fd)
		!= NSD_OK) {
		changes_fail_renewal(changes);
		return false;
	}
	(void)syncer_ask(changes->syncer, changes->renewed_fd, -1);
	return true;
}

/* The file is durable, then its name is. */
static void
changes_on_renewed(struct xfrd *xfrd, int error)
{
	struct xfrd_changes *changes = xfrd->changes;

	if (changes->renewed_fd != -1) {
		enum nsd_err err = NSD_E_SYSTEM;

		errno = error;
		if (error != 0)
			zonelist_drop_renewed(changes->list);
		else
			err = zonelist_take_renewed(changes->list,
				xfrd->role.server->conf);
		if (err != NSD_OK) {
			changes_fail_renewal(changes);
			return;
		}
		changes->renewed_fd = -1;
		(void)syncer_ask(changes->syncer, -1, changes->list->folder);
		return;
	}
	changes->renewing = false;
	if (error == 0)
		changes->pause_sec = 0;
	if (error != 0) {
		errno = error;
		changes->list->renew = true;
		changes_fail_renewal(changes);
	}
}

/* ---- one after the other ------------------------------------------------- */

void
xfrd_changes_on_sync(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;

	if (!cds_list_empty(&xfrd->changes->listed))
		changes_sync(xfrd->changes);
}

/* Begins what waits. All that comes in this turn of the loop is flushed
 * together, at its end. */
static void
changes_begin(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;
	bool some = false;
	struct xfrd_change *change;

	while (!changes->renewing
		&& (change = list_first_or_null(&changes->held,
			    struct xfrd_change, node))
			!= NULL) {
		if (changes_want_renewal(xfrd)) {
			if (!changes_are_idle(changes))
				break;
			if (changes_renew(xfrd))
				break;
		}
		change_begin(change);
		some = true;
	}
	if (some && !cds_list_empty(&changes->listed))
		event_active(changes->sync_event, EV_TIMEOUT, 0);
}

/* Asks the loader for what is durable. */
static void
changes_ask(struct xfrd *xfrd)
{
	static const struct timeval wait = {.tv_usec = AGAIN_MSEC * 1000};
	struct xfrd_changes *changes = xfrd->changes;
	struct xfrd_change *change;

	while ((change = list_first_or_null(&changes->ready, struct xfrd_change,
			node))
		!= NULL)
		if (!change_ask(change))
			break;
	/* Nobody's answer will wake us. */
	if (!cds_list_empty(&changes->ready) && changes->asked_count == 0)
		event_add(changes->again_event, &wait);
}

/* The list may have become idle: there is no better time to write it anew. What
 * that costs to find out is not asked for each change of many. */
static void
changes_rest(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;
	bool idle = changes_are_idle(changes), want;
	bool held = !cds_list_empty(&changes->held);

	if (changes->renewing || (!idle && !held))
		return;
	want = changes_want_renewal(xfrd);
	if (held && (idle || !want))
		event_active(changes->again_event, EV_TIMEOUT, 0);
	else if (idle && want)
		(void)changes_renew(xfrd);
}

/* What ends may begin others: they come here, too. */
void
xfrd_changes_go_on(struct xfrd *xfrd)
{
	struct xfrd_changes *changes = xfrd->changes;

	if (changes->in_turn)
		return;
	changes->in_turn = true;
	changes_begin(xfrd);
	changes_ask(xfrd);
	changes_rest(xfrd);
	changes->in_turn = false;
}

void
xfrd_changes_on_again(evutil_socket_t fd, short what, void *arg)
{
	xfrd_changes_go_on(arg);
}

/* What was taken back is so on the disk. error: perhaps not. */
static void
changes_end_undone(struct xfrd_changes *changes, uint64_t number, int error)
{
	struct xfrd_change *change;

	while ((change = list_first_or_null(&changes->undone,
			struct xfrd_change, node))
			!= NULL
		&& change->synced <= number) {
		char *why = change->why;

		if (error != 0)
			log_error("zone %s: a change that failed may come"
				  " again: %s: %s", change->name,
				changes->list->path, strerror(error));
		change->why = NULL;
		change_end(change, XFRD_CHANGED_FAILED,
			why != NULL ? why : err_text(NSD_E_MEMORY));
		free(why);
	}
}

/* The newest is taken back first: each finds what it has left. What waits for
 * them begins later. */
static void
changes_fail_sync(struct xfrd_changes *changes, struct cds_list_head *failed,
	int error)
{
	struct xfrd_change *change;
	bool undone = false;

	changes->in_turn = true;
	while ((change = list_first_or_null(failed, struct xfrd_change, node))
		!= NULL) {
		log_error("zone %s cannot be changed: %s: %s", change->name,
			changes->list->path, strerror(error));
		xfrd_change_undo(change);
		change_end(change, XFRD_CHANGED_UNLISTED, strerror(error));
		undone = true;
	}
	/* Nobody waits for a disk that does not write. */
	if (undone)
		(void)syncer_ask(changes->syncer, changes->list->fd,
			changes->list->folder);
	changes->in_turn = false;
}

/* What is in the list, is. */
void
xfrd_changes_on_synced(void *ctx, uint64_t number, int error)
{
	struct xfrd *xfrd = ctx;
	struct xfrd_changes *changes = xfrd->changes;
	struct xfrd_change *change, *next;
	struct cds_list_head failed;

	if (changes->renewing) {
		changes_on_renewed(xfrd, error);
		xfrd_changes_go_on(xfrd);
		return;
	}
	CDS_INIT_LIST_HEAD(&failed);
	cds_list_for_each_entry_safe(change, next, &changes->listed, node) {
		if (change->synced == 0 || change->synced > number)
			break;
		cds_list_del(&change->node);
		if (error == 0)
			cds_list_add_tail(&change->node, &changes->ready);
		else
			cds_list_add(&change->node, &failed);
	}
	changes_fail_sync(changes, &failed, error);
	changes_end_undone(changes, number, error);
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
	/* Whoever asks may have made room for it. */
	if (changes->resting
		&& clock_now_msec() - changes->failed_msec
			>= RENEW_PAUSE_SEC * 1000)
		changes->resting = false;
	cds_list_add_tail(&change->node, &changes->held);
	xfrd_changes_go_on(xfrd);
}
