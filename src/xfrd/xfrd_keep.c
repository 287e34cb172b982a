/*
 * xfrd_keep.c - makes transfers durable in the journal, then has the loader
 * publish them: so a version that was served is never lost.
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
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "dns/rrtype.h"
#include "dns/serial.h"
#include "journal/journal.h"
#include "net/socket.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "xfrd/xfrd_refused.h"

/* Durable entries that are taken in a turn of the loop. */
#define TURN_ENTRIES 64
/* The pause before the loader is given a transfer again that it could not
 * take. */
#define AGAIN_MSEC 200
/* The pause before a journal that could not be opened is tried again. After
 * this long main does not take an end for a failure at the start. */
#define RETRY_SEC 90
/* Zone files are written within this, where the journal is lost. */
#define LOST_SEC 10
/* Transfers on their way from the journal to the loader, above which no others
 * are begun. Those that wait for programs that judge do not count: programs may
 * never end. */
#define KEPT_MAX 2000u
/* Of those that wait for such a program, and that the loader has no room for:
 * how many are given to it again after a pause. */
#define JUDGED_AGAIN 8u

static bool keep_publish(struct xfrd_job *job);

/* ---- in the journal ------------------------------------------------------ */

/* Prints the source of a transfer, as in nsd.conf: for the comment of a zone
 * file, and the log. */
static void
keep_write_source(const struct xfrd_job *job, char *out, size_t size)
{
	const struct xfrd_whom *whom = &job->whom;

	snprintf(out, size, "%s%s%s", whom->spec,
		whom->key_name != NULL ? " TSIG verified with key " : "",
		whom->key_name != NULL ? whom->key_name : "");
}

_Static_assert((int)JOURNAL_WHOLE == (int)XFR_WHOLE
	&& (int)JOURNAL_DIFFS == (int)XFR_DIFFS, "one fact, in two layers");

/* True if a whole zone that was transferred is to be marked as going back, as
 * the zone's file may have a newer serial, and must not win at the next start:
 * this transfer is not newer than what is served; or an earlier one was not,
 * and its entry, whose mark says so, is about to go. *from: the serial that was
 * served before the zone went back. */
static bool
keep_goes_back(const struct xfrd_job *job, uint32_t to, uint32_t *from)
{
	struct journal_entry before;
	struct xfrd_soa soa;
	bool is_back = xfrd_zones_get_soa(job->xfrd, job->zone, &soa)
		&& !serial_is_newer(to, soa.numbers.serial);

	if (is_back)
		*from = soa.numbers.serial;
	/* The oldest entry is the one that was accepted last. */
	if (!journal_find_oldest(job->xfrd->journal, job->apex, &before)
		|| !before.is_back || serial_is_newer(to, before.from)
		|| (is_back && !serial_is_newer(before.from, *from)))
		return is_back;
	*from = before.from;
	return true;
}

static void
keep_warn_left_out(const struct xfrd_job *job)
{
	const struct xfr_left_out *left_out = &job->reader.result.left_out;
	char server[NET_ADDRESS_TEXT_MAX], owner[NAME_TEXT_MAX];
	char type[RRTYPE_TEXT_MAX];

	if (left_out->records == 0)
		return;
	name_print_text(left_out->owner, owner);
	rrtype_print(left_out->type, type);
	log_warning("xfrd: zone %s transfer from %s: left out %llu record%s of"
		    " another zone, the first is %s %s",
		job->name, xfrd_job_print_server(job, server),
		(unsigned long long)left_out->records,
		left_out->records == 1 ? "" : "s", owner, type);
}

static bool
keep_serves(const struct xfrd_job *job, uint32_t serial)
{
	struct xfrd_soa soa;

	return xfrd_zones_get_soa(job->xfrd, job->zone, &soa)
		&& soa.numbers.serial == serial;
}

