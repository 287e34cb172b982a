/*
 * xfrd_write.c - has the zone files of secondary zones written, so that the
 * journal can forget their entries: by the clock, on request, and at the end.
 *
 * The writer, a process of its own, has one zone at a time
 * (doc/decisions/0086). xfrd_write_zone.c decides which are due.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_write.h"

/* Zones that are looked at in a turn of the loop. */
#define TURN_ZONES 500
/* The time at a stop for all zones together. Main waits for 15 s. */
#define END_SEC 10
/* Requests for zones that are not written yet. */
#define WRITE_REQUESTS_MAX 1024u

/* A request to write a zone, or all. */
struct xfrd_write_request {
	struct cds_list_head node;
	struct xfrd *xfrd;
	bool all;
	bool taken;   /* the round, or the zone, that is under way is for it */
	uint8_t apex[NAME_MAX_LEN];
	xfrd_write_on_end *on_end; /* NULL: no user waits */
	void *ctx;
};

/* The pause before a round that looks for files: many zones may change
 * together. */
#define LOOK_SEC 1

static void write_on_changesets_written(void *ctx,
	const struct ipc_message *answer);
static void write_on_written(void *ctx, const struct ipc_message *answer);
static void write_on_looked(void *ctx, const struct ipc_message *answer);

/* ---- requests ------------------------------------------------------------ */

static void
write_end_request(struct xfrd_write_request *request)
{
	const struct xfrd_writes *writes = &request->xfrd->writes;
	const struct xfrd_write_result result = {
		.written = writes->written,
		.failed = writes->failed,
		.last_failed = writes->last_failed,
	};

	assert(writes->pending_count > 0);
	cds_list_del(&request->node);
	request->xfrd->writes.pending_count--;
	if (request->on_end != NULL)
		request->on_end(request->ctx, &result);
	free(request);
}

/* Ends the requests that were under way. */
static void
write_end_requests(struct xfrd_writes *writes)
{
	struct xfrd_write_request *request, *next;

	assert(writes->state == XFRD_WRITES_NONE && !writes->busy);
	cds_list_for_each_entry_safe(request, next, &writes->pending, node)
		if (request->taken)
			write_end_request(request);
}

/* True if the same is requested already, and not begun. */
static bool
write_is_requested(const struct xfrd_writes *writes, const uint8_t *apex)
{
	struct xfrd_write_request *request;

	cds_list_for_each_entry(request, &writes->pending, node)
		if (!request->taken && (apex == NULL
				? request->all
				: !request->all
					&& name_equal(request->apex, apex)))
			return true;
	return false;
}

enum nsd_err
xfrd_write(struct xfrd *xfrd, const uint8_t *apex, xfrd_write_on_end *on_end,
	void *ctx)
{
	struct xfrd_writes *writes = &xfrd->writes;
	struct xfrd_write_request *request;

	if (xfrd->journal == NULL || writes->step_event == NULL)
		return NSD_E_DENIED;
	if (on_end == NULL && write_is_requested(writes, apex))
		return NSD_OK;
	if (writes->pending_count >= WRITE_REQUESTS_MAX)
		return NSD_E_LIMIT;
	request = calloc(1, sizeof(*request));
	if (request == NULL)
		return NSD_E_MEMORY;
	request->xfrd = xfrd;
	request->all = apex == NULL;
	if (apex != NULL)
		memcpy(request->apex, apex, name_len(apex));
	request->on_end = on_end;
	request->ctx = ctx;
	cds_list_add_tail(&request->node, &writes->pending);
	writes->pending_count++;
	xfrd_write_go_on(xfrd);
	return NSD_OK;
}

/* The next one of a kind that nothing is under way for; NULL: there is none. */
static struct xfrd_write_request *
write_find_request(const struct xfrd_writes *writes, bool all)
{
	struct xfrd_write_request *request;

	cds_list_for_each_entry(request, &writes->pending, node)
		if (!request->taken && request->all == all)
			return request;
	return NULL;
}

/* ---- steps --------------------------------------------------------------- */

/* Asks main for a writer if none runs. */
static void
write_await(struct xfrd *xfrd)
{
	xfrd->writes.busy = true;
	if (xfrd->writes.requests.link == NULL)
		role_send(&xfrd->role, IPC_WANT_WRITER, NULL, 0);
}

