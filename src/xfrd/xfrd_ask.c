/*
 * xfrd_ask.c - questions of xfrd to other servers.
 *
 * On a connection a question has a slot; its ID is the slot's number and
 * something random. A slot is used again once its question was answered to the
 * end. If nobody waited for the end, messages may still come, so the slot stays
 * empty as long as the connection lasts.
 *
 * A connection is worn, and gets no more questions, once one on it was in vain
 * or messages have come that nobody waits for: it may be dead, or be taken up
 * by these. One that is held up gets none if another can be opened. A question
 * that waits for long behind others moves to another. See doc/decisions/0113.
 *
 * System calls, for whoever filters them: those of net/client.c, and getrandom.
 */
#include "config.h"

#include "xfrd/xfrd_ask.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/octets.h"
#include "net/client.h"
#include "net/socket.h"
#include "role/hand.h"
#include "tls/client.h"

/* An answer over UDP. */
#define UDP_SEC 3
/* A connection without questions is kept for the next one. */
#define IDLE_SEC 10
/* A connection that ends no question for so long is held up. */
#define HELD_UP_MSEC 1000
/* So many of these to a server are left alone. */
#define HELD_UP_MAX 8
/* A question that waits so long behind others moves to another connection. */
#define MOVE_SEC 5

struct conn {
	struct cds_list_head node; /* of xfrd_asks.conns */
	struct xfrd_asks *asks;
	struct sockaddr_storage to, from;
	const struct tls_client *tls;
	struct net_client *client;
	struct event *idle_event;
	struct xfrd_ask **slots; /* NULL: empty */
	size_t slot_room;
	unsigned slot_count;     /* that were ever used */
	uint16_t *free;          /* slots to be used again */
	size_t free_room;
	unsigned free_count;
	unsigned open;           /* questions */
	uint16_t first_id;
	int64_t moved_msec;      /* a question ended, or the first came */
	int64_t came_msec;       /* the last message came */
	bool answered;           /* one that was waited for has come: */
	int64_t heard_msec;      /* the last one then */
	bool worn;               /* takes no more questions */
	bool ended;
};

struct xfrd_ask {
	struct xfrd_asks *asks;
	const struct xfrd_ask_calls *calls;
	void *ctx;
	struct conn *conn;         /* TCP */
	struct net_client *client; /* UDP */
	struct event *event;       /* TCP: nothing has come for too long */
	struct xfrd_ask_server server;
	uint16_t id;
	uint16_t slot;
	uint16_t len;
	bool was_open;             /* the connection that it has left */
	bool may_repeat;           /* on another connection, if this one ends */
	bool may_move;             /* to another one, if others hold it up */
	uint8_t *message;          /* kept for that; or NULL */
};

static uint16_t
ask_random(void)
{
	uint16_t id;

	/* Never fails for so few octets once the system has started. */
	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
		id = 0;
	return id;
}

static void
ask_free(struct xfrd_ask *ask)
{
	net_client_close(ask->client);
	if (ask->event != NULL)
		event_free(ask->event);
	free(ask->message);
	free(ask);
}

/* ---- connections --------------------------------------------------------- */

/* One has gone, or has no question. */
static void
conn_tell_room(struct xfrd_asks *asks)
{
	if (asks->room_event != NULL && !cds_list_empty(&asks->waiting))
		event_active(asks->room_event, EV_TIMEOUT, 0);
}

static void
conn_close(struct conn *conn)
{
	assert(conn->open == 0);
	if (!conn->ended)
		cds_list_del(&conn->node);
	conn->asks->conn_count--;
	conn_tell_room(conn->asks);
	net_client_close(conn->client);
	if (conn->idle_event != NULL)
		event_free(conn->idle_event);
	free(conn->slots);
	free(conn->free);
	free(conn);
}

static void
conn_on_idle(evutil_socket_t fd, short what, void *arg)
{
	conn_close(arg);
}

