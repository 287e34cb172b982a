/*
 * slow.c - hours of zones whose transfers drip, are large or never begin, in
 * seconds: the machine and the pool of connections of include/xfr, among
 * servers that answer one after the other on a connection.
 *
 * usage: slow [SEED [HOURS]]     (1; 2. SEED -: by chance)
 *
 * What is promised: no zone waits for another's transfer. From the moment in
 * which the machine wants it, the transfer of a zone that is not slow, from a
 * server that works, begins within a second, as long as there are connections;
 * where slow zones have them all, within twenty; where the server ignores more
 * than a few connections, within four. It never fails.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/world.h"
#include "xfr/patience.h"
#include "xfr/pool.h"

#define SERVERS 30u
#define ZONES 600u
#define BIG 220u /* zones of the first server, most of them slow */
#define QUESTIONS 1200u
#define CONNS 400u
#define QUEUE_MAX 200u
#define CONNS_MAX 128u
#define PER_CONN 128u
/* With so many at work, a server may have to wait for more. */
#define CROWD 100u
/* Connections that a server takes, if it does not mind. */
#define ALL 1000u

#define BEGIN_MSEC 1000
#define CROWDED_MSEC 20000
#define IGNORED_MSEC 4000
/* As xfrd does. */
#define PASS_MSEC 10
#define PASS_AGAIN_MSEC 250
#define IDLE_MSEC 10000
#define TAKE_MSEC 10000

enum event_kind {
	STEP,     /* of a connection: its server sends something */
	OPENED,   /* a connection is taken, or is refused */
	UNTAKEN,  /* it was not, for too long */
	LOOK,
	DEADLINE, /* of a question */
	PASS,
	REPLY,    /* over UDP */
	TELL,     /* the zone has changed: its NOTIFY arrives */
	ROUND,
};

enum order { SERIAL, PARALLEL, SILENT, AWAY };

enum pace { FAST, LARGE, DRIP };

struct server {
	struct xfr_pool_server pool;
	enum order order;
	unsigned takes;   /* connections */
	unsigned taken;
	bool ignores;     /* those that are too many */
	int64_t latency_msec;
};

struct zone {
	unsigned server;
	enum pace pace;
	uint32_t handle, serial;
};

struct question {
	struct xfr_pool_question pool; /* the first member */
	bool is_used, is_waiting;
	uint32_t stamp;                /* whose this place is */
	struct xfr_action action;
	unsigned zone;
	struct xfr_patience patience;
	int64_t put_msec, asked_msec, deadline;
	uint64_t received;
};

/* What a server has been asked on a connection. */
struct item {
	unsigned question;
	uint32_t stamp;
	unsigned zone, left;
};

struct conn {
	struct xfr_pool_conn pool; /* the first member */
	bool is_used;
	uint32_t stamp;
	unsigned server;
	int64_t look_at, step_at;
	struct item items[QUEUE_MAX];
	unsigned count;
};

struct sim {
	struct world w; /* the events, and chance */
	struct xfr_pool pool;
	struct server servers[SERVERS];
	struct zone zones[ZONES];
	struct question questions[QUESTIONS];
	struct conn conns[CONNS];
	unsigned waiting[QUESTIONS], waiting_count;
	int64_t pass_at, crowded_at;
	uint64_t begun, moved, given_up, opened;
	int64_t worst_msec, worst_crowded_msec, worst_ignored_msec;
	unsigned most_conns;
};

static void
end_conn(struct sim *s, struct conn *conn, enum xfr_outcome outcome);

/* ---- the end of a question ----------------------------------------------- */

static bool
is_promised(const struct sim *s, const struct zone *zone)
{
	return zone->pace == FAST && s->servers[zone->server].order <= PARALLEL;
}

static void
answer(struct sim *s, struct question *q, enum xfr_outcome outcome)
{
	struct zone *zone = &s->zones[q->zone];
	struct xfr_reply reply = {.outcome = outcome, .has_soa = true,
		.soa = {.serial = zone->serial, .refresh_sec = 86400,
			.retry_sec = 60, .expire_sec = 864000}};

	if (is_promised(s, zone) && (outcome == XFR_TIMEOUT
			|| outcome == XFR_UNREACHABLE))
		world_fail(&s->w, NULL, "zone %u of server %u fails: %s",
			q->zone, zone->server, xfr_outcome_text(outcome));
	q->is_used = false;
	(void)xfr_on_reply(s->w.machine, q->action.ticket, s->w.now, &reply);
}