/* Has a zone written. False: it cannot be asked for now. */
static bool
write_ask(struct xfrd *xfrd, struct xfrd_zone *zone,
	const struct journal_entry *entry)
{
	if (!xfrd_write_ask(xfrd, zone, entry, write_on_written))
		return false;
	write_await(xfrd);
	return true;
}

static void
write_reset(struct xfrd_writes *writes)
{
	writes->written = writes->failed = 0;
	memset(&writes->last_failed, 0, sizeof(writes->last_failed));
}

/* Begins a round. A whole one looks for files, too. */
static void
write_begin_round(struct xfrd *xfrd, bool is_whole)
{
	struct xfrd_writes *writes = &xfrd->writes;
	struct xfrd_write_request *request;

	writes->state = is_whole ? XFRD_WRITES_ROUND : XFRD_WRITES_FILES;
	writes->next = 0;
	writes->look.len = 0;
	writes->files_wanted = false;
	write_reset(writes);
	if (!is_whole)
		return;
	writes->wanted = writes->failed_before = false;
	cds_list_for_each_entry(request, &writes->pending, node)
		request->taken |= request->all;
}

/* Sets the timer of the next round. Rounds are a multiple of the period from
 * main's start: an xfrd that is replaced does not put them off. It begins with
 * one if there were failures, which it does not know of else. */
static void
write_await_period(struct xfrd *xfrd)
{
	int64_t period = xfrd->role.server->conf->server.zonefiles_write;
	int64_t past = (int64_t)(time(NULL) - xfrd->role.server->boot);
	struct timeval wait = {.tv_sec = 0};

	if (period == 0)
		return;
	wait.tv_sec = (time_t)(past > 0 ? period - past % period : period);
	if (xfrd->writes.failed_before)
		wait.tv_sec = LOOK_SEC;
	event_add(xfrd->writes.period_event, &wait);
}

/* Adds the event that ends the process: all changes are written. */
static void
write_finish(struct xfrd_writes *writes)
{
	if (writes->then != NULL)
		event_active(writes->then, EV_TIMEOUT, 0);
	writes->then = NULL;
}

static void
write_end_round(struct xfrd *xfrd)
{
	struct xfrd_writes *writes = &xfrd->writes;

	assert(!writes->busy && writes->look.len == 0);
	if (writes->failed > 1)
		log_error("xfrd: %u zone files could not be written, %u were",
			writes->failed, writes->written);
	if (writes->state == XFRD_WRITES_ROUND)
		xfrd_write_set_failed(xfrd, writes->failed > 0);
	writes->state = XFRD_WRITES_NONE;
	write_end_requests(writes);
	if (!writes->ending
		&& !event_pending(writes->period_event, EV_TIMEOUT, NULL))
		write_await_period(xfrd);
}

/* Has the files looked for. False: none are left, or they cannot be asked for
 * now. */
static bool
write_ask_look(struct xfrd *xfrd)
{
	struct xfrd_writes *writes = &xfrd->writes;
	enum nsd_err err;

	assert(!writes->busy);
	err = xfrd_look_ask(&writes->look, &writes->requests, write_on_looked,
		xfrd);
	if (err == NSD_OK) {
		write_await(xfrd);
		return true;
	}
	log_error("xfrd: zone files cannot be looked for: %s", err_text(err));
	writes->look.len = 0;
	return false;
}

/* Looks for the next zone of a round. False: there are more to look at. */
static bool
write_step_round(struct xfrd *xfrd)
{
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	struct xfrd_writes *writes = &xfrd->writes;
	bool is_whole = writes->state == XFRD_WRITES_ROUND;

	for (unsigned i = 0; i < TURN_ZONES; i++) {
		struct xfrd_zone *zone;
		struct journal_entry entry;
		enum xfrd_write_need need;

		if (xfrd_look_is_full(&writes->look)
			|| (writes->next >= table->end
				&& writes->look.len > 0))
			return write_ask_look(xfrd);
		if (writes->next >= table->end) {
			write_end_round(xfrd);
			return false;
		}
		zone = xfrd_zone_at(table, writes->next++);
		if (zone == NULL)
			continue;
		need = is_whole ? xfrd_write_need_of(xfrd, zone, &entry)
				: xfrd_write_need_of_file(xfrd, zone, &entry);
		if (need == WRITE_ZONE && write_ask(xfrd, zone, &entry))
			return true;
		if (need == WRITE_LOOK)
			xfrd_look_add(&writes->look, xfrd_zone_apex(zone));
	}
	return false;
}