/* Takes a question off its connection. spent: more messages to it may come. */
static void
conn_leave(struct xfrd_ask *ask, bool spent)
{
	struct conn *conn = ask->conn;

	ask->conn = NULL;
	ask->was_open = net_client_is_open(conn->client);
	conn->slots[ask->slot] = NULL;
	conn->open--;
	conn->moved_msec = clock_now_msec();
	if (!spent)
		conn->free[conn->free_count++] = ask->slot;
	if (conn->open > 0 || conn->ended)
		return;
	conn_tell_room(conn->asks);
	event_add(conn->idle_event, &(struct timeval){
		.tv_sec = conn->worn ? 0 : IDLE_SEC});
}

/* No more questions are to go there. */
static void
conn_wear(struct conn *conn)
{
	if (conn->open == 0 && !conn->worn)
		event_add(conn->idle_event, &(struct timeval){0});
	conn->worn = true;
}

/* False: no memory for another free slot. */
static bool
conn_add_slot(struct conn *conn)
{
	struct xfrd_ask **slots;
	uint16_t *spare;

	slots = grow_array(conn->slots, conn->slot_count, &conn->slot_room,
		sizeof(*slots));
	if (slots != NULL)
		conn->slots = slots;
	spare = grow_array(conn->free, conn->slot_count, &conn->free_room,
		sizeof(*spare));
	if (spare != NULL)
		conn->free = spare;
	if (slots == NULL || spare == NULL)
		return false;
	conn->slots[conn->slot_count] = NULL;
	conn->free[conn->free_count++] = (uint16_t)conn->slot_count++;
	return true;
}

/* Puts a question on it. at: of its free slots. */
static void
conn_take(struct conn *conn, struct xfrd_ask *ask, unsigned at)
{
	ask->slot = conn->free[at];
	conn->free[at] = conn->free[--conn->free_count];
	conn->slots[ask->slot] = ask;
	if (conn->open++ == 0)
		conn->moved_msec = clock_now_msec();
	event_del(conn->idle_event);
	ask->conn = conn;
	ask->id = (uint16_t)(conn->first_id + ask->slot);
	ask->may_repeat = conn->answered;
}

/* False: there is no slot, or no memory for one. */
static bool
conn_join(struct conn *conn, struct xfrd_ask *ask)
{
	if (conn->free_count == 0
		&& (conn->slot_count >= conn->asks->per_conn
			|| !conn_add_slot(conn)))
		return false;
	conn_take(conn, ask, conn->free_count - 1);
	return true;
}

/* The same with the slot that it had on another one, so that its ID stays. */
static bool
conn_join_again(struct conn *conn, struct xfrd_ask *ask)
{
	while (conn->slot_count <= ask->slot)
		if (!conn_add_slot(conn))
			return false;
	for (unsigned i = 0; i < conn->free_count; i++)
		if (conn->free[i] == ask->slot) {
			conn_take(conn, ask, i);
			return true;
		}
	return false;
}

static void
conn_on_message(void *ctx, const uint8_t *message, size_t len)
{
	struct conn *conn = ctx;
	enum xfrd_ask_next next;
	struct xfrd_ask *ask;
	uint16_t slot;

	if (len < 2)
		return;
	conn->came_msec = clock_now_msec();
	slot = (uint16_t)(octets_get_u16(message) - conn->first_id);
	ask = slot < conn->slot_count ? conn->slots[slot] : NULL;
	if (ask == NULL) {
		conn_wear(conn);
		return;
	}
	conn->answered = true;
	conn->heard_msec = conn->came_msec;
	ask->may_repeat = ask->may_move = false;
	free(ask->message);
	ask->message = NULL;
	hand_take(conn->asks->hand, HAND_REPLY, &conn->to, message, len);
	next = ask->calls->on_message(ask->ctx, message, len);
	hand_drop(conn->asks->hand);
	if (next == XFRD_ASK_MORE) {
		event_add(ask->event, &(struct timeval){
			.tv_sec = (time_t)conn->asks->timeout_sec});
		return;
	}
	conn_leave(ask, next == XFRD_ASK_LEFT);
	ask_free(ask);
}

static bool ask_repeat(struct xfrd_ask *ask);

