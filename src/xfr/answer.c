/* answer.c - follows up the answer of a primary: the next request to it, or to
 * another, or the end of the check. */
#include "config.h"

#include <assert.h>

#include "dns/message.h"
#include "dns/serial.h"
#include "xfr/inside.h"

/* For how long a primary whose IXFR failed is asked for AXFR: NSD's 48 hours if
 * it does not know IXFR, else an hour. */
#define NO_IXFR_LONG_SEC (48u * 3600)
#define NO_IXFR_SEC 3600u

/* The answer to a request that is under way no more. */
struct answer {
	uint32_t id; /* of the zone */
	struct xfr_zone *zone;
	struct xfr_request request;
	const struct xfr_reply *reply;
	int64_t now;
};

static void
note_error(const struct answer *a, enum xfr_outcome outcome)
{
	struct xfr_zone *z = a->zone;

	z->error = (uint8_t)outcome;
	z->error_rcode = outcome == XFR_RCODE ? a->reply->rcode : 0;
	z->error_reason = a->reply->reason;
	z->error_primary = a->request.primary;
	z->error_at = a->now;
}

static void
note_failure(const struct answer *a, enum xfr_outcome outcome)
{
	uint64_t bit = primary_bit(a->request.primary);

	note_error(a, outcome);
	a->zone->newer &= ~bit;
	if (a->request.query > XFR_QUERY_SOA_TCP && outcome != XFR_BEHIND
		&& (a->reply->has_begun || (a->zone->blind & bit) == 0))
		a->zone->has_missed = true;
}

static void
primary_failed(struct xfr_machine *m, const struct answer *a,
	enum xfr_outcome outcome)
{
	note_failure(a, outcome);
	if (outcome == XFR_LOCAL)
		check_end(m, a->id, a->now, false, false);
	else
		check_ask_next(m, a->id, a->now);
}

/* A slow primary is asked again when all others were. */
static void
primary_is_slow(struct xfr_machine *m, const struct answer *a)
{
	note_failure(a, a->reply->outcome);
	a->zone->slow |= primary_bit(a->request.primary);
	check_ask_next(m, a->id, a->now);
}

/* The primary has the serial that we have. */
static void
on_equal(struct xfr_machine *m, const struct answer *a)
{
	struct xfr_zone *z = a->zone;

	refresh_zone(m, a->id, a->now, a->reply, false);
	z->flags |= ZONE_FRESH;
	z->newer &= ~primary_bit(a->request.primary);
	if (a->request.query > XFR_QUERY_SOA_TCP)
		z->bad_ixfr &= ~primary_bit(a->request.primary);
	/* The zone had expired, and the best primary has an older version. */
	if (z->best != INDEX_NONE && !choose_is_wanted(z, z->best_serial))
		z->best = INDEX_NONE;
	/* The others may have the version that a NOTIFY told, or that this
	 * primary told and did not give. */
	if (choose_checks_all(m, z) || z->was_newer
		|| ((z->flags & ZONE_PROMISED) != 0
			&& choose_is_wanted(z, z->promised))) {
		check_ask_next(m, a->id, a->now);
	} else if (z->slow != 0) {
		/* The datagram of a primary that has more may have been
		 * lost. */
		z->tried = choose_all(table_config(m, z));
		check_ask_next(m, a->id, a->now);
	} else {
		check_end(m, a->id, a->now, !z->has_missed, false);
	}
}

static void
on_soa(struct xfr_machine *m, const struct answer *a)
{
	struct xfr_zone *z = a->zone;
	uint32_t serial = a->reply->soa.serial;
	uint8_t primary = a->request.primary;

	if ((z->flags & ZONE_HAS_DATA) != 0 && serial == z->soa.serial
		&& (z->flags & ZONE_FORCED) == 0) {
		on_equal(m, a);
		return;
	}
	if (!choose_is_wanted(z, serial) && (z->flags & ZONE_FORCED) == 0) {
		primary_failed(m, a, XFR_BEHIND);
		return;
	}
	if (!choose_checks_all(m, z)) {
		z->was_newer = z->has_spoken = true;
		choose_ask(m, a->id, primary,
			choose_transfer(m, z, primary, &serial, a->now));
		return;
	}
	z->newer |= primary_bit(primary);
	if (z->best == INDEX_NONE || serial_is_newer(serial, z->best_serial)) {
		z->best = primary;
		z->best_serial = serial;
	}
	check_ask_next(m, a->id, a->now);
}

/* A transfer brings the version that the zone has. If the SOA before it was
 * newer, the zone is behind: the next check comes after the retry, as after a
 * failure. */
static void
on_unchanged(struct xfr_machine *m, const struct answer *a)
{
	struct xfr_zone *z = a->zone;

	if (z->was_newer || (z->newer & ~z->blind
			& primary_bit(a->request.primary)) != 0) {
		note_error(a, XFR_UNCHANGED);
		z->has_missed = true;
	}
	on_equal(m, a);
}

/* True if the primary is silent, or answers so that a transfer would do no
 * better. */
