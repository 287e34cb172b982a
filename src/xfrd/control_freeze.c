/*
 * control_freeze.c - the verbs freeze and thaw, of zones that take UPDATEs of
 * clients.
 *
 * freeze: updates are refused; the version that is being published comes to its
 * end; the state is kept, so that it outlives a restart; the zone's file is
 * written. thaw: the file is read, as by reload; updates are taken again, if
 * that was well.
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_update.h"
#include "xfrd/xfrd_freeze.h"

/* The time between looks whether updates have come to their end. */
#define LOOK_MSEC 10
/* Zones that are frozen in a turn of the loop. */
#define TURN_ZONES 500u
/* Octets of reasons why zones cannot be thawed. */
#define REASONS_MAX 2000
/* Zones that a command names in the log: there may be a million. */
#define NAMES_MAX 100u

/* A command that is carried out. */
struct freeze_work {
	struct xfrd *xfrd;
	struct ctl_call *call;
	struct event *event;
	bool is_all;
	bool is_adding;        /* freeze of all: zones are left */
	bool was_frozen;       /* before, the zone */
	uint32_t next;         /* of all: number of a zone */
	uint32_t left;         /* of all: zones that are still to be thawed */
	uint32_t failed;       /* of these, zones that stay frozen */
	uint32_t done;         /* zones that were frozen, or thawed */
	uint32_t named;        /* lines of the log with a name */
	uint32_t thawed;       /* freezer.thawed at the beginning */
	char reasons[REASONS_MAX];
	uint8_t apex[NAME_MAX_LEN]; /* of the zone at hand */
};

static void thaw_next(struct freeze_work *work);

static void
freeze_free(struct freeze_work *work)
{
	if (work->event != NULL)
		event_free(work->event);
	free(work);
}

/* Begins a command. NULL: it has ended. */
static struct freeze_work *
freeze_begin(struct xfrd *xfrd, struct ctl_call *call,
	void (*on_event)(evutil_socket_t, short, void *))
{
	struct freeze_work *work;
	const uint8_t *apex;

	if (!control_find_apex(xfrd, call, &apex))
		return NULL;
	work = calloc(1, sizeof(*work));
	if (work != NULL)
		work->event = event_new(xfrd->role.base, -1, 0, on_event,
			work);
	if (work == NULL || work->event == NULL) {
		free(work);
		ctl_printf(call, "error %s\n", err_text(NSD_E_MEMORY));
		ctl_end(call);
		return NULL;
	}
	work->xfrd = xfrd;
	work->call = call;
	work->is_all = apex == NULL;
	work->thawed = xfrd->freezer.thawed;
	if (apex != NULL)
		memcpy(work->apex, apex, name_len(apex));
	return work;
}

/* Ends a command. why: NULL, or what is wrong. */
static void
freeze_end(struct freeze_work *work, const char *why)
{
	struct ctl_call *call = work->call;

	freeze_free(work);
	if (why == NULL)
		ctl_printf(call, "ok\n");
	else
		ctl_printf(call, "error %s\n", why);
	ctl_end(call);
}

static const char *
freeze_why(enum nsd_err err)
{
	return err == NSD_E_DENIED ? "the journal cannot be used"
		: err_reason(err);
}

static void
freeze_log(const uint8_t *apex, const char *what)
{
	char name[NAME_TEXT_MAX];
	size_t len = name_print_text(apex, name);

	name[len > 1 ? len - 1 : len] = '\0';
	log_at(1, LOG_LEVEL_INFO, "xfrd: zone %s %s", name, what);
}

/* Logs that a zone was frozen or thawed, or why not. */
static void
freeze_log_next(struct freeze_work *work, const uint8_t *apex, const char *what)
{
	if (work->named++ < NAMES_MAX)
		freeze_log(apex, what);
}

/* Logs the sum of a command for all zones. */
static void
freeze_log_sum(const struct freeze_work *work, const char *what)
{
	uint32_t more = work->named > NAMES_MAX ? work->named - NAMES_MAX : 0;

	if (work->is_all)
		log_at(1, LOG_LEVEL_INFO, "xfrd: %u zone%s %s%s",
			(unsigned)work->done, work->done == 1 ? " is"
				: "s are", what,
			more > 0 ? "; not all are named above" : "");
}

/* ---- freeze -------------------------------------------------------------- */

