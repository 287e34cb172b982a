/*
 * check.c - the steps of a check: when it begins and ends, and which primary is
 * asked next. Answers are followed up in answer.c.
 *
 * At each primary in turn: SOA over UDP, then over TCP; if its serial is newer,
 * or it tells none, IXFR, then AXFR. A failure leads to the next primary. With
 * multi-primary-check all are asked for their SOA first, at the same time: a
 * survey. The costs that NOTIFYs and primaries that lie or are silent can
 * cause: doc/decisions/0072 and 0112.
 */
#include "config.h"

#include <assert.h>

#include "dns/serial.h"
#include "xfr/inside.h"

/* With multi-primary-check: requests of a zone under way at a time. */
#define SURVEY_MAX 8u

/* After a check for a NOTIFY that found nothing new the next one waits a second
 * and twice as long each time, up to 64. */
#define VAIN_MSEC 1000
#define VAIN_DOUBLINGS_MAX 6u
#define VAIN_FORGOTTEN_MSEC 600000

/* The time after a failed check in which a zone that expires is not checked. */
#define EXPIRED_MSEC 1000

/* ---- a check begins and ends -------------------------------------------- */

/* Drops the requests of a zone that are under way. */
static void
drop_requests(struct xfr_machine *m, uint32_t id)
{
	struct xfr_zone *z = table_zone(m, id);

	while (z->request != XFR_NONE) {
		struct xfr_request *request = &m->requests[z->request];

		z->request = request->next;
		if (request->state == REQUEST_SENT)
			m->queues[request->queue].under_way--;
		table_cancel(m, id, request->ticket);
	}
}

void
check_begin(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);
	uint8_t primary;

	assert(check_is_idle(z));
	z->check_at = XFR_NEVER;
	z->tried = z->slow = z->newer = z->blind = 0;
	z->best = INDEX_NONE;
	z->was_newer = z->has_spoken = z->is_late = z->has_missed = false;
	z->retries_slow = z->needs_tcp = z->is_plain = false;
	z->flags &= (uint16_t)~(ZONE_CHECKING | ZONE_FRESH
		| ZONE_IXFR_FAILED);
	primary = choose_next(m, z, now);
	if (primary != INDEX_NONE)
		choose_ask(m, id, primary, choose_first(m, z, primary, now));
	else
		queue_set_timer(m, id);
}

/* Counts a check for a NOTIFY that has found nothing new. */
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

/* Begins another check, if a NOTIFY has come during this one and is not
 * satisfied. */
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
		&& !choose_is_wanted(z, z->again_serial))
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

