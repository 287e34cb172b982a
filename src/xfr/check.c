/*
 * check.c - the steps of a check: which primary is asked for what, and what
 * comes of its answer.
 *
 * At each primary in turn: SOA over UDP, then over TCP; if its serial is newer,
 * IXFR, then AXFR. What fails leads to the next primary. With
 * multi-primary-check all are asked for their SOA first. What NOTIFYs and
 * primaries that lie or are silent may cost: doc/decisions/0072.
 */
#include "config.h"

#include <assert.h>

#include "xfr/inside.h"
#include "dns/message.h"
#include "dns/serial.h"

/* For how long a primary whose IXFR failed is asked for AXFR: NSD's 48 hours if
 * it does not know IXFR, else an hour. */
#define NO_IXFR_LONG_SEC (48u * 3600)
#define NO_IXFR_SEC 3600u

/* A primary that has let so many requests over TCP time out, of any zones of
 * the config, is asked after the others, and over UDP alone; but by one check
 * in SILENT_MSEC in full. */
#define SILENT_TIMEOUTS 4u
#define SILENT_MSEC 30000

/* After a check for a NOTIFY that found nothing new the next one waits a second
 * and twice as long each time, up to 64. */
#define VAIN_MSEC 1000
#define VAIN_DOUBLINGS_MAX 6u
#define VAIN_FORGOTTEN_MSEC 600000

static uint64_t
bit_of(uint32_t primary)
{
	return UINT64_C(1) << primary;
}

static uint64_t
all_of(const struct config *config)
{
	uint32_t count = config->given.primary_count;

	return count == 64 ? UINT64_MAX : bit_of(count) - 1;
}

static bool
checks_all(const struct xfr_machine *m, const struct xfr_zone *z)
{
	return (table_config(m, z)->given.flags & XFR_CONFIG_CHECK_ALL) != 0
		&& (z->flags & ZONE_FORCED) == 0;
}

/* True if a version with this serial is one to get. */
static bool
is_wanted(const struct xfr_zone *z, uint32_t serial)
{
	return (z->flags & ZONE_HAS_DATA) == 0
		|| serial_is_newer(serial, z->soa.serial);
}

/* ---- which primary, which way ------------------------------------------- */

static bool
is_silent(const struct primary *p)
{
	return p->timeouts >= SILENT_TIMEOUTS;
}

/* The next primary not tried yet, those that are silent last; INDEX_NONE: all
 * were. */
static uint8_t
next_primary(const struct config *config, const struct xfr_zone *z)
{
	uint8_t silent = INDEX_NONE;

	if (z->hint < config->given.primary_count
		&& (z->tried & bit_of(z->hint)) == 0)
		return z->hint;
	for (uint32_t i = 0; i < config->given.primary_count; i++) {
		if (z->tried & bit_of(i))
			continue;
		if (!is_silent(&config->primaries[i]))
			return (uint8_t)i;
		if (silent == INDEX_NONE)
			silent = (uint8_t)i;
	}
	return silent;
}

static bool
has_ixfr(const struct xfr_zone *z, const struct primary *p, uint32_t primary,
	int64_t now)
{
	if ((z->flags & ZONE_HAS_DATA) == 0 || (z->flags & ZONE_FORCED) != 0
		|| (p->flags & XFR_PRIMARY_AXFR) != 0)
		return false;
	return (z->no_ixfr & bit_of(primary)) == 0
		|| now / 1000 >= z->no_ixfr_until_sec;
}

static enum xfr_way
transfer_way(const struct xfr_machine *m, const struct xfr_zone *z,
	uint32_t primary, int64_t now)
{
	const struct primary *p = &table_config(m, z)->primaries[primary];

	if (!has_ixfr(z, p, primary, now))
		return XFR_WAY_AXFR;
	return p->flags & XFR_PRIMARY_UDP ? XFR_WAY_IXFR_UDP
					  : XFR_WAY_IXFR_TCP;
}

