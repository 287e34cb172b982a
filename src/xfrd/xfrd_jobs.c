/*
 * xfrd_jobs.c - carries out the machine's actions at other servers: asks for an
 * SOA, receives a transfer, sends NOTIFY.
 *
 * A job is sent at once, or waits for a connection (jobs_wait) until there is
 * one (jobs_on_room). It ends in xfrd_job_end; a transfer, in xfrd_keep.c.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "journal/journal.h"
#include "loader/load_update.h"
#include "net/socket.h"
#include "xfrd/xfrd.h"

/* Octets of a reply over UDP, at most. */
#define UDP_SIZE 1232
/* The time between looks through the jobs that wait for a connection, at
 * most. */
#define ROOM_MSEC 250

static bool
jobs_uses_tcp(const struct xfrd_job *job)
{
	const struct xfr_action *action = &job->action;

	/* A primary with TLS gets no questions without it. */
	if (action->act != XFR_NOTIFY && job->whom.tls_auth_name != NULL)
		return true;
	return action->act != XFR_NOTIFY && action->query != XFR_QUERY_SOA_UDP
		&& action->query != XFR_QUERY_IXFR_UDP;
}

static void
jobs_fail(struct xfrd_job *job, enum xfr_outcome outcome, const char *why)
{
	xfrd_job_end(job, &(struct xfr_reply){.outcome = outcome}, why);
}

static struct timeval
jobs_timeval(uint32_t msec)
{
	return (struct timeval){.tv_sec = msec / 1000,
		.tv_usec = msec % 1000 * 1000};
}

/* True if jobs wait for a connection, or for their turn. */
static bool
jobs_others_wait(struct xfrd *xfrd)
{
	struct xfr_counts counts;

	xfr_get_counts(xfrd->zones.machine, &counts);
	return !cds_list_empty(&xfrd->asks.waiting)
		|| counts.urgent + counts.waiting > 0;
}

/* Notes how far a failed question has come. */
static void
jobs_note_how_far(const struct xfrd_job *job, struct xfr_reply *reply)
{
	reply->is_open = jobs_uses_tcp(job) && job->ask != NULL
		&& xfrd_ask_is_open(job->ask);
	reply->has_begun = job->reader.soa_len > 0;
}

/* Returns after how many milliseconds from its beginning a job is to be looked
 * at. */
static uint32_t
jobs_begin_wait(struct xfrd_job *job)
{
	const struct xfr_action *action = &job->action;

	return action->wait_msec > 0
		? action->wait_msec
		: xfr_patience_begin(&job->patience, clock_now_msec(),
			  action->first_msec);
}

/* True if the job's server has connections, and has been silent on all of them
 * since the job was asked: then turns do not matter. */
static bool
jobs_is_unheard(const struct xfrd_job *job)
{
	struct xfrd_ask_server server;

	return job->uses_tcp && xfrd_job_get_server(job, true, 0, &server)
		&& xfrd_asks_know_silent(&job->xfrd->asks, &server,
			job->asked_msec);
}

/* Returns after how many milliseconds a job that waits for a connection is to
 * be looked at again; 0: it is given up. */
static uint32_t
jobs_wait_on(struct xfrd_job *job)
{
	return jobs_is_unheard(job) ? 0 : jobs_begin_wait(job);
}

/* Returns since when a job has had its turn on its connection; now, if its turn
 * is to come, or over UDP. Its patience counts from there. */
static int64_t
jobs_get_turn(const struct xfrd_job *job, int64_t now)
{
	if (jobs_is_unheard(job))
		return job->asked_msec;
	return job->ask != NULL && job->uses_tcp
		? xfrd_ask_get_turn(job->ask, now) : now;
}

/* Returns after how many milliseconds a job that is under way is to be looked
 * at again; 0: it takes too long. */
static uint32_t
jobs_look(struct xfrd_job *job)
{
	int64_t now = clock_now_msec();
	const struct xfr_patience_look look = {
		.received = job->reader.result.received,
		.turn_at = jobs_get_turn(job, now),
		.is_held = job->xfrd->asks.pool.is_paused,
		.is_free = !job->action.has_others
			&& !jobs_others_wait(job->xfrd),
	};

	return job->action.wait_msec > 0
		? 0 : xfr_patience_look(&job->patience, now, &look);
}