static void
conn_on_end(void *ctx, int error)
{
	struct conn *conn = ctx;
	char text[TLS_FAILURE_MAX];
	const char *why = conn->tls != NULL
		? tls_client_print_failure(net_client_get_stream(conn->client),
			  text)
		: NULL;

	conn->ended = true;
	cds_list_del(&conn->node);
	for (unsigned i = 0; i < conn->slot_count; i++) {
		struct xfrd_ask *ask = conn->slots[i];

		if (ask == NULL)
			continue;
		conn_leave(ask, true);
		if (error != ETIMEDOUT && ask_repeat(ask))
			continue;
		ask->calls->on_fail(ask->ctx, error, why);
		ask_free(ask);
	}
	conn_close(conn);
}

static const struct net_client_calls conn_calls = {
	.on_message = conn_on_message,
	.on_end = conn_on_end,
};

static bool
conn_leads_to(const struct conn *conn, const struct xfrd_ask_server *server)
{
	return memcmp(&conn->to, &server->to, sizeof(conn->to)) == 0
		&& memcmp(&conn->from, &server->from, sizeof(conn->from)) == 0
		&& conn->tls == server->tls;
}

/* Makes room for a connection: closes one that has no question. */
static bool
conn_make_room(struct xfrd_asks *asks)
{
	struct conn *conn;

	if (!asks->turn && !cds_list_empty(&asks->waiting))
		return false;
	if (asks->conn_count < asks->conns_max)
		return true;
	cds_list_for_each_entry(conn, &asks->conns, node)
		if (conn->open == 0) {
			conn_close(conn);
			return true;
		}
	return false;
}

static struct bufferevent *
conn_open_tls(void *ctx, struct event_base *base, int fd)
{
	return tls_client_open(ctx, base, fd);
}

static enum nsd_err
conn_open(struct xfrd_asks *asks, const struct xfrd_ask_server *server,
	struct conn **made)
{
	const struct net_client_stream stream = {
		.open = conn_open_tls,
		.ctx = (void *)(uintptr_t)server->tls,
	};
	const struct net_client_options options = {
		.to = &server->to,
		.from = server->from.ss_family != 0 ? &server->from : NULL,
		.tcp = true,
		.stream = server->tls != NULL ? &stream : NULL,
		.tcp_mss = asks->tcp_mss,
		.timeout_sec = asks->timeout_sec,
	};
	struct conn *conn;
	enum nsd_err err = NSD_E_MEMORY;
	int error;

	if (!conn_make_room(asks))
		return NSD_E_AGAIN;
	conn = calloc(1, sizeof(*conn));
	if (conn == NULL)
		return NSD_E_MEMORY;
	conn->asks = asks;
	conn->to = server->to;
	conn->from = server->from;
	conn->tls = server->tls;
	conn->first_id = ask_random();
	conn->idle_event = event_new(asks->base, -1, 0, conn_on_idle, conn);
	if (conn->idle_event != NULL)
		err = net_client_open(asks->base, &options, &conn_calls, conn,
			&conn->client);
	asks->conn_count++;
	cds_list_add(&conn->node, &asks->conns);
	if (err == NSD_OK) {
		net_client_pause(conn->client, asks->paused);
		*made = conn;
		return NSD_OK;
	}
	error = errno;
	conn_close(conn);
	errno = error;
	return err;
}

static bool
conn_is_held_up(const struct conn *conn)
{
	return conn->open > 0
		&& clock_now_msec() - conn->moved_msec > HELD_UP_MSEC;
}

/* Joins a connection that has a slot. held_up: of those that are. False: there
 * is none. *count: the connections of that kind. */
static bool
conn_join_one(struct xfrd_ask *ask, bool held_up, unsigned *count)
{
	struct conn *conn;

	*count = 0;
	cds_list_for_each_entry(conn, &ask->asks->conns, node) {
		if (conn->worn || !conn_leads_to(conn, &ask->server)
			|| conn_is_held_up(conn) != held_up)
			continue;
		++*count;
		if (conn_join(conn, ask))
			return true;
	}
	return false;
}

/* Finds a connection that has a slot, or opens one, for a question. Another is
 * opened only where none of them has a slot, or these are held up. */