/* The first thing to ask a primary for. */
static enum xfr_way
first_way(const struct xfr_machine *m, const struct xfr_zone *z,
	uint32_t primary, int64_t now)
{
	const struct primary *p = &table_config(m, z)->primaries[primary];

	if (checks_all(m, z) || is_silent(p))
		return XFR_WAY_SOA_UDP;
	if ((z->flags & (ZONE_HAS_DATA | ZONE_FORCED)) != ZONE_HAS_DATA)
		return XFR_WAY_AXFR;
	/* IXFR is a check by itself. If the serial of a NOTIFY is not there it
	 * is answered by an SOA, where an AXFR would bring the zone again. But
	 * only of a primary that has just spoken: a connection to one that is
	 * down would be held long. */
	if ((z->flags & ZONE_PROMISED) != 0 && primary == z->hint
		&& is_wanted(z, z->promised)
		&& has_ixfr(z, p, primary, now))
		return transfer_way(m, z, primary, now);
	return XFR_WAY_SOA_UDP;
}

static void
ask(struct xfr_machine *m, uint32_t id, uint32_t primary, enum xfr_way way)
{
	struct xfr_zone *z = table_zone(m, id);
	bool is_transfer = way > XFR_WAY_SOA_TCP;
	enum queue_id queue;

	z->primary = (uint8_t)primary;
	z->way = (uint8_t)way;
	if (z->flags & ZONE_URGENT)
		queue = is_transfer ? QUEUE_URGENT_TRANSFER
				    : QUEUE_URGENT_PROBE;
	else
		queue = is_transfer ? QUEUE_TRANSFER : QUEUE_PROBE;
	/* A check that has begun goes on before others begin. */
	if (z->flags & ZONE_CHECKING)
		queue_prepend(m, queue, id);
	else
		queue_append(m, queue, id);
	queue_set_timer(m, id);
}

/* ---- a check begins and ends -------------------------------------------- */

void
check_begin(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);
	const struct config *config = table_config(m, z);
	uint8_t primary;

	assert(check_is_idle(z));
	z->check_at = XFR_NEVER;
	z->tried = z->newer = 0;
	z->best = INDEX_NONE;
	z->was_newer = z->has_missed = false;
	z->flags &= (uint16_t)~(ZONE_CHECKING | ZONE_FRESH
		| ZONE_IXFR_FAILED);
	primary = next_primary(config, z);
	if (primary != INDEX_NONE)
		ask(m, id, primary, first_way(m, z, primary, now));
	else
		queue_set_timer(m, id);
}

/* A check for a NOTIFY has found nothing new. */
static void
count_vain(struct xfr_zone *z, int64_t now)
{
	if (now - z->vain_until > VAIN_FORGOTTEN_MSEC)
		z->vain = 0;
	z->vain_until = now + ((int64_t)VAIN_MSEC << z->vain);
	if (z->vain < VAIN_DOUBLINGS_MAX)
		z->vain++;
}

/* Has a zone that is idle checked for a NOTIFY as soon as it may be. */
static void
check_soon(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);

	z->flags |= ZONE_URGENT;
	if (now >= z->vain_until) {
		check_begin(m, id, now);
		return;
	}
	if (z->vain_until < z->check_at)
		z->check_at = z->vain_until;
	queue_set_timer(m, id);
}

/* One more check, if a NOTIFY has come during this one and is not satisfied. */
static void
begin_again(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);
	uint16_t flags = z->flags;

	z->flags &= (uint16_t)~(ZONE_AGAIN | ZONE_AGAIN_SERIAL
		| ZONE_AGAIN_FORCED);
	if ((flags & ZONE_AGAIN) == 0)
		return;
	if ((flags & ZONE_AGAIN_FORCED) == 0
		&& (flags & ZONE_AGAIN_SERIAL) != 0
		&& !is_wanted(z, z->again_serial))
		return;
	z->flags |= ZONE_NOTIFIED;
	if (flags & ZONE_AGAIN_SERIAL) {
		z->flags |= ZONE_PROMISED;
		z->promised = z->again_serial;
	}
	if (flags & ZONE_AGAIN_FORCED) {
		z->flags |= ZONE_FORCED;
		z->vain_until = now;
	}
	check_soon(m, id, now);
}

