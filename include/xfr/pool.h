/*
 * pool.h - chooses the connection to a server for a question, so that none
 * waits long for the answer to another (doc/decisions/0145).
 *
 * Questions to a server share connections (RFC 7766), on which it may answer
 * one after the other. The pool opens no connection and reads no clock: its
 * user reports events, and asks where a question goes and which questions are
 * to leave their connection. Times are milliseconds of a clock that only goes
 * forward.
 *
 * The structs are the user's, and stay where they are as long as the pool knows
 * them; those of the pool and of a server begin with their init.
 */
#ifndef XFR_POOL_H
#define XFR_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

/* A connection on which no question ends for this long is held up. */
#define XFR_POOL_HELD_MSEC 250
/* The rate, over this time, below which a connection is given up if another
 * question waits for its place. */
#define XFR_POOL_SLOW_MSEC 3000
#define XFR_POOL_SLOW_OCTETS 1024

/* The connections to all servers. */
struct xfr_pool {
	unsigned conns_max;
	unsigned per_conn;  /* questions on one */
	/* private */
	struct cds_list_head conns;
	unsigned conn_count;
	unsigned busy_count; /* connections with questions */
	bool is_paused;
};

/* A server that questions go to. */
struct xfr_pool_server {
	/* private */
	struct cds_list_head conns;
	unsigned busy_count;
	int64_t full_until; /* until then no more connections: the server
			     * refused one */
	int64_t heard_msec; /* of the last message that was waited for */
};

struct xfr_pool_conn {
	/* private */
	struct cds_list_head node;      /* of the pool */
	struct cds_list_head of_server;
	struct xfr_pool *pool;
	struct xfr_pool_server *server;
	struct cds_list_head questions; /* in the order in which they came */
	unsigned open;      /* questions */
	unsigned spent;     /* questions that have left it; their answers may
			     * still come */
	int64_t began_msec; /* opening began */
	int64_t taken_msec; /* time that opening took */
	int64_t busy_msec;  /* when the first of its questions came */
	int64_t moved_msec; /* when a question ended, or the first one came */
	int64_t turn_msec;  /* when the question in front moved there */
	int64_t came_msec;  /* of the last message */
	int64_t look_msec;  /* of the next look */
	uint64_t received;  /* octets since busy_msec */
	bool is_open;
	bool is_held;
	bool is_worn;       /* takes no more questions */
	bool has_answered;  /* a question that was waited for */
	bool is_ending;
};

/* The failures of connections that a question was the first one on; zeros:
 * none. */
struct xfr_pool_past {
	bool is_repeated;       /* the connection failed after it had answered
				 * others, and the question was asked again;
				 * only once */
	uint8_t silent_count;   /* connections that were silent while the
				 * server answered on others */
};

struct xfr_pool_question {
	/* Set before the question is asked for the first time, and kept when it
	 * is asked again: */
	bool is_urgent; /* slower ones may be given up for it */
	struct xfr_pool_past past; /* zeros */
	/* private */
	struct cds_list_head node;
	struct xfr_pool_conn *conn; /* NULL: on none */
	bool is_heard;              /* a message of its answer has come */
};

enum xfr_pool_place {
	XFR_POOL_JOIN, /* *conn */
	XFR_POOL_OPEN, /* open another connection to the server */
	XFR_POOL_END,  /* *conn has no question, or is the slowest: end it, so
			* that there is room, and ask again */
	XFR_POOL_WAIT, /* until a question or connection has ended, or some time
			* has passed */
};

void xfr_pool_init(struct xfr_pool *pool);
void xfr_pool_server_init(struct xfr_pool_server *server);

/* Chooses the place of a question to a server. Cost: the connections of the
 * server, or all where there is no room. */
enum xfr_pool_place xfr_pool_find(struct xfr_pool *pool,
	struct xfr_pool_server *server,
	const struct xfr_pool_question *question, int64_t now,
	struct xfr_pool_conn **conn);

/* Adds a connection that is being opened. */
void xfr_pool_add(struct xfr_pool *pool, struct xfr_pool_server *server,
	struct xfr_pool_conn *conn, int64_t now);
/* The server has taken the connection. */
void xfr_pool_on_open(struct xfr_pool_conn *conn, int64_t now);
/* Removes a connection that has no question (any more), and is closed. */
void xfr_pool_remove(struct xfr_pool_conn *conn);

void xfr_pool_join(struct xfr_pool_conn *conn,
	struct xfr_pool_question *question, int64_t now);
/* Takes a question off its connection. is_spent: more of its answer may come.
 * Without a connection it does nothing. */
void xfr_pool_leave(struct xfr_pool_question *question, bool is_spent,
	int64_t now);
/* Counts a message. question: NULL, if it answers none (any more). */
void xfr_pool_on_message(struct xfr_pool_conn *conn,
	struct xfr_pool_question *question, size_t len, int64_t now);
/* Has no more questions go to a connection. */
void xfr_pool_wear(struct xfr_pool_conn *conn);
/* Stops or resumes the clocks of connections: while paused, the user reads from
 * none, so that silence is not the server's. */
void xfr_pool_pause(struct xfr_pool *pool, bool is_paused, int64_t now);

/* Looks whether a connection is held up. Returns in how many milliseconds to
 * look again; 0: it has no question. */
int64_t xfr_pool_look(struct xfr_pool_conn *conn, int64_t now);
/* After a look: the next question that is to leave the connection, and to be
 * asked again; NULL: none (any more). */
struct xfr_pool_question *xfr_pool_find_mover(struct xfr_pool_conn *conn,
	int64_t now);
/* A connection of the server without a question, if connections that are held
 * up may wait for it: it is to be ended. NULL: none. */
struct xfr_pool_conn *xfr_pool_find_idle(const struct xfr_pool_server *server);
/* Ends a connection, closed by either side: takes the next question off it;
 * NULL: none is left. *again: it is to be asked again, as its turn had not
 * come, or the connection was a bad one. */
struct xfr_pool_question *xfr_pool_end(struct xfr_pool_conn *conn, int64_t now,
	bool *again);

/* The time when the turn of a question came, as its server may answer one after
 * the other; now, if it has not come. */
int64_t xfr_pool_get_turn(const struct xfr_pool_question *question,
	int64_t now);

#endif
