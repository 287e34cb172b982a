/*
 * sim.c - months of many secondary zones in seconds: the machine of include/xfr
 * among primaries that are down, lossy, slow and lying, NOTIFYs in floods, and
 * restarts through xfrd.state with clocks that jump.
 *
 * usage: sim [SEED [ZONES [DAYS]]]     (1; 10000; 90. SEED -: by chance)
 *
 * What is checked all the while:
 * - A zone that has a primary that works is not behind for longer than the
 *   timers of its SOA allow.
 * - No zone's primaries are asked more often than these timers allow, or than
 *   floods of NOTIFY may cause.
 * - A zone expires exactly when it must, and the loader is told at once.
 * - No more is under way than the limits say, and one request a zone; with
 *   multi-primary-check eight probes.
 * - A zone that comes without data is served within ten minutes if any of its
 *   primaries works, whatever the others are; it may wait for its turn behind
 *   many that are asked of primaries that are down.
 * - A NOTIFY waits for no more than two minutes, whatever else waits; here
 *   primaries that are down hold each of 12 transfers for half a minute.
 * - Targets of NOTIFY are told each serial, and not too often.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "dns/serial.h"
#include "sim/world.h"

enum kind {
	REPLY,   /* to asked[id] */
	CHANGE,  /* the truth of zone id changes */
	TELL,    /* a NOTIFY of zone id arrives */
	TURN,    /* host id goes up or down */
	FLOOD,   /* a NOTIFY of zone id that lies; more follow */
	AUDIT,
	RESTART,
	JUMP,    /* the date jumps */
	GO,      /* zone id is removed, or gets another config */
	COME,    /* zone id is added again */
};

#define FLOOD_NOTIFIES 200u
#define WAIT_MAX_MSEC 120000
#define FRESH_MAX_MSEC 600000
#define ASKED_MAX 8u

static struct zone_model *
zone_of(struct world *w, uint32_t handle)
{
	return &w->zones[w->by_handle[handle]];
}

/* ---- actions of the machine --------------------------------------------- */

/* A check begins: not too soon after the last one. */
static void
check_pause(struct world *w, struct zone_model *z)
{
	int64_t pause = w->now - z->ended_at;

	if (z->ended_at >= 0 && z->notifies == 0
		&& pause < world_least_pause(w, z))
		world_fail(w, z, "checked again after %" PRId64 " ms", pause);
	if (z->notifies > 0) {
		/* Ten minutes of quiet, and all is forgotten. */
		if (z->vain == 0 || (z->ended_at >= 0 && pause > 600 * SEC)) {
			z->vain = 0;
			z->vain_from = w->now;
		}
		z->vain++;
		if (z->vain > 9 + (w->now - z->vain_from) / (64 * SEC))
			world_fail(w, z, "%" PRIu32 " checks for NOTIFYs in "
				"vain in %" PRId64 " ms", z->vain,
				w->now - z->vain_from);
	}
}

static void
on_request(struct world *w, const struct xfr_action *action)
{
	struct zone_model *z = zone_of(w, action->zone);
	const struct group *g = &w->groups[z->group];
	uint32_t id = world_keep_asked(w, action);
	int64_t delay;

	z->asked++;
	if (z->asked > 1 && ((g->config.flags & XFR_CONFIG_CHECK_ALL) == 0
			|| action->act != XFR_PROBE || z->asked > ASKED_MAX))
		world_fail(w, z, "%" PRIu32 " requests under way", z->asked);
	if (z->asked > w->most_asked)
		w->most_asked = z->asked;
	if (action->primary >= g->config.primary_count)
		world_fail(w, z, "there is no primary %" PRIu32,
			action->primary);
	if (!z->is_checking) {
		check_pause(w, z);
		z->requests = 0;
	}
	if (z->urgent_at >= 0 && w->now - z->urgent_at > w->worst_wait_msec)
		w->worst_wait_msec = w->now - z->urgent_at;
	if (z->urgent_at >= 0 && w->now - z->urgent_at > WAIT_MAX_MSEC)
		world_fail(w, z, "a NOTIFY has waited for %" PRId64 " ms",
			w->now - z->urgent_at);
	z->is_checking = true;
	z->urgent_at = -1;
	/* A check makes at most five requests to a primary, ten if it is slow;
	 * each NOTIFY adds a check. */
	if (++z->requests > 10 * g->config.primary_count * (1 + z->notifies))
		world_fail(w, z, "%" PRIu32 " requests in a check",
			z->requests);
	if (action->act == XFR_PROBE)
		w->probes++;
	else
		w->transfers++;
	if (action->act == XFR_TRANSFER && action->has_serial
		&& action->serial != z->serial)
		world_fail(w, z, "transfer from another serial");
	world_answer(w, action, &w->asked[id].reply, &delay);
	world_add_event(w, delay, REPLY, id);
}