/* is_changed: a new version was transferred. */
static void
end_check(struct xfr_machine *m, uint32_t id, int64_t now, bool went_well,
	bool is_changed)
{
	struct xfr_zone *z = table_zone(m, id);
	int64_t pause;

	if (is_changed) {
		z->vain = 0;
		z->vain_until = 0;
	} else if (z->flags & ZONE_NOTIFIED) {
		count_vain(z, now);
	}
	if (went_well) {
		z->flags &= (uint16_t)~ZONE_FAILED;
		z->rounds = 0;
		pause = refresh_pause(m, z);
	} else {
		z->flags |= ZONE_FAILED;
		if (z->rounds < UINT8_MAX)
			z->rounds++;
		pause = z->error == XFR_LOCAL && z->error_at == now
			? refresh_local_pause(m, z, now)
			: refresh_retry_pause(m, z, now);
	}
	z->flags &= (uint16_t)~(ZONE_CHECKING | ZONE_URGENT | ZONE_FORCED
		| ZONE_FRESH | ZONE_IXFR_FAILED | ZONE_NOTIFIED
		| ZONE_PROMISED);
	if ((z->flags & ZONE_AGAIN) == 0)
		z->hint = INDEX_NONE;
	z->check_at = now + pause;
	queue_set_timer(m, id);
	begin_again(m, id, now);
}

/* This primary is done with; on to the next one. */
static void
ask_next(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);
	const struct config *config = table_config(m, z);
	uint8_t primary;

	z->tried |= bit_of(z->primary);
	z->flags &= (uint16_t)~ZONE_IXFR_FAILED;
	z->was_newer = false;
	primary = next_primary(config, z);
	if (primary != INDEX_NONE) {
		ask(m, id, primary, first_way(m, z, primary, now));
		return;
	}
	assert(z->tried == all_of(config));
	if (z->newer == 0) {
		/* Where a transfer failed there may be a newer version, though
		 * another primary has ours. */
		end_check(m, id, now, (z->flags & ZONE_FRESH) != 0
			&& !z->has_missed, false);
		return;
	}
	/* RFC 1982: the newest first, then whoever has a newer one. */
	primary = z->best != INDEX_NONE && (z->newer & bit_of(z->best)) != 0
		? z->best : (uint8_t)__builtin_ctzll(z->newer);
	ask(m, id, primary, transfer_way(m, z, primary, now));
}

static void
note_error(struct xfr_zone *z, int64_t now, enum xfr_outcome outcome,
	uint16_t rcode)
{
	z->error = (uint8_t)outcome;
	z->error_rcode = outcome == XFR_RCODE ? rcode : 0;
	z->error_primary = z->primary;
	z->error_at = now;
}

static void
primary_failed(struct xfr_machine *m, uint32_t id, int64_t now,
	enum xfr_outcome outcome, uint16_t rcode)
{
	struct xfr_zone *z = table_zone(m, id);

	note_error(z, now, outcome, rcode);
	z->newer &= ~bit_of(z->primary);
	if (z->way > XFR_WAY_SOA_TCP && outcome != XFR_BEHIND)
		z->has_missed = true;
	if (outcome == XFR_LOCAL)
		end_check(m, id, now, false, false);
	else
		ask_next(m, id, now);
}

/* ---- answers ------------------------------------------------------------ */

/* The primary has the serial that we have. */
static void
on_equal(struct xfr_machine *m, uint32_t id, int64_t now,
	const struct xfr_reply *reply)
{
	struct xfr_zone *z = table_zone(m, id);

	refresh_zone(m, id, now, reply, false);
	z->flags |= ZONE_FRESH;
	z->newer &= ~bit_of(z->primary);
	/* The others may have what a NOTIFY told, or what this one told and did
	 * not give. */
	if (checks_all(m, z) || z->was_newer || ((z->flags & ZONE_PROMISED) != 0
			&& is_wanted(z, z->promised)))
		ask_next(m, id, now);
	else
		end_check(m, id, now, !z->has_missed, false);
}

static void
on_soa(struct xfr_machine *m, uint32_t id, int64_t now,
	const struct xfr_reply *reply)
{
	struct xfr_zone *z = table_zone(m, id);
	uint32_t serial = reply->soa.serial;

	if ((z->flags & ZONE_HAS_DATA) != 0 && serial == z->soa.serial
		&& (z->flags & ZONE_FORCED) == 0) {
		on_equal(m, id, now, reply);
		return;
	}
	if (!is_wanted(z, serial) && (z->flags & ZONE_FORCED) == 0) {
		primary_failed(m, id, now, XFR_BEHIND, 0);
		return;
	}
	if (!checks_all(m, z)) {
		z->was_newer = true;
		ask(m, id, z->primary, transfer_way(m, z, z->primary, now));
		return;
	}
	z->newer |= bit_of(z->primary);
	if (z->best == INDEX_NONE || serial_is_newer(serial, z->best_serial)) {
		z->best = z->primary;
		z->best_serial = serial;
	}
	ask_next(m, id, now);
}

