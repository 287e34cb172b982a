/*
 * slow.h - the state of the simulation of slow zones: servers, zones,
 * questions and connections. slow_user.c does with the pool what xfrd does.
 */
#ifndef SIM_SLOW_H
#define SIM_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* The limit for servers with busy threads; two transfers may be later, and one
 * in so many. */
#define THREADS_MSEC 4000
#define LATE_ONE_IN 50
#define THREADS 10u
/* As xfrd does. */
#define PASS_MSEC 10
#define PASS_AGAIN_MSEC 250
#define IDLE_MSEC 10000
#define TAKE_MSEC 10000

enum event_kind {
	STEP,     /* of a connection: its server sends something */
	OPENED,   /* a connection is taken, or is refused */
	UNTAKEN,  /* a connection was not taken in time */
	LOOK,
	DEADLINE, /* of a question */
	PASS,
	REPLY,    /* over UDP */
	TELL,     /* the zone has changed: its NOTIFY arrives */
	ROUND,
};

enum order { SERIAL, PARALLEL, SILENT, AWAY };

enum pace { FAST, LARGE, DRIP };

/* Of a server: it answers on one of its connections at a time. */
struct thread {
	struct conn *conn;
	uint32_t stamp; /* of that connection */
};

struct server {
	struct xfr_pool_server pool;
	enum order order;
	unsigned takes;   /* connections */
	unsigned taken;
	bool ignores;     /* ignores connections beyond takes */
	int64_t latency_msec;
	bool has_threads; /* a thread serves some connections; SERIAL */
	struct thread threads[THREADS];
};

struct zone {
	unsigned server;
	enum pace pace;
	uint32_t handle, serial;
};

struct question {
	struct xfr_pool_question pool; /* the first member */
	bool is_used, is_waiting;
	uint32_t stamp;                /* a new one for each use of the place */
	struct xfr_action action;
	unsigned zone;
	struct xfr_patience patience;
	int64_t put_msec, asked_msec, deadline;
	uint64_t received;
};

/* A request that a server works on. */
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
	unsigned thread;
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
	uint64_t of_threads, late_of_threads; /* transfers */
	unsigned most_conns;
};

/* A question is answered, or has failed. */
void slow_answer(struct sim *s, struct question *q, enum xfr_outcome outcome);
/* A transfer begins: fails if it is late. */
void slow_note_begin(struct sim *s, const struct question *q);

/* A connection is to be looked at, or closed. */
void slow_await(struct sim *s, struct conn *conn);
void slow_leave(struct sim *s, struct conn *conn, struct question *q,
	bool is_spent);
void slow_end_conn(struct sim *s, struct conn *conn,
	enum xfr_outcome outcome);
void slow_ask(struct sim *s, const struct xfr_action *action);

void slow_on_look(struct sim *s, struct conn *conn);
void slow_on_deadline(struct sim *s, struct question *q);
void slow_on_pass(struct sim *s);
void slow_on_udp_reply(struct sim *s, struct question *q);

/* The server works on it, if it does not already. */
void slow_step_soon(struct sim *s, struct conn *conn, int64_t msec);

#endif
