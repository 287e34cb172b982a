/*
 * xfrd_failure.c - lines of the log about questions to other servers that fail.
 *
 * Each way in which a server fails is logged once, as an error if nothing else
 * is tried with that server, and so is that it is well again. The lines begin
 * as NSD's do, so that tools that look for these find them.
 */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "dns/edns.h"
#include "dns/rcode_text.h"
#include "net/socket.h"
#include "xfrd/xfrd.h"

#define LINE_MAX_LEN 2600

const char *
xfrd_print_with(const char *key, const char *tls, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s%s", key != NULL ? " with key " : "",
		key != NULL ? key : "",
		tls == NULL     ? ""
		: key != NULL ? " and tls-auth "
			      : " with tls-auth ",
		tls != NULL ? tls : "");
	return text;
}

static const char *
failure_print_ede(uint16_t ede, char *text, size_t size)
{
	const char *name = rcode_text_ede(ede);

	text[0] = '\0';
	if (ede != EDE_NONE)
		snprintf(text, size, ", EDE %u%s%s%s", ede,
			name != NULL ? " (" : "", name != NULL ? name : "",
			name != NULL ? ")" : "");
	return text;
}

static const char *
failure_print_rcode(uint16_t rcode, uint16_t ede, char *text, size_t size)
{
	char name[RCODE_TEXT_MAX], more[64];

	snprintf(text, size, "it answers %s%s", rcode_text_print(rcode, name),
		failure_print_ede(ede, more, sizeof(more)));
	return text;
}

const char *
xfrd_failure_print_fault(const struct xfrd_job *job, char *text, size_t size)
{
	const struct xfrd_heard *heard = &job->heard;

	switch (heard->fault) {
	case XFR_FAULT_RCODE:
		return failure_print_rcode(heard->rcode, heard->ede, text,
			size);
	case XFR_FAULT_TSIG_REFUSED:
		snprintf(text, size, "it refuses our signature: %s",
			rcode_text_tsig(heard->rcode));
		return text;
	case XFR_FAULT_TSIG_WRONG:
		snprintf(text, size, "the signature is wrong: %s",
			rcode_text_tsig(heard->rcode));
		return text;
	default:
		return xfr_fault_text(heard->fault);
	}
}

uint32_t
xfrd_failure_get_reason(const struct xfrd_job *job, enum xfr_outcome outcome,
	const char *why)
{
	if (outcome == XFR_RCODE)
		return job->heard.ede;
	return xfrd_reasons_add(&job->xfrd->reasons, why);
}

const char *
xfrd_failure_print(const struct xfrd *xfrd, enum xfr_outcome outcome,
	uint16_t rcode, uint32_t reason, char *text, size_t size)
{
	const char *why;

	if (outcome == XFR_RCODE)
		return failure_print_rcode(rcode, (uint16_t)reason, text, size);
	why = xfrd_reasons_get(&xfrd->reasons, reason);
	snprintf(text, size, "%s", why != NULL ? why
		: xfr_outcome_text(outcome));
	return text;
}

const char *
xfrd_print_error(const struct xfrd *xfrd, const struct xfr_status *status,
	char *text, size_t size)
{
	return xfrd_failure_print(xfrd, status->error, status->error_rcode,
		status->error_reason, text, size);
}

const char *
xfrd_print_error_from(struct xfrd *xfrd, const struct xfrd_zone *zone,
	const struct xfr_status *status, char *text, size_t size)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	struct settings_texts primary = xfrd_options_texts(&options,
		SETTINGS_REQUEST_XFR, status->error_primary);
	char error[XFRD_ERROR_MAX], with[XFRD_WITH_MAX];

	xfrd_print_error(xfrd, status, error, sizeof(error));
	if (primary.spec != NULL)
		snprintf(text, size, "%s from %s%s", error, primary.spec,
			xfrd_print_with(primary.key_name, primary.tls_auth,
				with, sizeof(with)));
	else
		snprintf(text, size, "%s", error);
	xfrd_read_end(xfrd);
	return text;
}

/* ---- lines --------------------------------------------------------------- */

/* Values of a line. */
struct failure {
	const struct xfrd_job *job;
	enum xfr_outcome outcome;
	const char *zone;
	const char *why; /* never NULL */
	uint32_t serial; /* served serial */
	uint32_t theirs; /* with XFR_BEHIND */
	char server[NET_ADDRESS_TEXT_MAX];
	char with[XFRD_WITH_MAX];
};

