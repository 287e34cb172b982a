/* slow_user.c - the simulation of slow zones: what xfrd does with the pool, a
 * little of src/xfrd/xfrd_ask.c and src/xfrd/xfrd_jobs.c. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/slow.h"

/* ---- the end of a question ----------------------------------------------- */

static bool
is_promised(const struct sim *s, const struct zone *zone)
{
	return zone->pace == FAST && s->servers[zone->server].order <= PARALLEL;
}

/* A transfer of a server of threads has begun after so long, or has failed. */
static void
note_of_threads(struct sim *s, const struct question *q, int64_t took)
{
	if (s->crowded_at >= q->put_msec)
		return;
	s->of_threads++;
	s->late_of_threads += took > THREADS_MSEC;
}

void
slow_answer(struct sim *s, struct question *q, enum xfr_outcome outcome)
{
	struct zone *zone = &s->zones[q->zone];
	struct xfr_reply reply = {.outcome = outcome, .has_soa = true,
		.soa = {.serial = zone->serial, .refresh_sec = 86400,
			.retry_sec = 60, .expire_sec = 864000}};

	if (is_promised(s, zone) && outcome == XFR_TIMEOUT
		&& s->servers[zone->server].has_threads)
		note_of_threads(s, q, XFR_NEVER);
	else if (is_promised(s, zone) && (outcome == XFR_TIMEOUT
			|| outcome == XFR_UNREACHABLE))
		world_fail(&s->w, NULL, "zone %u of server %u fails: %s",
			q->zone, zone->server, xfr_outcome_text(outcome));
	q->is_used = false;
	(void)xfr_on_reply(s->w.machine, q->action.ticket, s->w.now, &reply);
}

void
slow_note_begin(struct sim *s, const struct question *q)
{
	int64_t took = s->w.now - q->put_msec;
	bool is_crowded = s->crowded_at >= q->put_msec;
	const struct server *server = &s->servers[s->zones[q->zone].server];
	bool is_ignored = server->takes < ALL && server->ignores;
	int64_t *worst = is_crowded ? &s->worst_crowded_msec
		: is_ignored ? &s->worst_ignored_msec : &s->worst_msec;

	s->begun++;
	if (!is_promised(s, &s->zones[q->zone]))
		return;
	if (server->has_threads) {
		note_of_threads(s, q, took);
		return;
	}
	if (took > *worst)
		*worst = took;
	if (took > (is_crowded ? CROWDED_MSEC
			    : is_ignored ? IGNORED_MSEC : BEGIN_MSEC))
		world_fail(&s->w, NULL, "zone %u of server %u has waited for %"
			PRId64 " ms", q->zone, s->zones[q->zone].server, took);
}

/* ---- connections, as in xfrd_ask.c --------------------------------------- */

static void
tell_room(struct sim *s, int64_t msec)
{
	if (s->waiting_count == 0 || s->pass_at <= s->w.now + msec)
		return;
	s->pass_at = s->w.now + msec;
	world_add_event(&s->w, msec, PASS, 0);
}

static void
close_conn(struct sim *s, struct conn *conn)
{
	struct server *server = &s->servers[conn->server];

	xfr_pool_remove(&conn->pool);
	if (conn->pool.is_open)
		server->taken--;
	conn->is_used = false;
	conn->stamp++;
	/* A server without connections is forgotten, as xfrd does. */
	if (cds_list_empty(&server->pool.conns))
		xfr_pool_server_init(&server->pool);
	tell_room(s, PASS_MSEC);
}

void
slow_await(struct sim *s, struct conn *conn)
{
	int64_t msec = xfr_pool_look(&conn->pool, s->w.now);

	if (msec == 0)
		msec = conn->pool.is_worn || xfr_pool_find_idle(
			&s->servers[conn->server].pool) != NULL
			? 0 : IDLE_MSEC;
	conn->look_at = s->w.now + msec;
	world_add_event(&s->w, msec, LOOK, (uint32_t)(conn - s->conns));
}

void
slow_leave(struct sim *s, struct conn *conn, struct question *q, bool is_spent)
{
	bool was_held = conn->pool.is_held;

	xfr_pool_leave(&q->pool, is_spent, s->w.now);
	if (conn->pool.open == 0 || was_held)
		slow_await(s, conn);
	tell_room(s, PASS_MSEC);
}

