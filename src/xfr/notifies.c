/*
 * notifies.c - NOTIFY out (RFC 1996 section 3.6): each target of a zone is told
 * until it answers or has been told often enough.
 *
 * A target is told at once, again when it has not answered in time, and then
 * after pauses that double. A new serial begins anew.
 */
#include "config.h"

#include <stdlib.h>

#include "base/grow.h"
#include "xfr/inside.h"

#define WAIT_MSEC 3000u      /* for an answer */
#define PAUSE_MSEC 3000      /* before the second repetition */
#define PAUSE_MAX_MSEC 60000

/* ---- the lists of those that are ready ---------------------------------- */

static struct ready *
ready_of(struct jobs *jobs, const struct job *job)
{
	return job->of_round ? &jobs->round : &jobs->changed;
}

static void
append(struct jobs *jobs, uint32_t id)
{
	struct job *job = &jobs->items[id];
	struct ready *ready = ready_of(jobs, job);

	job->state = JOB_READY;
	job->next = XFR_NONE;
	job->previous = ready->last;
	if (ready->last == XFR_NONE)
		ready->first = id;
	else
		jobs->items[ready->last].next = id;
	ready->last = id;
}

static void
unlink_ready(struct jobs *jobs, uint32_t id)
{
	const struct job *job = &jobs->items[id];
	struct ready *ready = ready_of(jobs, job);

	if (job->previous == XFR_NONE)
		ready->first = job->next;
	else
		jobs->items[job->previous].next = job->next;
	if (job->next == XFR_NONE)
		ready->last = job->previous;
	else
		jobs->items[job->next].previous = job->previous;
}

/* ---- the places of those that are sent ----------------------------------- */

static void
take_place(struct jobs *jobs, const struct job *job)
{
	jobs->sent++;
	if (job->of_round)
		jobs->sent_of_round++;
}

static void
leave_place(struct jobs *jobs, const struct job *job)
{
	jobs->sent--;
	if (job->of_round)
		jobs->sent_of_round--;
}

/* A round leaves half of them to zones that change meanwhile. */
static bool
is_place_free(const struct xfr_machine *m, bool of_round)
{
	return m->jobs.sent < m->limits.notifies
		&& (!of_round || m->jobs.sent_of_round
				< (m->limits.notifies + 1) / 2);
}

/* ---- jobs --------------------------------------------------------------- */

static uint32_t
new_job(struct jobs *jobs)
{
	uint32_t id = jobs->unused;
	struct job *items;

	if (id != XFR_NONE) {
		jobs->unused = jobs->items[id].next;
		return id;
	}
	/* The high bit of a number tells tickets of NOTIFYs. */
	if (jobs->count >= TICKET_NOTIFY
		|| timers_reserve(&jobs->timers, (uint32_t)jobs->count)
			!= NSD_OK)
		return XFR_NONE;
	items = grow_array(jobs->items, jobs->count, &jobs->room,
		sizeof(*items));
	if (items == NULL)
		return XFR_NONE;
	jobs->items = items;
	items[jobs->count].generation = 1;
	return (uint32_t)jobs->count++;
}

/* Takes a job out of whatever it is in; it stays in its zone's list. */
static void
stop_job(struct xfr_machine *m, uint32_t id)
{
	struct job *job = &m->jobs.items[id];

	if (job->state == JOB_READY)
		unlink_ready(&m->jobs, id);
	else if (job->state == JOB_PAUSED)
		timers_remove(&m->jobs.timers, id);
	else if (job->state == JOB_SENT)
		leave_place(&m->jobs, job);
}

static void
free_job(struct xfr_machine *m, uint32_t id)
{
	struct job *job = &m->jobs.items[id];

	job->state = JOB_FREE;
	if (++job->generation == 0)
		job->generation = 1;
	job->next = m->jobs.unused;
	m->jobs.unused = id;
}

static void
end_job(struct xfr_machine *m, uint32_t id)
{
	struct xfr_zone *z = table_zone(m, m->jobs.items[id].zone);
	uint32_t *at = &z->jobs;

	while (*at != id)
		at = &m->jobs.items[*at].of_zone;
	*at = m->jobs.items[id].of_zone;
	stop_job(m, id);
	free_job(m, id);
}

static uint64_t
ticket_of(const struct xfr_machine *m, uint32_t id)
{
	return table_ticket(id, m->jobs.items[id].generation) | TICKET_NOTIFY;
}

/* ---- a zone ------------------------------------------------------------- */

/* Has what is sent already sent again, as of a zone that changed; ends the
 * rest. Sets in `has` which targets have a job still. */
static void
renew(struct xfr_machine *m, struct xfr_zone *z, uint64_t *has)
{
	uint32_t id, next;

	for (id = z->jobs; id != XFR_NONE; id = next) {
		struct job *job = &m->jobs.items[id];

		next = job->of_zone;
		if (job->state != JOB_SENT) {
			end_job(m, id);
			continue;
		}
		leave_place(&m->jobs, job);
		job->of_round = false;
		take_place(&m->jobs, job);
		job->again = true;
		has[job->target / 64] |= UINT64_C(1) << job->target % 64;
	}
}

static void
count_unheard(struct xfr_zone *z)
{
	if (z->unheard < UINT8_MAX)
		z->unheard++;
}

static void
begin(struct xfr_machine *m, uint32_t zone, bool of_round)
{
	struct xfr_zone *z = table_zone(m, zone);
	uint64_t has[XFR_TARGETS_MAX / 64] = {0};
	uint32_t count = table_config(m, z)->given.target_count;

	z->unheard = 0;
	z->is_told = false;
	renew(m, z, has);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t id;
		struct job *job;

		if (has[i / 64] >> i % 64 & 1)
			continue;
		id = new_job(&m->jobs);
		if (id == XFR_NONE) {
			/* No memory: these are not told. */
			count_unheard(z);
			return;
		}
		job = &m->jobs.items[id];
		job->zone = zone;
		job->target = (uint16_t)i;
		job->tries = 0;
		job->again = false;
		job->of_round = of_round;
		job->of_zone = z->jobs;
		z->jobs = id;
		append(&m->jobs, id);
	}
}