static void
on_tell(struct world *w, const struct xfr_action *action)
{
	struct zone_model *z = zone_of(w, action->zone);
	const struct xfr_config *c = &w->groups[z->group].config;
	uint32_t id = world_keep_asked(w, action);
	bool is_answered = world_chance(w, 5) > 0;

	w->notifies++;
	if (action->serial != z->serial)
		world_fail(w, z, "NOTIFY with serial %" PRIu32 " of %" PRIu32,
			action->serial, z->serial);
	if (++z->told > c->target_count * c->notify_tries)
		world_fail(w, z, "%" PRIu32 " NOTIFYs for a serial", z->told);
	w->asked[id].reply = (struct xfr_reply){.outcome = is_answered
		? XFR_ACKNOWLEDGED : XFR_TIMEOUT};
	world_add_event(w, is_answered ? 50 : action->wait_msec, REPLY, id);
}

/* A survey does not wait for all. Of zones that are gone, or have changed,
 * nothing is counted any more. */
static void
on_cancelled(struct world *w, const struct xfr_action *action)
{
	struct zone_model *z = zone_of(w, action->zone);

	if (action->act == XFR_PROBE && z->handle == action->zone
		&& z->asked > 0)
		z->asked--;
}

/* Cancels a request, for example of a zone that is gone. */
static void
on_cancel(struct world *w, uint64_t ticket)
{
	for (size_t i = 0; i < w->asked_count; i++) {
		if (!w->asked[i].is_used
			|| w->asked[i].action.ticket != ticket)
			continue;
		w->asked[i].action.ticket = XFR_NO_TICKET;
		w->cancelled++;
		on_cancelled(w, &w->asked[i].action);
		return;
	}
	world_fail(w, NULL, "what nobody has asked for is cancelled");
}

static void
on_expired(struct world *w, struct zone_model *z)
{
	int64_t due = z->expire_at;

	/* A zone that expired while the server was down is told at start. */
	if (due < w->started_at)
		due = w->started_at;
	w->expired++;
	if (z->has_expired || due != w->now)
		world_fail(w, z, "expired %" PRId64 " ms after its time",
			w->now - due);
	z->has_expired = true;
}

static void
drain(struct world *w)
{
	struct xfr_action action;
	uint32_t zone;
	int64_t at;

	do {
		while (xfr_next_expiry(w->machine, &zone, &at)) {
			struct zone_model *z = zone_of(w, zone);

			if (at != z->expire_at)
				world_fail(w, z, "expires at %" PRId64
					", not %" PRId64, at, z->expire_at);
			z->is_told = true;
		}
		while (xfr_next(w->machine, w->now, &action)) {
			struct zone_model *z = zone_of(w, action.zone);

			if (action.act == XFR_CANCEL)
				on_cancel(w, action.ticket);
			else if (z->handle != action.zone)
				world_fail(w, z, "is asked for, and gone");
			else if (action.act == XFR_PROBE
				|| action.act == XFR_TRANSFER)
				on_request(w, &action);
			else if (action.act == XFR_NOTIFY)
				on_tell(w, &action);
			else
				on_expired(w, z);
		}
	} while (xfr_next_time(w->machine) <= w->now);
	world_check_counts(w);
}

/* ---- events ------------------------------------------------------------- */

static void
on_fresh_served(struct world *w, struct zone_model *z)
{
	int64_t took = w->now - z->came_at;

	z->is_fresh = false;
	if (took > w->worst_fresh_msec)
		w->worst_fresh_msec = took;
	if (took > FRESH_MAX_MSEC)
		world_fail(w, z, "served after %" PRId64 " ms", took);
}

/* Applies an answer to the model of a zone, by the RFCs and not by the
 * machine. */
