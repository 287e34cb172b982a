/* world.c - primaries that are down, lossy, slow and lying; what they have. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "dns/message.h"
#include "dns/serial.h"
#include "lib/chance.h"
#include "sim/world.h"

void
world_fail(const struct world *w, const struct zone_model *z,
	const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "seed %" PRIu64 ", day %.5f", w->seed,
		(double)w->now / (double)DAY);
	if (z != NULL)
		fprintf(stderr, ", zone %td of group %" PRIu32,
			z - w->zones, z->group);
	fprintf(stderr, ": ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

uint32_t
world_chance(struct world *w, uint32_t below)
{
	return chance_below(&w->chance, below);
}

/* ---- hosts, groups and zones -------------------------------------------- */

static enum trait
make_trait(struct world *w)
{
	uint32_t dice = world_chance(w, 100);

	if (dice < 70)
		return HONEST;
	return dice < 80 ? AHEAD : dice < 88 ? BACK : dice < 94 ? NONSENSE
								: REFUSES;
}

static void
make_hosts(struct world *w)
{
	for (unsigned i = 0; i < HOSTS; i++)
		w->hosts[i] = (struct host){
			.trait = make_trait(w),
			.is_up = world_chance(w, 10) > 0,
			.has_ixfr = world_chance(w, 5) > 0,
			.has_expire = world_chance(w, 3) == 0,
			.latency_msec = 1 + world_chance(w, 300),
			.lag_msec = world_chance(w, 4) == 0
				? world_chance(w, 600) * SEC : 0,
			.loss_percent = world_chance(w, 3) == 0
				? world_chance(w, 60) : 0,
		};
}

static void
make_groups(struct world *w)
{
	for (unsigned i = 0; i < GROUPS; i++) {
		struct group *g = &w->groups[i];
		uint32_t flags = XFR_CONFIG_AXFR_FALLBACK;

		if (world_chance(w, 4) == 0)
			flags |= XFR_CONFIG_CHECK_ALL;
		if (world_chance(w, 4) == 0)
			flags |= XFR_CONFIG_EXPIRE_RULE;
		g->config = (struct xfr_config){
			.primary_count = 1 + world_chance(w, GROUP_HOSTS),
			.target_count = world_chance(w, 3),
			.notify_tries = 5,
			.flags = flags,
			.refresh_max_sec = 2419200,
			.retry_max_sec = 1209600,
			.retry_min_sec = world_chance(w, 2) * 300,
			.expire_min_sec = world_chance(w, 2) * 86400,
		};
		for (unsigned h = 0; h < GROUP_HOSTS; h++) {
			g->hosts[h] = (uint8_t)world_chance(w, HOSTS);
			g->flags[h] = (uint8_t)world_chance(w, 4);
		}
	}
}

static void
make_zones(struct world *w)
{
	for (uint32_t i = 0; i < w->zone_count; i++) {
		struct zone_model *z = &w->zones[i];
		uint32_t hours = 3 + world_chance(w, 22);

		z->group = world_chance(w, GROUPS);
		/* A quarter of the zones begin just before their serial
		 * wraps. */
		z->soa = (struct xfr_soa){
			.serial = world_chance(w, 4) == 0 ? UINT32_MAX - 3
				: world_chance(w, 1000000),
			.refresh_sec = hours * 3600,
			.retry_sec = 300 + world_chance(w, 3600),
			.expire_sec = 86400 * (1 + world_chance(w, 14)),
		};
		z->before = z->soa.serial;
		z->has_data = world_chance(w, 2) == 0;
		z->serial = z->soa.serial;
		z->expire_at = XFR_NEVER;
		z->urgent_at = z->ended_at = -1;
	}
}

void
world_make(struct world *w)
{
	make_hosts(w);
	make_groups(w);
	make_zones(w);
}

/* ---- events ------------------------------------------------------------- */

void
world_add_event(struct world *w, int64_t delay, uint32_t kind, uint32_t id)
{
	size_t at = w->event_count;
	struct event event = {w->now + delay, kind, id}, *events;

	events = grow_array(w->events, at, &w->event_room, sizeof(*events));
	if (events == NULL)
		abort();
	w->events = events;
	w->event_count++;
	for (; at > 0 && events[(at - 1) / 2].at > event.at; at = (at - 1) / 2)
		events[at] = events[(at - 1) / 2];
	events[at] = event;
}

/* Takes the first one if it is due. */
bool
world_take_event(struct world *w, struct event *event)
{
	struct event *events = w->events, last;
	size_t at = 0, child;

	if (w->event_count == 0 || events[0].at > w->now)
		return false;
	*event = events[0];
	last = events[--w->event_count];
	while ((child = 2 * at + 1) < w->event_count) {
		if (child + 1 < w->event_count
			&& events[child + 1].at < events[child].at)
			child++;
		if (events[child].at >= last.at)
			break;
		events[at] = events[child];
		at = child;
	}
	events[at] = last;
	return true;
}

