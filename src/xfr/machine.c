/* machine.c - events in, actions out. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "dns/serial.h"
#include "xfr/inside.h"

/* Of the places for probes, and of those for transfers, urgent requests leave a
 * quarter to those by timer, and these to urgent ones: so neither class waits
 * for the other's timeouts. */
#define CLASS_SHARE 4u

#define TIMERS_A_CALL 64u
/* Zones that a call looks at for the rounds of NOTIFYs and expiries, at
 * most. */
#define ROUND_A_CALL 1000u
/* NOTIFYs in a wrong queue that a call moves, at most. */
#define JOBS_A_CALL 64u
#define NO_MEMORY_MSEC 1000

/* Checks by timer may begin a tenth of a second's worth at once. */
#define BURST_USEC 100000

/* Probes are cheap and most of them short; transfers are as many as NSD's
 * xfrd-tcp-max. */
const struct xfr_limits xfr_limits_usual = {
	.probes = 1024,
	.transfers = 128,
	.notifies = 128,
	.checks_per_sec = 10000,
};

/* ---- the machine -------------------------------------------------------- */

enum nsd_err
xfr_machine_create(const struct xfr_limits *limits, uint64_t seed, int64_t now,
	struct xfr_machine **machine)
{
	struct xfr_machine *m = calloc(1, sizeof(*m));

	assert(limits->probes >= CLASS_SHARE && limits->transfers
		>= CLASS_SHARE && limits->notifies > 0
		&& limits->checks_per_sec > 0 && now >= 0);
	if (m == NULL)
		return NSD_E_MEMORY;
	m->limits = *limits;
	m->random = seed;
	m->zone_unused = m->config_unused = m->request_unused = XFR_NONE;
	m->cancelled = m->tell_first = m->tell_last = XFR_NONE;
	m->resend_at = XFR_NONE;
	m->jobs.unused = XFR_NONE;
	for (unsigned i = 0; i < JOB_CLASS_COUNT; i++)
		m->jobs.classes[i].first = m->jobs.classes[i].last = XFR_NONE;
	for (unsigned i = 0; i < QUEUE_COUNT; i++)
		m->queues[i].first = m->queues[i].last = XFR_NONE;
	m->token_usec = now * 1000;
	m->next_at = XFR_NEVER;
	*machine = m;
	return NSD_OK;
}

void
xfr_machine_destroy(struct xfr_machine *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->chunk_count; i++)
		free(m->chunks[i]);
	free(m->chunks);
	for (size_t i = 0; i < m->config_end; i++) {
		free(m->configs[i].primaries);
		free(m->configs[i].slowness);
	}
	free(m->configs);
	free(m->requests);
	timers_fini(&m->timers);
	notifies_fini(m);
	free(m);
}

static void
assert_zone(const struct xfr_machine *m, uint32_t id)
{
	assert(id < m->zone_end && (table_zone(m, id)->flags & ZONE_USED));
}

static bool
is_secondary(const struct xfr_machine *m, const struct xfr_zone *z)
{
	return table_config(m, z)->given.primary_count > 0;
}

/* ---- zones come, change and go ------------------------------------------ */

/* Returns when a zone expires that comes with another config: after the new
 * lifetime, which counts from when its version was acquired. An EXPIRE option
 * of a primary may have shortened the time before: then the end stays where it
 * is, if it is earlier. No option brings an expired zone back. */
static int64_t
refit_expiry(const struct xfr_start *start, int64_t lifetime_msec, int64_t now)
{
	int64_t at = start->acquired_at + lifetime_msec;

	if (start->lifetime_msec == 0 || start->lifetime_msec == lifetime_msec
		|| start->expire_at <= now)
		return start->expire_at;
	return start->expire_at < start->acquired_at + start->lifetime_msec
			&& start->expire_at < at
		? start->expire_at : at;
}

