/* xfrd_save.c - has the files of zones that take UPDATEs written. */
#include "config.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_updates.h"
#include "xfrd/xfrd_save.h"

/* The time between looks whether a batch has come to its end, or whether there
 * is room for a request to write. */
#define LOOK_MSEC 10
/* Zones that are looked at in a turn of the loop. */
#define TURN_ZONES 500u

struct save_work {
	struct xfrd *xfrd;
	struct event *event;
	xfrd_save_on_end *on_end;
	void *ctx;
	uint64_t number;
	bool is_all;
	bool has_zone;
	uint32_t looked; /* zones that a new xfrd has looked at for this */
	uint8_t apex[NAME_MAX_LEN]; /* of the zone at hand */
	char why[XFRD_SAVE_WHY_MAX];
};

bool
xfrd_save_is_needed(const struct xfrd *xfrd, const uint8_t *apex)
{
	struct journal_entry entry;
	uint64_t octets;

	return xfrd->journal != NULL
		&& (xfrd_client_update_is_busy(xfrd, apex)
			|| journal_find_newest(xfrd->journal, apex, &entry,
				&octets));
}

static void
save_end(struct save_work *work)
{
	if (work->xfrd->updates.saver == work)
		work->xfrd->updates.saver = NULL;
	work->on_end(work->ctx, work->why);
	event_free(work->event);
	free(work);
}

/* Notes that the file of the zone at hand cannot be written. */
static void
save_note(struct save_work *work, const char *why)
{
	char name[NAME_TEXT_MAX];
	size_t len = name_print_text(work->apex, name);
	size_t at = strlen(work->why);

	name[len > 1 ? len - 1 : len] = '\0';
	log_error("xfrd: zone %s has updates that its file lacks, which cannot"
		  " be written: %s", name, why);
	snprintf(work->why + at, sizeof(work->why) - at, "%s%s%s has updates"
		" that its file lacks, which cannot be written: %s",
		at > 0 ? "\n" : "", work->is_all ? "zone " : "",
		work->is_all ? name : "it", why);
}

/* Goes on with the zone at hand, or with the next one, in another turn. */
static void
save_go_on(struct save_work *work, int msec)
{
	const struct timeval wait = {.tv_usec = msec * 1000};

	event_add(work->event, &wait);
}

/* The zone at hand is done. */
static void
save_end_zone(struct save_work *work)
{
	work->has_zone = false;
	if (work->is_all)
		save_go_on(work, 0);
	else
		save_end(work);
}

static void
save_on_written(void *ctx, const struct xfrd_write_result *result)
{
	struct save_work *work = ctx;

	if (result->failed > 0)
		save_note(work, xfrd_written_why(&result->last_failed));
	save_end_zone(work);
}

/* Has the file of the zone at hand written, if that is possible now. */
static void
save_write(struct save_work *work)
{
	struct xfrd *xfrd = work->xfrd;
	enum nsd_err err = NSD_E_LIMIT;

	if (!xfrd_client_update_is_busy(xfrd, work->apex))
		err = xfrd_write(xfrd, work->apex, save_on_written, work);
	if (err == NSD_E_LIMIT) {
		save_go_on(work, LOOK_MSEC);
	} else if (err != NSD_OK) {
		save_note(work, err_reason(err));
		save_end_zone(work);
	}
}

/* Has the next zones whose updates the journal has known: an xfrd that has just
 * started has not looked at all of them by itself. True: all are known. */
static bool
save_find_known(struct save_work *work)
{
	struct xfrd *xfrd = work->xfrd;
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	struct journal_entry entry;
	uint64_t octets;

	for (unsigned i = 0; i < TURN_ZONES && !xfrd->zones.told
		&& xfrd->journal != NULL && work->looked < table->end; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(table, work->looked++);

		if (zone != NULL && journal_find_newest(xfrd->journal,
				xfrd_zone_apex(zone), &entry, &octets))
			xfrd_client_update_look(xfrd, zone);
	}
	return xfrd->zones.told || xfrd->journal == NULL
		|| work->looked >= table->end;
}

/* Looks for the next zone that is to be written. Zones that were looked at go
 * to the end. True: all were. */
