/*
 * fuzz_machine.c - the machine of secondary zones: any events in any order,
 * and answers that do not belong to the question. An octet is an event, those
 * behind it its arguments. Limits hold throughout; at the end all that is under
 * way is answered and nothing is left.
 */
#include <stdlib.h>
#include <string.h>

#include "base/octets.h"
#include "target.h"
#include "xfr/machine.h"

#define ZONES 8u
#define CONFIGS 3u
#define ASKED_MAX 64u

static const struct xfr_limits limits = {.probes = 4, .transfers = 4,
	.notifies = 2, .checks_per_sec = 5};

struct play {
	struct xfr_machine *machine;
	struct cursor in;
	int64_t now;
	uint32_t configs[CONFIGS];
	uint32_t zones[ZONES]; /* XFR_NONE: not there */
	struct xfr_action asked[ASKED_MAX];
	unsigned count;
};

static uint8_t
take(struct play *p)
{
	return cursor_read_u8(&p->in);
}

static struct xfr_soa
take_soa(struct play *p)
{
	static const uint32_t numbers[] = {0, 1, 60, 3600, 86400, 0x7fffffff,
		0x80000000, UINT32_MAX};
	uint8_t a = take(p), b = take(p);

	return (struct xfr_soa){.serial = numbers[a % 8] + a / 64,
		.refresh_sec = numbers[b % 8], .retry_sec = numbers[b / 8 % 8],
		.expire_sec = numbers[(a ^ b) / 8 % 8]};
}

static void
open_play(struct play *p)
{
	static const uint8_t primaries[] = {0, XFR_PRIMARY_AXFR,
		XFR_PRIMARY_UDP};

	MUST(xfr_machine_create(&limits, 1, p->now, &p->machine) == NSD_OK);
	for (unsigned i = 0; i < CONFIGS; i++) {
		uint8_t a = take(p), b = take(p);
		const struct xfr_config config = {.primaries = primaries,
			.primary_count = a % 4, .target_count = a / 4 % 4,
			.notify_tries = a / 16 % 4, .flags = b % 8,
			.refresh_min_sec = b & 8 ? 100 : 0,
			.refresh_max_sec = b & 16 ? 1000 : UINT32_MAX,
			.retry_min_sec = b & 32 ? 2000 : 0,
			.retry_max_sec = b & 64 ? 10 : UINT32_MAX,
			.expire_min_sec = b & 128 ? 500 : 0};

		MUST(xfr_add_config(p->machine, &config, &p->configs[i])
			== NSD_OK);
	}
	for (unsigned i = 0; i < ZONES; i++)
		p->zones[i] = XFR_NONE;
}

static void
add_zone(struct play *p, uint32_t *zone)
{
	uint8_t a = take(p);
	struct xfr_start start = {.has_data = a & 1,
		.acquired_at = p->now - (a & 2 ? 1000000000 : 0),
		.check_at = a & 4 ? XFR_NEVER : p->now,
		.expire_at = a & 8 ? XFR_NEVER : p->now + 5000,
		.failed_rounds = a & 16 ? UINT32_MAX : 0,
		.soa = take_soa(p)};

	MUST(xfr_add_zone(p->machine, p->configs[a / 32 % CONFIGS],
		a & 128 ? NULL : &start, p->now, zone) == NSD_OK);
}

static void
cancel(struct play *p, uint64_t ticket)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->asked[i].ticket == ticket) {
			p->asked[i] = p->asked[--p->count];
			return;
		}
	abort();
}

/* Takes the machine's actions: a cancel is of an open request, and the limits
 * hold. */