static void
note_begin(struct sim *s, const struct question *q)
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
	if (took > *worst)
		*worst = took;
	if (took > (is_crowded ? CROWDED_MSEC
			    : is_ignored ? IGNORED_MSEC : BEGIN_MSEC))
		world_fail(&s->w, NULL, "zone %u of server %u has waited for %"
			PRId64 " ms", q->zone, s->zones[q->zone].server, took);
}

/* ---- connections: what xfrd_ask.c does ------------------------------------ */

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
	/* Nobody remembers it. */
	if (cds_list_empty(&server->pool.conns))
		xfr_pool_server_init(&server->pool);
	tell_room(s, PASS_MSEC);
}

static void
await(struct sim *s, struct conn *conn)
{
	int64_t msec = xfr_pool_look(&conn->pool, s->w.now);

	if (msec == 0)
		msec = conn->pool.is_worn || xfr_pool_find_idle(
			&s->servers[conn->server].pool) != NULL
			? 0 : IDLE_MSEC;
	conn->look_at = s->w.now + msec;
	world_add_event(&s->w, msec, LOOK, (uint32_t)(conn - s->conns));
}

static void
leave(struct sim *s, struct conn *conn, struct question *q, bool is_spent)
{
	bool was_held = conn->pool.is_held;

	xfr_pool_leave(&q->pool, is_spent, s->w.now);
	if (conn->pool.open == 0 || was_held)
		await(s, conn);
	tell_room(s, PASS_MSEC);
}

static void
wait_for_room(struct sim *s, struct question *q)
{
	q->is_waiting = true;
	s->waiting[s->waiting_count++] = (unsigned)(q - s->questions);
	tell_room(s, PASS_MSEC);
}

static void
end_conn(struct sim *s, struct conn *conn, enum xfr_outcome outcome)
{
	struct xfr_pool_question *question;
	bool again;

	while ((question = xfr_pool_end(&conn->pool, s->w.now, &again))
		!= NULL) {
		struct question *q = (struct question *)question;

		if (again)
			wait_for_room(s, q);
		else
			answer(s, q, outcome);
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
static void
step_soon(struct sim *s, struct conn *conn, int64_t msec)
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
		await(s, conn);
	if (conn->count == QUEUE_MAX)
		world_fail(&s->w, NULL, "too much on a connection");
	conn->items[conn->count++] = (struct item){
		.question = (unsigned)(q - s->questions), .stamp = q->stamp,
		.zone = q->zone, .left = 50 + world_chance(&s->w, 500)};
	step_soon(s, conn, 2 * s->servers[conn->server].latency_msec);
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
			end_conn(s, (struct conn *)found, XFR_TIMEOUT);
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

static void
on_look(struct sim *s, struct conn *conn)
{
	struct xfr_pool_question *question;
	struct conn *idle;

	if (!conn->is_used || conn->look_at != s->w.now)
		return;
	if (conn->pool.open == 0) {
		close_conn(s, conn);
		return;
	}
	await(s, conn);
	while ((question = xfr_pool_find_mover(&conn->pool, s->w.now))
		!= NULL) {
		s->moved++;
		xfr_pool_wear(&conn->pool);
		leave(s, conn, (struct question *)question, true);
		wait_for_room(s, (struct question *)question);
	}
	idle = (struct conn *)xfr_pool_find_idle(
		&s->servers[conn->server].pool);
	if (idle != NULL)
		await(s, idle);
}

/* ---- questions: what xfrd_jobs.c does ------------------------------------- */

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

static void
on_deadline(struct sim *s, struct question *q)
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
		leave(s, conn, q, true);
	}
	answer(s, q, XFR_TIMEOUT);
}

static void
on_pass(struct sim *s)
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
	/* Others were put behind them meanwhile. */
	memmove(&s->waiting[kept], &s->waiting[count],
		(s->waiting_count - count) * sizeof(s->waiting[0]));
	s->waiting_count -= count - kept;
	tell_room(s, PASS_AGAIN_MSEC);
}

static void
ask(struct sim *s, const struct xfr_action *action)
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

/* Its SOA, over whatever: it does not matter here. */
static void
on_udp_reply(struct sim *s, struct question *q)
{
	answer(s, q, s->servers[s->zones[q->zone].server].order <= SILENT
		? XFR_SOA : XFR_TIMEOUT);
}

/* ---- what servers do ------------------------------------------------------ */