/* ---- requests under way -------------------------------------------------- */

uint32_t
world_keep_asked(struct world *w, const struct xfr_action *action)
{
	struct asked *asked;
	size_t i = 0;

	while (i < w->asked_count && w->asked[i].is_used)
		i++;
	if (i == w->asked_count) {
		asked = grow_array(w->asked, i, &w->asked_room,
			sizeof(*asked));
		if (asked == NULL)
			abort();
		w->asked = asked;
		w->asked_count++;
	}
	w->asked[i].is_used = true;
	w->asked[i].action = *action;
	return (uint32_t)i;
}

void
world_check_counts(struct world *w)
{
	uint32_t probes = 0, transfers = 0, notifies = 0;

	for (size_t i = 0; i < w->asked_count; i++) {
		if (!w->asked[i].is_used
			|| w->asked[i].action.ticket == XFR_NO_TICKET)
			continue;
		probes += w->asked[i].action.act == XFR_PROBE;
		transfers += w->asked[i].action.act == XFR_TRANSFER;
		notifies += w->asked[i].action.act == XFR_NOTIFY;
	}
	if (probes > w->limits.probes || transfers > w->limits.transfers
		|| notifies > w->limits.notifies)
		world_fail(w, NULL, "%" PRIu32 " probes, %" PRIu32
			" transfers, %" PRIu32 " NOTIFYs are under way",
			probes, transfers, notifies);
	if (probes > w->most_probes)
		w->most_probes = probes;
	if (transfers > w->most_transfers)
		w->most_transfers = transfers;
}

/* ---- answers ------------------------------------------------------------ */

/* The serial of what a host has of a zone. */
static uint32_t
serial_at(const struct world *w, const struct host *host,
	const struct zone_model *z)
{
	if (host->trait == BACK)
		return z->serial - 50;
	if (host->trait == AHEAD)
		return z->serial;
	return w->now - z->changed_at < host->lag_msec ? z->before
						       : z->soa.serial;
}

static enum xfr_outcome
transfer(struct world *w, const struct host *host,
	const struct zone_model *z, const struct xfr_action *action,
	struct xfr_reply *reply)
{
	uint32_t dice = world_chance(w, 1000);
	bool is_ixfr = action->query != XFR_QUERY_AXFR;

	if (is_ixfr && !host->has_ixfr) {
		reply->rcode = dice % 2 ? RCODE_NOTIMP : RCODE_REFUSED;
		return XFR_RCODE;
	}
	if (!z->has_data && host->trait != HONEST)
		return XFR_NONSENSE;
	if (!xfr_wants(w->machine, action->ticket, reply->soa.serial)
		|| (is_ixfr && !serial_is_newer(reply->soa.serial,
			z->serial)))
		return reply->soa.serial == z->serial ? XFR_UNCHANGED
						      : XFR_BEHIND;
	if (action->query == XFR_QUERY_IXFR_UDP && dice < 300)
		return XFR_USE_TCP;
	if (dice < 10)
		return XFR_TOO_LARGE;
	if (dice < 12)
		return XFR_LOCAL;
	return is_ixfr && dice < 30 ? XFR_NO_FIT : XFR_DONE;
}

void
world_answer(struct world *w, const struct xfr_action *action,
	struct xfr_reply *reply, int64_t *delay)
{
	const struct zone_model *z = &w->zones[w->by_handle[action->zone]];
	const struct host *host =
		&w->hosts[w->groups[z->group].hosts[action->primary]];
	bool is_udp = action->query == XFR_QUERY_SOA_UDP
		|| action->query == XFR_QUERY_IXFR_UDP;
	uint32_t loss = host->loss_percent;

	*reply = (struct xfr_reply){.outcome = XFR_TIMEOUT};
	*delay = action->wait_msec > 0 ? action->wait_msec
		: action->first_msec > 0 ? action->first_msec : 30 * SEC;
	if (!host->is_up && !is_udp && world_chance(w, 3) == 0) {
		reply->outcome = XFR_UNREACHABLE;
		*delay = host->latency_msec;
	}
	if (!is_udp)
		loss = loss * loss * loss / 10000;
	if (!host->is_up || world_chance(w, 100) < loss)
		return;
	*delay = host->latency_msec;
	reply->soa = z->soa;
	reply->soa.serial = serial_at(w, host, z);
	reply->has_expire = host->has_expire;
	reply->expire_sec = z->soa.expire_sec
		- world_chance(w, z->soa.expire_sec / 2);
	if (host->trait == NONSENSE) {
		reply->outcome = XFR_NONSENSE;
	} else if (host->trait == REFUSES) {
		reply->outcome = XFR_RCODE;
		reply->rcode = RCODE_REFUSED;
	} else if (action->act == XFR_PROBE) {
		reply->outcome = XFR_SOA;
		if (host->trait == AHEAD)
			reply->soa.serial += 1000;
	} else {
		reply->outcome = transfer(w, host, z, action, reply);
	}
}

