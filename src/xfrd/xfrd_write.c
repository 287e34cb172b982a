/*
 * xfrd_write.c - has the zone files of secondary zones written, so that the
 * journal can forget what stands there.
 *
 * A zone is due as long as a live entry of the journal leads to what is served.
 * So nothing else has to remember which zones have changed, also over a
 * restart. The writer, a process of its own, has one zone at a time
 * (doc/decisions/0086).
 */
#include "config.h"

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

/* In a turn of the loop: zones that are looked at. */
#define TURN_ZONES 500
/* At a stop, for all zones together. Main waits for 15 s. */
#define END_SEC 10
/* Times that a zone is asked for, until its turn is over. */
#define TRIES_MAX 4u
/* Zones that are wished for and not written yet. */
#define WISHES_MAX 1024u

/* Somebody wants a zone to be written, or all. */
struct xfrd_wish {
	struct cds_list_head node;
	struct xfrd *xfrd;
	bool all;
	bool taken;   /* the round, or the zone, that is under way is for it */
	uint8_t apex[NAME_MAX_LEN];
	xfrd_write_on_end *on_end; /* NULL: nobody waits */
	void *ctx;
};

static void write_on_steps_written(void *ctx, const struct ipc_message *answer);

void
xfrd_write_move(struct xfrd *xfrd, uint32_t place, uint32_t last)
{
	/* The round has passed its new place, and not the old one. */
	if (place < xfrd->writes.next && xfrd->writes.next <= last)
		xfrd->writes.next = place;
	xfrd_steps_move(xfrd, place, last);
}

/* ---- a zone -------------------------------------------------------------- */

/* True if the journal has what is served: *entry leads there. */
static bool
write_is_due(struct xfrd *xfrd, const struct conf_zone *zone,
	struct journal_entry *entry)
{
	struct xfrd_soa soa;
	uint64_t octets;

	return zone->zonefile != NULL && zone->options->request_xfr.count > 0
		&& journal_find_newest(xfrd->journal, zone->wire, entry,
			&octets)
		&& xfrd_zones_get_soa(xfrd, zone, &soa)
		&& journal_find_serial(xfrd->journal, zone->wire,
			soa.numbers.serial, entry)
		/* One that was forced may have the serial of the version
		 * before, which is served yet. */
		&& !(entry->is_back && xfrd_job_has_entry(xfrd, entry->id));
}

void
xfrd_write_print_received(char *out, size_t size,
	const struct journal_entry *entry, const char *source)
{
	time_t time = (time_t)entry->time_sec;
	char when[32] = "";
	struct tm tm;

	if (localtime_r(&time, &tm) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, size, "received update to serial %lu at %s from %s",
		(unsigned long)entry->to, when, source);
}

/* There has to be a writer: it was asked for something. */
static void
write_await(struct xfrd *xfrd)
{
	xfrd->writes.busy = true;
	if (xfrd->writes.requests.link == NULL)
		role_send(&xfrd->role, IPC_WANT_WRITER, NULL, 0);
}

/* Has a zone written. False: it cannot be asked for now. */
static bool
write_ask(struct xfrd *xfrd, const struct conf_zone *zone,
	const struct journal_entry *entry)
{
	struct xfrd_writes *writes = &xfrd->writes;
	const struct xfrd_written *done = xfrd_written_edit(writes,
		xfrd->zones.handles[zone->index]);
	struct ipc_write what = {.serial = entry->to};
	char source[JOURNAL_SOURCE_MAX + 1];
	struct link_parcel parcel = {
		.type = IPC_WRITE_ZONE,
		.payload = &what,
	};
	enum nsd_err err;

	what.flags = IPC_WRITE_COPY;
	if (writes->tries == TRIES_MAX - 1)
		what.flags |= IPC_WRITE_ANY;
	/* One that is there need not be made again. */
	if (done != NULL && done->to == IPC_WRITTEN_COPY) {
		what.flags |= IPC_WRITE_HAS_COPY;
		if (done->serial == entry->to)
			what.flags &= ~(uint32_t)IPC_WRITE_COPY;
	}
	memcpy(what.apex, zone->wire, name_len(zone->wire));
	if (journal_read_source(xfrd->journal, zone->wire, entry->id, source)
		== NSD_OK)
		xfrd_write_print_received(what.received, sizeof(what.received),
			entry, source);
	parcel.len = offsetof(struct ipc_write, received)
		+ strlen(what.received) + 1;
	memcpy(writes->apex, what.apex, sizeof(writes->apex));
	writes->serial = entry->to;
	writes->entry = entry->id;
	err = requests_add(&writes->requests, &parcel, xfrd_write_on_written,
		xfrd);
	if (err != NSD_OK) {
		writes->failed++;
		writes->last_failed = (struct xfrd_written){
			.err = (uint8_t)err};
		return false;
	}
	write_await(xfrd);
	return true;
}