static void
on_probe(struct xfr_machine *m, uint32_t id, int64_t now,
	const struct xfr_reply *reply)
{
	struct xfr_zone *z = table_zone(m, id);
	struct primary *p = &table_config(m, z)->primaries[z->primary];

	if (reply->outcome == XFR_SOA) {
		on_soa(m, id, now, reply);
		return;
	}
	if (z->way == XFR_WAY_SOA_TCP || reply->outcome == XFR_RCODE
		|| reply->outcome == XFR_BAD_TSIG) {
		primary_failed(m, id, now, reply->outcome, reply->rcode);
		return;
	}
	if (is_silent(p) && reply->outcome != XFR_USE_TCP) {
		if (now < p->silent_until) {
			primary_failed(m, id, now, reply->outcome, 0);
			return;
		}
		p->silent_until = now + SILENT_MSEC;
	}
	ask(m, id, z->primary, XFR_WAY_SOA_TCP);
}

static void
on_done(struct xfr_machine *m, uint32_t id, int64_t now,
	const struct xfr_reply *reply)
{
	struct xfr_zone *z = table_zone(m, id);
	bool is_other = (z->flags & ZONE_HAS_DATA) == 0
		|| z->soa.serial != reply->soa.serial;
	uint32_t for_sec = z->error_rcode == RCODE_NOTIMP
			|| z->error_rcode == RCODE_FORMERR
		? NO_IXFR_LONG_SEC : NO_IXFR_SEC;

	if (z->flags & ZONE_IXFR_FAILED) {
		/* One time for all: that of the last. */
		if (now / 1000 >= z->no_ixfr_until_sec)
			z->no_ixfr = 0;
		z->no_ixfr |= bit_of(z->primary);
		z->no_ixfr_until_sec = (uint32_t)(now / 1000) + for_sec;
	}
	z->soa = reply->soa;
	z->flags |= ZONE_HAS_DATA;
	if (is_other)
		z->served_at = now;
	refresh_zone(m, id, now, reply, true);
	if (is_other)
		notifies_begin(m, id);
	/* Its user may have told of the version before (xfr_on_served). */
	end_check(m, id, now, true, true);
}

/* An IXFR that failed so that AXFR at the same primary may do. */
static bool
falls_back(const struct xfr_machine *m, const struct xfr_zone *z,
	enum xfr_outcome outcome)
{
	if (outcome != XFR_RCODE && outcome != XFR_NONSENSE
		&& outcome != XFR_NO_FIT)
		return false;
	return z->way != XFR_WAY_AXFR && (table_config(m, z)->given.flags
		& XFR_CONFIG_AXFR_FALLBACK) != 0;
}

static void
on_transfer(struct xfr_machine *m, uint32_t id, int64_t now,
	const struct xfr_reply *reply)
{
	struct xfr_zone *z = table_zone(m, id);

	if (reply->outcome == XFR_DONE) {
		on_done(m, id, now, reply);
	} else if (reply->outcome == XFR_UNCHANGED) {
		if (z->flags & ZONE_HAS_DATA)
			on_equal(m, id, now, reply);
		else
			primary_failed(m, id, now, XFR_NONSENSE, 0);
	} else if (z->way == XFR_WAY_IXFR_UDP
		&& (reply->outcome == XFR_USE_TCP
			|| reply->outcome == XFR_TIMEOUT
			|| reply->outcome == XFR_UNREACHABLE)) {
		ask(m, id, z->primary, XFR_WAY_IXFR_TCP);
	} else if (falls_back(m, z, reply->outcome)) {
		note_error(z, now, reply->outcome, reply->rcode);
		/* What does not fit may be our fault: IXFR is tried again. */
		if (reply->outcome != XFR_NO_FIT)
			z->flags |= ZONE_IXFR_FAILED;
		ask(m, id, z->primary, XFR_WAY_AXFR);
	} else {
		primary_failed(m, id, now, reply->outcome, reply->rcode);
	}
}

/* What an answer tells of the primary, for all zones of the config. */
static void
note_primary(struct primary *p, enum xfr_way way, int64_t now,
	enum xfr_outcome outcome)
{
	bool is_tcp = way != XFR_WAY_SOA_UDP && way != XFR_WAY_IXFR_UDP;