/* Puts a complete transfer into the journal. */
static void
keep_put(struct xfrd_job *job)
{
	const struct xfr_read_result *result = &job->reader.result;
	char source[JOURNAL_SOURCE_MAX + 1];
	struct journal_end end = {
		.kind = result->kind == XFR_WHOLE ? JOURNAL_WHOLE
						  : JOURNAL_DIFFS,
		.from = result->from,
		.to = result->to,
		.time_sec = (int64_t)time(NULL),
		.source = source,
	};

	assert(job->entry == 0 && job->zone != NULL);
	assert(cds_list_empty(&job->keep_node));
	keep_write_source(job, source, sizeof(source));
	if (end.kind == JOURNAL_WHOLE)
		end.is_back = keep_goes_back(job, end.to, &end.from);
	job->at.accepted = xfrd_refused_accepts(&job->xfrd->zones.table,
		job->zone, end.to);
	end.is_taken = (job->at.accepted & IPC_CHECK_DIGEST) != 0;
	end.is_doubtful = job->at.accepted != IPC_CHECK_ALL
		&& xfrd_options_are_checked(job->xfrd, job->zone);
	job->was_served = keep_serves(job, end.to);
	job->entry = journal_end(job->text, &end);
	job->xfrd->kept++;
	job->text = NULL;
	job->at.len = result->octets;
	job->at.is_back = end.is_back;
	cds_list_add_tail(&job->keep_node, &job->xfrd->ended);
}

static void
keep_on_renewed(struct xfrd *xfrd, const uint8_t *apex, const char *why)
{
	struct xfrd_job *job = xfrd_keep_take_held(xfrd, apex, why);

	if (job != NULL)
		keep_put(job);
}

void
xfrd_keep_begin(struct xfrd_job *job)
{
	struct xfrd *xfrd = job->xfrd;

	assert(job->ask == NULL && job->zone != NULL);
	keep_warn_left_out(job);
	event_del(job->event);
	job->ended_usec = clock_now_usec();
	xfr_on_received(xfrd->zones.machine, job->ticket);
	if (!xfrd_keep_hold(job, keep_on_renewed))
		keep_put(job);
	xfrd_zones_go_on(xfrd);
}

bool
xfrd_keep_is_full(const struct xfrd *xfrd)
{
	assert(xfrd->judged <= xfrd->kept);
	return xfrd->kept - xfrd->judged >= KEPT_MAX;
}

void
xfrd_keep_slow_down(struct xfrd *xfrd)
{
	assert(xfrd->journal != NULL); /* a transfer is under way */
	if (journal_is_full(xfrd->journal))
		xfrd_asks_pause(&xfrd->asks, true);
}

static void
keep_fail(struct xfrd_job *job, const char *why)
{
	xfrd_job_end(job, &(struct xfr_reply){.outcome = XFR_LOCAL}, why);
}

/* Finds the job of an entry that is durable. Entries become so in the order in
 * which they ended, so it is one of the first. NULL: the job was cancelled. */
static struct xfrd_job *
keep_find(const struct xfrd *xfrd, uint64_t entry)
{
	struct xfrd_job *job;

	cds_list_for_each_entry(job, &xfrd->ended, keep_node)
		if (job->entry == entry)
			return job;
	return NULL;
}

/* Has a job wait for the loader. */
static void
keep_wait(struct xfrd_job *job, bool first)
{
	static const struct timeval wait = {.tv_usec = AGAIN_MSEC * 1000};
	struct xfrd *xfrd = job->xfrd;
	struct cds_list_head *waiting = job->is_judged ? &xfrd->judged_waiting
						       : &xfrd->waiting;

	assert(job->text == NULL && job->at.fd == -1 && job->zone != NULL);
	assert(cds_list_empty(&job->keep_node));
	if (first)
		cds_list_add(&job->keep_node, waiting);
	else
		cds_list_add_tail(&job->keep_node, waiting);
	if (!event_pending(xfrd->again_event, EV_TIMEOUT, NULL))
		event_add(xfrd->again_event, &wait);
}

