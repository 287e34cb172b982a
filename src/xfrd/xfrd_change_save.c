/* xfrd_change_save.c - before a zone goes, or gets another pattern, its file
 * gets all updates of clients. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>

#include "base/log.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_changes.h"
#include "xfrd/xfrd_save.h"

/* True if a change may take updates of clients away. */
static bool
change_loses_updates(const struct xfrd_change *change)
{
	struct xfrd *xfrd = change->xfrd;
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		change->wire);
	struct xfrd_options options;
	enum xfrd_changed outcome;
	bool takes;

	if (change->kind == XFRD_CHANGE_ADD || change->is_held || zone == NULL
		|| !xfrd_change_check_asker(change, zone, &outcome))
		return false;
	options = xfrd_options_begin(xfrd, zone);
	takes = xfrd_options_take_updates(&options);
	xfrd_read_end(xfrd);
	return takes && xfrd_save_is_needed(xfrd, change->wire);
}

static void
change_on_saved(void *ctx, const char *why)
{
	static const struct timeval at_once = {.tv_sec = 0};
	struct xfrd_change *change = ctx;
	struct xfrd_changes *changes = change->xfrd->changes;

	xfrd_change_forget(change);
	if (*why != '\0') {
		xfrd_change_end(change, XFRD_CHANGED_FAILED, why);
		return;
	}
	cds_list_del(&change->node);
	cds_list_add(&change->node, &changes->waiting);
	event_add(changes->begin_event, &at_once);
}

bool
xfrd_change_save(struct xfrd_change *change)
{
	struct xfrd_changes *changes = change->xfrd->changes;
	enum nsd_err err;

	if (!change_loses_updates(change))
		return false;
	err = xfrd_save(change->xfrd, change->wire, change_on_saved, change);
	if (err != NSD_OK) {
		xfrd_change_end(change, XFRD_CHANGED_FAILED, err_text(err));
		return true;
	}
	change->is_held = true;
	/* Later changes of the zone wait for this one. */
	xfrd_change_note(change);
	xfrd_change_move(change, &changes->saving);
	return true;
}
