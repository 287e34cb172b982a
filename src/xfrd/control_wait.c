/*
 * control_wait.c - transfer, force_transfer, accept and notify: has the machine
 * of zones (xfr/machine.h) do it, and waits until transfers are done. notify
 * does not wait for targets: one that is down never answers. And nobody waits
 * for a verifier, which takes as long as it likes.
 *
 * A command may be about all zones, a million of them. So zones are begun a few
 * in a turn of the loop, and looked at in the order in which they were begun.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "dns/serial.h"
#include "net/socket.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_refused.h"

/* Zones that are begun, or looked at, in one turn. */
#define TURN_ZONES 500
#define STEP_USEC 10000
/* Zones that are named of those that have failed. */
#define TOLD_MAX 20u
#define REASON_MAX 512

/* A zone that was begun. Its number may become another's. */
struct wait_zone {
	uint32_t number;
	uint32_t incarnation; /* as of struct xfrd_zone */
};

struct control_wait {
	struct cds_list_head node; /* of control.waits */
	struct xfrd *xfrd;
	struct ctl_call *call;
	enum ctl_verb verb;
	bool all;
	uint32_t refused;          /* of accept: the serial that was refused */
	uint32_t begun;            /* of all: number of the next one */
	struct wait_zone *zones;
	size_t count, room;
	size_t removed;            /* of these, meanwhile */
	size_t judged;             /* of these: a verifier has the version */
	size_t looked;             /* of these, that are done with */
	unsigned failed;
	char reasons[TOLD_MAX][REASON_MAX]; /* of the first */
};

/* ---- one zone ------------------------------------------------------------ */

static bool
wait_is_notify(const struct control_wait *w)
{
	return w->verb == CTL_NOTIFY;
}

/* True if the verb is about such a zone. */
static bool
wait_concerns(struct xfrd *xfrd, enum ctl_verb verb,
	const struct xfrd_zone *zone)
{
	return xfrd_zone_count(xfrd, zone, verb == CTL_NOTIFY
			? SETTINGS_NOTIFY : SETTINGS_REQUEST_XFR) > 0;
}

/* Has a version that was refused fetched once more, and taken as it is. */
static void
wait_begin_accept(struct control_wait *w, const struct xfrd_zone *zone)
{
	struct xfrd_refused_version *refused = xfrd_refused_find(
		&w->xfrd->zones.table, zone);

	assert(refused != NULL);
	refused->is_accepted = true;
	w->refused = refused->serial;
	xfr_on_accept(w->xfrd->zones.machine, zone->handle, clock_now_msec(),
		refused->primary, refused->serial);
}

static void
wait_begin_zone(struct control_wait *w, const struct xfrd_zone *zone)
{
	struct xfr_machine *machine = w->xfrd->zones.machine;
	uint32_t handle = zone->handle;
	int64_t now = clock_now_msec();

	if (wait_is_notify(w))
		xfr_send_notifies(machine, handle, !w->all);
	else if (w->verb == CTL_ACCEPT)
		wait_begin_accept(w, zone);
	else
		xfr_on_command(machine, handle, now,
			w->verb == CTL_FORCE_TRANSFER);
}

/* Prints why the version that was fetched is refused, if that is why. */
static bool
wait_print_refused(const struct control_wait *w, const struct xfrd_zone *zone,
	const struct xfr_status *status, char *reason)
{
	const struct xfrd_refused_version *refused = xfrd_refused_find(
		&w->xfrd->zones.table, zone);

	if (refused == NULL || (status->error != XFR_REFUSED
			&& status->error != XFR_BAD_DIGEST
			&& status->error != XFR_BAD_SIGNED))
		return false;
	snprintf(reason, REASON_MAX, "serial %u is refused by %s: %s",
		(unsigned)refused->serial,
		xfrd_refused_check_word(refused->check), refused->why);
	return true;
}