/* The time of a job is over; or it is a transfer, which is to be looked at. */
static void
jobs_on_time(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd_job *job = arg;
	struct xfr_reply reply = {.outcome = XFR_TIMEOUT};
	uint32_t msec = cds_list_empty(&job->keep_node) ? jobs_look(job)
							: jobs_wait_on(job);
	struct timeval wait = jobs_timeval(msec);

	/* A complete transfer has all the time that it needs. */
	assert(job->entry == 0 && job->ticket != XFR_NO_TICKET);
	if (msec > 0 && event_add(job->event, &wait) == 0)
		return;
	jobs_note_how_far(job, &reply);
	xfrd_job_end(job, &reply,
		job->reader.result.received > 0
				|| (job->action.first_msec == 0
					&& job->action.wait_msec == 0)
			? "it is too slow"
			: NULL);
}

/* Has a job wait for a connection. */
static void
jobs_wait(struct xfrd_job *job)
{
	assert(job->uses_tcp && job->ask == NULL && job->entry == 0);
	assert(cds_list_empty(&job->keep_node));
	/* Another key may be right by then. */
	mac_destroy(job->key.mac);
	job->key.mac = NULL;
	journal_abandon(job->text);
	job->text = NULL;
	cds_list_add_tail(&job->keep_node, &job->xfrd->asks.waiting);
}

static void
jobs_on_ask_again(void *ctx, const struct xfr_pool_past *past)
{
	struct xfrd_job *job = ctx;

	job->ask = NULL; /* the question is over */
	job->past = *past;
	jobs_wait(job);
	xfrd_asks_tell_room(&job->xfrd->asks);
}

static void
jobs_on_ask_failed(void *ctx, int error, const char *why)
{
	struct xfrd_job *job = ctx;
	struct xfr_reply reply = {
		.outcome = error == ETIMEDOUT ? XFR_TIMEOUT : XFR_UNREACHABLE,
	};

	assert(job->ask != NULL && job->entry == 0);
	jobs_note_how_far(job, &reply);
	job->ask = NULL; /* the question is over */
	job->heard.was_open = why == NULL
		&& (error == 0 || error == ECONNRESET);
	xfrd_job_end(job, &reply,
		why != NULL  ? why
		: error != 0 ? strerror(error)
			     : "the connection was closed too early");
}

/* Makes a reply of the fault in job->heard. */
static void
jobs_reply_fault(const struct xfrd_job *job, struct xfr_reply *reply)
{
	assert(job->heard.fault != XFR_FAULT_NONE);
	reply->rcode = 0;
	switch (job->heard.fault) {
	case XFR_FAULT_RCODE:
		reply->outcome = XFR_RCODE;
		reply->rcode = job->heard.rcode;
		break;
	case XFR_FAULT_TRUNCATED:
		reply->outcome = XFR_USE_TCP;
		break;
	case XFR_FAULT_TSIG_MISSING:
	case XFR_FAULT_TSIG_UNASKED:
	case XFR_FAULT_TSIG_WRONG:
	case XFR_FAULT_TSIG_REFUSED:
		reply->outcome = XFR_BAD_TSIG;
		break;
	case XFR_FAULT_OCTETS:
		reply->outcome = XFR_TOO_LARGE;
		break;
	case XFR_FAULT_MEMORY:
	case XFR_FAULT_SINK:
		reply->outcome = XFR_LOCAL;
		break;
	default:
		reply->outcome = XFR_NONSENSE;
		break;
	}
}

/* ---- SOA and NOTIFY ------------------------------------------------------ */