static bool
save_find_next(struct save_work *work)
{
	struct cds_list_head *all = &work->xfrd->updates.all;

	for (unsigned i = 0; i < TURN_ZONES && !work->has_zone; i++) {
		struct update_zone *z = list_first_or_null(all,
			struct update_zone, all_node);

		if (z == NULL || z->saved == work->number)
			return true;
		z->saved = work->number;
		cds_list_del(&z->all_node);
		cds_list_add_tail(&z->all_node, all);
		work->has_zone = xfrd_save_is_needed(work->xfrd, z->apex);
		memcpy(work->apex, z->apex, name_len(z->apex));
	}
	return false;
}

/* Saves of all zones take turns, as each notes in the zones which it has looked
 * at. */
static bool
save_has_turn(struct save_work *work)
{
	struct xfrd_client_updates *updates = &work->xfrd->updates;

	if (!work->is_all)
		return true;
	if (updates->saver == NULL)
		updates->saver = work;
	return updates->saver == work;
}

static void
save_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct save_work *work = arg;

	if (!save_has_turn(work))
		save_go_on(work, LOOK_MSEC);
	else if (work->is_all && !save_find_known(work))
		save_go_on(work, 0);
	else if (!work->has_zone && save_find_next(work))
		save_end(work);
	else if (!work->has_zone)
		save_go_on(work, 0);
	else
		save_write(work);
}

enum nsd_err
xfrd_save(struct xfrd *xfrd, const uint8_t *apex, xfrd_save_on_end *on_end,
	void *ctx)
{
	struct save_work *work = calloc(1, sizeof(*work));
	enum nsd_err err = NSD_E_MEMORY;

	if (work != NULL)
		work->event = event_new(xfrd->role.base, -1, 0, save_on_event,
			work);
	if (work != NULL && work->event != NULL)
		err = xfrd_client_update_hold(xfrd, apex);
	if (err != NSD_OK) {
		if (work != NULL && work->event != NULL)
			event_free(work->event);
		free(work);
		return err;
	}
	work->xfrd = xfrd;
	work->on_end = on_end;
	work->ctx = ctx;
	work->number = ++xfrd->updates.saves;
	work->is_all = apex == NULL;
	work->has_zone = apex != NULL;
	if (apex != NULL)
		memcpy(work->apex, apex, name_len(apex));
	save_go_on(work, 0);
	return NSD_OK;
}

/* ---- for main ------------------------------------------------------------ */

static void
asked_on_end(void *ctx, const char *why)
{
	struct xfrd *xfrd = ctx;
	struct xfrd_save_asked *asked = &xfrd->save_asked;

	asked->step = XFRD_SAVE_WRITTEN;
	role_send_obeyed(&xfrd->role, asked->ticket);
	if (asked->is_over)
		xfrd_save_on_over(xfrd, false);
}

void
xfrd_save_on_ask(struct xfrd *xfrd, uint64_t ticket)
{
	struct xfrd_save_asked *asked = &xfrd->save_asked;
	enum nsd_err err;

	asked->ticket = ticket;
	asked->is_over = false;
	/* With WRITTEN, all that came was held since. */
	if (asked->step == XFRD_SAVE_WRITTEN)
		role_send_obeyed(&xfrd->role, ticket);
	if (asked->step != XFRD_SAVE_NONE)
		return;
	err = xfrd_save(xfrd, NULL, asked_on_end, xfrd);
	if (err == NSD_OK) {
		asked->step = XFRD_SAVE_WRITES;
		return;
	}
	log_error("xfrd: zones that take updates are not written before nsd.conf"
		  " is read: %s", err_text(err));
	role_send_obeyed(&xfrd->role, ticket);
}

void
xfrd_save_on_over(struct xfrd *xfrd, bool is_followed)
{
	struct xfrd_save_asked *asked = &xfrd->save_asked;

	asked->is_over = true;
	if (asked->step != XFRD_SAVE_WRITTEN)
		return;
	asked->step = XFRD_SAVE_NONE;
	if (is_followed)
		xfrd_follow_release_later(xfrd);
	else
		xfrd_client_update_release(xfrd, NULL);
}