/* Begins with a zone that was asked for. False: nothing is to be done. */
static bool
write_begin_zone(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct journal_entry entry;

	switch (xfrd_write_need_of(xfrd, zone, &entry)) {
	case WRITE_ZONE:
		return write_ask(xfrd, zone, &entry);
	case WRITE_LOOK:
		xfrd->writes.look.len = 0;
		xfrd_look_add(&xfrd->writes.look, xfrd_zone_apex(zone));
		return write_ask_look(xfrd);
	default:
		return false;
	}
}

/* Has a zone written that was asked for. False: it need not be. */
static bool
write_step_request(struct xfrd *xfrd, struct xfrd_write_request *request)
{
	struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		request->apex);

	assert(xfrd->writes.state == XFRD_WRITES_NONE && !request->taken);
	write_reset(&xfrd->writes);
	if (zone != NULL && write_begin_zone(xfrd, zone)) {
		request->taken = true;
		xfrd->writes.state = XFRD_WRITES_ZONE;
		return true;
	}
	write_end_request(request);
	return false;
}

/* ---- differences alone --------------------------------------------------- */

/* Logs that differences were not written. error: errno, with NSD_E_SYSTEM. */
static void
write_say_no_changesets(struct xfrd *xfrd, const struct xfrd_zone *zone,
	enum nsd_err err, int error)
{
	char name[NAME_TEXT_MAX], path[PATH_MAX];

	log_error("xfrd: differences of zone %s cannot be written to %s.ixfr:"
		  " %s", xfrd_zone_print_name(xfrd, zone, name),
		xfrd_zone_print_file(xfrd, zone, path, sizeof(path)),
		err == NSD_E_SYSTEM ? strerror(error) : err_text(err));
}

/* Asks the writer for differences of a primary zone. False: they cannot be
 * asked for. */
static bool
write_ask_changesets(struct xfrd *xfrd, struct xfrd_zone *zone, bool unsure)
{
	struct ipc_write what = {.flags = IPC_WRITE_CHANGESETS
			| (unsure ? IPC_WRITE_UNSURE : 0)};
	const struct link_message message = {
		.type = IPC_WRITE_ZONE,
		.payload = &what,
		.len = IPC_WRITE_MIN,
	};
	enum nsd_err err;

	memcpy(what.apex, xfrd_zone_apex(zone), name_len(xfrd_zone_apex(zone)));
	memcpy(xfrd->writes.apex, what.apex, sizeof(what.apex));
	err = requests_add(&xfrd->writes.requests, &message,
		write_on_changesets_written, xfrd);
	if (err == NSD_OK)
		write_await(xfrd);
	else
		write_say_no_changesets(xfrd, zone, err, 0);
	return err == NSD_OK;
}

static void
write_on_changesets_written(void *ctx, const struct ipc_message *answer)
{
	struct xfrd *xfrd = ctx;
	struct xfrd_writes *writes = &xfrd->writes;
	struct ipc_written written = {.err = NSD_E_BUG};
	struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		writes->apex);

	assert(writes->busy);
	if (answer != NULL)
		memcpy(&written, answer->payload, sizeof(written));
	/* The zone may be gone. */
	if (written.err == NSD_E_AGAIN && zone != NULL
		&& write_ask_changesets(xfrd, zone, false))
		return;
	if (written.err != NSD_OK && zone != NULL)
		write_say_no_changesets(xfrd, zone, (enum nsd_err)written.err,
			(int)written.error);
	writes->busy = false;
	xfrd_write_go_on(xfrd);
}

/* Has the differences of the next zone written. False: none is due, or more are
 * to be looked at. */
static bool
write_step_changesets(struct xfrd *xfrd)
{
	bool unsure;
	struct xfrd_zone *zone = xfrd_changesets_take(xfrd, &unsure);

	return zone != NULL && write_ask_changesets(xfrd, zone, unsure);
}

/* Takes the next step at the end, when there is no round (any more). */
static bool
write_step_end(struct xfrd *xfrd)
{
	assert(xfrd->writes.ending && !xfrd->writes.busy);
	if (xfrd->writes.changesets.due_count > 0)
		return write_step_changesets(xfrd);
	write_finish(&xfrd->writes);
	return true;
}