static void
begin_with(struct xfr_machine *m, uint32_t id, const struct xfr_start *start,
	int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);
	int64_t latest, lifetime;

	z->flags |= ZONE_HAS_DATA;
	z->soa = start->soa;
	z->is_told = start->is_told;
	z->acquired_at = start->acquired_at;
	z->served_at = now;
	if (!is_secondary(m, z))
		return;
	latest = now + refresh_pause_max(&table_config(m, z)->given, &z->soa);
	z->check_at = start->check_at < latest ? start->check_at : latest;
	lifetime = refresh_lifetime(&table_config(m, z)->given, &z->soa, NULL);
	z->expire_at = start->expire_at == XFR_NEVER
		? start->acquired_at + lifetime
		: refit_expiry(start, lifetime, now);
	/* The store has said when the zone expires. xfrdfile will have this
	 * time alone, and must not put that off. */
	if (start->expire_at != XFR_NEVER && start->lifetime_msec == 0
		&& z->acquired_at > z->expire_at - lifetime)
		z->acquired_at = z->expire_at - lifetime;
	/* After a check that failed, the one at the end will do. */
	if (z->rounds == 0 && z->check_at >= z->expire_at) {
		latest = now + refresh_pause(m, z, now);
		if (latest < z->check_at)
			z->check_at = latest;
	}
	queue_tell(m, id);
}

enum nsd_err
xfr_add_zone(struct xfr_machine *m, uint32_t config,
	const struct xfr_start *start, int64_t now, uint32_t *zone)
{
	struct xfr_zone *z;
	enum nsd_err err = table_add_zone(m, zone);

	if (err != NSD_OK)
		return err;
	z = table_zone(m, *zone);
	z->config = config;
	table_hold_config(m, config);
	if (start != NULL)
		z->rounds = start->failed_rounds < UINT8_MAX
			? (uint8_t)start->failed_rounds : UINT8_MAX;
	if (start != NULL && start->has_data)
		begin_with(m, *zone, start, now);
	else if (is_secondary(m, z))
		z->check_at = now;
	queue_set_timer(m, *zone);
	return NSD_OK;
}

void
xfr_set_user(struct xfr_machine *m, uint32_t zone, uint32_t user)
{
	assert_zone(m, zone);
	table_zone(m, zone)->user = user;
}

uint32_t
xfr_get_user(const struct xfr_machine *m, uint32_t zone)
{
	assert_zone(m, zone);
	return table_zone(m, zone)->user;
}

bool
xfr_is_secondary(const struct xfr_machine *m, uint32_t zone)
{
	assert_zone(m, zone);
	return is_secondary(m, table_zone(m, zone));
}

uint32_t
xfr_get_config(const struct xfr_machine *m, uint32_t zone)
{
	assert_zone(m, zone);
	return table_zone(m, zone)->config;
}

void
xfr_remove_zone(struct xfr_machine *m, uint32_t zone)
{
	assert_zone(m, zone);
	check_stop(m, zone);
	notifies_drop(m, zone);
	table_drop_config(m, table_zone(m, zone)->config);
	table_remove_zone(m, zone);
}

/* ---- events ------------------------------------------------------------- */

bool
xfr_on_reply(struct xfr_machine *m, uint64_t ticket, int64_t now,
	const struct xfr_reply *reply)
{
	uint32_t request;

	if (ticket & TICKET_NOTIFY)
		return notifies_on_reply(m, ticket, now, reply);
	request = table_find_request(m, ticket);
	if (request == XFR_NONE)
		return false;
	answer_on_reply(m, request, now, reply);
	return true;
}

void
xfr_on_received(struct xfr_machine *m, uint64_t ticket)
{
	uint32_t id = table_find_request(m, ticket);

	if (id == XFR_NONE || m->requests[id].state != REQUEST_SENT)
		return;
	m->requests[id].state = REQUEST_RECEIVED;
	m->queues[m->requests[id].queue].under_way--;
}

bool
xfr_wants(const struct xfr_machine *m, uint64_t ticket, uint32_t serial)
{
	uint32_t id = table_find_request(m, ticket);
	const struct xfr_zone *z;

	if (id == XFR_NONE)
		return false;
	z = table_zone(m, m->requests[id].zone);
	return (z->flags & ZONE_FORCED) != 0 || choose_is_wanted(z, serial);
}

void
xfr_on_notify(struct xfr_machine *m, uint32_t zone, int64_t now,
	uint32_t primary, bool has_serial, uint32_t serial)
{
	struct xfr_zone *z = table_zone(m, zone);

	assert_zone(m, zone);
	if (!is_secondary(m, z))
		return;
	/* RFC 1996 section 3.11: the version that we have needs no check;
	 * unless it has expired, as the primary is there again. */
	if (has_serial && (z->flags & (ZONE_HAS_DATA | ZONE_EXPIRED))
			== ZONE_HAS_DATA
		&& !serial_is_newer(serial, z->soa.serial))
		return;
	if (primary < table_config(m, z)->given.primary_count)
		z->hint = (uint8_t)primary;
	check_on_notify(m, zone, now, has_serial ? &serial : NULL);
}