/* Takes entries that are durable, or could not be written. */
static void
keep_on_journal(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;
	struct journal_done done;

	for (unsigned i = 0; i < TURN_ENTRIES; i++) {
		struct xfrd_job *job;

		if (!journal_next(xfrd->journal, &done))
			break;
		if (xfrd_edit_on_durable(xfrd, &done))
			continue;
		job = keep_find(xfrd, done.id);
		if (job == NULL && done.err != NSD_OK)
			log_error("xfrd: an entry of the journal is lost: %s",
				done.err == NSD_E_SYSTEM
					? strerror(done.error)
					: err_text(done.err));
		if (job == NULL)
			continue;
		cds_list_del_init(&job->keep_node);
		if (done.err == NSD_OK) {
			if (!cds_list_empty(&xfrd->waiting)
				|| !keep_publish(job))
				keep_wait(job, false);
		} else {
			keep_fail(job, done.err == NSD_E_SYSTEM
				? strerror(done.error)
				: err_text(done.err));
		}
	}
	if (journal_is_full(xfrd->journal))
		return;
	xfrd_asks_pause(&xfrd->asks, false);
	xfrd_edit_go_on(xfrd);
}

/* ---- published ----------------------------------------------------------- */

/* Gives the loader as many of the waiting transfers as it takes. */
static void
keep_go_on(struct xfrd *xfrd)
{
	struct xfrd_job *job;

	while ((job = list_first_or_null(&xfrd->waiting, struct xfrd_job,
			keep_node))
		!= NULL) {
		cds_list_del_init(&job->keep_node);
		if (!keep_publish(job)) {
			keep_wait(job, true);
			return;
		}
	}
}

/* Has so many jobs that wait for programs be given to the loader. */
static void
keep_try_judged(struct xfrd *xfrd, unsigned count)
{
	struct xfrd_job *job;

	while (count-- > 0 && (job = list_first_or_null(&xfrd->judged_waiting,
			struct xfrd_job, keep_node)) != NULL) {
		cds_list_del(&job->keep_node);
		cds_list_add_tail(&job->keep_node, &xfrd->waiting);
	}
}

static void
keep_on_again(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval wait = {.tv_usec = AGAIN_MSEC * 1000};
	struct xfrd *xfrd = arg;

	keep_try_judged(xfrd, JUDGED_AGAIN);
	keep_go_on(xfrd);
	if (!cds_list_empty(&xfrd->judged_waiting))
		event_add(xfrd->again_event, &wait);
}

static void
keep_log(const struct xfrd_job *job)
{
	const struct journal_entry entry = {
		.to = job->reader.result.to,
		.time_sec = (int64_t)time(NULL),
	};
	char source[JOURNAL_SOURCE_MAX + 1], text[JOURNAL_SOURCE_MAX + 100];

	keep_write_source(job, source, sizeof(source));
	xfrd_write_print_received(text, sizeof(text), &entry, source);
	log_at(1, LOG_LEVEL_INFO, "xfrd: zone %s committed \"%s\"",
		job->name, text);
	xfrd_received_note(job, text);
}

/* Logs that a version is served since an operator takes it. */
static void
keep_log_accepted(const struct xfrd_job *job)
{
	const struct xfrd_refused_version *refused = xfrd_refused_find(
		&job->xfrd->zones.table, job->zone);

	if (job->at.accepted != 0 && refused != NULL)
		log_notice("xfrd: zone %s: serial %u is served as an operator"
			   " has accepted it; %s had refused serial %u: %s",
			job->name, (unsigned)job->reader.result.to,
			xfrd_refused_check_word(refused->check),
			(unsigned)refused->serial, refused->why);
}