/* True if the zone has come neither to the version that was refused nor to a
 * newer one. */
static bool
wait_lacks_refused(const struct control_wait *w,
	const struct xfr_status *status, char *reason)
{
	if (status->has_data && (status->soa.serial == w->refused
			|| serial_is_newer(status->soa.serial, w->refused)))
		return false;
	snprintf(reason, REASON_MAX, "the primaries do not have serial %u any"
		" more", (unsigned)w->refused);
	return true;
}

/* Finds the fault of a zone that is done with; false: there is none. */
static bool
wait_find_fault(const struct control_wait *w, const struct xfrd_zone *zone,
	const struct xfr_status *status, char *reason)
{
	if (wait_is_notify(w)) {
		if (!status->has_data)
			snprintf(reason, REASON_MAX, "it is not loaded");
		return !status->has_data;
	}
	if (status->failed_rounds == 0 && w->verb == CTL_ACCEPT)
		return wait_lacks_refused(w, status, reason);
	if (status->failed_rounds == 0)
		return false;
	if (!status->has_error)
		snprintf(reason, REASON_MAX, "no primary has answered");
	else if (!wait_print_refused(w, zone, status, reason))
		xfrd_print_error_from(w->xfrd, zone, status, reason,
			REASON_MAX);
	return true;
}

static void
wait_note_fault(struct control_wait *w, const char *name, const char *reason)
{
	if (w->failed < TOLD_MAX)
		snprintf(w->reasons[w->failed], REASON_MAX,
			"zone %.300s: %.180s", name, reason);
	w->failed++;
}

static void
wait_note_zone(struct control_wait *w, const struct xfrd_zone *zone,
	const char *reason)
{
	char name[NAME_TEXT_MAX];

	wait_note_fault(w, xfrd_zone_print_name(w->xfrd, zone, name), reason);
}

/* Looks at a zone that was begun. False: it is not done with yet. */
static bool
wait_look_at(struct control_wait *w, const struct wait_zone *begun)
{
	const struct xfrd_zone *zone = xfrd_zone_at(&w->xfrd->zones.table,
		begun->number);
	struct xfr_status status;
	char reason[REASON_MAX];

	if (zone == NULL || zone->handle == XFR_NONE
		|| zone->incarnation != begun->incarnation) {
		w->removed++;
		if (!w->all)
			wait_note_fault(w, ctl_argument(w->call, 0),
				"it was removed meanwhile");
		return true;
	}
	xfr_get_status(w->xfrd->zones.machine, zone->handle,
		clock_now_msec(), &status);
	if (!wait_is_notify(w) && status.is_checking) {
		w->judged += zone->is_judged;
		return zone->is_judged;
	}
	if (wait_find_fault(w, zone, &status, reason))
		wait_note_zone(w, zone, reason);
	return true;
}

/* ---- the answer ---------------------------------------------------------- */

static void
wait_print_judged(const struct control_wait *w)
{
	if (w->all)
		ctl_printf(w->call, "ok, %zu zones, of which %zu wait for their"
			" verifier\n", w->count - w->removed, w->judged);
	else if (w->verb == CTL_ACCEPT)
		ctl_printf(w->call, "ok, once its verifier has judged the"
			" version that it has\n");
	else
		ctl_printf(w->call, "ok, its new version waits for its"
			" verifier\n");
}

static void
wait_print(const struct control_wait *w)
{
	unsigned told = w->failed < TOLD_MAX ? w->failed : TOLD_MAX;

	assert(w->removed <= w->looked && w->looked == w->count);
	if (w->failed == 0 && w->judged > 0)
		wait_print_judged(w);
	else if (w->failed == 0 && w->all && !wait_is_notify(w))
		ctl_printf(w->call, "ok, %zu zones\n", w->count - w->removed);
	else if (w->failed == 0)
		ctl_printf(w->call, "ok\n");
	else if (!w->all)
		ctl_printf(w->call, "error %s\n", w->reasons[0]);
	else
		ctl_printf(w->call, "error %u of %zu zones failed:\n",
			w->failed, w->count - w->removed);
	for (unsigned i = 0; i < told && w->all; i++)
		ctl_printf(w->call, "%s\n", w->reasons[i]);
	if (w->all && w->failed > told)
		ctl_printf(w->call, "and %u more\n", w->failed - told);
}