/* Says what could not be written: the first zone of a round, and how many at
 * its end. */
static void
write_log_failure(struct xfrd *xfrd, const struct conf_zone *zone,
	const struct xfrd_written *done)
{
	char file[PATH_MAX];
	size_t len;

	if (conf_zone_file_name(zone, file, sizeof(file), &len) != NSD_OK)
		snprintf(file, sizeof(file), "its file");
	log_at(xfrd->writes.failed++ == 0 ? 0 : 2, LOG_LEVEL_ERROR,
		"xfrd: zone %s cannot be written to %s: %s%s; the journal"
		" keeps it", zone->name, file, xfrd_written_why(done),
		done->to == IPC_WRITTEN_COPY ? "; a copy is in xfrdir" : "");
}

/* What the writer says is true of no version but one that it may have seen. A
 * version that was forced since then may have the same serial. */
static bool
write_is_sound(struct xfrd *xfrd, const struct conf_zone *zone,
	uint32_t serial)
{
	struct journal_entry entry;
	struct xfrd_soa soa;

	if (journal_find_serial(xfrd->journal, zone->wire, serial, &entry)
		&& entry.is_back && entry.id != xfrd->writes.entry)
		return false;
	return serial == xfrd->writes.serial
		|| (xfrd_zones_get_soa(xfrd, zone, &soa)
			&& soa.numbers.serial == serial);
}

static void
write_note(struct xfrd *xfrd, const struct conf_zone *zone,
	const struct ipc_written *written)
{
	struct xfrd_written result = {
		.at_sec = (int64_t)time(NULL),
		.err = (uint8_t)written->err,
		.error = (uint16_t)written->error,
		.to = (uint8_t)written->to,
		.serial = written->serial,
	}, *done = xfrd_written_edit(&xfrd->writes,
		xfrd->zones.handles[zone->index]);

	if (done != NULL) {
		result.in_file = done->in_file;
		result.file_serial = done->file_serial;
	}
	if (written->err == NSD_OK) {
		xfrd->writes.written++;
		result.in_file = true;
		result.file_serial = written->serial;
		if (write_is_sound(xfrd, zone, written->serial))
			(void)journal_forget(xfrd->journal, zone->wire,
				written->serial);
	} else {
		/* A copy of before is as good. */
		if (result.to == IPC_WRITTEN_NOWHERE && done != NULL
			&& done->to == IPC_WRITTEN_COPY) {
			result.to = IPC_WRITTEN_COPY;
			result.serial = done->serial;
		}
		write_log_failure(xfrd, zone, &result);
		xfrd->writes.last_failed = result;
	}
	if (done != NULL)
		*done = result;
}

/* ---- who waits ----------------------------------------------------------- */

static void
write_end_wish(struct xfrd_wish *wish)
{
	const struct xfrd_writes *writes = &wish->xfrd->writes;
	const struct xfrd_write_result result = {
		.written = writes->written,
		.failed = writes->failed,
		.last_failed = writes->last_failed,
	};

	cds_list_del(&wish->node);
	wish->xfrd->writes.wish_count--;
	if (wish->on_end != NULL)
		wish->on_end(wish->ctx, &result);
	free(wish);
}

