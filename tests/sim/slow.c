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
 * than a few connections, within four. It never fails. Of a server of threads
 * that are busy with a connection each nearly all begin within four.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/slow.h"

/* ---- servers ------------------------------------------------------------- */

static void
on_opened(struct sim *s, struct conn *conn)
{
	struct server *server = &s->servers[conn->server];

	if (server->order == AWAY)
		return;
	if (server->taken >= server->takes) {
		if (!server->ignores)
			slow_end_conn(s, conn, XFR_UNREACHABLE);
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
		slow_await(s, conn);
	slow_step_soon(s, conn, 2 * server->latency_msec);
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
			slow_await(s, conn);
		return is_last;
	}
	if (q->received == 0)
		slow_note_begin(s, q);
	q->received += octets;
	if (!is_last)
		return false;
	slow_leave(s, conn, q, false);
	slow_answer(s, q, XFR_DONE);
	return true;
}

/* True while the server's thread for this connection serves another one;
 * otherwise the thread takes this one. */
static bool
waits_for_thread(struct sim *s, struct conn *conn)
{
	struct server *server = &s->servers[conn->server];
	struct thread *thread = &server->threads[conn->thread];
	const struct conn *busy = thread->conn;

	if (!server->has_threads || busy == conn)
		return false;
	if (busy != NULL && busy->is_used && busy->stamp == thread->stamp
		&& busy->count > 0)
		return true;
	*thread = (struct thread){conn, conn->stamp};
	return false;
}

/* The server sends on a connection: replies one after the other, or parts of
 * all. */
static void
on_step(struct sim *s, struct conn *conn)
{
	bool is_serial = s->servers[conn->server].order == SERIAL;
	unsigned kept = 0, i = 0;
	enum pace pace;

	if (!conn->is_used || conn->step_at != s->w.now)
		return;
	conn->step_at = XFR_NEVER;
	if (waits_for_thread(s, conn)) {
		slow_step_soon(s, conn, 20);
		return;
	}
	pace = is_serial ? s->zones[conn->items[0].zone].pace : FAST;
	for (; i < (is_serial ? 1 : conn->count); i++)
		if (!send_some(s, conn, &conn->items[i]))
			conn->items[kept++] = conn->items[i];
	memmove(&conn->items[kept], &conn->items[i],
		(conn->count - i) * sizeof(conn->items[0]));
	conn->count -= i - kept;
	slow_step_soon(s, conn, is_serial && pace == FAST ? 2
		: pace == DRIP ? 500 : 100);
}

/* A random share of the zones change within a second. */
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

/* ---- a run --------------------------------------------------------------- */

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
		server->has_threads = i > 0 && server->order == SERIAL
			&& server->takes == ALL && world_chance(&s->w, 3) == 0;
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
		/* A server with few connections cannot serve many slow
		 * zones. */
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

/* The connection of an event, or NULL if it has closed since, even if its place
 * is in use again. */
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
			slow_end_conn(s, conn, XFR_TIMEOUT);
		break;
	case LOOK:
		slow_on_look(s, &s->conns[event->id]);
		break;
	case DEADLINE:
		slow_on_deadline(s, &s->questions[event->id]);
		break;
	case PASS:
		slow_on_pass(s);
		break;
	case REPLY:
		slow_on_udp_reply(s, &s->questions[event->id]);
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
				slow_ask(s, &action);
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
	if (s.late_of_threads > 2 + s.of_threads / LATE_ONE_IN)
		world_fail(&s.w, NULL, "%" PRIu64 " of %" PRIu64
			" transfers are late, of servers of threads",
			s.late_of_threads, s.of_threads);
	printf("%" PRIu64 " transfers begun, %" PRIu64 " connections, %" PRIu64
		" questions moved, %" PRIu64 " given up\nlongest: a zone"
		" waited %" PRId64 " ms, %" PRId64 " where all connections"
		" were slow, %" PRId64 " where some are ignored\n"
		"of threads: %" PRIu64 ", late %" PRIu64 "\n"
		"most: %u connections\n", s.begun, s.opened, s.moved,
		s.given_up, s.worst_msec, s.worst_crowded_msec,
		s.worst_ignored_msec, s.of_threads, s.late_of_threads,
		s.most_conns);
	xfr_machine_destroy(s.w.machine);
	free(s.w.events);
	return 0;
}