static void
control_wait_end(struct control_wait *w)
{
	cds_list_del(&w->node);
	wait_print(w);
	ctl_end(w->call);
	free(w->zones);
	free(w);
}

static void
wait_refuse(struct ctl_call *call, const char *error)
{
	ctl_printf(call, "error %s\n", error);
	ctl_end(call);
}

/* ---- turns --------------------------------------------------------------- */

/* Adds a zone that was begun. False: no memory. */
static bool
wait_add_zone(struct control_wait *w, const struct xfrd_zone *zone)
{
	struct wait_zone *zones = grow_array(w->zones, w->count, &w->room,
		sizeof(*zones));

	assert(zone->handle != XFR_NONE);
	if (zones == NULL)
		return false;
	w->zones = zones;
	zones[w->count++] = (struct wait_zone){zone->number, zone->incarnation};
	wait_begin_zone(w, zone);
	return true;
}

/* Begins a zone, of all zones, if the verb is about it. */
static void
wait_begin_one(struct control_wait *w, const struct xfrd_zone *zone)
{
	if (!wait_concerns(w->xfrd, w->verb, zone))
		return;
	if (zone->handle == XFR_NONE)
		wait_note_zone(w, zone, "it is not ready yet");
	else if (!wait_add_zone(w, zone))
		wait_note_zone(w, zone, "out of memory");
}

/* Begins some more of all zones. */
static void
wait_begin_some(struct control_wait *w)
{
	const struct xfrd_zone_table *table = &w->xfrd->zones.table;

	for (unsigned i = 0; i < TURN_ZONES && w->begun < table->end; i++) {
		const struct xfrd_zone *zone = xfrd_zone_at(table, w->begun++);

		if (zone != NULL)
			wait_begin_one(w, zone);
	}
	xfrd_zones_go_on(w->xfrd);
}

/* Does a turn of the command. True: it is over. */
static bool
wait_step(struct control_wait *w)
{
	bool begins = w->all && w->begun < w->xfrd->zones.table.end;

	if (begins)
		wait_begin_some(w);
	if (ctl_command(w->call)->no_wait)
		w->looked = w->count;
	for (unsigned i = 0; i < TURN_ZONES && w->looked < w->count; i++) {
		if (!wait_look_at(w, &w->zones[w->looked]))
			return false;
		w->looked++;
	}
	return !begins && w->looked == w->count;
}

static void
wait_set_timer(struct control *control)
{
	const struct timeval step = {.tv_usec = STEP_USEC};

	event_add(control->wait_event, &step);
}

static void
wait_on_time(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;
	struct control_wait *w, *next;

	cds_list_for_each_entry_safe(w, next, &xfrd->control.waits, node)
		if (wait_step(w))
			control_wait_end(w);
	if (!cds_list_empty(&xfrd->control.waits))
		wait_set_timer(&xfrd->control);
}

static void
wait_on_progress(struct ctl_call *call, struct ctl_progress *progress)
{
	const struct control_wait *w = ctl_hooks(call)->ctx;

	progress->done = w->looked;
	progress->all = w->count;
}

/* ---- verbs --------------------------------------------------------------- */

/* Starts a command; takes the call. */
static void
wait_start(struct xfrd *xfrd, struct ctl_call *call,
	struct xfrd_zone *zone)
{
	struct control *control = &xfrd->control;
	struct control_wait *w = calloc(1, sizeof(*w));