/* Those whom that was for that is done now. */
static void
write_end_wishes(struct xfrd_writes *writes)
{
	struct xfrd_wish *wish, *next;

	cds_list_for_each_entry_safe(wish, next, &writes->wishes, node)
		if (wish->taken)
			write_end_wish(wish);
}

/* True if the same is wished for already, and not begun. */
static bool
write_is_wished(const struct xfrd_writes *writes, const uint8_t *apex)
{
	struct xfrd_wish *wish;

	cds_list_for_each_entry(wish, &writes->wishes, node)
		if (!wish->taken && (apex == NULL
				? wish->all
				: !wish->all && name_equal(wish->apex, apex)))
			return true;
	return false;
}

enum nsd_err
xfrd_write(struct xfrd *xfrd, const uint8_t *apex, xfrd_write_on_end *on_end,
	void *ctx)
{
	struct xfrd_writes *writes = &xfrd->writes;
	struct xfrd_wish *wish;

	if (xfrd->journal == NULL || writes->step_event == NULL)
		return NSD_E_DENIED;
	if (on_end == NULL && write_is_wished(writes, apex))
		return NSD_OK;
	if (writes->wish_count >= WISHES_MAX)
		return NSD_E_LIMIT;
	wish = calloc(1, sizeof(*wish));
	if (wish == NULL)
		return NSD_E_MEMORY;
	wish->xfrd = xfrd;
	wish->all = apex == NULL;
	if (apex != NULL)
		memcpy(wish->apex, apex, name_len(apex));
	wish->on_end = on_end;
	wish->ctx = ctx;
	cds_list_add_tail(&wish->node, &writes->wishes);
	writes->wish_count++;
	xfrd_write_go_on(xfrd);
	return NSD_OK;
}

/* The next one of a kind that nothing is under way for; NULL: there is none. */
static struct xfrd_wish *
write_find_wish(const struct xfrd_writes *writes, bool all)
{
	struct xfrd_wish *wish;

	cds_list_for_each_entry(wish, &writes->wishes, node)
		if (!wish->taken && wish->all == all)
			return wish;
	return NULL;
}

/* ---- one after the other ------------------------------------------------- */

static void
write_reset(struct xfrd_writes *writes)
{
	writes->written = writes->failed = 0;
	memset(&writes->last_failed, 0, sizeof(writes->last_failed));
}

static void
write_begin_round(struct xfrd *xfrd)
{
	struct xfrd_writes *writes = &xfrd->writes;
	struct xfrd_wish *wish;

	writes->state = XFRD_WRITES_ROUND;
	writes->next = 0;
	writes->wanted = false;
	write_reset(writes);
	cds_list_for_each_entry(wish, &writes->wishes, node)
		wish->taken |= wish->all;
}

/* Rounds are so many seconds from main's start: an xfrd that is replaced, as by
 * each reconfig, does not put them off. */
static void
write_await_period(struct xfrd *xfrd)
{
	const struct server *server = xfrd->role.server;
	int64_t period = server->conf->server.zonefiles_write;
	int64_t past = (int64_t)(time(NULL) - server->boot);
	struct timeval wait = {.tv_sec = 0};

	if (period == 0)
		return;
	wait.tv_sec = (time_t)(past > 0 ? period - past % period : period);
	event_add(xfrd->writes.period_event, &wait);
}

/* The process may end: what had to be written is. */
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

	if (writes->failed > 1)
		log_error("xfrd: %u zone files could not be written, %u were",
			writes->failed, writes->written);
	writes->state = XFRD_WRITES_NONE;
	write_end_wishes(writes);
	if (!writes->ending
		&& !event_pending(writes->period_event, EV_TIMEOUT, NULL))
		write_await_period(xfrd);
}

/* Looks for the next zone of a round. False: there are more to look at. */
static bool
write_step_round(struct xfrd *xfrd)
{
	const struct conf *conf = xfrd->role.server->conf;
	struct xfrd_writes *writes = &xfrd->writes;
	struct journal_entry entry;

	for (unsigned i = 0; i < TURN_ZONES; i++) {
		const struct conf_zone *zone;

		if (writes->next >= conf->zone_count) {
			write_end_round(xfrd);
			return false;
		}
		zone = conf->zones[writes->next++];
		if (write_is_due(xfrd, zone, &entry)
			&& write_ask(xfrd, zone, &entry))
			return true;
	}
	return false;
}

