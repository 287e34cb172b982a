/* xfrd_change_done.c - a change of a zone is done, or has failed. */
#include "config.h"

#include <assert.h>

#include "base/log.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"

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

bool
xfrd_change_is_published(const struct xfrd_change *change)
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

void
xfrd_change_finish(struct xfrd_change *change, const struct zone_change *done)
{
	struct xfrd *xfrd = change->xfrd;

	/* No change is done, and reported, without its line in the list. */
	assert(change->is_listed
		&& xfrd->changes->step != XFRD_CHANGES_NONE);
	change->file = done->file;
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
		xfrd_change_end(change, XFRD_CHANGED_UNREAD, done->reasons);
	else
		xfrd_change_end(change, XFRD_CHANGED, NULL);
}

void
xfrd_change_fail(struct xfrd_change *change, enum xfrd_changed outcome,
	const char *why)
{
	/* The state of the file is not known: READ tells it. */
	static const struct zone_change done = {.file = IPC_ZONE_LATER};
	struct xfrd_changes *changes = change->xfrd->changes;

	if (!change->has_old && xfrd_change_is_published(change)) {
		xfrd_change_finish(change, &done);
		return;
	}
	if (xfrd_change_is_told(change))
		log_error("zone %s cannot be changed: %s", change->name, why);
	change->outcome = outcome;
	change->why = why;
	xfrd_change_move(change, &changes->failed);
}

void
xfrd_change_take_answer(struct xfrd_change *change,
	const struct zone_change *done)
{
	struct xfrd_changes *changes = change->xfrd->changes;

	if (!change_is_done(change, done->err)) {
		if (done->err == NSD_E_AGAIN)
			xfrd_change_move(change, &changes->busy);
		else
			xfrd_change_fail(change, XFRD_CHANGED_FAILED,
				err_text(done->err));
	} else if (done->file == IPC_ZONE_BROKEN) {
		/* The loader publishes what it reports on. */
		xfrd_change_finish(change, done);
	} else {
		change->file = done->file;
		xfrd_change_move(change, &changes->made);
	}
}