/* Begins a check of a secondary zone for the operator. serial: of the version
 * that it is to bring, or NULL. */
static void
begin_command(struct xfr_machine *m, uint32_t zone, int64_t now, bool forced,
	const uint32_t *serial)
{
	struct xfr_zone *z = table_zone(m, zone);

	z->vain_until = 0;
	z->vain = 0;
	if (z->flags & ZONE_CHECKING) {
		if (forced)
			z->flags |= ZONE_AGAIN_FORCED;
	} else if (forced) {
		queue_remove(m, zone);
		z->flags |= ZONE_FORCED;
		z->flags &= (uint16_t)~ZONE_URGENT;
	}
	check_on_notify(m, zone, now, serial);
}

void
xfr_on_command(struct xfr_machine *m, uint32_t zone, int64_t now, bool forced)
{
	assert_zone(m, zone);
	if (is_secondary(m, table_zone(m, zone)))
		begin_command(m, zone, now, forced, NULL);
}

void
xfr_on_accept(struct xfr_machine *m, uint32_t zone, int64_t now,
	uint32_t primary, uint32_t serial)
{
	struct xfr_zone *z = table_zone(m, zone);
	bool forced;

	assert_zone(m, zone);
	if (!is_secondary(m, z))
		return;
	forced = !choose_is_wanted(z, serial);
	if (primary < table_config(m, z)->given.primary_count)
		z->hint = (uint8_t)primary;
	begin_command(m, zone, now, forced, forced ? NULL : &serial);
}

void
xfr_on_served(struct xfr_machine *m, uint32_t zone, int64_t now,
	const struct xfr_soa *soa)
{
	struct xfr_zone *z = table_zone(m, zone);
	bool is_other;

	assert_zone(m, zone);
	is_other = (z->flags & ZONE_HAS_DATA) == 0
		|| z->soa.serial != soa->serial;
	z->soa = *soa;
	z->flags |= ZONE_HAS_DATA;
	if (!is_other)
		return;
	z->served_at = now;
	notifies_begin(m, zone, false);
	if (!is_secondary(m, z)) {
		z->acquired_at = now;
		return;
	}
	refresh_zone(m, zone, now, NULL, true);
	if (check_is_idle(z)) {
		z->check_at = now;
		queue_set_timer(m, zone);
	}
}

void
xfr_send_notifies(struct xfr_machine *m, uint32_t zone, bool is_first)
{
	assert_zone(m, zone);
	if (table_zone(m, zone)->flags & ZONE_HAS_DATA)
		notifies_begin(m, zone, is_first);
}

void
xfr_notify_all(struct xfr_machine *m)
{
	notifies_begin_round(m);
}

void
xfr_resend_expiries(struct xfr_machine *m)
{
	m->resend_at = 0;
}

/* ---- actions ------------------------------------------------------------ */

/* Goes on with a round over all zones, whose expiries are told again. */
static void
expiries_resend(struct xfr_machine *m)
{
	unsigned left = ROUND_A_CALL;

	while (m->resend_at != XFR_NONE && left-- > 0) {
		uint32_t id = m->resend_at++;
		const struct xfr_zone *z;

		if (id >= m->zone_end) {
			m->resend_at = XFR_NONE;
			return;
		}
		z = table_zone(m, id);
		if ((z->flags & (ZONE_USED | ZONE_HAS_DATA))
				== (ZONE_USED | ZONE_HAS_DATA)
			&& z->expire_at != XFR_NEVER)
			queue_tell(m, id);
	}
}

bool
xfr_next_expiry(struct xfr_machine *m, uint32_t *zone, int64_t *at)
{
	*zone = queue_take_tell(m);
	if (*zone == XFR_NONE)
		return false;
	*at = table_zone(m, *zone)->expire_at;
	return true;
}

void
xfr_resend_expiry(struct xfr_machine *m, uint32_t zone)
{
	assert_zone(m, zone);
	queue_tell(m, zone);
}