/* Has a zone written that is wished for. False: it need not be. */
static bool
write_step_wish(struct xfrd *xfrd, struct xfrd_wish *wish)
{
	uint32_t place = xfrd_zones_find_place(xfrd, wish->apex);
	struct journal_entry entry;

	write_reset(&xfrd->writes);
	if (place != XFR_NONE
		&& write_is_due(xfrd, xfrd->role.server->conf->zones[place],
			&entry)
		&& write_ask(xfrd, xfrd->role.server->conf->zones[place],
			&entry)) {
		wish->taken = true;
		xfrd->writes.state = XFRD_WRITES_ZONE;
		return true;
	}
	write_end_wish(wish);
	return false;
}

/* ---- differences alone --------------------------------------------------- */

/* Of a primary zone. False: they cannot be asked for. */
static bool
write_ask_steps(struct xfrd *xfrd, const struct conf_zone *zone, bool unsure)
{
	struct ipc_write what = {.flags = IPC_WRITE_STEPS
			| (unsure ? IPC_WRITE_UNSURE : 0)};
	const struct link_parcel parcel = {
		.type = IPC_WRITE_ZONE,
		.payload = &what,
		.len = IPC_WRITE_MIN,
	};
	enum nsd_err err;

	memcpy(what.apex, zone->wire, name_len(zone->wire));
	memcpy(xfrd->writes.apex, what.apex, sizeof(what.apex));
	err = requests_add(&xfrd->writes.requests, &parcel,
		write_on_steps_written, xfrd);
	if (err == NSD_OK)
		write_await(xfrd);
	else
		log_error("xfrd: differences of zone %s cannot be written: %s",
			zone->name, err_text(err));
	return err == NSD_OK;
}

static void
write_on_steps_written(void *ctx, const struct ipc_message *answer)
{
	struct xfrd *xfrd = ctx;
	struct xfrd_writes *writes = &xfrd->writes;
	struct ipc_written written = {.err = NSD_E_BUG};
	const struct conf_zone *zone = conf_find_zone(
		xfrd->role.server->conf, writes->apex);

	if (answer != NULL)
		memcpy(&written, answer->payload, sizeof(written));
	/* It may be gone; or it has come after the writer, which ends. */
	if (written.err == NSD_E_NOT_FOUND && zone != NULL
		&& ++writes->tries < TRIES_MAX
		&& write_ask_steps(xfrd, zone, false))
		return;
	if (written.err != NSD_OK && zone != NULL)
		log_error("xfrd: differences of zone %s cannot be written: %s",
			zone->name, written.err == NSD_E_SYSTEM
				? strerror((int)written.error)
				: err_text((enum nsd_err)written.err));
	writes->tries = 0;
	writes->busy = false;
	xfrd_write_go_on(xfrd);
}

/* False: none is due, or more are to be looked at. */
static bool
write_step_steps(struct xfrd *xfrd)
{
	bool unsure;
	const struct conf_zone *zone = xfrd_steps_take(xfrd, &unsure);

	return zone != NULL && write_ask_steps(xfrd, zone, unsure);
}

/* At the end, when there is no round (any more). */
static bool
write_step_end(struct xfrd *xfrd)
{
	if (xfrd->writes.steps.due_count > 0)
		return write_step_steps(xfrd);
	write_finish(&xfrd->writes);
	return true;
}