static void
on_opened(struct sim *s, struct conn *conn)
{
	struct server *server = &s->servers[conn->server];

	if (server->order == AWAY)
		return;
	if (server->taken >= server->takes) {
		if (!server->ignores)
			end_conn(s, conn, XFR_UNREACHABLE);
		else /* after a second, two, four */
			world_add_event(&s->w, s->w.now + SEC
				- conn->pool.began_msec, OPENED,
				(uint32_t)(conn - s->conns)
					+ CONNS * conn->stamp);
		return;
	}
	server->taken++;
	xfr_pool_on_open(&conn->pool, s->w.now);
	if (conn->pool.open > 0)
		await(s, conn);
	step_soon(s, conn, 2 * server->latency_msec);
}

/* A message comes. True: it was the last one. */
static bool
send_some(struct sim *s, struct conn *conn, struct item *item)
{
	struct question *q = &s->questions[item->question];
	enum pace pace = s->zones[item->zone].pace;
	bool is_live = q->is_used && q->stamp == item->stamp
		&& q->pool.conn == &conn->pool;
	bool is_last = pace == FAST || (pace == LARGE && --item->left == 0);
	size_t octets = pace == FAST ? 200 : pace == LARGE ? 10000 : 40;

	xfr_pool_on_message(&conn->pool, is_live ? &q->pool : NULL, octets,
		s->w.now);
	if (!is_live) {
		if (conn->pool.open == 0)
			await(s, conn);
		return is_last;
	}
	if (q->received == 0)
		note_begin(s, q);
	q->received += octets;
	if (!is_last)
		return false;
	leave(s, conn, q, false);
	answer(s, q, XFR_DONE);
	return true;
}

/* One after the other, or a little of each. */
static void
on_step(struct sim *s, struct conn *conn)
{
	bool is_serial = s->servers[conn->server].order == SERIAL;
	unsigned kept = 0, i = 0;
	enum pace pace;

	if (!conn->is_used || conn->step_at != s->w.now)
		return;
	conn->step_at = XFR_NEVER;
	pace = is_serial ? s->zones[conn->items[0].zone].pace : FAST;
	for (; i < (is_serial ? 1 : conn->count); i++)
		if (!send_some(s, conn, &conn->items[i]))
			conn->items[kept++] = conn->items[i];
	memmove(&conn->items[kept], &conn->items[i],
		(conn->count - i) * sizeof(conn->items[0]));
	conn->count -= i - kept;
	step_soon(s, conn, is_serial && pace == FAST ? 2
		: pace == DRIP ? 500 : 100);
}

/* Some zones change, all within a second. */
static void
on_round(struct sim *s)
{
	uint32_t percent = 1 + world_chance(&s->w, 100);

	for (unsigned i = 0; i < ZONES; i++)
		if (world_chance(&s->w, 100) < percent)
			world_add_event(&s->w, world_chance(&s->w, 1000), TELL,
				i);
	world_add_event(&s->w, 20 * SEC + world_chance(&s->w, 100000), ROUND,
		0);
}

static void
on_tell(struct sim *s, struct zone *zone)
{
	zone->serial++;
	xfr_on_notify(s->w.machine, zone->handle, s->w.now, 0, true,
		zone->serial);
}

/* ---- all of it ------------------------------------------------------------ */

static void
make_servers(struct sim *s)
{
	for (unsigned i = 0; i < SERVERS; i++) {
		struct server *server = &s->servers[i];
		uint32_t dice = world_chance(&s->w, 100);

		xfr_pool_server_init(&server->pool);
		server->order = i == 0 || dice < 60 ? SERIAL
			: dice < 80 ? PARALLEL : dice < 90 ? SILENT : AWAY;
		server->latency_msec = 1 + world_chance(&s->w, 40);
		server->takes = i > 0 && world_chance(&s->w, 5) == 0
			? 2 + world_chance(&s->w, 3) : ALL;
		server->ignores = world_chance(&s->w, 2) == 0;
	}
}

static void
make_zones(struct sim *s)
{
	const struct xfr_config config = {.primaries = (uint8_t[]){0},
		.primary_count = 1, .refresh_max_sec = 864000,
		.retry_max_sec = 864000, .flags = XFR_CONFIG_AXFR_FALLBACK};

	for (unsigned i = 0; i < ZONES; i++) {
		struct zone *zone = &s->zones[i];
		struct xfr_start start = {.has_data = true, .soa = {
			.serial = 1, .refresh_sec = 86400, .retry_sec = 60,
			.expire_sec = 8640000}, .check_at = XFR_NEVER,
			.expire_at = XFR_NEVER};
		uint32_t dice = world_chance(&s->w, 100), id;
		bool is_big = i < BIG;

		zone->server = is_big ? 0
			: 1 + world_chance(&s->w, SERVERS - 1);
		/* One that takes few connections cannot have many slow ones. */
		zone->pace = s->servers[zone->server].takes < ALL ? FAST
			: dice < (is_big ? 60 : 10) ? DRIP
			: dice < (is_big ? 70 : 20) ? LARGE : FAST;
		zone->serial = 1;
		if (xfr_add_config(s->w.machine, &config, &id) != NSD_OK
			|| xfr_add_zone(s->w.machine, id, &start, s->w.now,
				   &zone->handle)
				!= NSD_OK)
			abort();
		s->w.by_handle[zone->handle] = i;
	}
}