/* The zone takes updates again, if it did before. */
static void
freeze_undo(struct freeze_work *work)
{
	if (work->is_all || work->was_frozen)
		return;
	xfrd_freeze_remove(work->xfrd, work->apex);
	if (xfrd_freeze_save(work->xfrd) != NSD_OK)
		freeze_log(work->apex, "is frozen after a restart: the journal"
			" cannot be written");
}

/* Says what another command has undone while this one waited; NULL: nothing. */
static const char *
freeze_find_thawed(const struct freeze_work *work)
{
	const struct xfrd *xfrd = work->xfrd;

	if (!work->is_all)
		return xfrd_freeze_has(xfrd, work->apex) ? NULL
			: "the zone was thawed or removed meanwhile";
	return xfrd->freezer.thawed == work->thawed ? NULL
		: "zones were thawed meanwhile, and are not frozen";
}

#define IS_FROZEN "is frozen: updates are refused until it is thawed"

static void
freeze_on_written(void *ctx, const struct xfrd_write_result *result)
{
	struct freeze_work *work = ctx;
	const char *thawed = freeze_find_thawed(work);

	if (result->failed == 0) {
		if (!work->is_all && thawed == NULL)
			freeze_log(work->apex, IS_FROZEN);
		freeze_end(work, thawed);
		return;
	}
	ctl_printf(work->call, "error %u zone%s cannot be written: %s%s\n",
		(unsigned)result->failed, result->failed == 1 ? "" : "s",
		xfrd_written_why(&result->last_failed),
		work->is_all ? "; zones are frozen" : "");
	freeze_undo(work);
	ctl_end(work->call);
	freeze_free(work);
}

/* Keeps the state, and has files written. */
static void
freeze_write(struct freeze_work *work)
{
	enum nsd_err err = xfrd_freeze_save(work->xfrd);
	char why[200];

	if (err == NSD_OK)
		err = xfrd_write(work->xfrd, work->is_all ? NULL : work->apex,
			freeze_on_written, work);
	if (err == NSD_OK)
		return;
	/* The way back makes system calls, too. */
	snprintf(why, sizeof(why), "%s", freeze_why(err));
	freeze_undo(work);
	freeze_end(work, why);
}

/* Freezes one of all zones. */
static void
freeze_add(struct freeze_work *work, const uint8_t *apex)
{
	bool was_frozen = xfrd_freeze_has(work->xfrd, apex);

	if (xfrd_freeze_add(work->xfrd, apex) != NSD_OK) {
		work->failed++;
		return;
	}
	work->done++;
	if (!was_frozen)
		freeze_log_next(work, apex, IS_FROZEN);
}

/* Freezes the next zones. False: all are. */
static bool
freeze_add_next(struct freeze_work *work)
{
	struct xfrd *xfrd = work->xfrd;
	const struct xfrd_zone_table *table = &xfrd->zones.table;

	for (unsigned i = 0; i < TURN_ZONES && work->next < table->end; i++) {
		const struct xfrd_zone *zone = xfrd_zone_at(table,
			work->next++);
		struct xfrd_options options;
		bool takes;

		if (zone == NULL)
			continue;
		options = xfrd_options_begin(xfrd, zone);
		takes = xfrd_options_take_updates(&options);
		xfrd_read_end(xfrd);
		if (takes)
			freeze_add(work, xfrd_zone_apex(zone));
	}
	if (work->next < table->end)
		return true;
	freeze_log_sum(work, "frozen");
	return false;
}

static void
freeze_on_event(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval wait = {.tv_usec = LOOK_MSEC * 1000};
	static const struct timeval at_once = {.tv_sec = 0};
	struct freeze_work *work = arg;

	if (work->is_adding && freeze_add_next(work)) {
		event_add(work->event, &at_once);
		return;
	}
	work->is_adding = false;
	if (!work->is_all && freeze_find_thawed(work) != NULL)
		freeze_end(work, freeze_find_thawed(work));
	else if (xfrd_client_update_is_busy(work->xfrd,
			 work->is_all ? NULL : work->apex))
		event_add(work->event, &wait);
	else if (work->failed > 0)
		freeze_end(work, err_text(NSD_E_MEMORY));
	else
		freeze_write(work);
}