/* Prints both clocks, with BADTIME, in seconds of the epoch and as dates. */
static const char *
failure_print_clocks(const struct xfrd_heard *heard, char *text, size_t size)
{
	time_t theirs = (time_t)heard->tsig_time_sec, ours = time(NULL);
	char one[32] = "", other[32] = "";
	struct tm tm;

	text[0] = '\0';
	if (heard->rcode != RCODE_BADTIME || theirs == 0)
		return text;
	if (gmtime_r(&theirs, &tm) != NULL)
		strftime(one, sizeof(one), "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (gmtime_r(&ours, &tm) != NULL)
		strftime(other, sizeof(other), "%Y-%m-%dT%H:%M:%SZ", &tm);
	snprintf(text, size, ", its clock says %s and ours %s", one, other);
	return text;
}

static void
failure_print_tsig(const struct failure *f, char *line)
{
	const struct xfrd_heard *heard = &f->job->heard;
	char clocks[100];

	failure_print_clocks(heard, clocks, sizeof(clocks));
	if (heard->fault == XFR_FAULT_TSIG_MISSING)
		snprintf(line, LINE_MAX_LEN, "xfrd: zone %s, from %s: no tsig"
			" in first packet of reply%s: %s", f->zone, f->server,
			f->with, f->why);
	else if (heard->fault == XFR_FAULT_TSIG_REFUSED)
		snprintf(line, LINE_MAX_LEN, "xfrd: zone %s, from %s: tsig"
			" error (%s)%s: %s%s", f->zone, f->server,
			rcode_text_tsig_log(heard->rcode), f->with, f->why,
			clocks);
	else
		snprintf(line, LINE_MAX_LEN, "xfrd: zone %s, from %s: bad tsig"
			" signature%s: %s%s", f->zone, f->server, f->with,
			f->why, clocks);
}

/* Prints that there was no answer, or not all of it. */
static void
failure_print_silence(const struct failure *f, char *line)
{
	if (f->job->heard.was_open && f->outcome == XFR_UNREACHABLE)
		snprintf(line, LINE_MAX_LEN, "xfrd: failed reading tcp %s:"
			" zone %s, from %s%s", f->why, f->zone, f->server,
			f->with);
	else if (f->outcome == XFR_UNREACHABLE && f->job->uses_tcp)
		snprintf(line, LINE_MAX_LEN, "%s: Could not tcp connect to"
			" %s%s: %s", f->zone, f->server, f->with, f->why);
	else
		snprintf(line, LINE_MAX_LEN, "xfrd: zone %s, from %s%s: %s",
			f->zone, f->server, f->with, f->why);
}

static void
failure_print_check(const struct failure *f, char *line)
{
	const struct xfr_reader *reader = &f->job->reader;
	char words[RCODE_TEXT_MAX];
	struct xfr_soa soa = {.serial = 0};

	switch (f->outcome) {
	case XFR_RCODE:
		snprintf(line, LINE_MAX_LEN, "xfrd: zone %s received error"
			" code %s from %s%s: %s", f->zone,
			rcode_text_print_log(f->job->heard.rcode, words),
			f->server, f->with, f->why);
		return;
	case XFR_BAD_TSIG:
		failure_print_tsig(f, line);
		return;
	case XFR_UNREACHABLE:
	case XFR_TIMEOUT:
		failure_print_silence(f, line);
		return;
	case XFR_BEHIND:
		snprintf(line, LINE_MAX_LEN, "xfrd: zone %s ignoring old"
			" serial (%"PRIu32"/%"PRIu32") from %s", f->zone,
			f->serial, f->theirs, f->server);
		return;
	case XFR_LOCAL:
		snprintf(line, LINE_MAX_LEN, "xfrd: zone %s transfer from %s%s"
			" failed: %s", f->zone, f->server, f->with, f->why);
		return;
	default:
		break;
	}
	if (f->job->action.act == XFR_PROBE) {
		snprintf(line, LINE_MAX_LEN, "xfrd: zone %s SOA query from"
			" %s%s failed: %s", f->zone, f->server, f->with,
			f->why);
		return;
	}
	if (reader->soa_len > 0)
		xfr_soa_read(reader->soa, reader->soa_len, &soa);
	snprintf(line, LINE_MAX_LEN, "xfrd: zone %s bad transfer %"PRIu32
		" from %s%s: %s", f->zone, soa.serial, f->server, f->with,
		f->why);
}

static void
failure_print_notify(const struct failure *f, char *line)
{
	const struct xfrd_heard *heard = &f->job->heard;
	char words[RCODE_TEXT_MAX];

	if (heard->fault == XFR_FAULT_NONE)
		snprintf(line, LINE_MAX_LEN, "xfrd: zone %s: max notify send"
			" count reached, %s unreachable%s: %s", f->zone,
			f->server, f->with, f->why);
	else
		snprintf(line, LINE_MAX_LEN, "xfrd: zone %s: received notify"
			" response error %s from %s%s: %s", f->zone,
			heard->fault == XFR_FAULT_RCODE
				? rcode_text_print_log(heard->rcode, words)
				: "SERVER NOT AUTHORITATIVE FOR ZONE",
			f->server, f->with, f->why);
}

/* ---- deciding what to log ------------------------------------------------ */

/* True if the target has been told often enough, and is given up. */
static bool
failure_is_given_up(const struct xfrd_job *job)
{
	uint16_t list[XFR_TARGETS_MAX];
	uint32_t count = xfr_list_notifying(job->xfrd->zones.machine,
		job->action.zone, list, XFR_TARGETS_MAX);

	for (uint32_t i = 0; i < count; i++)
		if (list[i] == job->action.target)
			return false;
	return true;
}

/* True if this primary is asked nothing else in this check. */
static bool
failure_is_final(const struct xfrd_job *job, const struct xfr_reply *reply,
	const struct xfr_status *status, int64_t now)
{
	return status->has_error && status->error_at == now
		&& status->error == reply->outcome
		&& status->error_primary == job->action.primary
		&& status->primary != job->action.primary
		&& status->turn_primary != job->action.primary;
}

static void
failure_say(const struct xfrd_job *job, const struct xfr_reply *reply,
	const char *why, const struct xfr_status *status, bool is_final)
{
	struct failure f = {
		.job = job,
		.outcome = reply->outcome,
		.zone = job->name,
		.why = why != NULL ? why : xfr_outcome_text(reply->outcome),
		.serial = status->soa.serial,
		.theirs = reply->soa.serial,
	};
	bool is_error = is_final && reply->outcome != XFR_BEHIND;
	unsigned at = is_error ? 0 : job->action.act == XFR_TRANSFER ? 1 : 2;
	char line[LINE_MAX_LEN];

	if (reply->outcome == XFR_BEHIND)
		at = 1;
	if (log_verbosity() < at)
		return;
	xfrd_job_print_server(job, f.server);
	xfrd_print_with(job->whom.key_name, job->whom.tls_auth_name, f.with,
		sizeof(f.with));
	if (job->action.act == XFR_NOTIFY)
		failure_print_notify(&f, line);
	else
		failure_print_check(&f, line);
	log_write(is_error ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, "%s", line);
}

static void
failure_note(struct xfrd_job *job, const struct xfr_reply *reply,
	const char *why, const struct xfr_status *status, int64_t now)
{
	bool is_notify = job->action.act == XFR_NOTIFY;
	struct xfrd_said_way way = {
		.server = is_notify ? job->action.target : job->action.primary,
		.reason = reply->reason,
		.rcode = reply->rcode,
		.outcome = (uint8_t)reply->outcome,
		.is_notify = is_notify,
		.since_msec = now,
	};

	/* A fault in a target's answer is logged at once; a silent target is
	 * asked again first. */
	if (is_notify && job->heard.fault == XFR_FAULT_NONE
		&& !failure_is_given_up(job))
		return;
	way.is_final = is_notify
		|| failure_is_final(job, reply, status, now);
	if (xfrd_said_add(&job->zone->said, &way))
		failure_say(job, reply, why, status, way.is_final);
}

/* True if an answer shows that the primary is well. An SOA is not enough where
 * the transfer is to follow: that one may fail each time. */
static bool
failure_is_over(const struct xfrd_job *job, const struct xfr_reply *reply,
	const struct xfr_status *status)
{
	switch (reply->outcome) {
	case XFR_DONE:
	case XFR_UNCHANGED:
	case XFR_ACKNOWLEDGED:
		return true;
	case XFR_SOA:
		return status->has_data
			&& reply->soa.serial == status->soa.serial;
	default:
		return false;
	}
}

static bool
failure_is_one(enum xfr_outcome outcome)
{
	return outcome != XFR_SOA && outcome != XFR_UNCHANGED
		&& outcome != XFR_DONE && outcome != XFR_ACKNOWLEDGED
		&& outcome != XFR_USE_TCP;
}

/* True if another request decides: a primary that tells no SOA is asked for the
 * transfer, one that does no EDNS without it. Its outcome is logged
 * (doc/decisions/0140). */
static bool
failure_is_followed(const struct xfrd_job *job, const struct xfr_reply *reply)
{
	if (reply->lacks_edns && !job->action.no_edns)
		return true;
	return job->action.act == XFR_PROBE
		&& (reply->outcome == XFR_RCODE
			|| reply->outcome == XFR_NONSENSE
			|| reply->outcome == XFR_BAD_TSIG || reply->is_open);
}

void
xfrd_failure_tell(struct xfrd_job *job, const struct xfr_reply *reply,
	const char *why, int64_t now)
{
	bool is_notify = job->action.act == XFR_NOTIFY;
	char server[NET_ADDRESS_TEXT_MAX];
	struct xfr_reply told = *reply;
	struct xfr_status status;

	assert(job->ticket != XFR_NO_TICKET && job->zone != NULL);
	xfr_get_status(job->xfrd->zones.machine, job->action.zone, now,
		&status);
	/* The machine has compared the serials. */
	if (told.outcome == XFR_SOA && status.has_error
		&& status.error_at == now && status.error == XFR_BEHIND
		&& status.error_primary == job->action.primary)
		told.outcome = XFR_BEHIND;
	if (failure_is_followed(job, reply))
		return;
	if (failure_is_one(told.outcome)) {
		failure_note(job, &told, why, &status, now);
		return;
	}
	if (!failure_is_over(job, reply, &status)
		|| !xfrd_said_clear(&job->zone->said, is_notify,
			is_notify ? job->action.target : job->action.primary))
		return;
	xfrd_job_print_server(job, server);
	if (is_notify)
		log_notice("xfrd: zone %s: %s acknowledges notify again",
			job->name, server);
	else
		log_notice("xfrd: zone %s is well again, from %s",
			job->name, server);
}
