/*
 * notifies.c - NOTIFY out (RFC 1996 section 3.6): each target of a zone is told
 * until it answers or has been told often enough.
 *
 * A target is told at once, again when it has not answered in time, and then
 * after pauses that double. A new serial begins anew. Targets that are slow
 * hold up no others: doc/decisions/0128.
 */
#include "config.h"

#include <stdlib.h>

#include "base/grow.h"
#include "xfr/inside.h"

#define WAIT_MSEC 3000u      /* for an answer */
#define PAUSE_MSEC 3000      /* before the second repetition */
#define PAUSE_MAX_MSEC 60000
/* An answer that is this late counts as none. */
#define LATE_MSEC 1000u
/* The slowness of a target grows by LATE with each NOTIFY that is not answered
 * in time, up to MAX, and falls by 1 with each that is. From SLOW on, the
 * target is slow: after 8 in vain, and if less than two thirds are answered. */
#define SLOWNESS_LATE 2u
#define SLOWNESS_SLOW 16u
#define SLOWNESS_MAX 24u
/* While this many jobs wait for slow targets, a round goes no further: it would
 * only make that list longer. */
#define SLOW_READY_MAX 262144u

/* ---- classes ------------------------------------------------------------- */

static enum job_class
place_class(const struct xfr_machine *m, const struct job *job)
{
	const struct config *config = table_config(m,
		table_zone(m, job->zone));

	if (config->slowness[job->target] >= SLOWNESS_SLOW)
		return JOB_OF_SLOW;
	return job->of_round ? JOB_OF_ROUND : JOB_OF_CHANGE;
}

/* Notes at the target if it has answered. A target that is out of reach, or
 * cannot be asked for lack of our resources, holds no place for long: that is
 * not noted. */
static void
note_target(struct xfr_machine *m, const struct job *job, int64_t now,
	enum xfr_outcome outcome)
{
	uint8_t *slowness = &table_config(m, table_zone(m, job->zone))
				     ->slowness[job->target];

	if (outcome == XFR_UNREACHABLE || outcome == XFR_LOCAL)
		return;
	if (outcome == XFR_TIMEOUT
		|| (uint32_t)now - job->sent_msec >= LATE_MSEC) {
		*slowness += SLOWNESS_LATE;
		if (*slowness > SLOWNESS_MAX)
			*slowness = SLOWNESS_MAX;
	} else if (*slowness > 0) {
		(*slowness)--;
	}
}

/* ---- the lists of those that are ready ----------------------------------- */

/* Puts a job to the end of its list, or before all others there. */
static void
make_ready(struct xfr_machine *m, uint32_t id, bool is_first)
{
	struct jobs *jobs = &m->jobs;
	struct job *job = &jobs->items[id];
	struct job_list *list;

	job->class = (uint8_t)place_class(m, job);
	list = &jobs->classes[job->class];
	job->state = JOB_READY;
	job->previous = is_first ? XFR_NONE : list->last;
	job->next = is_first ? list->first : XFR_NONE;
	if (job->previous == XFR_NONE)
		list->first = id;
	else
		jobs->items[job->previous].next = id;
	if (job->next == XFR_NONE)
		list->last = id;
	else
		jobs->items[job->next].previous = id;
	list->ready++;
}

static void
unlink_ready(struct jobs *jobs, uint32_t id)
{
	const struct job *job = &jobs->items[id];
	struct job_list *list = &jobs->classes[job->class];

	if (job->previous == XFR_NONE)
		list->first = job->next;
	else
		jobs->items[job->previous].next = job->next;
	if (job->next == XFR_NONE)
		list->last = job->previous;
	else
		jobs->items[job->next].previous = job->previous;
	list->ready--;
}

/* ---- the places of those that are sent ----------------------------------- */

static void
take_place(struct jobs *jobs, const struct job *job)
{
	jobs->sent++;
	jobs->classes[job->class].sent++;
}

static void
leave_place(struct jobs *jobs, const struct job *job)
{
	jobs->sent--;
	jobs->classes[job->class].sent--;
}

/* A round leaves half of the places to zones that change meanwhile, and targets
 * that are slow leave three quarters to the others. */
static bool
is_place_free(const struct xfr_machine *m, enum job_class class)
{
	uint32_t most = m->limits.notifies;

	if (m->jobs.sent >= most)
		return false;
	if (class == JOB_OF_ROUND)
		most = (most + 1) / 2;
	else if (class == JOB_OF_SLOW)
		most = (most + 3) / 4;
	return m->jobs.classes[class].sent < most;
}