static enum xfrd_ask_next
jobs_on_answer(void *ctx, const uint8_t *message, size_t len)
{
	struct xfrd_job *job = ctx;
	struct xfr_reply reply = {.outcome = XFR_SOA};
	struct xfr_answer answer;
	char why[XFRD_ERROR_MAX];
	enum xfr_fault fault = xfr_answer_read(&job->request, message, len,
		(uint64_t)time(NULL), &answer);

	assert(job->action.act != XFR_TRANSFER && job->ask != NULL);
	if (xfr_fault_is_stray(fault))
		return XFRD_ASK_MORE;
	job->ask = NULL; /* the question is over */
	if (fault != XFR_FAULT_NONE) {
		job->heard = (struct xfrd_heard){
			.fault = fault,
			.rcode = answer.rcode,
			.ede = answer.ede,
			.tsig_time_sec = answer.tsig_time_sec,
		};
		jobs_reply_fault(job, &reply);
		if (reply.outcome == XFR_USE_TCP && jobs_uses_tcp(job))
			reply.outcome = XFR_NONSENSE;
		reply.lacks_edns = job->request.udp_size > 0
			&& xfr_lacks_edns(fault, answer.rcode, answer.has_opt);
		xfrd_job_end(job, &reply,
			xfrd_failure_print_fault(job, why, sizeof(why)));
		return XFRD_ASK_ENDED;
	}
	if (job->action.act == XFR_NOTIFY)
		reply.outcome = XFR_ACKNOWLEDGED;
	reply.soa = answer.soa;
	reply.has_soa = answer.has_soa;
	reply.has_expire = answer.has_expire;
	reply.expire_sec = answer.expire_sec;
	xfrd_job_end(job, &reply, NULL);
	return XFRD_ASK_ENDED;
}

static const struct xfrd_ask_calls jobs_answers = {
	.on_message = jobs_on_answer,
	.on_fail = jobs_on_ask_failed,
	.on_again = jobs_on_ask_again,
};

/* ---- transfers ----------------------------------------------------------- */

static enum nsd_err
jobs_on_octets(void *ctx, const uint8_t *octets, size_t len)
{
	struct xfrd_job *job = ctx;
	enum nsd_err err;

	assert(job->text != NULL && job->entry == 0);
	/* The first octet is the kind. The loader takes no more octets of
	 * differences; a message over UDP cannot have that many. */
	if (job->put == 0 && len > 0)
		job->is_diffs = octets[0] == XFR_DIFFS;
	/* The transfer may have no end. */
	if (job->size_limit == 0 && journal_fills_disk(job->xfrd->journal,
		job->put, job->put + len))
		return NSD_E_DENIED;
	job->put += len;
	if (job->is_diffs && job->put > load_update_diffs_max(job->soa.records))
		return NSD_E_LIMIT;
	err = journal_put(job->text, octets, len);
	job->sink_error = errno;
	return err;
}

static void
jobs_end_unchanged(struct xfrd_job *job, const struct xfr_soa *soa)
{
	const struct xfr_read_result *result = &job->reader.result;
	struct xfr_reply reply = {
		.outcome = soa->serial == job->action.serial ? XFR_UNCHANGED
							     : XFR_BEHIND,
		.soa = *soa,
		.has_soa = true,
		.has_expire = result->has_expire,
		.expire_sec = result->expire_sec,
	};

	xfrd_job_end(job, &reply, NULL);
}

/* Asks the machine, once the first messages have the serial of a transfer.
 * False: it is not wanted, and the job has ended. */
static bool
jobs_want(struct xfrd_job *job)
{
	struct xfr_soa soa;

	/* A cancelled job has ended before. */
	assert(job->ticket != XFR_NO_TICKET && job->zone != NULL);
	if (job->is_wanted || job->reader.soa_len == 0)
		return true;
	xfr_soa_read(job->reader.soa, job->reader.soa_len, &soa);
	job->is_wanted = xfr_wants(job->xfrd->zones.machine, job->ticket,
		soa.serial);
	if (job->is_wanted)
		return true;
	jobs_end_unchanged(job, &soa);
	return false;
}