void
notifies_begin(struct xfr_machine *m, uint32_t zone)
{
	begin(m, zone, false);
}

void
notifies_drop(struct xfr_machine *m, uint32_t zone)
{
	struct xfr_zone *z = table_zone(m, zone);

	while (z->jobs != XFR_NONE) {
		uint32_t id = z->jobs;

		if (m->jobs.items[id].state == JOB_SENT)
			table_cancel(m, zone, ticket_of(m, id));
		end_job(m, id);
	}
}

uint32_t
notifies_count(const struct xfr_machine *m, uint32_t zone)
{
	uint32_t count = 0, id = table_zone(m, zone)->jobs;

	for (; id != XFR_NONE; id = m->jobs.items[id].of_zone)
		count++;
	return count;
}

void
notifies_fini(struct xfr_machine *m)
{
	free(m->jobs.items);
	timers_fini(&m->jobs.timers);
}

/* ---- what is to be done ------------------------------------------------- */

bool
notifies_wake(struct xfr_machine *m, int64_t now, unsigned most)
{
	const struct timer *first;

	while ((first = timers_first(&m->jobs.timers)) != NULL
		&& first->at <= now) {
		uint32_t id = first->id;

		if (most-- == 0)
			return false;
		timers_remove(&m->jobs.timers, id);
		append(&m->jobs, id);
	}
	return true;
}

bool
notifies_next(struct xfr_machine *m, struct xfr_action *action)
{
	bool of_round = m->jobs.changed.first == XFR_NONE;
	uint32_t id = of_round ? m->jobs.round.first : m->jobs.changed.first;
	struct job *job;

	if (id == XFR_NONE || !is_place_free(m, of_round))
		return false;
	job = &m->jobs.items[id];
	unlink_ready(&m->jobs, id);
	job->state = JOB_SENT;
	job->tries++;
	take_place(&m->jobs, job);
	*action = (struct xfr_action){.act = XFR_NOTIFY, .zone = job->zone,
		.ticket = ticket_of(m, id), .target = job->target,
		.primary = XFR_NONE, .wait_msec = WAIT_MSEC,
		.has_serial = true,
		.serial = table_zone(m, job->zone)->soa.serial};
	return true;
}

/* ---- the round ---------------------------------------------------------- */

void
notifies_begin_round(struct xfr_machine *m)
{
	m->round.left = m->round.end = m->zone_end;
	m->round.at = m->zone_end > 0 ? table_random(m, m->zone_end) : 0;
}

bool
notifies_is_round_due(const struct xfr_machine *m)
{
	return m->round.left > 0 && m->jobs.round.first == XFR_NONE
		&& is_place_free(m, true);
}

bool
notifies_go_round(struct xfr_machine *m, struct xfr_action *action,
	unsigned most)
{
	while (most-- > 0 && notifies_is_round_due(m)) {
		uint32_t id = m->round.at++;
		const struct xfr_zone *z = table_zone(m, id);

		m->round.left--;
		if (m->round.at == m->round.end)
			m->round.at = 0;
		if ((z->flags & (ZONE_USED | ZONE_HAS_DATA | ZONE_EXPIRED))
				!= (ZONE_USED | ZONE_HAS_DATA)
			|| z->is_told || z->jobs != XFR_NONE
			|| table_config(m, z)->given.target_count == 0)
			continue;
		begin(m, id, true);
		if (notifies_next(m, action))
			return true;
	}
	return false;
}

/* ---- replies ------------------------------------------------------------ */

static void
pause_job(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct job *job = &m->jobs.items[id];
	int64_t pause = 0;

	if (job->tries > 1)
		pause = job->tries > 6 ? PAUSE_MAX_MSEC
				       : PAUSE_MSEC << (job->tries - 2);
	if (pause > PAUSE_MAX_MSEC)
		pause = PAUSE_MAX_MSEC;
	if (pause == 0) {
		append(&m->jobs, id);
		return;
	}
	job->state = JOB_PAUSED;
	timers_set(&m->jobs.timers, id, now + pause);
}

bool
notifies_on_reply(struct xfr_machine *m, uint64_t ticket, int64_t now,
	const struct xfr_reply *reply)
{
	uint32_t id = (uint32_t)(ticket & (TICKET_NOTIFY - 1)), tries;
	struct job *job;

	if (id >= m->jobs.count || ticket_of(m, id) != ticket)
		return false;
	job = &m->jobs.items[id];
	if (job->state != JOB_SENT)
		return false;
	/* Each sending has a ticket of its own. */
	if (++job->generation == 0)
		job->generation = 1;
	tries = table_config(m, table_zone(m, job->zone))->given.notify_tries;
	if (job->again) {
		stop_job(m, id);
		job->again = false;
		job->tries = 0;
		append(&m->jobs, id);
	} else if (reply->outcome == XFR_ACKNOWLEDGED
		|| reply->outcome == XFR_RCODE || job->tries >= tries
		|| job->tries == UINT8_MAX) {
		/* RFC 1996 section 3.6: a response ends it, an error too. */
		struct xfr_zone *z = table_zone(m, job->zone);

		if (reply->outcome != XFR_ACKNOWLEDGED)
			count_unheard(z);
		end_job(m, id);
		z->is_told = z->jobs == XFR_NONE && z->unheard == 0;
	} else {
		stop_job(m, id);
		pause_job(m, id, now);
	}
	return true;
}
