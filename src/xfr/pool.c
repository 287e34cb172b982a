/* pool.c - chooses connections for questions, and questions that move to
 * others. */
#include "config.h"

#include <assert.h>

#include "xfr/pool.h"

/* A server has at most this many connections that are not held up, and more for
 * each that is. */
#define SPREAD 8u
#define SPREAD_HELD 4u
/* A server has at most this many times as many connections as are left to
 * others. */
#define SHARE 7u
/* A timer that is this late means that we were: messages that have come
 * meanwhile are read first. */
#define LATE_MSEC 50
/* A connection that has answered and has been silent for this long is dead: its
 * first question leaves it, too. */
#define DEAD_MSEC 5000
/* A connection that is silent while the server answers on others may be one
 * that nobody reads, as it belongs to a thread that is busy with a slow one.
 * Its first question leaves it, at most this often, after twice the pause of a
 * connection that is held up, and each time twice as late. It stays in the end,
 * as the server may be one that never answers this question. */
#define SILENT_MAX 4
/* A connection that the server does not accept for this long, while it accepts
 * others, is one too many: more than the time of a lost packet. */
#define TAKE_MSEC 2500
/* The time for which a server that had one connection too many gets no
 * other. */
#define FULL_MSEC 30000

void
xfr_pool_init(struct xfr_pool *pool)
{
	CDS_INIT_LIST_HEAD(&pool->conns);
	pool->conn_count = pool->busy_count = 0;
	pool->is_paused = false;
}

void
xfr_pool_server_init(struct xfr_pool_server *server)
{
	*server = (struct xfr_pool_server){.heard_msec = INT64_MIN};
	CDS_INIT_LIST_HEAD(&server->conns);
}

/* ---- where a question goes ----------------------------------------------- */

/* A summary of a server's connections. */
struct sight {
	struct xfr_pool_conn *least; /* of those that can be joined */
	unsigned usable, held;
};

static struct sight
server_sight(const struct xfr_pool_server *server)
{
	struct sight sight = {.least = NULL};
	struct xfr_pool_conn *conn;

	cds_list_for_each_entry(conn, &server->conns, of_server) {
		sight.held += conn->is_held && conn->open > 0;
		if (conn->is_worn || conn->is_held || conn->is_ending
			|| conn->open + conn->spent >= conn->pool->per_conn)
			continue;
		sight.usable++;
		if (sight.least == NULL || conn->open < sight.least->open)
			sight.least = conn;
	}
	return sight;
}

/* Returns octets a second since the connection's first question came. */
static uint64_t
get_rate(const struct xfr_pool_conn *conn, int64_t now)
{
	return conn->received * 1000 / (uint64_t)(now - conn->busy_msec);
}

static void
compare_slowest(struct xfr_pool_conn *conn, int64_t now,
	struct xfr_pool_conn **slowest)
{
	if (conn->open == 0 || now - conn->busy_msec < XFR_POOL_SLOW_MSEC
		|| get_rate(conn, now) >= XFR_POOL_SLOW_OCTETS)
		return;
	if (*slowest == NULL || get_rate(conn, now) < get_rate(*slowest, now))
		*slowest = conn;
}

/* Finds the slowest connection; server: of that one alone, or NULL. Returns
 * NULL if none is slow. */
static struct xfr_pool_conn *
find_slowest(const struct xfr_pool *pool, const struct xfr_pool_server *server,
	int64_t now)
{
	struct xfr_pool_conn *conn, *slowest = NULL;

	if (pool->is_paused)
		return NULL;
	if (server != NULL)
		cds_list_for_each_entry(conn, &server->conns, of_server)
			compare_slowest(conn, now, &slowest);
	else
		cds_list_for_each_entry(conn, &pool->conns, node)
			compare_slowest(conn, now, &slowest);
	return slowest;
}

/* Finds room for one more connection to the server. */
static enum xfr_pool_place
find_room(const struct xfr_pool *pool, const struct xfr_pool_server *server,
	bool is_urgent, int64_t now, struct xfr_pool_conn **conn)
{
	unsigned left = pool->conns_max > pool->busy_count
		? pool->conns_max - pool->busy_count : 0;

	if (left == 0 || server->busy_count >= SHARE * left) {
		*conn = NULL;
		/* One of the server's own connections makes room, if others
		 * have room left. */
		if (is_urgent && left > 0)
			*conn = find_slowest(pool, server, now);
		if (is_urgent && *conn == NULL)
			*conn = find_slowest(pool, NULL, now);
		return *conn != NULL ? XFR_POOL_END : XFR_POOL_WAIT;
	}
	if (pool->conn_count < pool->conns_max)
		return XFR_POOL_OPEN;
	cds_list_for_each_entry(*conn, &pool->conns, node)
		if ((*conn)->open == 0)
			return XFR_POOL_END;
	return XFR_POOL_WAIT;
}