static void
model_reply(struct world *w, struct zone_model *z,
	const struct xfr_reply *reply)
{
	bool is_same = z->has_data && (reply->outcome == XFR_UNCHANGED
		|| (reply->outcome == XFR_SOA
			&& reply->soa.serial == z->serial));
	bool was_expired;
	int64_t at;

	/* A random local failure may end the check. */
	if (reply->outcome == XFR_TOO_LARGE || reply->outcome == XFR_LOCAL)
		z->is_fresh = false;
	if (!is_same && reply->outcome != XFR_DONE)
		return;
	was_expired = z->expire_at <= w->now;
	at = w->now + world_lifetime(w, z, reply);
	/* RFC 7314 section 4 */
	if (is_same && reply->has_expire && z->expire_at != XFR_NEVER
		&& z->expire_at > at)
		at = z->expire_at;
	z->expire_at = at;
	z->is_told = z->has_expired = false;
	if (reply->outcome != XFR_DONE)
		return;
	/* A zone that has expired has no serial. */
	if (z->has_data && !was_expired
		&& !serial_is_newer(reply->soa.serial, z->serial))
		world_fail(w, z, "got an older serial");
	if (z->is_fresh)
		on_fresh_served(w, z);
	z->has_data = true;
	z->serial = reply->soa.serial;
	z->vain = 0;
	z->told = 0;
}

static void
on_reply(struct world *w, uint32_t id)
{
	struct asked *asked = &w->asked[id];
	struct zone_model *z = zone_of(w, asked->action.zone);
	struct xfr_status status;

	asked->is_used = false;
	if (asked->action.act != XFR_NOTIFY) {
		z->asked--;
		model_reply(w, z, &asked->reply);
	}
	if (!xfr_on_reply(w->machine, asked->action.ticket, w->now,
		&asked->reply))
		world_fail(w, z, "nobody waits for an answer");
	if (asked->action.act == XFR_NOTIFY)
		return;
	xfr_get_status(w->machine, z->handle, w->now, &status);
	if (status.soa.serial != z->serial && z->has_data)
		world_fail(w, z, "serves another serial");
	if (status.check_at != XFR_NEVER) {
		z->is_checking = false;
		z->ended_at = w->now;
		z->ended_locally = asked->reply.outcome == XFR_LOCAL;
		/* A NOTIFY that is waiting for its check still counts. */
		z->notifies = status.is_notified
			|| status.check_at < w->now + 65 * SEC;
	}
}

static void
on_change(struct world *w, uint32_t id)
{
	struct zone_model *z = &w->zones[id];

	w->changes++;
	z->before = z->soa.serial;
	z->soa.serial += 1 + world_chance(w, 3);
	z->changed_at = w->now;
	if (world_chance(w, 10) < 7)
		world_add_event(w, world_chance(w, 2000), TELL, id);
	world_add_event(w, world_chance(w, 4 * (uint32_t)(DAY / SEC)) * SEC
		+ 600 * SEC, CHANGE, id);
}

/* serial: NULL if the NOTIFY has none. */
static void
send_notify(struct world *w, struct zone_model *z, const uint32_t *serial)
{
	struct xfr_status status;
	uint32_t primary = world_chance(w, GROUP_HOSTS + 1);

	if (z->handle == XFR_NONE)
		return;
	if (primary >= w->groups[z->group].config.primary_count)
		primary = XFR_NONE;
	xfr_get_status(w->machine, z->handle, w->now, &status);
	z->notifies++;
	xfr_on_notify(w->machine, z->handle, w->now, primary, serial != NULL,
		serial == NULL ? 0 : *serial);
	/* The check is due at once unless earlier NOTIFYs found nothing new. */
	if (!z->is_checking && z->vain == 0 && z->urgent_at < 0
		&& (serial == NULL || serial_is_newer(*serial, z->serial)))
		z->urgent_at = w->now;
}

static void
on_flood(struct world *w, uint32_t id)
{
	struct zone_model *z = &w->zones[id % w->zone_count];
	uint32_t left = id / w->zone_count, serial = z->serial + 100 + left;

	w->floods += left == FLOOD_NOTIFIES;
	send_notify(w, z, left % 7 == 0 ? NULL : &serial);
	if (left > 0)
		world_add_event(w, world_chance(w, 4000), FLOOD,
			id - w->zone_count);
}