static void
write_on_step(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;
	struct xfrd_writes *writes = &xfrd->writes;
	struct xfrd_wish *wish;
	bool waits = false;

	if (writes->busy)
		return;
	if (writes->state == XFRD_WRITES_ROUND)
		waits = write_step_round(xfrd);
	else if (writes->ending)
		waits = write_step_end(xfrd);
	else if (writes->wanted || write_find_wish(writes, true) != NULL)
		write_begin_round(xfrd);
	else if ((wish = write_find_wish(writes, false)) != NULL)
		waits = write_step_wish(xfrd, wish);
	else if (writes->steps.due_count > 0)
		waits = write_step_steps(xfrd);
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

void
xfrd_write_on_written(void *ctx, const struct ipc_message *answer)
{
	struct xfrd *xfrd = ctx;
	struct xfrd_writes *writes = &xfrd->writes;
	struct ipc_written written = {.err = NSD_E_BUG};
	uint32_t place = xfrd_zones_find_place(xfrd, writes->apex);
	struct journal_entry entry;

	if (answer != NULL)
		memcpy(&written, answer->payload, sizeof(written));
	writes->busy = false;
	/* It may be gone. */
	if (place != XFR_NONE) {
		const struct conf_zone *zone =
			xfrd->role.server->conf->zones[place];

		/* It has come after the writer, which ends; or another version
		 * has come. */
		if ((written.err == NSD_E_NOT_FOUND
			    || written.err == NSD_E_AGAIN)
			&& ++writes->tries < TRIES_MAX
			&& write_is_due(xfrd, zone, &entry)
			&& write_ask(xfrd, zone, &entry))
			return;
		write_note(xfrd, zone, &written);
	}
	writes->tries = 0;
	if (writes->state == XFRD_WRITES_ZONE) {
		writes->state = XFRD_WRITES_NONE;
		write_end_wishes(writes);
	}
	xfrd_write_go_on(xfrd);
}

/* ---- the writer ---------------------------------------------------------- */

void
xfrd_write_on_writer(struct xfrd *xfrd, struct link *link)
{
	requests_go_on(&xfrd->writes.requests, link);
}

void
xfrd_write_on_writer_gone(struct xfrd *xfrd, bool replaced)
{
	struct xfrd_writes *writes = &xfrd->writes;

	requests_stop(&writes->requests, replaced);
	if (writes->ending)
		write_finish(writes); /* there will be no other one */
	else if (writes->busy)
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
write_on_time_over(evutil_socket_t fd, short what, void *arg)
{
	log_warning("xfrd: not all zone files were written within %u s; the"
		    " journal keeps the rest", END_SEC);
	write_finish(arg);
}

/* True if zones may have changed since they were written. */
static bool
write_wants_round(const struct xfrd *xfrd)
{
	struct journal_usage usage;

	if (xfrd->journal == NULL
		|| xfrd->role.server->conf->server.zonefiles_write == 0)
		return false;
	journal_get_usage(xfrd->journal, &usage);
	return usage.entries > 0;
}

bool
xfrd_write_end(struct xfrd *xfrd, struct event *then)
{
	static const struct timeval limit = {.tv_sec = END_SEC};
	struct xfrd_writes *writes = &xfrd->writes;
	bool wants_round = write_wants_round(xfrd);

	/* Versions may have come since the last look. */
	xfrd_steps_look_at_all(xfrd);
	if (writes->requests.link == NULL
		|| (!wants_round && writes->steps.due_count == 0))
		return false;
	writes->end_event = event_new(xfrd->role.base, -1, 0,
		write_on_time_over, writes);
	if (writes->end_event == NULL
		|| event_add(writes->end_event, &limit) != 0)
		return false;
	writes->ending = true;
	writes->then = then;
	if (wants_round)
		write_begin_round(xfrd);
	xfrd_write_go_on(xfrd);
	return true;
}

enum nsd_err
xfrd_write_init(struct xfrd *xfrd)
{
	struct xfrd_writes *writes = &xfrd->writes;

	CDS_INIT_LIST_HEAD(&writes->wishes);
	writes->step_event = event_new(xfrd->role.base, -1, 0, write_on_step,
		xfrd);
	writes->period_event = event_new(xfrd->role.base, -1, 0,
		write_on_period, xfrd);
	if (writes->step_event == NULL || writes->period_event == NULL)
		return NSD_E_MEMORY;
	write_await_period(xfrd);
	return NSD_OK;
}