/* Closes a job's text. errno stays. */
static void
keep_close(struct xfrd_job *job)
{
	int error = errno;

	if (job->at.fd != -1)
		close(job->at.fd);
	job->at.fd = -1;
	errno = error;
}

/* True if the version that a transfer leads to is served: a loader has
 * published it, and has died before its answer. A forced transfer of the serial
 * that was served cannot be told from the version before it. */
static bool
keep_is_served(const struct xfrd_job *job)
{
	return job->zone != NULL && !job->was_served
		&& keep_serves(job, job->reader.result.to);
}

/* Notes that the version was refused. Returns the outcome of the transfer. */
static enum xfr_outcome
keep_outcome_refused(const struct xfrd_job *job,
	const struct ipc_updated *updated)
{
	if (job->zone != NULL && updated->refused != 0)
		xfrd_refused_note(&job->xfrd->zones.table, job->zone, updated,
			job->action.primary);
	if (updated->err == NSD_E_CHANGE || updated->err == NSD_E_REFUSED)
		return XFR_REFUSED;
	/* Differences may lack records that the whole zone has. */
	if (job->reader.result.kind == XFR_DIFFS)
		return XFR_NO_FIT;
	return updated->err == NSD_E_DIGEST ? XFR_BAD_DIGEST : XFR_BAD_SIGNED;
}

/* Returns the outcome of a transfer whose version is not served. */
static enum xfr_outcome
keep_outcome_failed(const struct xfrd_job *job,
	const struct ipc_updated *updated)
{
	switch (updated->err) {
	case NSD_E_INEXACT:
	case NSD_E_LIMIT:
		log_at(2, LOG_LEVEL_NOTICE,
			"xfrd: zone %s transfer failed to apply, waiting for"
			" retry", job->name);
		return XFR_NO_FIT;
	case NSD_E_MEMORY:
	case NSD_E_SYSTEM:
		return XFR_LOCAL;
	case NSD_E_DIGEST:
	case NSD_E_SIGNED:
	case NSD_E_CHANGE:
	case NSD_E_REFUSED:
		return keep_outcome_refused(job, updated);
	default:
		/* The transfer is to blame: a zone with errors, or one that
		 * loaders die of. */
		return job->reader.result.kind == XFR_DIFFS ? XFR_NO_FIT
							    : XFR_NONSENSE;
	}
}

/* Keeps the version, which is served. */
static void
keep_accept(struct xfrd_job *job)
{
	journal_accept(job->xfrd->journal, job->apex, job->entry);
	keep_log_accepted(job);
	xfrd_refused_drop(&job->xfrd->zones.table, job->zone);
	keep_log(job);
	xfrd_catalog_hear(job->xfrd, job->zone);
}

/* Takes the loader's answer. False: the job waits, for a while. */
static bool
keep_take_answer(struct xfrd_job *job, const struct ipc_message *answer)
{
	struct ipc_updated updated;
	const char *why = NULL;
	struct xfr_reply reply = {
		.outcome = XFR_DONE,
		.soa = job->reader.result.soa,
		.has_soa = true,
		.has_expire = job->reader.result.has_expire,
		.expire_sec = job->reader.result.expire_sec,
	};

	/* A job is of no list while the loader has it in hand. */
	assert(job->at.fd != -1 && cds_list_empty(&job->keep_node));
	keep_close(job);
	xfrd_loader_read_updated(answer, &updated);
	/* The next loader may lack memory for what is done. */
	if (answer != NULL && updated.err != NSD_E_AGAIN && keep_is_served(job))
		updated.err = NSD_OK;
	if (job->zone == NULL
		&& (updated.err == NSD_OK || updated.err == NSD_E_AGAIN)) {
		xfrd_job_free(job);
		return true;
	}
	if (updated.err == NSD_E_AGAIN) {
		keep_wait(job, false);
		return false;
	}
	if (updated.err == NSD_OK) {
		keep_accept(job);
	} else {
		reply.outcome = keep_outcome_failed(job, &updated);
		journal_refuse(job->xfrd->journal, job->apex, job->entry);
		why = answer != NULL ? err_text((enum nsd_err)updated.err)
				     : "loaders have died of it";
	}
	xfrd_job_end(job, &reply, why);
	return true;
}