static void
write_on_step(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;
	struct xfrd_writes *writes = &xfrd->writes;
	struct xfrd_write_request *request;
	bool waits = false;

	if (writes->busy)
		return;
	if (writes->state == XFRD_WRITES_ROUND
		|| writes->state == XFRD_WRITES_FILES)
		waits = write_step_round(xfrd);
	else if (writes->ending)
		waits = write_step_end(xfrd);
	else if (writes->wanted || write_find_request(writes, true) != NULL)
		write_begin_round(xfrd, true);
	else if ((request = write_find_request(writes, false)) != NULL)
		waits = write_step_request(xfrd, request);
	else if (writes->changesets.due_count > 0)
		waits = write_step_changesets(xfrd);
	else if (writes->files_wanted)
		write_begin_round(xfrd, false);
	else
		return;
	if (!waits)
		xfrd_write_go_on(xfrd);
}

void
xfrd_write_go_on(struct xfrd *xfrd)
{
	static const struct timeval at_once = {.tv_sec = 0};

	if (!xfrd->writes.busy)
		event_add(xfrd->writes.step_event, &at_once);
}

/* Goes on after the zone that the writer had in hand. */
static void
write_end_one(struct xfrd *xfrd)
{
	struct xfrd_writes *writes = &xfrd->writes;

	assert(!writes->busy);
	if (writes->state == XFRD_WRITES_ZONE) {
		writes->state = XFRD_WRITES_NONE;
		write_end_requests(writes);
	}
	xfrd_write_go_on(xfrd);
}

/* ---- looking for files --------------------------------------------------- */

/* Returns the first zone whose file is looked for; NULL: it is gone. */
static struct xfrd_zone *
write_look_head(const struct xfrd *xfrd)
{
	return xfrd_zone_find(&xfrd->zones.table, xfrd->writes.look.apexes);
}

/* Has the first zone written, whose file is not there. False: it need not
 * be. */
static bool
write_look_missed(struct xfrd *xfrd)
{
	struct xfrd_zone *zone = write_look_head(xfrd);
	char name[NAME_TEXT_MAX];
	struct journal_entry entry;

	xfrd_look_drop(&xfrd->writes.look, 1);
	if (zone == NULL
		|| xfrd_write_need_of(xfrd, zone, &entry) == WRITE_NOTHING)
		return false;
	log_at(1, LOG_LEVEL_NOTICE, "xfrd: zone %s has no zone file: it is"
		" written", xfrd_zone_print_name(xfrd, zone, name));
	return write_ask(xfrd, zone, &entry);
}

static void
write_on_looked(void *ctx, const struct ipc_message *answer)
{
	struct xfrd *xfrd = ctx;
	struct xfrd_look *look = &xfrd->writes.look;
	struct ipc_files_found found = {.err = NSD_E_BUG};
	bool waits = false;

	assert(xfrd->writes.busy);
	if (answer != NULL)
		memcpy(&found, answer->payload, sizeof(found));
	xfrd->writes.busy = false;
	xfrd_look_drop(look, found.count);
	if (look->len > 0 && found.err == NSD_OK)
		waits = write_look_missed(xfrd);
	else
		look->len = 0;
	if (!waits && (look->len == 0 || !write_ask_look(xfrd)))
		write_end_one(xfrd);
}

/* ---- a zone is written --------------------------------------------------- */

static void
write_on_noted_late(void *ctx, const struct ipc_message *answer)
{
}

static void
write_on_noted(void *ctx, const struct ipc_message *answer)
{
	struct xfrd *xfrd = ctx;

	xfrd->writes.busy = false;
	write_end_one(xfrd);
}

/* Tells the loader that a file was written. Of a zone that takes updates that
 * is done before anybody else hears of it: a later change of the file is an
 * operator's. False: that is not waited for; at the end there may be no loader
 * any more. */
static bool
write_ask_note(struct xfrd *xfrd, const struct xfrd_zone *zone,
	const struct ipc_written *written)
{
	struct xfrd_writes *writes = &xfrd->writes;
	const struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	bool waits = xfrd_options_take_updates(&options);

	xfrd_read_end(xfrd);
	if (written->err != NSD_OK || written->to != IPC_WRITTEN_FILE
		|| (writes->ending && xfrd->requests.link == NULL)
		|| xfrd_loader_note_file(xfrd, writes->apex, written, waits
				? write_on_noted : write_on_noted_late, xfrd)
			!= NSD_OK)
		return false;
	writes->busy = waits;
	return waits;
}