	if (control->wait_event == NULL)
		control->wait_event = event_new(xfrd->role.base, -1, 0,
			wait_on_time, xfrd);
	if (w == NULL || control->wait_event == NULL) {
		free(w);
		wait_refuse(call, "out of memory");
		return;
	}
	w->xfrd = xfrd;
	w->call = call;
	w->verb = ctl_command(call)->verb;
	ctl_hooks(call)->ctx = w;
	ctl_hooks(call)->on_progress = wait_on_progress;
	w->all = zone == NULL;
	if (zone != NULL
		&& !wait_add_zone(w, zone)) {
		free(w);
		wait_refuse(call, "out of memory");
		return;
	}
	cds_list_add_tail(&w->node, &control->waits);
	xfrd_zones_go_on(xfrd);
	wait_set_timer(control);
}

static void
wait_for(struct xfrd *xfrd, struct ctl_call *call, const char *no_concern)
{
	const char *name = ctl_argument(call, 0);
	struct xfrd_zone *zone;

	if (name == NULL) {
		wait_start(xfrd, call, NULL);
		return;
	}
	zone = control_find_zone(xfrd, call, name);
	if (zone == NULL)
		return;
	if (!wait_concerns(xfrd, ctl_command(call)->verb, zone))
		wait_refuse(call, no_concern);
	else if (zone->handle == XFR_NONE)
		wait_refuse(call, "zone is not ready yet, zone files are being"
				  " read: try again");
	else
		wait_start(xfrd, call, zone);
}

void
control_on_transfer(struct xfrd *xfrd, struct ctl_call *call)
{
	wait_for(xfrd, call, "zone not secondary");
}

/* Logs who has a refused version served. */
static void
accept_note(struct xfrd *xfrd, const struct ctl_call *call,
	const struct xfrd_zone *zone)
{
	char name[NAME_TEXT_MAX], client[CTL_CLIENT_MAX];

	log_notice("xfrd: zone %s: %s accepts what is refused",
		xfrd_zone_print_name(xfrd, zone, name),
		ctl_print_client(call, client, sizeof(client)));
}

/* Has the file of a zone read once more, and taken as it is. */
static void
accept_file(struct xfrd *xfrd, struct ctl_call *call, struct xfrd_zone *zone)
{
	struct xfrd_soa soa;
	enum nsd_err err;

	/* A zone that is not loaded may have a file that was refused. */
	if (xfrd_zones_get_soa(xfrd, zone, &soa) && !soa.file_failed) {
		wait_refuse(call, xfrd_refused_find(&xfrd->zones.table, zone)
			!= NULL ? "what was refused is an update of a client,"
				  " who may send it again"
				: "nothing of the zone is refused");
		return;
	}
	accept_note(xfrd, call, zone);
	err = xfrd_loader_accept_file(xfrd, xfrd_zone_apex(zone),
		control_on_read, call);
	if (err == NSD_E_AGAIN)
		wait_refuse(call, "the loader has too much to do");
	else if (err != NSD_OK)
		wait_refuse(call, err_text(err));
}

void
control_on_accept(struct xfrd *xfrd, struct ctl_call *call)
{
	struct xfrd_zone *zone = control_find_zone(xfrd, call,
		ctl_argument(call, 0));

	if (zone == NULL)
		return;
	if (!xfrd_zone_is_secondary(xfrd, zone)) {
		accept_file(xfrd, call, zone);
	} else if (zone->handle == XFR_NONE) {
		wait_refuse(call, "zone is not ready yet, zone files are being"
				  " read: try again");
	} else if (xfrd_refused_find(&xfrd->zones.table, zone) == NULL) {
		wait_refuse(call, "nothing of the zone is refused");
	} else {
		accept_note(xfrd, call, zone);
		wait_start(xfrd, call, zone);
	}
}

void
control_on_notify(struct xfrd *xfrd, struct ctl_call *call)
{
	wait_for(xfrd, call, "zone does not have notify");
}