void
control_on_freeze(struct xfrd *xfrd, struct ctl_call *call)
{
	struct freeze_work *work = freeze_begin(xfrd, call, freeze_on_event);
	struct xfrd_options options;
	bool takes;

	if (work == NULL)
		return;
	if (!work->is_all) {
		options = xfrd_options_find(xfrd, work->apex);
		takes = xfrd_options_take_updates(&options);
		xfrd_read_end(xfrd);
		work->was_frozen = xfrd_freeze_has(xfrd, work->apex);
		if (!takes) {
			freeze_end(work, "the zone takes no updates");
			return;
		}
		if (xfrd_freeze_add(xfrd, work->apex) != NSD_OK) {
			freeze_end(work, err_text(NSD_E_MEMORY));
			return;
		}
	}
	work->is_adding = work->is_all;
	event_active(work->event, EV_TIMEOUT, 0);
}

/* ---- thaw ---------------------------------------------------------------- */

/* Adds a reason why a zone stays frozen. */
static void
thaw_add_reason(struct freeze_work *work, const char *reason, size_t len)
{
	size_t at = strlen(work->reasons);
	const char *end = memchr(reason, '\n', len);
	char what[300];

	snprintf(what, sizeof(what), "stays frozen: %.*s",
		(int)(end != NULL ? end - reason : (ptrdiff_t)len), reason);
	freeze_log_next(work, work->apex, what);
	if (len > 0 && at + len + 2 < sizeof(work->reasons)) {
		memcpy(work->reasons + at, reason, len);
		if (reason[len - 1] != '\n')
			work->reasons[at + len++] = '\n';
		work->reasons[at + len] = '\0';
	}
	work->failed++;
	xfrd_freeze_put_last(work->xfrd, work->apex);
}

static void
thaw_on_read(void *ctx, const struct ipc_message *answer)
{
	static const char died[] = "the loader died while it read the file";
	struct freeze_work *work = ctx;
	struct ipc_read_done done;
	const char *text;

	if (answer == NULL) {
		thaw_add_reason(work, died, strlen(died));
	} else {
		memcpy(&done, answer->payload, answer->len);
		if (done.err == NSD_OK && done.before == 0) {
			xfrd_freeze_remove(work->xfrd, work->apex);
			work->xfrd->freezer.thawed++;
			work->done++;
			freeze_log_next(work, work->apex,
				"is thawed: it takes updates");
		} else if (done.err == NSD_OK || done.err == NSD_E_ZONE) {
			thaw_add_reason(work, done.reasons, answer->len
				- offsetof(struct ipc_read_done, reasons));
		} else {
			text = err_text((enum nsd_err)done.err);
			thaw_add_reason(work, text, strlen(text));
		}
	}
	thaw_next(work);
}

static void
thaw_end(struct freeze_work *work)
{
	enum nsd_err err = xfrd_freeze_save(work->xfrd);

	freeze_log_sum(work, work->failed > 0
		? "thawed, others stay frozen" : "thawed");
	if (work->failed > 0) {
		ctl_printf(work->call, "error %u zone%s stay%s frozen:\n%s",
			(unsigned)work->failed, work->failed == 1 ? "" : "s",
			work->failed == 1 ? "s" : "", work->reasons);
		ctl_end(work->call);
		freeze_free(work);
		return;
	}
	freeze_end(work, err != NSD_OK ? freeze_why(err) : NULL);
}

/* Has the file of the next zone read. */
static void
thaw_next(struct freeze_work *work)
{
	static const struct timeval wait = {.tv_usec = LOOK_MSEC * 1000};
	const uint8_t *apex = work->is_all ? xfrd_freeze_first(work->xfrd)
					   : work->apex;
	enum nsd_err err;

	if (work->left == 0 || apex == NULL) {
		thaw_end(work);
		return;
	}
	if (work->is_all)
		memcpy(work->apex, apex, name_len(apex));
	err = xfrd_loader_read(work->xfrd, work->apex, thaw_on_read, work);
	if (err == NSD_OK) {
		work->left--;
	} else if (err == NSD_E_AGAIN) {
		event_add(work->event, &wait);
	} else {
		work->left--;
		thaw_add_reason(work, err_text(err), strlen(err_text(err)));
		event_add(work->event, &wait);
	}
}

static void
thaw_on_event(evutil_socket_t fd, short what, void *arg)
{
	thaw_next(arg);
}

void
control_on_thaw(struct xfrd *xfrd, struct ctl_call *call)
{
	struct freeze_work *work = freeze_begin(xfrd, call, thaw_on_event);

	if (work == NULL)
		return;
	if (!work->is_all && !xfrd_freeze_has(xfrd, work->apex)) {
		freeze_end(work, "the zone is not frozen");
		return;
	}
	work->left = work->is_all ? xfrd->freezer.count : 1;
	thaw_next(work);
}