static void
on_turn(struct world *w, uint32_t id)
{
	struct host *host = &w->hosts[id];
	uint32_t hours;

	for (uint32_t i = 0; i < w->zone_count; i++)
		w->zones[i].is_fresh = false;
	host->is_up = !host->is_up;
	host->changed_at = w->now;
	hours = host->is_up ? 24 * 10 : id % 7 == 0 ? 24 * 20 : 12;
	world_add_event(w, world_chance(w, hours) * HOUR + HOUR / 4, TURN,
		id);
}

static void
audit_zone(struct world *w, struct zone_model *z)
{
	int64_t deadline, since;

	if (z->handle == XFR_NONE)
		return;
	if (z->is_fresh && w->now - z->came_at > FRESH_MAX_MSEC)
		world_fail(w, z, "not served after %" PRId64 " ms",
			w->now - z->came_at);
	if (z->expire_at < w->now && z->has_data && !z->has_expired)
		world_fail(w, z, "has not expired at %" PRId64,
			z->expire_at);
	if (z->has_data && !z->is_told)
		world_fail(w, z, "the loader does not know when it expires");
	if (z->has_data && z->serial == z->soa.serial)
		return;
	deadline = world_deadline(w, z, &since);
	if (deadline == XFR_NEVER)
		return;
	if (w->now > deadline)
		world_fail(w, z, "behind for %" PRId64 " s, serial %" PRIu32
			" of %" PRIu32, (w->now - since) / SEC, z->serial,
			z->soa.serial);
	if (w->now - since > w->worst_behind_msec)
		w->worst_behind_msec = w->now - since;
}

/* ---- starts ------------------------------------------------------------- */

static void
start_machine(struct world *w)
{
	if (xfr_machine_create(&w->limits, w->chance, w->now, &w->machine)
		!= NSD_OK)
		abort();
	for (unsigned i = 0; i < GROUPS; i++) {
		w->groups[i].config.primaries = w->groups[i].flags;
		if (xfr_add_config(w->machine, &w->groups[i].config,
			&w->groups[i].id) != NSD_OK)
			abort();
	}
	w->started_at = w->now;
}

static void
start_zone(struct world *w, struct zone_model *z,
	const struct xfr_start *start)
{
	if (xfr_add_zone(w->machine, w->groups[z->group].id, start, w->now,
		&z->handle) != NSD_OK)
		abort();
	z->came_at = w->now;
	w->by_handle[z->handle] = (uint32_t)(z - w->zones);
	z->is_told = z->has_expired = z->is_checking = z->is_fresh = false;
	z->ended_at = z->urgent_at = -1;
	z->notifies = z->vain = z->told = z->asked = 0;
	if (!start->has_data)
		return;
	z->expire_at = start->expire_at;
	if (z->expire_at == XFR_NEVER)
		z->expire_at = start->acquired_at + world_lifetime(w, z, NULL);
}

static void
on_come(struct world *w, uint32_t id)
{
	struct zone_model *z = &w->zones[id];
	struct xfr_start start = {.has_data = false};

	if (z->handle != XFR_NONE)
		return;
	z->has_data = false;
	z->group = world_chance(w, GROUPS);
	start_zone(w, z, &start);
	z->is_fresh = world_has_primary(w, z);
}

static void
on_go(struct world *w, uint32_t id)
{
	const struct asked *asked = &w->asked[id % w->asked_count];
	struct zone_model *z;

	/* Rather one that something is under way for. */
	if (asked->is_used && asked->action.ticket != XFR_NO_TICKET)
		id = w->by_handle[asked->action.zone];
	z = &w->zones[id];
	world_add_event(w, world_chance(w, 7200) * SEC, GO,
		world_chance(w, w->zone_count));
	if (z->handle == XFR_NONE)
		return;
	xfr_remove_zone(w->machine, z->handle);
	z->handle = XFR_NONE;
	world_add_event(w, world_chance(w, 7200) * SEC, COME, id);
}

/* The zone's part of xfrd.state, as it is read again. */
struct reading {
	struct world *w;
	struct zone_model *z;
	struct xfr_state_parser parser;
	bool is_right; /* the clock has not jumped */
};