static bool
is_silence(const struct answer *a)
{
	enum xfr_outcome outcome = a->reply->outcome;

	return (outcome == XFR_TIMEOUT || outcome == XFR_UNREACHABLE)
		&& !(a->reply->is_open && a->request.query
		== XFR_QUERY_SOA_TCP);
}

/* True if the primary answers, but without an SOA. In a survey, only its answer
 * over TCP counts. */
static bool
tells_no_soa(const struct xfr_machine *m, const struct answer *a)
{
	enum xfr_outcome outcome = a->reply->outcome;

	if (outcome == XFR_LOCAL || outcome == XFR_USE_TCP || is_silence(a))
		return false;
	return outcome != XFR_NONSENSE || a->request.query == XFR_QUERY_SOA_TCP
		|| !choose_checks_all(m, a->zone);
}

/* A primary that tells no SOA may have transfers, as one that is hidden from
 * all but its secondaries (doc/decisions/0140). */
static void
on_no_soa(struct xfr_machine *m, const struct answer *a)
{
	struct xfr_zone *z = a->zone;
	uint8_t primary = a->request.primary;

	z->blind |= primary_bit(primary);
	if (choose_checks_all(m, z)) {
		z->newer |= primary_bit(primary);
		check_ask_next(m, a->id, a->now);
		return;
	}
	z->is_late = a->reply->outcome == XFR_TIMEOUT;
	z->has_spoken = !z->is_late && a->reply->outcome != XFR_UNREACHABLE;
	choose_ask(m, a->id, primary,
		choose_transfer(m, z, primary, NULL, a->now));
}

static void
on_probe(struct xfr_machine *m, const struct answer *a)
{
	enum xfr_outcome outcome = a->reply->outcome;

	if (outcome == XFR_SOA) {
		on_soa(m, a);
	} else if (tells_no_soa(m, a)) {
		on_no_soa(m, a);
	} else if (a->request.query == XFR_QUERY_SOA_TCP || outcome == XFR_LOCAL
		|| (!a->request.is_full
			&& (outcome == XFR_TIMEOUT
				|| outcome == XFR_UNREACHABLE))) {
		primary_failed(m, a, outcome);
	} else if (outcome == XFR_TIMEOUT && a->request.has_others) {
		primary_is_slow(m, a);
	} else if (choose_checks_all(m, a->zone)) {
		/* Requests to other primaries are under way. */
		a->zone->needs_tcp = true;
		primary_is_slow(m, a);
	} else {
		choose_ask(m, a->id, a->request.primary, XFR_QUERY_SOA_TCP);
	}
}

static void
note_no_ixfr(const struct answer *a)
{
	struct xfr_zone *z = a->zone;
	uint32_t for_sec = z->error_rcode == RCODE_NOTIMP
			|| z->error_rcode == RCODE_FORMERR
		? NO_IXFR_LONG_SEC : NO_IXFR_SEC;

	z->bad_ixfr &= ~primary_bit(a->request.primary);
	/* All primaries share one time: that of the last failure. */
	if (a->now / 1000 >= z->no_ixfr_until_sec)
		z->no_ixfr = 0;
	z->no_ixfr |= primary_bit(a->request.primary);
	z->no_ixfr_until_sec = (uint32_t)(a->now / 1000) + for_sec;
}

static void
on_done(struct xfr_machine *m, const struct answer *a)
{
	struct xfr_zone *z = a->zone;
	bool is_other = (z->flags & ZONE_HAS_DATA) == 0
		|| z->soa.serial != a->reply->soa.serial;

	if (z->flags & ZONE_IXFR_FAILED)
		note_no_ixfr(a);
	else if (a->request.query != XFR_QUERY_AXFR)
		z->bad_ixfr &= ~primary_bit(a->request.primary);
	z->soa = a->reply->soa;
	z->flags |= ZONE_HAS_DATA;
	if (is_other)
		z->served_at = a->now;
	refresh_zone(m, a->id, a->now, a->reply, true);
	if (is_other)
		notifies_begin(m, a->id, false);
	/* is_changed, even with the same serial: the user may have told of this
	 * version already (xfr_on_served). */
	check_end(m, a->id, a->now, true, true);
}

/* True if an IXFR failed so that AXFR at the same primary may do: by its
 * answer; behind its first message; or for the second time, though the primary
 * was there. */
static bool
is_for_axfr(const struct answer *a)
{
	uint64_t bit = primary_bit(a->request.primary);
	bool was_bad = (a->zone->bad_ixfr & bit) != 0;

	switch (a->reply->outcome) {
	case XFR_RCODE:
	case XFR_NONSENSE:
	case XFR_NO_FIT:
		return true;
	case XFR_TIMEOUT:
	case XFR_UNREACHABLE:
		if (a->reply->has_begun)
			return true;
		if (!a->zone->has_spoken && !a->reply->is_open)
			return false;
		break;
	case XFR_BAD_TSIG:
		if (a->reply->has_begun)
			return true;
		break;
	case XFR_TOO_LARGE:
		break;
	default:
		return false;
	}
	a->zone->bad_ixfr |= bit;
	return was_bad;
}