static void
jobs_fail_transfer(struct xfrd_job *job)
{
	const struct xfr_read_result *result = &job->reader.result;
	struct xfr_reply reply = {.outcome = XFR_NONSENSE};
	char why[XFRD_ERROR_MAX];

	job->heard = (struct xfrd_heard){
		.fault = result->fault,
		.rcode = result->rcode,
		.ede = result->ede,
		.tsig_time_sec = result->tsig_time_sec,
	};
	jobs_reply_fault(job, &reply);
	if (reply.outcome == XFR_USE_TCP && !job->reader.setup.udp)
		reply.outcome = XFR_NONSENSE;
	if (result->fault == XFR_FAULT_SINK
		&& result->sink_err == NSD_E_LIMIT)
		reply.outcome = XFR_NO_FIT; /* the whole zone is next */
	if (result->fault == XFR_FAULT_SINK
		&& result->sink_err == NSD_E_DENIED)
		reply.outcome = XFR_TOO_LARGE;
	jobs_note_how_far(job, &reply);
	/* Messages behind the first have no OPT. */
	reply.lacks_edns = result->messages == 0
		&& xfr_lacks_edns(result->fault, result->rcode,
			result->has_opt);
	xfrd_job_end(job, &reply,
		result->fault != XFR_FAULT_SINK
			? xfrd_failure_print_fault(job, why, sizeof(why))
			: result->sink_err == NSD_E_SYSTEM
			? strerror(job->sink_error)
			: result->sink_err == NSD_E_DENIED
			? XFRD_FILLS_DISK
			: err_text(result->sink_err));
}

/* A message of a transfer has come. */
static enum xfrd_ask_next
jobs_on_transfer(void *ctx, const uint8_t *message, size_t len)
{
	struct xfrd_job *job = ctx;
	struct xfr_read_result *result = &job->reader.result;
	struct xfr_reply reply = {.outcome = XFR_USE_TCP};
	struct xfrd_ask *ask = job->ask;
	enum xfr_verdict verdict = xfr_reader_take(&job->reader, message, len,
		(uint64_t)time(NULL), &job->xfrd->room);

	assert(job->action.act == XFR_TRANSFER && ask != NULL);
	if (verdict == XFR_READ_FAILED && job->reader.setup.udp
		&& xfr_fault_is_stray(result->fault))
		return XFRD_ASK_MORE;
	job->ask = NULL; /* in case this is the end: it is freed then */
	switch (verdict) {
	case XFR_READ_MORE:
		if (!jobs_want(job))
			return XFRD_ASK_LEFT;
		job->ask = ask;
		xfrd_keep_slow_down(job->xfrd);
		return XFRD_ASK_MORE;
	case XFR_READ_DONE:
		if (jobs_want(job))
			xfrd_keep_begin(job);
		return XFRD_ASK_ENDED;
	case XFR_READ_UNCHANGED:
		jobs_end_unchanged(job, &result->soa);
		return XFRD_ASK_LEFT;
	case XFR_READ_USE_TCP:
		xfrd_job_end(job, &reply, NULL);
		return XFRD_ASK_ENDED;
	default:
		jobs_fail_transfer(job);
		return XFRD_ASK_LEFT;
	}
}

static const struct xfrd_ask_calls jobs_transfers = {
	.on_message = jobs_on_transfer,
	.on_fail = jobs_on_ask_failed,
	.on_again = jobs_on_ask_again,
};

static enum nsd_err
jobs_begin_transfer(struct xfrd_job *job)
{
	const struct xfr_read_setup setup = {
		.apex = job->apex,
		.asking = job->request.asking,
		.id = job->request.id,
		.udp = job->action.query == XFR_QUERY_IXFR_UDP,
		.has_serial = job->action.has_serial && !job->action.forced,
		.serial = job->action.serial,
		.chain = job->request.chain,
		.octets_max = job->size_limit,
		.sink = {.on_octets = jobs_on_octets, .ctx = job},
	};

	assert(job->text == NULL && job->put == 0 && !job->is_wanted);
	xfr_reader_init(&job->reader, &setup);
	if (job->xfrd->journal == NULL || xfrd_keep_is_lost(job->xfrd))
		return NSD_E_DENIED;
	job->text = journal_begin(job->xfrd->journal, job->apex);
	return job->text != NULL ? NSD_OK : NSD_E_MEMORY;
}

/* ---- the beginning ------------------------------------------------------- */