static enum nsd_err
conn_find(struct xfrd_ask *ask)
{
	enum nsd_err err = NSD_E_AGAIN;
	struct conn *conn;
	unsigned count;

	if (conn_join_one(ask, false, &count))
		return NSD_OK;
	cds_list_for_each_entry(conn, &ask->asks->conns, node)
		count += conn_leads_to(conn, &ask->server)
			&& conn_is_held_up(conn);
	if (count < HELD_UP_MAX)
		err = conn_open(ask->asks, &ask->server, &conn);
	if (err == NSD_E_AGAIN && conn_join_one(ask, true, &count))
		return NSD_OK;
	if (err == NSD_E_AGAIN)
		err = conn_open(ask->asks, &ask->server, &conn);
	if (err != NSD_OK)
		return err;
	if (conn_join(conn, ask))
		return NSD_OK;
	conn_close(conn);
	return NSD_E_MEMORY;
}

/* ---- datagrams ----------------------------------------------------------- */

static void
ask_on_datagram(void *ctx, const uint8_t *message, size_t len)
{
	struct xfrd_ask *ask = ctx;
	struct hand *hand = ask->asks->hand;

	if (len < 2 || octets_get_u16(message) != ask->id)
		return;
	hand_take(hand, HAND_REPLY, &ask->server.to, message, len);
	if (ask->calls->on_message(ask->ctx, message, len) != XFRD_ASK_MORE)
		ask_free(ask);
	hand_drop(hand);
}

static void
ask_on_end(void *ctx, int error)
{
	struct xfrd_ask *ask = ctx;

	ask->calls->on_fail(ask->ctx, error, NULL);
	ask_free(ask);
}

static const struct net_client_calls ask_datagrams = {
	.on_message = ask_on_datagram,
	.on_end = ask_on_end,
};

static enum nsd_err
ask_open_datagrams(struct xfrd_ask *ask)
{
	const struct net_client_options options = {
		.to = &ask->server.to,
		.from = ask->server.from.ss_family != 0 ? &ask->server.from
							: NULL,
		.timeout_sec = UDP_SEC,
	};

	ask->id = ask_random();
	return net_client_open(ask->asks->base, &options, &ask_datagrams, ask,
		&ask->client);
}

/* ---- questions ----------------------------------------------------------- */

static void
ask_await(struct xfrd_ask *ask, unsigned sec)
{
	event_add(ask->event, &(struct timeval){.tv_sec = (time_t)sec});
}

static enum nsd_err
ask_send(struct xfrd_ask *ask, const uint8_t *message, size_t len)
{
	if (ask->conn == NULL)
		return net_client_send(ask->client, message, len);
	ask_await(ask, ask->may_move ? MOVE_SEC : ask->asks->timeout_sec);
	return net_client_send(ask->conn->client, message, len);
}

/* Sends it again, on another connection than the one that it has left. Its ID
 * stays, for it may be signed, so a connection with the same numbers is opened,
 * or used. False: it is on none. */
static bool
ask_go(struct xfrd_ask *ask)
{
	uint16_t first_id = (uint16_t)(ask->id - ask->slot);
	struct conn *conn;

	cds_list_for_each_entry(conn, &ask->asks->conns, node)
		if (conn->first_id == first_id && !conn->worn
			&& conn_leads_to(conn, &ask->server)
			&& conn_join_again(conn, ask))
			break;
	if (ask->conn == NULL) {
		if (conn_open(ask->asks, &ask->server, &conn) != NSD_OK)
			return false;
		conn->first_id = first_id;
		if (!conn_join_again(conn, ask)) {
			conn_close(conn);
			return false;
		}
	}
	if (ask_send(ask, ask->message, ask->len) == NSD_OK)
		return true;
	conn_wear(ask->conn);
	conn_leave(ask, true);
	return false;
}

/* The connection has been closed that it was sent on. False: it is not to be
 * repeated, or cannot be. */
static bool
ask_repeat(struct xfrd_ask *ask)
{
	ask->may_move = false;
	return ask->may_repeat && ask_go(ask);
}