/* ---- promises ----------------------------------------------------------- */

#define EMPTY_PAUSE_MAX (20480 * SEC)

static uint32_t
bound(uint32_t sec, uint32_t least, uint32_t most)
{
	sec = sec > most ? most : sec;
	sec = sec < least ? least : sec;
	return sec == 0 ? 1 : sec;
}

static uint32_t
refresh_of(const struct world *w, const struct zone_model *z)
{
	const struct xfr_config *c = &w->groups[z->group].config;

	return bound(z->soa.refresh_sec, c->refresh_min_sec,
		c->refresh_max_sec);
}

static uint32_t
retry_of(const struct world *w, const struct zone_model *z)
{
	const struct xfr_config *c = &w->groups[z->group].config;

	return bound(z->soa.retry_sec, c->retry_min_sec, c->retry_max_sec);
}

int64_t
world_deadline(const struct world *w, const struct zone_model *z,
	int64_t *since)
{
	const struct group *g = &w->groups[z->group];
	int64_t from = XFR_NEVER, lag = 0, pause, retry;

	for (uint32_t i = 0; i < g->config.primary_count; i++) {
		const struct host *host = &w->hosts[g->hosts[i]];

		if (host->lag_msec > lag)
			lag = host->lag_msec;
		if (host->trait == HONEST && host->is_up
			&& host->loss_percent < 30 && host->changed_at < from)
			from = host->changed_at;
	}
	if (from == XFR_NEVER)
		return XFR_NEVER;
	if (from < z->changed_at)
		from = z->changed_at;
	if (from < z->came_at)
		from = z->came_at;
	*since = from;
	/* The longest pause; then two retries, should a transfer fail; half an
	 * hour for waiting and for those that are down. All pauses of a zone
	 * without data are up to 20480 s. */
	pause = refresh_of(w, z) * SEC;
	retry = 8 * retry_of(w, z) * SEC;
	if (!z->has_data && pause < EMPTY_PAUSE_MAX)
		pause = EMPTY_PAUSE_MAX;
	if (!z->has_data && retry < EMPTY_PAUSE_MAX)
		retry = EMPTY_PAUSE_MAX;
	return from + lag + pause + 2 * retry + HOUR / 2;
}

bool
world_has_primary(const struct world *w, const struct zone_model *z)
{
	const struct group *g = &w->groups[z->group];

	for (uint32_t i = 0; i < g->config.primary_count; i++) {
		const struct host *host = &w->hosts[g->hosts[i]];

		if (host->trait == HONEST && host->is_up
			&& host->loss_percent == 0
			&& w->now - host->changed_at > HOUR)
			return true;
	}
	return false;
}

int64_t
world_lifetime(const struct world *w, const struct zone_model *z,
	const struct xfr_reply *reply)
{
	const struct xfr_config *c = &w->groups[z->group].config;
	uint32_t sec = z->soa.expire_sec, least = c->expire_min_sec;

	if (c->flags & XFR_CONFIG_EXPIRE_RULE)
		least = refresh_of(w, z) + retry_of(w, z) + 1;
	if (sec < least)
		sec = least;
	if (reply != NULL && reply->has_expire && reply->expire_sec < sec
		&& reply->expire_sec != z->soa.expire_sec)
		sec = reply->expire_sec;
	return sec * SEC;
}

int64_t
world_least_pause(const struct world *w, const struct zone_model *z)
{
	uint32_t refresh = refresh_of(w, z), retry = retry_of(w, z);
	int64_t half = (z->expire_at - z->ended_at) / 2;
	int64_t least = refresh < retry ? refresh : retry;

	if (z->ended_locally)
		return SEC / 10 * 9;
	if (!z->has_data)
		return 10 * SEC;
	/* A zone that has expired since may be checked within a second. */
	if (z->expire_at > z->ended_at && z->expire_at <= w->now)
		return SEC / 10 * 9;
	least *= SEC;
	/* A zone that would expire before its refresh may be checked
	 * half-way. */
	if (half > 0 && half < least && half * 2 <= refresh * SEC)
		least = half > SEC ? half : SEC;
	return least / 10 * 9;
}