	if (outcome == XFR_LOCAL)
		return;
	if (outcome != XFR_TIMEOUT && outcome != XFR_UNREACHABLE) {
		p->timeouts = 0;
		return;
	}
	if (!is_tcp || p->timeouts >= SILENT_TIMEOUTS)
		return;
	if (++p->timeouts == SILENT_TIMEOUTS)
		p->silent_until = now + SILENT_MSEC;
}

void
check_on_reply(struct xfr_machine *m, uint32_t request, int64_t now,
	const struct xfr_reply *reply)
{
	uint32_t id = m->requests[request].zone;
	struct xfr_zone *z = table_zone(m, id);

	assert(z->request == request);
	z->request = XFR_NONE;
	if (m->requests[request].state == REQUEST_SENT)
		m->queues[m->requests[request].queue].under_way--;
	table_remove_request(m, request);
	note_primary(&table_config(m, z)->primaries[z->primary],
		(enum xfr_way)z->way, now, reply->outcome);
	if (z->way <= XFR_WAY_SOA_TCP)
		on_probe(m, id, now, reply);
	else
		on_transfer(m, id, now, reply);
}

/* ---- other events ------------------------------------------------------- */

/* Notes what a NOTIFY told for the check that is under way or waits. */
static void
note_again(struct xfr_zone *z, const uint32_t *serial)
{
	bool had = (z->flags & ZONE_AGAIN) != 0;

	if (serial == NULL) {
		z->flags &= (uint16_t)~ZONE_AGAIN_SERIAL;
	} else if (!had || ((z->flags & ZONE_AGAIN_SERIAL) != 0
			&& serial_is_newer(*serial, z->again_serial))) {
		z->flags |= ZONE_AGAIN_SERIAL;
		z->again_serial = *serial;
	}
	z->flags |= ZONE_AGAIN;
}

static void
note_promise(struct xfr_zone *z, const uint32_t *serial)
{
	bool had = (z->flags & ZONE_NOTIFIED) != 0;

	if (serial == NULL) {
		z->flags &= (uint16_t)~ZONE_PROMISED;
	} else if (!had || ((z->flags & ZONE_PROMISED) != 0
			&& serial_is_newer(*serial, z->promised))) {
		z->flags |= ZONE_PROMISED;
		z->promised = *serial;
	}
	z->flags |= ZONE_NOTIFIED;
}

void
check_on_notify(struct xfr_machine *m, uint32_t id, int64_t now,
	const uint32_t *serial)
{
	struct xfr_zone *z = table_zone(m, id);

	if (z->flags & ZONE_CHECKING) {
		note_again(z, serial);
		return;
	}
	note_promise(z, serial);
	if (!check_is_idle(z)) {
		/* It waits by timer: it goes over to those that are urgent. */
		if (z->flags & ZONE_URGENT)
			return;
		queue_remove(m, id);
	}
	check_soon(m, id, now);
}

void
check_stop(struct xfr_machine *m, uint32_t id)
{
	struct xfr_zone *z = table_zone(m, id);

	queue_remove(m, id);
	if (z->request != XFR_NONE) {
		struct xfr_ticket *request = &m->requests[z->request];

		if (request->state == REQUEST_SENT)
			m->queues[request->queue].under_way--;
		table_cancel(m, id, request->ticket);
		z->request = XFR_NONE;
	}
	z->flags &= (uint16_t)~(ZONE_CHECKING | ZONE_URGENT | ZONE_FORCED
		| ZONE_FRESH | ZONE_IXFR_FAILED | ZONE_NOTIFIED
		| ZONE_PROMISED | ZONE_AGAIN | ZONE_AGAIN_SERIAL
		| ZONE_AGAIN_FORCED);
	z->hint = z->best = INDEX_NONE;
	z->check_at = XFR_NEVER;
}

void
check_on_timer(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);

	if ((z->flags & (ZONE_HAS_DATA | ZONE_EXPIRED)) == ZONE_HAS_DATA
		&& z->expire_at <= now) {
		z->flags |= ZONE_EXPIRED;
		queue_tell(m, id, ZONE_TELL_EXPIRED);
	}
	if (check_is_idle(z) && z->check_at <= now)
		check_begin(m, id, now);
	else
		queue_set_timer(m, id);
}