static void
drain(struct play *p)
{
	struct xfr_counts counts;
	struct xfr_action action;
	unsigned left = 10000;
	uint32_t zone;
	int64_t at;

	while (xfr_next(p->machine, p->now, &action)) {
		MUST(left-- > 0);
		if (action.act == XFR_CANCEL) {
			cancel(p, action.ticket);
		} else if (action.act != XFR_EXPIRED) {
			MUST(p->count < ASKED_MAX);
			MUST(action.ticket != XFR_NO_TICKET);
			p->asked[p->count++] = action;
		}
	}
	for (left = 10000; xfr_next_expiry(p->machine, &zone, &at);)
		MUST(left-- > 0);
	xfr_get_counts(p->machine, &counts);
	MUST(counts.probes <= limits.probes);
	MUST(counts.transfers <= limits.transfers);
	MUST(counts.notifies <= limits.notifies);
	MUST(counts.probes + counts.transfers + counts.notifies <= p->count);
}

static void
answer(struct play *p, unsigned i, uint8_t outcome)
{
	struct xfr_reply reply = {
		.outcome = (enum xfr_outcome)(outcome % XFR_OUTCOME_COUNT),
		.rcode = outcome, .soa = take_soa(p),
		.has_expire = outcome & 64, .expire_sec = outcome};
	uint64_t ticket = p->asked[i].ticket;

	p->asked[i] = p->asked[--p->count];
	MUST(xfr_on_reply(p->machine, ticket, p->now, &reply));
	MUST(!xfr_on_reply(p->machine, ticket, p->now, &reply));
}

static void
happen_to(struct play *p, uint32_t *zone, uint8_t kind)
{
	struct xfr_status status;
	uint8_t a = take(p);
	struct xfr_soa soa;

	if (*zone == XFR_NONE) {
		add_zone(p, zone);
		return;
	}
	switch (kind) {
	case 0:
		xfr_remove_zone(p->machine, *zone);
		*zone = XFR_NONE;
		break;
	case 1:
		xfr_remove_zone(p->machine, *zone);
		add_zone(p, zone);
		break;
	case 2:
		xfr_on_command(p->machine, *zone, p->now, a & 1);
		break;
	case 3:
		soa = take_soa(p);
		xfr_on_served(p->machine, *zone, p->now, &soa);
		break;
	case 4:
		xfr_send_notifies(p->machine, *zone, false);
		break;
	default:
		soa = take_soa(p);
		xfr_on_notify(p->machine, *zone, p->now, a % 8, a & 64,
			soa.serial);
	}
	if (*zone != XFR_NONE)
		xfr_get_status(p->machine, *zone, p->now, &status);
}

static void
happen(struct play *p)
{
	uint8_t event = take(p), a;

	if (event < 100) {
		happen_to(p, &p->zones[event % ZONES], event / ZONES % 8);
	} else if (event < 200 && p->count > 0) {
		a = take(p);
		answer(p, event % p->count, a);
	} else if (event < 210 && p->count > 0) {
		xfr_on_received(p->machine, p->asked[event % p->count].ticket);
	} else if (event < 220) {
		xfr_resend_expiries(p->machine);
	} else if (event < 240) {
		p->now += (int64_t)event * take(p);
	} else if (xfr_next_time(p->machine) != XFR_NEVER
		&& xfr_next_time(p->machine) > p->now) {
		p->now = xfr_next_time(p->machine);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct play p = {.now = 1000};
	struct xfr_counts counts;

	cursor_init(&p.in, data, size);
	open_play(&p);
	while (cursor_left(&p.in) > 0) {
		happen(&p);
		drain(&p);
	}
	for (unsigned i = 0; i < ZONES; i++)
		if (p.zones[i] != XFR_NONE)
			xfr_remove_zone(p.machine, p.zones[i]);
	for (unsigned i = 0; i < CONFIGS; i++)
		xfr_release_config(p.machine, p.configs[i]);
	drain(&p);
	xfr_get_counts(p.machine, &counts);
	MUST(p.count == 0 && counts.zones == 0 && counts.configs == 0);
	MUST(counts.urgent == 0 && counts.waiting == 0);
	xfr_machine_destroy(p.machine);
	return 0;
}