static void
keep_on_updated(void *ctx, const struct ipc_message *answer)
{
	struct xfrd_job *job = ctx;
	struct xfrd *xfrd = job->xfrd;
	bool is_judged = job->is_judged;

	/* The loader has room for another transfer. */
	if (!keep_take_answer(job, answer))
		return;
	if (is_judged)
		keep_try_judged(xfrd, 1);
	keep_go_on(xfrd);
}

void
xfrd_keep_take_delay(struct xfrd *xfrd, uint64_t ticket)
{
	struct xfrd_job *job = requests_take_delay(&xfrd->requests, ticket,
		keep_on_updated);

	if (job == NULL)
		return;
	xfrd->judged += !job->is_judged;
	job->is_judged = true;
	if (job->zone != NULL)
		job->zone->is_judged = true;
}

/* Gives a text to the loader. False: it is to be tried again. */
static bool
keep_publish(struct xfrd_job *job)
{
	struct xfrd *xfrd = job->xfrd;
	enum nsd_err err;

	assert(job->text == NULL && job->at.fd == -1 && job->zone != NULL);
	assert(cds_list_empty(&job->keep_node));
	if (requests_are_many(&xfrd->requests))
		return false;
	err = journal_open_text(xfrd->journal, job->apex, job->entry,
		&job->at.fd, &job->at.offset);
	if (err == NSD_OK)
		err = xfrd_loader_update(xfrd, &job->at, keep_on_updated, job);
	if (err == NSD_OK)
		return true;
	keep_close(job);
	if (err == NSD_E_AGAIN || err == NSD_E_MEMORY
		|| (err == NSD_E_SYSTEM
			&& (errno == EMFILE || errno == ENFILE)))
		return false;
	if (err != NSD_E_SYSTEM)
		journal_refuse(xfrd->journal, job->apex, job->entry);
	keep_fail(job, err_reason(err));
	return true;
}

/* ---- zones that are no secondaries --------------------------------------- */

/* Drops entries that do not lead to what is served of a zone without primaries:
 * its file counts, which is newer. */

void
xfrd_keep_look(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	const uint8_t *apex = xfrd_zone_apex(zone);
	struct journal_entry entry;
	struct xfrd_soa soa;
	uint64_t octets;

	/* The loader may not have published a newer entry yet. */
	if (xfrd->journal == NULL
		|| !journal_find_newest(xfrd->journal, apex, &entry, &octets)
		|| xfrd_zone_is_secondary(xfrd, zone)
		|| !xfrd_zones_get_soa(xfrd, zone, &soa)
		|| serial_is_newer(entry.to, soa.numbers.serial)
		|| journal_find_serial(xfrd->journal, apex, soa.numbers.serial,
			&entry))
		return;
	journal_drop(xfrd->journal, apex);
}

/* ---- start and end ------------------------------------------------------- */

struct keep_sink {
	struct diag_sink base;
	struct xfrd *xfrd;
};

/* Takes the diagnostics of the journal: an error is why there is none. */
static void
keep_on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct xfrd *xfrd = ((struct keep_sink *)sink)->xfrd;

	if (d->severity == DIAG_ERROR)
		snprintf(xfrd->journal_why, sizeof(xfrd->journal_why),
			"%s: %s", d->file, d->text);
	else
		log_write(log_diag_level(d), "xfrd: %s: %s", d->file, d->text);
}

static void
keep_on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;

	log_notice("xfrd: ends, so that the next one tries to open the"
		   " journal");
	role_stop(&xfrd->role);
}

static void
keep_on_all_written(void *ctx, const struct xfrd_write_result *result)
{
	struct xfrd *xfrd = ctx;

	role_stop(&xfrd->role);
}