static void
on_state(void *context, const struct xfr_state_zone *state)
{
	struct reading *r = context;
	struct world *w = r->w;
	const struct xfr_state_clocks clocks = {
		.real_sec = w->now / SEC + w->offset_sec, .now = w->now};
	struct xfr_soa served = r->z->soa;
	int64_t before = r->z->expire_at;
	struct xfr_start start;

	served.serial = r->z->serial;
	xfr_state_to_start(state, r->parser.filetime_sec, &clocks,
		r->z->has_data ? &served : NULL, &start);
	start_zone(w, r->z, &start);
	/* The EXPIRE option may have shortened the time; the file does not
	 * record it. */
	if (r->is_right && start.has_data && r->z->expire_at < before
		&& before - r->z->expire_at > 2 * SEC
		&& r->z->expire_at != w->now)
		world_fail(w, r->z, "lost %" PRId64 " ms by a restart",
			before - r->z->expire_at);
}

static void
read_again(struct reading *r, const char *text, size_t len)
{
	if (xfr_state_parse(&r->parser, text, len) != NSD_OK)
		world_fail(r->w, r->z, "xfrd.state is refused");
}

/* The states of all zones go through the text of the file. */
static void
on_restart(struct world *w)
{
	static char text[XFR_STATE_TEXT_MAX];
	static struct reading reading;
	struct xfr_machine *old = w->machine;
	const struct xfr_state_clocks clocks = {
		.real_sec = w->now / SEC + w->offset_sec, .now = w->now};
	uint32_t kind = world_chance(w, 4), count = 0;

	w->restarts++;
	reading = (struct reading){.w = w, .is_right = kind > 1};
	xfr_state_parse_begin(&reading.parser, "xfrd.state", NULL);
	reading.parser.on_zone = on_state;
	reading.parser.context = &reading;
	/* The machine's clock may be that of another boot. */
	if (kind == 0)
		w->offset_sec -= world_chance(w, 86400 * 30);
	else if (kind == 1)
		w->offset_sec += world_chance(w, 86400 * 2);
	start_machine(w);
	for (uint32_t i = 0; i < w->zone_count; i++)
		count += w->zones[i].handle != XFR_NONE;
	read_again(&reading, text, xfr_state_print_head(clocks.real_sec,
		count, text));
	for (uint32_t i = 0; i < w->zone_count; i++) {
		struct xfr_state_zone state;
		struct xfr_status status;

		reading.z = &w->zones[i];
		if (reading.z->handle == XFR_NONE)
			continue;
		xfr_get_status(old, reading.z->handle, w->now, &status);
		xfr_state_from_status(&status, &clocks, &state);
		memcpy(state.name, "\1a", 3);
		read_again(&reading, text, xfr_state_print_zone(&state,
			clocks.real_sec, text));
	}
	read_again(&reading, text, xfr_state_print_tail(text));
	if (xfr_state_parse_end(&reading.parser) != NSD_OK)
		world_fail(w, NULL, "xfrd.state is refused");
	xfr_machine_destroy(old);
	for (size_t i = 0; i < w->asked_count; i++)
		w->asked[i].action.ticket = XFR_NO_TICKET;
	/* A restart checks every zone; NOTIFYs must not wait for those
	 * checks. */
	for (uint32_t i = 0; i < 500; i++)
		world_add_event(w, world_chance(w, 30000), FLOOD,
			world_chance(w, w->zone_count));
}

/* ---- a run -------------------------------------------------------------- */

static void
begin(struct world *w)
{
	world_make(w);
	start_machine(w);
	for (uint32_t i = 0; i < w->zone_count; i++) {
		struct zone_model *z = &w->zones[i];
		struct xfr_start start = {.has_data = z->has_data,
			.soa = z->soa, .acquired_at = w->now,
			.check_at = w->now, .expire_at = XFR_NEVER};

		start_zone(w, z, &start);
		world_add_event(w, world_chance(w, 8 * 86400) * SEC, CHANGE,
			i);
	}
	for (uint32_t i = 0; i < HOSTS; i++)
		world_add_event(w, world_chance(w, 240) * HOUR, TURN, i);
	for (uint32_t i = 0; i < 200; i++)
		world_add_event(w, world_chance(w, 90 * 86400) * SEC, FLOOD,
			world_chance(w, w->zone_count)
			+ FLOOD_NOTIFIES * w->zone_count);
	world_add_event(w, HOUR, AUDIT, 0);
	world_add_event(w, 10 * DAY, RESTART, 0);
	world_add_event(w, DAY, JUMP, 0);
	for (uint32_t i = 0; i < 5; i++)
		world_add_event(w, DAY, GO, i);
}