static bool
action_cancel(struct xfr_machine *m, struct xfr_action *action)
{
	uint32_t id = m->cancelled;
	const struct xfr_request *request;

	if (id == XFR_NONE)
		return false;
	request = &m->requests[id];
	m->cancelled = request->next;
	*action = (struct xfr_action){.act = XFR_CANCEL,
		.zone = request->zone, .ticket = request->ticket,
		.primary = XFR_NONE};
	table_remove_request(m, id);
	return true;
}

_Static_assert((QUEUE_PROBE ^ QUEUE_URGENT_PROBE) == QUEUE_URGENT_PROBE
	&& (QUEUE_TRANSFER ^ QUEUE_URGENT_PROBE) == QUEUE_URGENT_TRANSFER,
	"the classes of a kind differ by one bit");

static bool
has_room(const struct xfr_machine *m, enum queue_id queue)
{
	bool is_transfer = queue == QUEUE_TRANSFER
		|| queue == QUEUE_URGENT_TRANSFER;
	uint32_t limit = is_transfer ? m->limits.transfers : m->limits.probes;
	uint32_t mine = m->queues[queue].under_way;
	uint32_t others = m->queues[queue ^ QUEUE_URGENT_PROBE].under_way;

	return mine + others < limit && mine < limit - limit / CLASS_SHARE;
}

/* Lets a zone's check by timer begin; false: it has data, and too many checks
 * have begun. */
static bool
take_token(struct xfr_machine *m, const struct xfr_zone *z, int64_t now)
{
	int64_t now_usec = now * 1000, each = 1000000
		/ m->limits.checks_per_sec;

	if ((z->flags & ZONE_CHECKING) != 0
		|| (z->flags & ZONE_HAS_DATA) == 0)
		return true;
	if (now_usec + BURST_USEC < m->token_usec) {
		int64_t at = (m->token_usec - BURST_USEC + 999) / 1000;

		if (at < m->next_at)
			m->next_at = at;
		return false;
	}
	m->token_usec = (m->token_usec < now_usec ? now_usec : m->token_usec)
		+ each;
	return true;
}

/* The wait for the answer to a request while there are others to ask: a first
 * lost packet of TCP comes again after a second. */
#define BRIEF_WAIT_MSEC 2000u
/* The wait for a transfer from a primary that has taken a connection, and left
 * the question for the SOA on it without an answer. */
#define LATE_MSEC 3000u

static void
action_describe(const struct xfr_machine *m, const struct xfr_request *request,
	struct xfr_action *action)
{
	static const uint16_t wait_msec[] = {
		[XFR_QUERY_SOA_UDP] = 3000,
		[XFR_QUERY_SOA_TCP] = 10000,
		[XFR_QUERY_IXFR_UDP] = 5000,
		[XFR_QUERY_IXFR_TCP] = 0,
		[XFR_QUERY_AXFR] = 0,
	};
	const struct xfr_zone *z = table_zone(m, request->zone);

	*action = (struct xfr_action){
		.act = request->query <= XFR_QUERY_SOA_TCP ? XFR_PROBE
						       : XFR_TRANSFER,
		.zone = request->zone,
		.ticket = request->ticket,
		.primary = request->primary,
		.query = (enum xfr_query)request->query,
		.wait_msec = wait_msec[request->query],
		.has_failed = z->rounds > 0 || z->has_missed
			|| (z->flags & ZONE_IXFR_FAILED) != 0,
		.no_edns = !request->has_edns,
	};
	if (request->has_others && action->wait_msec > BRIEF_WAIT_MSEC)
		action->wait_msec = BRIEF_WAIT_MSEC;
	if (action->act == XFR_PROBE)
		return;
	action->has_others = request->has_others;
	if (request->has_others)
		action->first_msec = BRIEF_WAIT_MSEC;
	else if (request->is_late)
		action->first_msec = LATE_MSEC;
	action->has_serial = (z->flags & ZONE_HAS_DATA) != 0;
	/* A zone that has expired has no serial. */
	action->forced = (z->flags & ZONE_FORCED) != 0
		|| ((z->flags & ZONE_EXPIRED) != 0
			&& request->query == XFR_QUERY_AXFR);
	action->serial = action->has_serial ? z->soa.serial : 0;
}