static bool
has_open(const struct xfr_pool_server *server)
{
	const struct xfr_pool_conn *conn;

	cds_list_for_each_entry(conn, &server->conns, of_server)
		if (conn->is_open && !conn->is_ending)
			return true;
	return false;
}

enum xfr_pool_place
xfr_pool_find(struct xfr_pool *pool, struct xfr_pool_server *server,
	const struct xfr_pool_question *question, int64_t now,
	struct xfr_pool_conn **conn)
{
	struct sight sight = server_sight(server);
	enum xfr_pool_place place = XFR_POOL_WAIT;

	if (sight.least != NULL && sight.least->open == 0
		&& !question->past.is_repeated) {
		*conn = sight.least;
		return XFR_POOL_JOIN;
	}
	if ((question->past.is_repeated
		    || sight.usable < SPREAD + SPREAD_HELD * sight.held)
		&& (now >= server->full_until || !has_open(server)))
		place = find_room(pool, server, question->is_urgent, now,
			conn);
	if (place != XFR_POOL_WAIT || sight.least == NULL)
		return place;
	*conn = sight.least;
	return XFR_POOL_JOIN;
}

/* ---- events of a connection ---------------------------------------------- */

void
xfr_pool_add(struct xfr_pool *pool, struct xfr_pool_server *server,
	struct xfr_pool_conn *conn, int64_t now)
{
	*conn = (struct xfr_pool_conn){.pool = pool, .server = server,
		.began_msec = now};
	CDS_INIT_LIST_HEAD(&conn->questions);
	cds_list_add_tail(&conn->node, &pool->conns);
	cds_list_add_tail(&conn->of_server, &server->conns);
	pool->conn_count++;
}

void
xfr_pool_on_open(struct xfr_pool_conn *conn, int64_t now)
{
	conn->is_open = true;
	conn->is_held = false;
	conn->taken_msec = now - conn->began_msec;
	conn->moved_msec = conn->turn_msec = now;
}

static void
set_busy(struct xfr_pool_conn *conn, bool is_busy)
{
	conn->pool->busy_count += is_busy ? 1 : -1u;
	conn->server->busy_count += is_busy ? 1 : -1u;
}

void
xfr_pool_remove(struct xfr_pool_conn *conn)
{
	assert(conn->open == 0);
	conn->pool->conn_count--;
	cds_list_del(&conn->node);
	cds_list_del(&conn->of_server);
}

void
xfr_pool_join(struct xfr_pool_conn *conn, struct xfr_pool_question *question,
	int64_t now)
{
	assert(!conn->is_worn && !conn->is_ending);
	question->conn = conn;
	question->is_heard = false;
	cds_list_add_tail(&question->node, &conn->questions);
	if (conn->open++ > 0)
		return;
	conn->busy_msec = conn->moved_msec = conn->turn_msec = now;
	conn->received = 0;
	conn->is_held = false;
	set_busy(conn, true);
}

static struct xfr_pool_question *
get_first(struct xfr_pool_conn *conn)
{
	return list_first_or_null(&conn->questions, struct xfr_pool_question,
		node);
}

void
xfr_pool_leave(struct xfr_pool_question *question, bool is_spent, int64_t now)
{
	struct xfr_pool_conn *conn = question->conn;

	if (conn == NULL)
		return;
	if (get_first(conn) == question)
		conn->turn_msec = now;
	cds_list_del(&question->node);
	question->conn = NULL;
	conn->spent += is_spent;
	conn->moved_msec = now;
	/* A spent question has left without an end: the connection stays held
	 * up. */
	if (!is_spent)
		conn->is_held = false;
	if (--conn->open == 0)
		set_busy(conn, false);
}

void
xfr_pool_on_message(struct xfr_pool_conn *conn,
	struct xfr_pool_question *question, size_t len, int64_t now)
{
	conn->received += len;
	conn->came_msec = now;
	if (question == NULL) {
		conn->is_worn = true;
		return;
	}
	conn->has_answered = question->is_heard = true;
	conn->server->heard_msec = now;
}

void
xfr_pool_wear(struct xfr_pool_conn *conn)
{
	conn->is_worn = true;
}