/* Chooses the class that has the next turn; JOB_CLASS_COUNT: none. */
static enum job_class
next_class(const struct xfr_machine *m)
{
	unsigned class = 0;

	while (class < JOB_CLASS_COUNT
		&& (m->jobs.classes[class].ready == 0
			|| !is_place_free(m, class)))
		class++;
	return class;
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

/* Takes a job out of its queue or timer; it stays in its zone's list. */
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

/* Has a job begin anew, as of a zone that changed. A NOTIFY that is sent
 * already is sent again; a job that waits keeps its turn, or takes the first
 * one. */
static void
job_renew(struct xfr_machine *m, uint32_t id, bool is_first)
{
	struct job *job = &m->jobs.items[id];
	bool stays = job->state == JOB_READY && !job->of_round && !is_first;

	job->of_round = false;
	if (job->state == JOB_SENT) {
		leave_place(&m->jobs, job);
		job->class = (uint8_t)place_class(m, job);
		take_place(&m->jobs, job);
		job->again = true;
		return;
	}
	job->tries = 0;
	if (stays)
		return;
	stop_job(m, id);
	make_ready(m, id, is_first);
}

static void
count_unheard(struct xfr_zone *z)
{
	if (z->unheard < UINT8_MAX)
		z->unheard++;
}

static void
job_begin(struct xfr_machine *m, uint32_t zone, bool of_round, bool is_first)
{
	struct xfr_zone *z = table_zone(m, zone);
	uint64_t has[XFR_TARGETS_MAX / 64] = {0};
	uint32_t count = table_config(m, z)->given.target_count;

	z->unheard = 0;
	z->is_told = false;
	for (uint32_t id = z->jobs; id != XFR_NONE;
		id = m->jobs.items[id].of_zone) {
		uint16_t target = m->jobs.items[id].target;

		job_renew(m, id, is_first);
		has[target / 64] |= UINT64_C(1) << target % 64;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t id;
		struct job *job;

		if (has[i / 64] >> i % 64 & 1)
			continue;
		id = new_job(&m->jobs);
		if (id == XFR_NONE) {
			/* Without memory these targets are not told. */
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
		make_ready(m, id, is_first);
	}
}

void
notifies_begin(struct xfr_machine *m, uint32_t zone, bool is_first)
{
	job_begin(m, zone, false, is_first);
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

uint32_t
notifies_count_slow(const struct xfr_machine *m, uint32_t zone)
{
	uint32_t count = 0, id = table_zone(m, zone)->jobs;

	for (; id != XFR_NONE; id = m->jobs.items[id].of_zone) {
		const struct job *job = &m->jobs.items[id];

		/* A target that the operator wants to be told first is tried
		 * once. */
		if (job->state != JOB_SENT && place_class(m, job) == JOB_OF_SLOW
			&& m->jobs.classes[JOB_OF_SLOW].first != id)
			count++;
	}
	return count;
}

void
notifies_fini(struct xfr_machine *m)
{
	free(m->jobs.items);
	timers_fini(&m->jobs.timers);
}

/* ---- actions ------------------------------------------------------------ */

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
		make_ready(m, id, false);
	}
	return true;
}

static void
send_job(struct xfr_machine *m, uint32_t id, int64_t now,
	struct xfr_action *action)
{
	struct job *job = &m->jobs.items[id];

	unlink_ready(&m->jobs, id);
	job->state = JOB_SENT;
	job->tries++;
	job->sent_msec = (uint32_t)now;
	take_place(&m->jobs, job);
	*action = (struct xfr_action){.act = XFR_NOTIFY, .zone = job->zone,
		.ticket = ticket_of(m, id), .target = job->target,
		.primary = XFR_NONE, .wait_msec = WAIT_MSEC,
		.has_serial = true,
		.serial = table_zone(m, job->zone)->soa.serial};
}

bool
notifies_next(struct xfr_machine *m, int64_t now, struct xfr_action *action,
	unsigned most)
{
	enum job_class class;

	while ((class = next_class(m)) != JOB_CLASS_COUNT) {
		uint32_t id = m->jobs.classes[class].first;

		if (place_class(m, &m->jobs.items[id]) == class) {
			send_job(m, id, now, action);
			return true;
		}
		if (most-- == 0)
			return false;
		/* The job's target has become slow, or is slow no more, since
		 * the job was put here. */
		unlink_ready(&m->jobs, id);
		make_ready(m, id, false);
	}
	return false;
}

/* ---- the round ---------------------------------------------------------- */

void
notifies_begin_round(struct xfr_machine *m)
{
	m->round.left = m->round.end = m->zone_end;
	m->round.at = m->zone_end > 0 ? table_random(m, m->zone_end) : 0;
}

static bool
is_round_due(const struct xfr_machine *m)
{
	return m->round.left > 0 && m->jobs.classes[JOB_OF_ROUND].ready == 0
		&& is_place_free(m, JOB_OF_ROUND)
		&& m->jobs.classes[JOB_OF_SLOW].ready < SLOW_READY_MAX;
}

bool
notifies_is_due(const struct xfr_machine *m)
{
	return is_round_due(m) || next_class(m) != JOB_CLASS_COUNT;
}

bool
notifies_go_round(struct xfr_machine *m, int64_t now,
	struct xfr_action *action, unsigned most)
{
	while (most-- > 0 && is_round_due(m)) {
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
		job_begin(m, id, true, false);
		if (notifies_next(m, now, action, most))
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
		make_ready(m, id, false);
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
	note_target(m, job, now, reply->outcome);
	/* Each sending has a ticket of its own. */
	if (++job->generation == 0)
		job->generation = 1;
	tries = table_config(m, table_zone(m, job->zone))->given.notify_tries;
	if (job->again) {
		stop_job(m, id);
		job->again = false;
		job->tries = 0;
		make_ready(m, id, false);
	} else if (reply->outcome == XFR_ACKNOWLEDGED
		|| reply->outcome == XFR_RCODE || job->tries >= tries
		|| job->tries == UINT8_MAX) {
		/* RFC 1996 section 3.6: any response ends the job, also an
		 * error. */
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