static void
ask_end_in_vain(struct xfrd_ask *ask, int error)
{
	ask->calls->on_fail(ask->ctx, error, NULL);
	ask_free(ask);
}

/* True if it has left its connection, if need be for its end: that is busy with
 * others, or says nothing any more. A new one is given its time. */
static bool
ask_move(struct xfrd_ask *ask)
{
	struct conn *conn = ask->conn;
	bool silent = clock_now_msec() - conn->came_msec > MOVE_SEC * 1000;

	if (silent && !ask->may_repeat)
		return false;
	if (silent)
		conn_wear(conn);
	conn_leave(ask, true);
	if (!ask_go(ask))
		ask_end_in_vain(ask, ETIMEDOUT);
	return true;
}

static void
ask_on_silence(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd_ask *ask = arg;

	if (ask->may_move) {
		ask->may_move = false;
		if (ask_move(ask))
			return;
		ask_await(ask, ask->asks->timeout_sec - MOVE_SEC);
		return;
	}
	conn_wear(ask->conn);
	conn_leave(ask, true);
	ask_end_in_vain(ask, ETIMEDOUT);
}

void
xfrd_asks_init(struct xfrd_asks *asks)
{
	CDS_INIT_LIST_HEAD(&asks->conns);
	CDS_INIT_LIST_HEAD(&asks->waiting);
	asks->turn = false;
	asks->conn_count = 0;
}

void
xfrd_asks_pause(struct xfrd_asks *asks, bool pause)
{
	struct conn *conn;

	if (asks->paused == pause)
		return;
	asks->paused = pause;
	cds_list_for_each_entry(conn, &asks->conns, node)
		net_client_pause(conn->client, pause);
}

enum nsd_err
xfrd_ask_open(struct xfrd_asks *asks, const struct xfrd_ask_server *server,
	const struct xfrd_ask_calls *calls, void *ctx, struct xfrd_ask **made)
{
	struct xfrd_ask *ask = calloc(1, sizeof(*ask));
	enum nsd_err err = NSD_E_MEMORY;
	int error;

	if (ask == NULL)
		return NSD_E_MEMORY;
	ask->asks = asks;
	ask->calls = calls;
	ask->ctx = ctx;
	ask->server = *server;
	if (!server->tcp) {
		err = ask_open_datagrams(ask);
	} else {
		ask->event = event_new(asks->base, -1, 0, ask_on_silence, ask);
		if (ask->event != NULL)
			err = conn_find(ask);
	}
	if (err == NSD_OK) {
		*made = ask;
		return NSD_OK;
	}
	error = errno;
	ask_free(ask);
	errno = error;
	return err;
}

uint16_t
xfrd_ask_id(const struct xfrd_ask *ask)
{
	return ask->id;
}

bool
xfrd_ask_is_open(const struct xfrd_ask *ask)
{
	return ask->conn != NULL ? net_client_is_open(ask->conn->client)
				 : ask->client != NULL || ask->was_open;
}

bool
xfrd_ask_is_heard(const struct xfrd_ask *ask, int64_t msec)
{
	int64_t since = clock_now_msec() - msec;
	struct conn *conn;

	cds_list_for_each_entry(conn, &ask->asks->conns, node)
		if (conn->answered && conn->heard_msec >= since
			&& conn_leads_to(conn, &ask->server))
			return true;
	return false;
}

enum nsd_err
xfrd_ask_send(struct xfrd_ask *ask, const uint8_t *message, size_t len)
{
	assert(len >= 2 && len <= UINT16_MAX);
	ask->may_move = ask->conn != NULL && ask->asks->timeout_sec > MOVE_SEC;
	if (ask->may_repeat || ask->may_move)
		ask->message = malloc(len);
	if (ask->message != NULL) {
		memcpy(ask->message, message, len);
		ask->len = (uint16_t)len;
	} else {
		ask->may_repeat = ask->may_move = false;
	}
	return ask_send(ask, message, len);
}

void
xfrd_ask_close(struct xfrd_ask *ask)
{
	if (ask == NULL)
		return;
	if (ask->conn != NULL) {
		conn_wear(ask->conn);
		conn_leave(ask, true);
	}
	ask_free(ask);
}