static void
jobs_fill_request(struct xfrd_job *job)
{
	const struct xfr_action *action = &job->action;
	struct xfr_ask *request = &job->request;

	request->apex = job->apex;
	request->id = xfrd_ask_id(job->ask);
	/* A reply to NOTIFY is short, and its OPT has no use. */
	request->udp_size = action->act == XFR_NOTIFY || action->no_edns
		? 0 : UDP_SIZE;
	request->is_stream = jobs_uses_tcp(job);
	request->serial = action->serial;
	request->asking = action->act == XFR_NOTIFY ? XFR_TELL_NOTIFY
		: action->act == XFR_PROBE          ? XFR_ASK_SOA
		: action->query == XFR_QUERY_AXFR       ? XFR_ASK_AXFR
						    : XFR_ASK_IXFR;
	request->wants_expire = request->udp_size > 0;
	if (action->act != XFR_PROBE
		&& xfrd_zones_get_soa(job->xfrd, job->zone, &job->soa)
		&& job->soa.numbers.serial == action->serial) {
		request->soa = job->soa.rdata;
		request->soa_len = job->soa.len;
		request->soa_ttl_sec = job->soa.ttl_sec;
	}
	if (job->key.mac != NULL) {
		tsig_begin(&job->chain, &job->key);
		request->chain = &job->chain;
	}
}

/* Opens a question from the first of our addresses that can be used.
 * NSD_E_NOT_FOUND: the tls-auth cannot be used. Else as xfrd_ask_open. */
static enum nsd_err
jobs_open_ask(struct xfrd_job *job)
{
	const struct xfrd_ask_calls *calls = job->action.act == XFR_TRANSFER
		? &jobs_transfers : &jobs_answers;
	const struct xfrd_ask_how how = {
		.is_urgent = !job->action.has_failed,
		.past = job->past,
	};
	enum nsd_err err = NSD_E_SYSTEM;
	struct xfrd_ask_server server;

	assert(job->ask == NULL);
	for (unsigned i = 0; xfrd_job_get_server(job, jobs_uses_tcp(job), i,
			&server);
		i++) {
		if (server.tls == NULL && server.tcp
			&& job->whom.tls_auth_name != NULL)
			return NSD_E_NOT_FOUND;
		err = xfrd_ask_open(&job->xfrd->asks, &server, &how, calls,
			job, &job->ask);
		if (err != NSD_E_SYSTEM
			|| (errno != EADDRNOTAVAIL && errno != EADDRINUSE))
			break;
	}
	return err;
}

/* As jobs_open_ask; NSD_E_DENIED: no such key, or no journal. */
static enum nsd_err
jobs_send(struct xfrd_job *job)
{
	uint8_t message[XFR_ASK_MAX];
	size_t len;
	enum nsd_err err = jobs_open_ask(job);

	if (err == NSD_OK)
		err = xfrd_job_open_key(job);
	if (err != NSD_OK)
		return err;
	jobs_fill_request(job);
	if (job->action.act == XFR_TRANSFER)
		err = jobs_begin_transfer(job);
	if (err == NSD_OK)
		err = xfr_ask_write(&job->request, (uint64_t)time(NULL),
			message, &len);
	return err == NSD_OK ? xfrd_ask_send(job->ask, message, len) : err;
}

/* True if a question was not sent for a reason of ours: then it is soon tried
 * again. */
static bool
jobs_lacks_room(enum nsd_err err)
{
	return err == NSD_E_SYSTEM
		&& (errno == EMFILE || errno == ENFILE || errno == ENOBUFS
			|| errno == ENOMEM);
}

/* Fails a job whose tls-auth cannot be used: xfrd_tls.c has logged why. */
static void
jobs_fail_tls_auth(struct xfrd_job *job)
{
	char why[300];

	snprintf(why, sizeof(why), "tls-auth %s cannot be used",
		job->whom.tls_auth_name);
	jobs_fail(job, XFR_UNREACHABLE, why);
}

static void
jobs_log_begin(const struct xfrd_job *job)
{
	char server[NET_ADDRESS_TEXT_MAX];

	/* The address is printed only if the log wants it. */
	if (job->action.act != XFR_TRANSFER || log_verbosity() < 3)
		return;
	log_at(3, LOG_LEVEL_INFO,
		"request %s zone transfer (%s) for %s from %s",
		job->action.query == XFR_QUERY_AXFR ? "full" : "incremental",
		job->action.query == XFR_QUERY_AXFR ? "AXFR" : "IXFR",
		job->name, xfrd_job_print_server(job, server));
}