static void
write_on_written(void *ctx, const struct ipc_message *answer)
{
	struct xfrd *xfrd = ctx;
	struct xfrd_writes *writes = &xfrd->writes;
	struct ipc_written written = {.err = NSD_E_BUG};
	struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		writes->apex);
	struct journal_entry entry;

	assert(writes->busy);
	if (answer != NULL)
		memcpy(&written, answer->payload, sizeof(written));
	writes->busy = false;
	/* The zone may be gone. */
	if (zone != NULL) {
		if (written.err == NSD_E_AGAIN
			&& xfrd_write_need_of(xfrd, zone, &entry)
			!= WRITE_NOTHING
			&& write_ask(xfrd, zone, &entry))
			return;
		xfrd_write_note(xfrd, zone, &written);
		if (write_ask_note(xfrd, zone, &written))
			return;
	}
	write_end_one(xfrd);
}

/* ---- the writer ---------------------------------------------------------- */

void
xfrd_write_on_writer(struct xfrd *xfrd, struct link *link)
{
	requests_go_on(&xfrd->writes.requests, link);
}

void
xfrd_write_on_writer_gone(struct xfrd *xfrd)
{
	struct xfrd_writes *writes = &xfrd->writes;

	requests_stop(&writes->requests);
	if (writes->busy)
		role_send(&xfrd->role, IPC_WANT_WRITER, NULL, 0);
}

/* ---- start and end ------------------------------------------------------- */

static void
write_on_period(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;

	if (xfrd->journal == NULL)
		return;
	xfrd->writes.wanted = true;
	xfrd_write_go_on(xfrd);
}

static void
write_on_look(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;

	if (xfrd->journal == NULL)
		return;
	xfrd->writes.files_wanted = true;
	xfrd_write_go_on(xfrd);
}

void
xfrd_write_look(struct xfrd *xfrd)
{
	static const struct timeval soon = {.tv_sec = LOOK_SEC};

	if (xfrd->role.server->conf->server.zonefiles_write > 0
		&& !event_pending(xfrd->writes.look_event, EV_TIMEOUT, NULL))
		event_add(xfrd->writes.look_event, &soon);
}

void
xfrd_write_follow(struct xfrd *xfrd)
{
	struct xfrd_writes *writes = &xfrd->writes;

	event_del(writes->period_event);
	if (writes->state != XFRD_WRITES_ROUND && !writes->ending)
		write_await_period(xfrd);
}

static void
write_on_time_over(evutil_socket_t fd, short what, void *arg)
{
	log_warning("xfrd: not all zone files were written within %u s; the"
		    " journal keeps what has changed", END_SEC);
	write_finish(arg);
}

/* True if there may be something to write. */
static bool
write_wants_round(const struct xfrd *xfrd)
{
	return xfrd->journal != NULL
		&& xfrd->role.server->conf->server.zonefiles_write > 0;
}

bool
xfrd_write_end(struct xfrd *xfrd, struct event *then)
{
	static const struct timeval limit = {.tv_sec = END_SEC};
	struct xfrd_writes *writes = &xfrd->writes;
	bool wants_round = write_wants_round(xfrd);

	/* Versions may have come since the last look. */
	xfrd_changesets_look_at_all(xfrd);
	if (writes->requests.link == NULL
		|| (!wants_round && writes->changesets.due_count == 0))
		return false;
	writes->end_event = event_new(xfrd->role.base, -1, 0,
		write_on_time_over, writes);
	if (writes->end_event == NULL
		|| event_add(writes->end_event, &limit) != 0)
		return false;
	writes->ending = true;
	writes->then = then;
	if (wants_round)
		write_begin_round(xfrd, true);
	xfrd_write_go_on(xfrd);
	return true;
}

enum nsd_err
xfrd_write_init(struct xfrd *xfrd)
{
	struct xfrd_writes *writes = &xfrd->writes;

	CDS_INIT_LIST_HEAD(&writes->pending);
	writes->step_event = event_new(xfrd->role.base, -1, 0, write_on_step,
		xfrd);
	writes->period_event = event_new(xfrd->role.base, -1, 0,
		write_on_period, xfrd);
	writes->look_event = event_new(xfrd->role.base, -1, 0, write_on_look,
		xfrd);
	if (writes->step_event == NULL || writes->period_event == NULL
		|| writes->look_event == NULL)
		return NSD_E_MEMORY;
	writes->failed_before = xfrd_write_has_failed(xfrd);
	write_await_period(xfrd);
	return NSD_OK;
}