void
check_end(struct xfr_machine *m, uint32_t id, int64_t now, bool went_well,
	bool is_changed)
{
	struct xfr_zone *z = table_zone(m, id);
	int64_t pause;

	queue_remove(m, id);
	drop_requests(m, id);
	if (is_changed) {
		z->vain = 0;
		z->vain_until = 0;
	} else if (z->flags & ZONE_NOTIFIED) {
		count_vain(z, now);
	}
	if (went_well) {
		z->flags &= (uint16_t)~ZONE_FAILED;
		z->rounds = 0;
		pause = refresh_pause(m, z, now);
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

/* ---- the next request --------------------------------------------------- */

static unsigned
count_requests(const struct xfr_machine *m, const struct xfr_zone *z)
{
	unsigned count = 0;

	for (uint32_t i = z->request; i != XFR_NONE; i = m->requests[i].next)
		count++;
	return count;
}

/* A survey that has found a newer version does not wait for those that have
 * been silent for long; but now and then, as the newer one may be a lie. */
static bool
is_survey_enough(const struct xfr_machine *m, const struct xfr_zone *z,
	int64_t now)
{
	const struct config *config = table_config(m, z);

	if (z->newer == 0 || z->best == INDEX_NONE
		|| (z->queue != QUEUE_NONE && z->is_full))
		return false;
	for (uint32_t i = z->request; i != XFR_NONE; i = m->requests[i].next)
		if (m->requests[i].is_full)
			return false;
	for (uint32_t i = 0; i < config->given.primary_count; i++)
		if ((z->tried & primary_bit(i)) == 0
			&& !choose_is_avoided(&config->primaries[i], now))
			return false;
	return true;
}

/* After all primaries were asked: transfers from one that has a newer version.
 * False: none has (any more), or those that need TCP come first. */
static bool
transfer_newer(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);
	uint32_t primary;

	if (z->newer == 0 || z->needs_tcp)
		return false;
	/* RFC 1982: the newest first, then any newer one. */
	primary = z->best != INDEX_NONE
			&& (z->newer & primary_bit(z->best)) != 0
		? z->best : (uint32_t)__builtin_ctzll(z->newer);
	z->is_full = true;
	choose_ask(m, id, primary, choose_transfer(m, z, primary,
		primary == z->best ? &z->best_serial : NULL, now));
	return true;
}

/* Makes the next requests; ends the check if none is left to make. */
static void
go_on(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);
	uint8_t primary;

	if (choose_checks_all(m, z) && is_survey_enough(m, z, now)) {
		queue_remove(m, id);
		drop_requests(m, id);
		z->tried = choose_all(table_config(m, z));
	}
	if (z->queue != QUEUE_NONE || count_requests(m, z) >= SURVEY_MAX)
		return;
	do {
		primary = choose_next(m, z, now);
		if (primary != INDEX_NONE) {
			choose_ask(m, id, primary,
				choose_first(m, z, primary, now));
			return;
		}
		if (z->request != XFR_NONE || transfer_newer(m, id, now))
			return;
	} while (choose_again(m, z));
	/* Where a transfer failed there may be a newer version, though another
	 * primary has ours. */
	check_end(m, id, now, (z->flags & ZONE_FRESH) != 0 && !z->has_missed,
		false);
}

void
check_on_sent(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);

	if (z->query <= XFR_QUERY_SOA_TCP && choose_checks_all(m, z))
		go_on(m, id, now);
}

void
check_ask_next(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);

	z->flags &= (uint16_t)~ZONE_IXFR_FAILED;
	z->was_newer = z->has_spoken = z->is_late = z->is_plain = false;
	go_on(m, id, now);
}

/* ---- other events ------------------------------------------------------- */

/* Notes a NOTIFY that comes during a check: another check is to follow. */
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
		/* A zone that waits by timer goes over to the urgent ones. */
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
	drop_requests(m, id);
	z->flags &= (uint16_t)~(ZONE_CHECKING | ZONE_URGENT | ZONE_FORCED
		| ZONE_FRESH | ZONE_IXFR_FAILED | ZONE_NOTIFIED
		| ZONE_PROMISED | ZONE_AGAIN | ZONE_AGAIN_SERIAL
		| ZONE_AGAIN_FORCED);
	z->hint = z->best = INDEX_NONE;
	z->check_at = XFR_NEVER;
}

/* Has a zone that expires checked at once, or a second after a check that
 * failed. A zone without a lifetime is not asked for again and again. */
static void
check_hasten(struct xfr_zone *z, int64_t now)
{
	int64_t at = now;

	if (!check_is_idle(z) || z->expire_at <= z->acquired_at)
		return;
	if (z->rounds > 0 && z->error_at + EXPIRED_MSEC > now)
		at = z->error_at + EXPIRED_MSEC;
	if (at < z->check_at)
		z->check_at = at;
}

bool
check_on_timer(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);
	bool is_over = (z->flags & (ZONE_HAS_DATA | ZONE_EXPIRED))
			== ZONE_HAS_DATA
		&& z->expire_at <= now;

	if (is_over) {
		z->flags |= ZONE_EXPIRED;
		check_hasten(z, now);
	}
	if (check_is_idle(z) && z->check_at <= now)
		check_begin(m, id, now);
	else
		queue_set_timer(m, id);
	return is_over;
}