static void
wait_for_room(struct sim *s, struct question *q)
{
	q->is_waiting = true;
	s->waiting[s->waiting_count++] = (unsigned)(q - s->questions);
	tell_room(s, PASS_MSEC);
}

void
slow_end_conn(struct sim *s, struct conn *conn, enum xfr_outcome outcome)
{
	struct xfr_pool_question *question;
	bool again;

	while ((question = xfr_pool_end(&conn->pool, s->w.now, &again))
		!= NULL) {
		struct question *q = (struct question *)question;

		if (again)
			wait_for_room(s, q);
		else
			slow_answer(s, q, outcome);
	}
	close_conn(s, conn);
}

static struct conn *
open_conn(struct sim *s, unsigned id)
{
	struct server *server = &s->servers[id];
	struct conn *conn = s->conns;

	while (conn < s->conns + CONNS && conn->is_used)
		conn++;
	if (conn == s->conns + CONNS)
		world_fail(&s->w, NULL, "too many connections");
	conn->is_used = true;
	conn->server = id;
	conn->count = 0;
	conn->thread = world_chance(&s->w, THREADS);
	conn->step_at = XFR_NEVER;
	xfr_pool_add(&s->pool, &server->pool, &conn->pool, s->w.now);
	s->opened++;
	if (s->pool.conn_count > s->most_conns)
		s->most_conns = s->pool.conn_count;
	world_add_event(&s->w, 2 * server->latency_msec, OPENED,
		(uint32_t)(conn - s->conns) + CONNS * conn->stamp);
	world_add_event(&s->w, TAKE_MSEC, UNTAKEN,
		(uint32_t)(conn - s->conns) + CONNS * conn->stamp);
	return conn;
}

/* The server works on it, if it does not already. */
void
slow_step_soon(struct sim *s, struct conn *conn, int64_t msec)
{
	if (!conn->pool.is_open || conn->count == 0
		|| conn->step_at != XFR_NEVER
		|| s->servers[conn->server].order > PARALLEL)
		return;
	conn->step_at = s->w.now + msec;
	world_add_event(&s->w, msec, STEP, (uint32_t)(conn - s->conns));
}

static void
send_question(struct sim *s, struct conn *conn, struct question *q)
{
	xfr_pool_join(&conn->pool, &q->pool, s->w.now);
	if (conn->pool.open == 1)
		slow_await(s, conn);
	if (conn->count == QUEUE_MAX)
		world_fail(&s->w, NULL, "too much on a connection");
	conn->items[conn->count++] = (struct item){
		.question = (unsigned)(q - s->questions), .stamp = q->stamp,
		.zone = q->zone, .left = 50 + world_chance(&s->w, 500)};
	slow_step_soon(s, conn, 2 * s->servers[conn->server].latency_msec);
}

/* False: there is no room. */
static bool
place(struct sim *s, struct question *q)
{
	unsigned id = s->zones[q->zone].server;
	struct xfr_pool_conn *found;

	for (;;)
		switch (xfr_pool_find(&s->pool, &s->servers[id].pool, &q->pool,
			s->w.now, &found)) {
		case XFR_POOL_END:
			s->given_up += found->open > 0;
			slow_end_conn(s, (struct conn *)found, XFR_TIMEOUT);
			break;
		case XFR_POOL_WAIT:
			return false;
		case XFR_POOL_OPEN:
			found = &open_conn(s, id)->pool;
			/* fall through */
		case XFR_POOL_JOIN:
			send_question(s, (struct conn *)found, q);
			return true;
		}
}

void
slow_on_look(struct sim *s, struct conn *conn)
{
	struct xfr_pool_question *question;
	struct conn *idle;

	if (!conn->is_used || conn->look_at != s->w.now)
		return;
	if (conn->pool.open == 0) {
		close_conn(s, conn);
		return;
	}
	slow_await(s, conn);
	while ((question = xfr_pool_find_mover(&conn->pool, s->w.now))
		!= NULL) {
		s->moved++;
		xfr_pool_wear(&conn->pool);
		slow_leave(s, conn, (struct question *)question, true);
		wait_for_room(s, (struct question *)question);
	}
	idle = (struct conn *)xfr_pool_find_idle(
		&s->servers[conn->server].pool);
	if (idle != NULL)
		slow_await(s, idle);
}