/* One that has ended meanwhile, or another in its place, is none. */
static struct conn *
find_conn(struct sim *s, uint32_t id)
{
	struct conn *conn = &s->conns[id % CONNS];

	return conn->is_used && conn->stamp == id / CONNS
			&& !conn->pool.is_open ? conn : NULL;
}

static void
happen(struct sim *s, const struct event *event)
{
	struct conn *conn;

	switch ((enum event_kind)event->kind) {
	case STEP:
		on_step(s, &s->conns[event->id]);
		break;
	case OPENED:
		if ((conn = find_conn(s, event->id)) != NULL)
			on_opened(s, conn);
		break;
	case UNTAKEN:
		if ((conn = find_conn(s, event->id)) != NULL)
			end_conn(s, conn, XFR_TIMEOUT);
		break;
	case LOOK:
		on_look(s, &s->conns[event->id]);
		break;
	case DEADLINE:
		on_deadline(s, &s->questions[event->id]);
		break;
	case PASS:
		on_pass(s);
		break;
	case REPLY:
		on_udp_reply(s, &s->questions[event->id]);
		break;
	case TELL:
		on_tell(s, &s->zones[event->id]);
		break;
	case ROUND:
		on_round(s);
		break;
	}
}

static void
drain(struct sim *s)
{
	struct xfr_action action;

	do
		while (xfr_next(s->w.machine, s->w.now, &action))
			if (action.act == XFR_PROBE
				|| action.act == XFR_TRANSFER)
				ask(s, &action);
	while (xfr_next_time(s->w.machine) <= s->w.now);
	if (s->pool.busy_count >= CROWD)
		s->crowded_at = s->w.now;
	if (s->pool.conn_count > CONNS_MAX)
		world_fail(&s->w, NULL, "%u connections",
			s->pool.conn_count);
}

static void
live(struct sim *s, int64_t until)
{
	struct event event;

	world_add_event(&s->w, 0, ROUND, 0);
	for (;;) {
		int64_t next = xfr_next_time(s->w.machine);

		if (s->w.events[0].at < next)
			next = s->w.events[0].at;
		if (next > until)
			return;
		s->w.now = next;
		if (world_take_event(&s->w, &event))
			happen(s, &event);
		drain(s);
	}
}

int
main(int argc, char **argv)
{
	static struct sim s;
	static uint32_t by_handle[ZONES];
	const struct xfr_limits limits = {.probes = 1024, .transfers = 1024,
		.notifies = 128, .checks_per_sec = 10000};
	uint64_t hours = argc > 2 ? strtoull(argv[2], NULL, 0) : 2;

	s.w.seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	if (argc > 1 && strcmp(argv[1], "-") == 0)
		s.w.seed = (uint64_t)time(NULL);
	s.w.chance = s.w.seed;
	s.w.by_handle = by_handle;
	s.pool.conns_max = CONNS_MAX;
	s.pool.per_conn = PER_CONN;
	s.pass_at = XFR_NEVER;
	s.crowded_at = -1;
	printf("seed %" PRIu64 "\n", s.w.seed);
	xfr_pool_init(&s.pool);
	if (xfr_machine_create(&limits, s.w.seed, 0, &s.w.machine) != NSD_OK)
		return 1;
	make_servers(&s);
	make_zones(&s);
	live(&s, (int64_t)hours * HOUR);
	printf("%" PRIu64 " transfers begun, %" PRIu64 " connections, %" PRIu64
		" questions moved, %" PRIu64 " given up\nlongest: a zone"
		" waited %" PRId64 " ms, %" PRId64 " where all connections"
		" were slow, %" PRId64 " where some are ignored\nmost: %u connections\n", s.begun, s.opened,
		s.moved, s.given_up, s.worst_msec, s.worst_crowded_msec,
		s.worst_ignored_msec, s.most_conns);
	xfr_machine_destroy(s.w.machine);
	free(s.w.events);
	return 0;
}