bool
xfrd_keep_is_lost(struct xfrd *xfrd)
{
	static const struct timeval wait = {.tv_sec = LOST_SEC};

	assert(xfrd->journal != NULL);
	if (xfrd->is_lost || journal_is_there(xfrd->journal))
		return xfrd->is_lost;
	xfrd->is_lost = true;
	log_error("xfrd: the folder of the journal has been removed; xfrd ends"
		  " once zone files are written, so that the next one makes it"
		  " again");
	if (xfrd->role.server->conf->server.zonefiles_write == 0
		|| event_base_once(xfrd->role.base, -1, EV_TIMEOUT,
			   keep_on_retry, xfrd, &wait)
			== -1
		|| xfrd_write(xfrd, NULL, keep_on_all_written, xfrd) != NSD_OK)
		role_stop(&xfrd->role);
	return true;
}

static bool
keep_is_needed(struct xfrd *xfrd)
{
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	bool found = false;

	(void)xfrd_read_begin(xfrd);
	for (uint32_t i = 0; i < table->end && !found; i++) {
		const struct xfrd_zone *zone = xfrd_zone_at(table, i);

		found = zone != NULL && xfrd_zone_is_from_xfrd(xfrd, zone);
	}
	xfrd_read_end(xfrd);
	return found;
}

/* Ends xfrd after a while, so that the next one tries: opening a journal takes
 * more system calls, and mostly another folder, than a confined xfrd may
 * use. */
static void
keep_retry(struct xfrd *xfrd)
{
	static const struct timeval wait = {.tv_sec = RETRY_SEC};

	assert(xfrd->journal == NULL);
	if (keep_is_needed(xfrd)
		&& event_base_once(xfrd->role.base, -1, EV_TIMEOUT,
			   keep_on_retry, xfrd, &wait)
			== -1)
		log_error("out of memory for a timer");
}

/* Copies the reason: the text of an errno lasts only until the next one. */
static void
keep_set_why(struct xfrd *xfrd, const char *text)
{
	snprintf(xfrd->journal_why, sizeof(xfrd->journal_why), "%s", text);
}

void
xfrd_keep_init(struct xfrd *xfrd)
{
	struct keep_sink sink = {.base.on_diag = keep_on_diag, .xfrd = xfrd};
	struct event_base *base = xfrd->role.base;
	char path[PATH_MAX];
	const struct journal_options options = {.path = path};
	enum nsd_err err = NSD_E_LIMIT;

	assert(xfrd->journal == NULL);
	if (server_find_journal(xfrd->role.server, path, sizeof(path)))
		err = journal_open(&options, &sink.base, &xfrd->journal);
	if (err != NSD_OK) {
		xfrd->journal = NULL;
		if (sink.base.errors == 0)
			keep_set_why(xfrd, err_reason(err));
		log_error("xfrd: the journal %s cannot be used, so no zone can"
			  " be transferred: %s", path, xfrd->journal_why);
		keep_retry(xfrd);
		return;
	}
	xfrd->again_event = event_new(base, -1, 0, keep_on_again, xfrd);
	xfrd->journal_event = event_new(base, journal_fd(xfrd->journal),
		EV_READ | EV_PERSIST, keep_on_journal, xfrd);
	if (xfrd->again_event == NULL || xfrd->journal_event == NULL
		|| event_add(xfrd->journal_event, NULL) != 0) {
		keep_set_why(xfrd, err_text(NSD_E_MEMORY));
		log_error("xfrd: no zone can be transferred: out of memory");
		journal_close(xfrd->journal);
		xfrd->journal = NULL;
		return;
	}
	xfrd_keep_drop_others(xfrd, path);
}

void
xfrd_keep_fini(struct xfrd *xfrd)
{
	journal_close(xfrd->journal);
	xfrd->journal = NULL;
}