/* Makes the request of the first zone of a queue. XFR_NONE: no memory. */
static uint32_t
make_request(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);
	uint32_t request = table_add_request(m, id);
	struct xfr_request *r;

	if (request == XFR_NONE)
		return XFR_NONE;
	r = &m->requests[request];
	r->queue = z->queue;
	r->primary = z->primary;
	r->query = z->query;
	r->is_full = z->is_full;
	r->has_others = choose_has_others(m, z);
	r->is_late = z->is_late;
	r->is_trial = z->is_plain;
	r->has_edns = !z->is_plain && choose_edns(m, z, z->primary, now);
	r->in_doubt = table_config(m, z)->primaries[z->primary].is_doubted;
	r->next = z->request;
	z->request = request;
	m->queues[z->queue].under_way++;
	return request;
}

/* Finds the zone of a queue whose turn it is; XFR_NONE: none, for now. */
static uint32_t
find_turn(struct xfr_machine *m, enum queue_id queue, int64_t now)
{
	unsigned left = TIMERS_A_CALL;
	uint32_t id;

	do {
		id = m->queues[queue].first;
		if (id == XFR_NONE || !has_room(m, queue))
			return XFR_NONE;
		if (left-- == 0) {
			m->next_at = now;
			return XFR_NONE;
		}
	} while (!choose_on_turn(m, id, now));
	return id;
}

/* Begins the request of the first zone of a queue: *action is what is to be
 * sent. False: no zone has its turn now. */
static bool
queue_start(struct xfr_machine *m, enum queue_id queue, int64_t now,
	struct xfr_action *action)
{
	uint32_t id = find_turn(m, queue, now), request;
	struct xfr_zone *z;

	if (id == XFR_NONE)
		return false;
	z = table_zone(m, id);
	if (queue == QUEUE_PROBE && !take_token(m, z, now))
		return false;
	request = make_request(m, id, now);
	if (request == XFR_NONE) {
		m->next_at = now + NO_MEMORY_MSEC;
		return false;
	}
	choose_on_sent(m, z, now);
	queue_remove(m, id);
	z->flags |= ZONE_CHECKING;
	action_describe(m, &m->requests[request], action);
	check_on_sent(m, id, now);
	return true;
}

/* True: a zone has expired, as *action says. *is_done: no other timer has
 * ended. */
static bool
run_timers(struct xfr_machine *m, int64_t now, struct xfr_action *action,
	bool *is_done)
{
	const struct timer *first;
	unsigned left = TIMERS_A_CALL;

	*is_done = false;
	while ((first = timers_first(&m->timers)) != NULL && first->at <= now) {
		uint32_t id = first->id;

		if (left-- == 0)
			return false;
		if (!check_on_timer(m, id, now))
			continue;
		*action = (struct xfr_action){.act = XFR_EXPIRED, .zone = id,
			.primary = XFR_NONE, .has_serial = true,
			.serial = table_zone(m, id)->soa.serial};
		return true;
	}
	*is_done = notifies_wake(m, now, TIMERS_A_CALL);
	return false;
}

static void
note_timer(struct xfr_machine *m, const struct timers *timers)
{
	const struct timer *first = timers_first(timers);

	if (first != NULL && first->at < m->next_at)
		m->next_at = first->at;
}

bool
xfr_next(struct xfr_machine *m, int64_t now, struct xfr_action *action)
{
	bool is_done;

	m->next_at = XFR_NEVER;
	expiries_resend(m);
	if (action_cancel(m, action) || run_timers(m, now, action, &is_done)
		|| queue_start(m, QUEUE_URGENT_TRANSFER, now, action)
		|| queue_start(m, QUEUE_URGENT_PROBE, now, action)
		|| notifies_next(m, now, action, JOBS_A_CALL)
		|| queue_start(m, QUEUE_TRANSFER, now, action)
		|| queue_start(m, QUEUE_PROBE, now, action)
		|| notifies_go_round(m, now, action, ROUND_A_CALL))
		return true;
	if (!is_done || m->resend_at != XFR_NONE || notifies_is_due(m))
		m->next_at = now;
	note_timer(m, &m->timers);
	note_timer(m, &m->jobs.timers);
	return false;
}

int64_t
xfr_next_time(const struct xfr_machine *m)
{
	return m->next_at;
}