void
xfr_pool_pause(struct xfr_pool *pool, bool is_paused, int64_t now)
{
	struct xfr_pool_conn *conn;

	pool->is_paused = is_paused;
	cds_list_for_each_entry(conn, &pool->conns, node)
		conn->moved_msec = conn->came_msec = conn->turn_msec = now;
}

/* ---- which questions leave it -------------------------------------------- */

/* Returns how long a connection may end no question before it is held up. */
static int64_t
get_pause(const struct xfr_pool_conn *conn)
{
	return conn->is_open ? XFR_POOL_HELD_MSEC + 2 * conn->taken_msec
			     : TAKE_MSEC;
}

int64_t
xfr_pool_look(struct xfr_pool_conn *conn, int64_t now)
{
	int64_t pause = get_pause(conn), left;
	bool is_late = conn->look_msec > 0
		&& now - conn->look_msec > LATE_MSEC;

	conn->look_msec = 0;
	if (conn->open == 0)
		return 0;
	/* After a late timer, messages that have come meanwhile are read
	 * first. */
	if (is_late)
		return LATE_MSEC;
	if (conn->pool->is_paused)
		conn->moved_msec = now;
	left = conn->moved_msec + pause - now;
	if (left <= 0) {
		if (!conn->is_held
			&& (conn->is_open || has_open(conn->server))) {
			conn->is_held = true;
			conn->busy_msec = now;
			conn->received = 0;
		}
		left = pause;
	}
	conn->look_msec = now + left;
	return left;
}

/* True if the connection is not accepted by the server, not read, or dead: all
 * questions leave it. */
static bool
leaves_all(struct xfr_pool_conn *conn, struct xfr_pool_question *first,
	int64_t now)
{
	int64_t since = conn->came_msec > conn->turn_msec ? conn->came_msec
							  : conn->turn_msec;
	struct xfr_pool_past *past = &first->past;

	if (!conn->is_open) {
		conn->server->full_until = now + FULL_MSEC;
		return true;
	}
	if (first->is_heard)
		return false;
	if (past->silent_count < SILENT_MAX
		&& conn->server->heard_msec > since
		&& now - since >= 2 * get_pause(conn) << past->silent_count) {
		past->silent_count++;
		return true;
	}
	if (!conn->has_answered || past->is_repeated
		|| now - since < DEAD_MSEC)
		return false;
	return past->is_repeated = true;
}

struct xfr_pool_question *
xfr_pool_find_mover(struct xfr_pool_conn *conn, int64_t now)
{
	struct xfr_pool_question *first = get_first(conn), *question;
	bool is_any_heard = false;

	if (!conn->is_held || first == NULL || conn->pool->is_paused)
		return NULL;
	if (leaves_all(conn, first, now))
		return first;
	cds_list_for_each_entry(question, &conn->questions, node)
		is_any_heard |= question->is_heard;
	cds_list_for_each_entry(question, &conn->questions, node)
		if (!question->is_heard && (is_any_heard || question != first))
			return question;
	return NULL;
}

struct xfr_pool_conn *
xfr_pool_find_idle(const struct xfr_pool_server *server)
{
	struct xfr_pool_conn *conn, *idle = NULL;
	bool is_held = false;

	cds_list_for_each_entry(conn, &server->conns, of_server) {
		is_held |= conn->is_held && conn->open > 0
			&& !conn->has_answered;
		if (conn->open == 0)
			idle = conn;
	}
	return is_held ? idle : NULL;
}

/* The first question of a connection that ends. */
static bool
repeats_first(struct xfr_pool_question *question)
{
	if (!question->conn->has_answered || question->is_heard
		|| question->past.is_repeated)
		return false;
	return question->past.is_repeated = true;
}

struct xfr_pool_question *
xfr_pool_end(struct xfr_pool_conn *conn, int64_t now, bool *again)
{
	struct xfr_pool_question *question = get_first(conn);

	if (question == NULL)
		return NULL;
	if (!conn->is_open) {
		/* The server accepts other connections, or has while this one
		 * waited. */
		*again = has_open(conn->server)
			|| conn->server->heard_msec >= conn->began_msec;
		if (*again)
			conn->server->full_until = now + FULL_MSEC;
	} else {
		*again = conn->is_ending ? !question->is_heard
					 : repeats_first(question);
	}
	conn->is_ending = true;
	xfr_pool_leave(question, true, now);
	return question;
}

int64_t
xfr_pool_get_turn(const struct xfr_pool_question *question, int64_t now)
{
	struct xfr_pool_conn *conn = question->conn;

	return conn != NULL && get_first(conn) == question ? conn->turn_msec
							   : now;
}