static void
jobs_fail_to_begin(struct xfrd_job *job, enum nsd_err err)
{
	assert(err != NSD_OK && err != NSD_E_AGAIN);
	if (jobs_lacks_room(err))
		jobs_fail(job, XFR_LOCAL, strerror(errno));
	else if (err == NSD_E_SYSTEM)
		jobs_fail(job, XFR_UNREACHABLE, strerror(errno));
	else if (err == NSD_E_NOT_FOUND)
		jobs_fail_tls_auth(job);
	else if (err == NSD_E_DENIED && job->key.mac == NULL
		&& job->whom.key_name != NULL)
		jobs_fail(job, XFR_BAD_TSIG, "there is no such key");
	else if (err == NSD_E_DENIED)
		jobs_fail(job, XFR_LOCAL, "the journal cannot be used");
	else
		jobs_fail(job, XFR_LOCAL, err_text(err));
}

/* Sends a job, whose time begins then. NSD_E_AGAIN: it is to wait. */
static enum nsd_err
jobs_go(struct xfrd_job *job)
{
	struct timeval wait = jobs_timeval(jobs_begin_wait(job));

	if (job->event == NULL || event_add(job->event, &wait) != 0)
		return NSD_E_MEMORY;
	/* New jobs come behind those that wait. */
	if (job->uses_tcp && !cds_list_empty(&job->xfrd->asks.waiting))
		return NSD_E_AGAIN;
	return jobs_send(job);
}

void
xfrd_jobs_begin(struct xfrd *xfrd, const struct xfr_action *action)
{
	struct xfrd_job *job = xfrd_job_create(xfrd, action);
	enum nsd_err err;

	assert(action->ticket != XFR_NO_TICKET && !xfrd->writes.ending);
	if (job == NULL) {
		(void)xfr_on_reply(xfrd->zones.machine, action->ticket,
			clock_now_msec(),
			&(struct xfr_reply){.outcome = XFR_LOCAL});
		return;
	}
	job->uses_tcp = jobs_uses_tcp(job);
	job->began_usec = clock_now_usec();
	job->asked_msec = clock_now_msec();
	jobs_log_begin(job);
	job->event = event_new(xfrd->role.base, -1, 0, jobs_on_time, job);
	err = jobs_go(job);
	if (err == NSD_E_AGAIN) {
		jobs_wait(job);
		xfrd_asks_tell_room(&xfrd->asks);
	} else if (err != NSD_OK) {
		jobs_fail_to_begin(job, err);
	}
}

/* Sends a job that has waited. Its time begins anew, if its server has sent a
 * message meanwhile. */
static enum nsd_err
jobs_go_on(struct xfrd_job *job)
{
	bool is_unheard = jobs_is_unheard(job);
	enum nsd_err err = jobs_send(job);
	struct timeval wait;

	if (err != NSD_OK || is_unheard)
		return err;
	job->asked_msec = clock_now_msec();
	wait = jobs_timeval(jobs_begin_wait(job));
	return event_add(job->event, &wait) == 0 ? NSD_OK : NSD_E_MEMORY;
}

/* Goes on with jobs that wait for a connection, as far as there are some. A job
 * for which there is none holds up none that asks another server. */
static void
jobs_on_room(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval later = {.tv_usec = ROOM_MSEC * 1000};
	struct xfrd *xfrd = arg;
	struct xfrd_asks *asks = &xfrd->asks;
	struct xfrd_job *job, *next;
	enum nsd_err err;

	asks->is_told = false;
	if (xfrd->writes.ending)
		return;
	cds_list_for_each_entry_safe(job, next, &asks->waiting, keep_node) {
		err = jobs_go_on(job);
		if (err == NSD_E_AGAIN)
			continue;
		cds_list_del_init(&job->keep_node);
		if (err != NSD_OK)
			jobs_fail_to_begin(job, err);
	}
	/* Slow jobs may be given up by then. */
	if (!asks->is_told && !cds_list_empty(&asks->waiting))
		event_add(asks->room_event, &later);
}

enum nsd_err
xfrd_jobs_init(struct xfrd *xfrd)
{
	xfrd->asks.room_event = event_new(xfrd->role.base, -1, 0, jobs_on_room,
		xfrd);
	return xfrd->asks.room_event != NULL ? NSD_OK : NSD_E_MEMORY;
}