static void
happen(struct world *w, const struct event *event)
{
	switch ((enum kind)event->kind) {
	case REPLY:
		/* Requests from before a restart get no answer. */
		if (w->asked[event->id].action.ticket == XFR_NO_TICKET)
			w->asked[event->id].is_used = false;
		else
			on_reply(w, event->id);
		break;
	case CHANGE:
		on_change(w, event->id);
		break;
	case TELL:
		send_notify(w, &w->zones[event->id],
			&w->zones[event->id].soa.serial);
		break;
	case TURN:
		on_turn(w, event->id);
		break;
	case FLOOD:
		on_flood(w, event->id);
		break;
	case AUDIT:
		for (uint32_t i = 0; i < w->zone_count; i++)
			audit_zone(w, &w->zones[i]);
		world_add_event(w, HOUR, AUDIT, 0);
		break;
	case RESTART:
		on_restart(w);
		world_add_event(w, 5 * DAY + world_chance(w, 240) * HOUR,
			RESTART, 0);
		break;
	case GO:
		on_go(w, event->id);
		break;
	case COME:
		on_come(w, event->id);
		break;
	case JUMP:
		w->offset_sec += (int64_t)world_chance(w, 7200) - 3600;
		world_add_event(w, 3 * DAY, JUMP, 0);
		break;
	}
}

static void
live(struct world *w, int64_t until)
{
	struct event event;

	begin(w);
	drain(w);
	for (;;) {
		int64_t next = xfr_next_time(w->machine);

		if (w->events[0].at < next)
			next = w->events[0].at;
		if (next > until)
			break;
		if (next < w->now)
			world_fail(w, NULL, "the machine's time goes back");
		w->now = next;
		/* Events are handled one by one, as in an event loop. */
		if (world_take_event(w, &event))
			happen(w, &event);
		drain(w);
	}
}

int
main(int argc, char **argv)
{
	static struct world w;
	uint64_t days = argc > 3 ? strtoull(argv[3], NULL, 0) : 90;

	w.seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	if (argc > 1 && strcmp(argv[1], "-") == 0)
		w.seed = (uint64_t)time(NULL);
	w.chance = w.seed;
	w.zone_count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 10000;
	w.offset_sec = 1800000000;
	w.limits = (struct xfr_limits){.probes = 64, .transfers = 16,
		.notifies = 32, .checks_per_sec = 500};
	printf("seed %" PRIu64 "\n", w.seed);
	w.zones = calloc(w.zone_count, sizeof(*w.zones));
	w.by_handle = calloc(w.zone_count, sizeof(*w.by_handle));
	if (w.zone_count == 0 || w.zones == NULL || w.by_handle == NULL)
		return 1;
	live(&w, (int64_t)days * DAY);
	printf("%" PRIu32 " zones, %" PRIu64 " days: %" PRIu64 " probes, %"
		PRIu64 " transfers, %" PRIu64 " NOTIFYs, %" PRIu64
		" changes, %" PRIu64 " floods, %" PRIu64 " restarts, %" PRIu64
		" expired, %" PRIu64 " cancelled\nlongest: a NOTIFY waited %"
		PRId64 " ms, a zone was behind for %" PRId64
		" s, a fresh one came after %" PRId64 " ms\nmost: %"
		PRIu32 " probes, %" PRIu32 " transfers under way, %" PRIu32
		" of one zone\n",
		w.zone_count, days, w.probes, w.transfers, w.notifies,
		w.changes, w.floods, w.restarts, w.expired, w.cancelled,
		w.worst_wait_msec, w.worst_behind_msec / SEC,
		w.worst_fresh_msec, w.most_probes, w.most_transfers,
		w.most_asked);
	xfr_machine_destroy(w.machine);
	free(w.zones);
	free(w.by_handle);
	free(w.asked);
	free(w.events);
	return 0;
}