static bool
falls_back(const struct xfr_machine *m, const struct answer *a)
{
	return a->request.query != XFR_QUERY_AXFR
		&& (table_config(m, a->zone)->given.flags
			& XFR_CONFIG_AXFR_FALLBACK) != 0
		&& is_for_axfr(a);
}

/* True if the primary has taken the connection, and is silent to a request with
 * EDNS: it may drop these, or a firewall before it does. */
static bool
is_mute(const struct answer *a)
{
	enum xfr_outcome outcome = a->reply->outcome;

	return (outcome == XFR_TIMEOUT || outcome == XFR_UNREACHABLE)
		&& a->reply->is_open && !a->reply->has_begun
		&& a->request.has_edns;
}

/* Asks for the same without EDNS, once. For IXFR that is the second time. */
static void
try_without_edns(struct xfr_machine *m, const struct answer *a)
{
	a->zone->is_plain = true;
	a->zone->is_proof = a->request.in_doubt;
	if (a->request.query != XFR_QUERY_AXFR)
		a->zone->bad_ixfr |= primary_bit(a->request.primary);
	choose_ask(m, a->id, a->request.primary,
		(enum xfr_query)a->request.query);
}

/* True if the version that was not newer is served by now: an earlier transfer
 * has been published meanwhile, as at a start. */
static bool
is_served_by_now(const struct answer *a)
{
	return a->reply->outcome == XFR_BEHIND
		&& (a->zone->flags & ZONE_HAS_DATA) != 0
		&& a->reply->soa.serial == a->zone->soa.serial;
}

static void
on_transfer(struct xfr_machine *m, const struct answer *a)
{
	enum xfr_outcome outcome = a->reply->outcome;
	uint8_t primary = a->request.primary;

	if (outcome == XFR_DONE) {
		on_done(m, a);
	} else if (is_served_by_now(a)) {
		on_equal(m, a);
	} else if (outcome == XFR_UNCHANGED) {
		if (a->zone->flags & ZONE_HAS_DATA)
			on_unchanged(m, a);
		else
			primary_failed(m, a, XFR_NONSENSE);
	} else if (outcome == XFR_TIMEOUT && a->request.has_others
		&& !a->reply->has_begun) {
		primary_is_slow(m, a);
	} else if (outcome == XFR_BEHIND && a->request.query != XFR_QUERY_AXFR
		&& choose_is_wanted(a->zone, a->reply->soa.serial)) {
		choose_ask(m, a->id, primary, XFR_QUERY_AXFR);
	} else if (a->request.query == XFR_QUERY_IXFR_UDP
		&& (outcome == XFR_USE_TCP || outcome == XFR_TIMEOUT
			|| outcome == XFR_UNREACHABLE)) {
		choose_ask(m, a->id, primary, XFR_QUERY_IXFR_TCP);
	} else if (is_mute(a)) {
		try_without_edns(m, a);
	} else if (falls_back(m, a)) {
		note_error(a, outcome);
		/* Differences that do not fit may be our fault: IXFR is tried
		 * again. */
		if (outcome != XFR_NO_FIT)
			a->zone->flags |= ZONE_IXFR_FAILED;
		choose_ask(m, a->id, primary, XFR_QUERY_AXFR);
	} else {
		primary_failed(m, a, outcome);
	}
}

/* Asks for the same without EDNS. */
static void
on_no_edns(struct xfr_machine *m, const struct answer *a)
{
	uint8_t primary = a->request.primary;

	choose_note_no_edns(m, a->zone, primary, a->now);
	if (a->request.query > XFR_QUERY_SOA_TCP
		|| !choose_checks_all(m, a->zone)) {
		choose_ask(m, a->id, primary, (enum xfr_query)a->request.query);
		return;
	}
	/* Requests to other primaries are under way. */
	a->zone->needs_tcp = true;
	a->zone->slow |= primary_bit(primary);
	check_ask_next(m, a->id, a->now);
}

void
answer_on_reply(struct xfr_machine *m, uint32_t request, int64_t now,
	const struct xfr_reply *reply)
{
	struct answer a = {.id = m->requests[request].zone,
		.request = m->requests[request], .reply = reply, .now = now};
	uint32_t *at;

	a.zone = table_zone(m, a.id);
	for (at = &a.zone->request; *at != request; at = &m->requests[*at].next)
		assert(*at != XFR_NONE);
	*at = a.request.next;
	if (a.request.state == REQUEST_SENT)
		m->queues[a.request.queue].under_way--;
	table_remove_request(m, request);
	choose_note(m, a.zone, &a.request, now, reply->outcome);
	choose_note_edns(m, a.zone, &a.request, now, reply);
	if (reply->lacks_edns && a.request.has_edns)
		on_no_edns(m, &a);
	else if (a.request.query <= XFR_QUERY_SOA_TCP)
		on_probe(m, &a);
	else
		on_transfer(m, &a);
}