/* ---- questions, as in xfrd_jobs.c ---------------------------------------- */

static bool
is_unheard(struct sim *s, const struct question *q)
{
	struct server *server = &s->servers[s->zones[q->zone].server];

	return !cds_list_empty(&server->pool.conns)
		&& server->pool.heard_msec < q->asked_msec;
}

static void
set_deadline(struct sim *s, struct question *q, int64_t msec)
{
	q->deadline = s->w.now + msec;
	world_add_event(&s->w, msec, DEADLINE, (uint32_t)(q - s->questions));
}

static int64_t
look_at_question(struct sim *s, struct question *q)
{
	const struct xfr_patience_look look = {
		.received = q->received,
		.turn_at = is_unheard(s, q) ? q->asked_msec
			: xfr_pool_get_turn(&q->pool, s->w.now),
		.is_free = s->waiting_count == 0,
	};

	if (q->is_waiting)
		return is_unheard(s, q) ? 0 : xfr_patience_begin(&q->patience,
			s->w.now, q->action.first_msec);
	return xfr_patience_look(&q->patience, s->w.now, &look);
}

void
slow_on_deadline(struct sim *s, struct question *q)
{
	int64_t msec;

	if (!q->is_used || q->deadline != s->w.now)
		return;
	msec = look_at_question(s, q);
	if (msec > 0) {
		set_deadline(s, q, msec);
		return;
	}
	for (unsigned i = 0; q->is_waiting && i < s->waiting_count; i++)
		if (s->waiting[i] == (unsigned)(q - s->questions)) {
			memmove(&s->waiting[i], &s->waiting[i + 1],
				(--s->waiting_count - i)
					* sizeof(s->waiting[0]));
			q->is_waiting = false;
		}
	if (q->pool.conn != NULL) {
		struct conn *conn = (struct conn *)q->pool.conn;

		xfr_pool_wear(&conn->pool);
		slow_leave(s, conn, q, true);
	}
	slow_answer(s, q, XFR_TIMEOUT);
}

void
slow_on_pass(struct sim *s)
{
	unsigned kept = 0, count;

	if (s->pass_at != s->w.now)
		return;
	s->pass_at = XFR_NEVER;
	count = s->waiting_count;
	for (unsigned i = 0; i < count; i++) {
		struct question *q = &s->questions[s->waiting[i]];
		bool was_unheard = is_unheard(s, q);

		if (!place(s, q)) {
			s->waiting[kept++] = s->waiting[i];
			continue;
		}
		q->is_waiting = false;
		if (was_unheard)
			continue;
		q->asked_msec = s->w.now;
		set_deadline(s, q, xfr_patience_begin(&q->patience, s->w.now,
			q->action.first_msec));
	}
	/* The loop may have appended questions behind the ones it went over. */
	memmove(&s->waiting[kept], &s->waiting[count],
		(s->waiting_count - count) * sizeof(s->waiting[0]));
	s->waiting_count -= count - kept;
	tell_room(s, PASS_AGAIN_MSEC);
}

void
slow_ask(struct sim *s, const struct xfr_action *action)
{
	struct question *q = s->questions;

	while (q < s->questions + QUESTIONS && q->is_used)
		q++;
	if (q == s->questions + QUESTIONS)
		world_fail(&s->w, NULL, "too many questions");
	*q = (struct question){.is_used = true, .stamp = q->stamp + 1,
		.action = *action, .zone = s->w.by_handle[action->zone],
		.put_msec = s->w.now, .asked_msec = s->w.now,
		.pool.is_urgent = !action->has_failed};
	if (action->act == XFR_PROBE) {
		world_add_event(&s->w, 50, REPLY,
			(uint32_t)(q - s->questions));
		return;
	}
	set_deadline(s, q, xfr_patience_begin(&q->patience, s->w.now,
		action->first_msec));
	if (s->waiting_count > 0 || !place(s, q))
		wait_for_room(s, q);
}

/* Answers a probe, over UDP or any other transport: it does not matter here. */
void
slow_on_udp_reply(struct sim *s, struct question *q)
{
	slow_answer(s, q, s->servers[s->zones[q->zone].server].order <= SILENT
		? XFR_SOA : XFR_TIMEOUT);
}
