/*
 * xfrd_ask.c - questions of xfrd to other servers.
 *
 * On a connection a question has a slot; its ID is the slot's number and
 * something random. A slot is used again once its question was answered to the
 * end. If the question was given up before, messages may still come, so the
 * slot stays empty as long as the connection lasts. xfr/pool.h chooses the
 * connection of a question, and decides whether it leaves that to be asked
 * again.
 *
 * System calls, for the filter: those of net/client.c, and getrandom.
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
#include "conf/conf.h"
#include "net/client.h"
#include "net/socket.h"
#include "process/child_page.h"
#include "tls/client.h"

/* The wait for an answer over UDP. */
#define UDP_SEC 3
/* The time for which a connection without questions is kept. */
#define IDLE_SEC 10
/* The value in place of tcp-timeout: 0. */
#define TCP_TIMEOUT_SEC 120
/* The pause before questions that wait for a connection are looked through. */
#define ROOM_MSEC 10

/* A server that is asked over TCP, as long as it has connections. */
struct ask_peer {
	struct cds_list_head node; /* of xfrd_asks.servers */
	struct xfr_pool_server pool;
	struct xfrd_ask_server server;
	bool is_wanted; /* a connection to it is about to be opened */
};

struct conn {
	struct xfr_pool_conn pool; /* the first member */
	struct xfrd_asks *asks;
	struct ask_peer *peer;
	struct net_client *client;
	struct event *event; /* idle for too long; else, to be looked at */
	struct xfrd_ask **slots; /* NULL: empty */
	size_t slot_room;
	unsigned slot_count; /* slots that were ever used */
	uint16_t *free;      /* slots to be used again */
	size_t free_room;
	unsigned free_count;
	uint16_t first_id;
};

struct xfrd_ask {
	struct xfr_pool_question pool; /* the first member. conn: over TCP */
	struct xfrd_asks *asks;
	const struct xfrd_ask_calls *calls;
	void *ctx;
	struct net_client *client; /* UDP */
	struct event *event;       /* TCP: the time-out of its answer */
	uint16_t id;
	uint16_t slot;
	bool is_sent;
	bool was_open;             /* of the connection that it has left */
	struct sockaddr_storage to;
};

static struct conn *
conn_of(const struct xfrd_ask *ask)
{
	return (struct conn *)ask->pool.conn;
}

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
	assert(ask->pool.conn == NULL); /* the question has left its
					 * connection */
	net_client_close(ask->client);
	if (ask->event != NULL)
		event_free(ask->event);
	free(ask);
}

/* ---- servers ------------------------------------------------------------- */

static struct ask_peer *
peer_find(const struct xfrd_asks *asks, const struct xfrd_ask_server *server)
{
	struct ask_peer *peer;

	cds_list_for_each_entry(peer, &asks->servers, node)
		if (memcmp(&peer->server.to, &server->to, sizeof(server->to))
				== 0
			&& memcmp(&peer->server.from, &server->from,
				   sizeof(server->from))
				== 0
			&& peer->server.tls == server->tls)
			return peer;
	return NULL;
}

/* Gets the peer of a server, which is added if need be. NULL: no memory. */
static struct ask_peer *
peer_get(struct xfrd_asks *asks, const struct xfrd_ask_server *server)
{
	struct ask_peer *peer = peer_find(asks, server);

	if (peer != NULL)
		return peer;
	peer = calloc(1, sizeof(*peer));
	if (peer == NULL)
		return NULL;
	peer->server = *server;
	xfr_pool_server_init(&peer->pool);
	cds_list_add(&peer->node, &asks->servers);
	return peer;
}

/* The address that stands for former credentials: no question is asked with
 * these. */
static const char former_tls;

void
xfrd_asks_forget_tls(struct xfrd_asks *asks, const struct tls_client *tls)
{
	struct ask_peer *peer;

	cds_list_for_each_entry(peer, &asks->servers, node)
		if (tls != NULL && peer->server.tls == tls)
			peer->server.tls =
				(const struct tls_client *)&former_tls;
}

static void
peer_drop_unused(struct ask_peer *peer)
{
	if (peer->is_wanted || !cds_list_empty(&peer->pool.conns))
		return;
	cds_list_del(&peer->node);
	free(peer);
}

/* ---- connections --------------------------------------------------------- */

/* Tells of room for questions that wait: after a moment, as all of them are
 * looked through for it. */
void
xfrd_asks_tell_room(struct xfrd_asks *asks)
{
	static const struct timeval soon = {.tv_usec = ROOM_MSEC * 1000};

	if (asks->room_event == NULL || asks->is_told
		|| cds_list_empty(&asks->waiting))
		return;
	asks->is_told = true;
	event_add(asks->room_event, &soon);
}

static void
conn_free(struct conn *conn)
{
	net_client_close(conn->client);
	if (conn->event != NULL)
		event_free(conn->event);
	free(conn->slots);
	free(conn->free);
	free(conn);
}

static void
conn_close(struct conn *conn)
{
	xfr_pool_remove(&conn->pool);
	xfrd_asks_tell_room(conn->asks);
	peer_drop_unused(conn->peer);
	conn_free(conn);
}

static void
conn_set_timer(struct conn *conn, int64_t msec)
{
	event_add(conn->event, &(struct timeval){.tv_sec = msec / 1000,
		.tv_usec = msec % 1000 * 1000});
}

/* Sets the event by which a connection is looked at, or closed. */
static void
conn_await(struct conn *conn)
{
	int64_t msec = xfr_pool_look(&conn->pool, clock_now_msec());

	if (msec > 0)
		conn_set_timer(conn, msec);
	else
		conn_set_timer(conn, conn->pool.is_worn
				|| xfr_pool_find_idle(&conn->peer->pool) != NULL
			? 0 : IDLE_SEC * 1000);
}

/* Each slot has a question, may yet get messages for one, or is free. */
static void
conn_check(const struct conn *conn)
{
	assert(conn->pool.open + conn->pool.spent + conn->free_count
		== conn->slot_count);
}

/* Takes a question off its connection. is_spent: more messages to it may
 * come. */
static void
conn_drop_job(struct xfrd_ask *ask, bool is_spent)
{
	struct conn *conn = conn_of(ask);
	bool was_held = conn->pool.is_held;

	assert(conn->slots[ask->slot] == ask && conn->pool.open > 0);
	xfr_pool_leave(&ask->pool, is_spent, clock_now_msec());
	ask->was_open = net_client_is_open(conn->client);
	conn->slots[ask->slot] = NULL;
	if (!is_spent)
		conn->free[conn->free_count++] = ask->slot;
	conn_check(conn);
	xfrd_asks_tell_room(conn->asks);
	if (conn->pool.open == 0 || was_held)
		conn_await(conn);
}

/* Has no more questions go on a connection. */
static void
conn_wear(struct conn *conn)
{
	xfr_pool_wear(&conn->pool);
	if (conn->pool.open == 0)
		conn_await(conn);
}

/* False: no memory for another free slot. */
static bool
conn_add_slot(struct conn *conn)
{
	struct xfrd_ask **slots;
	uint16_t *spare;

	assert(conn->free_count == 0 && conn->slot_count <= UINT16_MAX);
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

/* Puts a question on a connection. False: no slot, or no memory for one. */
static bool
conn_join(struct conn *conn, struct xfrd_ask *ask)
{
	if (conn->free_count == 0 && !conn_add_slot(conn))
		return false;
	ask->slot = conn->free[--conn->free_count];
	assert(conn->slots[ask->slot] == NULL && ask->pool.conn == NULL);
	conn->slots[ask->slot] = ask;
	ask->id = (uint16_t)(conn->first_id + ask->slot);
	xfr_pool_join(&conn->pool, &ask->pool, clock_now_msec());
	conn_check(conn);
	if (conn->pool.open == 1)
		conn_await(conn);
	return true;
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
	slot = (uint16_t)(octets_get_u16(message) - conn->first_id);
	ask = slot < conn->slot_count ? conn->slots[slot] : NULL;
	xfr_pool_on_message(&conn->pool, ask != NULL ? &ask->pool : NULL, len,
		clock_now_msec());
	if (ask == NULL) {
		conn_wear(conn);
		return;
	}
	assert(conn_of(ask) == conn && ask->slot == slot);
	child_page_take(conn->asks->page, CHILD_PAGE_REPLY,
		&conn->peer->server.to,
		message, len);
	next = ask->calls->on_message(ask->ctx, message, len);
	child_page_drop(conn->asks->page);
	if (next == XFRD_ASK_MORE) {
		event_add(ask->event, &(struct timeval){
			.tv_sec = (time_t)conn->asks->timeout_sec});
		return;
	}
	conn_drop_job(ask, next == XFRD_ASK_LEFT);
	ask_free(ask);
}

/* Ends a connection: tells each question to go, or that it has failed. */
static void
conn_end(struct conn *conn, int error, const char *why)
{
	struct xfr_pool_question *question;
	bool is_again;

	while ((question = xfr_pool_end(&conn->pool, clock_now_msec(),
			&is_again))
		!= NULL) {
		struct xfrd_ask *ask = (struct xfrd_ask *)question;

		assert(conn->slots[ask->slot] == ask);
		ask->was_open = net_client_is_open(conn->client);
		conn->slots[ask->slot] = NULL;
		if (is_again)
			ask->calls->on_again(ask->ctx, &question->past);
		else
			ask->calls->on_fail(ask->ctx, error, why);
		ask_free(ask);
	}
	conn_close(conn);
}

static void
conn_on_end(void *ctx, int error)
{
	struct conn *conn = ctx;
	char text[TLS_FAILURE_MAX];

	conn_end(conn, error, conn->peer->server.tls != NULL
		? tls_client_print_failure(net_client_get_stream(conn->client),
			  text)
		: NULL);
}

static void
conn_on_open(void *ctx)
{
	struct conn *conn = ctx;

	xfr_pool_on_open(&conn->pool, clock_now_msec());
	if (conn->pool.open > 0)
		conn_await(conn);
}

static const struct net_client_calls conn_calls = {
	.on_open = conn_on_open,
	.on_message = conn_on_message,
	.on_end = conn_on_end,
};

/* Moves questions that wait behind others on a connection to other
 * connections. */
static void
conn_move(struct conn *conn)
{
	struct xfr_pool_question *question;

	while ((question = xfr_pool_find_mover(&conn->pool, clock_now_msec()))
		!= NULL) {
		struct xfrd_ask *ask = (struct xfrd_ask *)question;

		xfr_pool_wear(&conn->pool);
		conn_drop_job(ask, true);
		ask->calls->on_again(ask->ctx, &question->past);
		ask_free(ask);
	}
}

static void
conn_on_time(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg, *idle;

	if (conn->pool.open == 0) {
		conn_close(conn);
		return;
	}
	conn_await(conn);
	conn_move(conn);
	idle = (struct conn *)xfr_pool_find_idle(&conn->peer->pool);
	if (idle != NULL)
		conn_set_timer(idle, 0);
}

static struct bufferevent *
conn_open_tls(void *ctx, struct event_base *base, int fd)
{
	return tls_client_open(ctx, base, fd);
}

static enum nsd_err
conn_open(struct xfrd_asks *asks, struct ask_peer *peer, struct conn **made)
{
	const struct xfrd_ask_server *server = &peer->server;
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
	struct conn *conn = calloc(1, sizeof(*conn));
	enum nsd_err err = NSD_E_MEMORY;
	int error;

	if (conn == NULL)
		return NSD_E_MEMORY;
	conn->asks = asks;
	conn->peer = peer;
	conn->first_id = ask_random();
	conn->event = event_new(asks->base, -1, 0, conn_on_time, conn);
	if (conn->event != NULL)
		err = net_client_open(asks->base, &options, &conn_calls, conn,
			&conn->client);
	if (err == NSD_OK) {
		xfr_pool_add(&asks->pool, &peer->pool, &conn->pool,
			clock_now_msec());
		net_client_pause(conn->client, asks->pool.is_paused);
		*made = conn;
		return NSD_OK;
	}
	error = errno;
	conn_free(conn);
	errno = error;
	return err;
}

/* Finds a connection for a question, or opens one. */
static enum nsd_err
conn_find(struct xfrd_ask *ask, struct ask_peer *peer)
{
	struct xfrd_asks *asks = ask->asks;
	struct xfr_pool_conn *found;
	enum xfr_pool_place place;
	struct conn *conn;
	enum nsd_err err;

	while ((place = xfr_pool_find(&asks->pool, &peer->pool, &ask->pool,
			clock_now_msec(), &found))
		== XFR_POOL_END)
		conn_end((struct conn *)found, ETIMEDOUT, "it is too slow");
	if (place == XFR_POOL_WAIT)
		return NSD_E_AGAIN;
	if (place == XFR_POOL_OPEN) {
		err = conn_open(asks, peer, &conn);
		if (err != NSD_OK)
			return err;
		found = &conn->pool;
	}
	return conn_join((struct conn *)found, ask) ? NSD_OK : NSD_E_MEMORY;
}

/* Finds a connection for a question, by its server. */
static enum nsd_err
conn_find_to(struct xfrd_ask *ask, const struct xfrd_ask_server *server)
{
	struct ask_peer *peer = peer_get(ask->asks, server);
	enum nsd_err err;

	if (peer == NULL)
		return NSD_E_MEMORY;
	assert(!peer->is_wanted);
	/* Keeps the server while its last connection may be ended for the new
	 * one. */
	peer->is_wanted = true;
	err = conn_find(ask, peer);
	peer->is_wanted = false;
	peer_drop_unused(peer);
	return err;
}

/* ---- datagrams ----------------------------------------------------------- */

static void
ask_on_datagram(void *ctx, const uint8_t *message, size_t len)
{
	struct xfrd_ask *ask = ctx;
	struct child_page *page = ask->asks->page;

	assert(ask->event == NULL); /* a datagram has a socket of its own */
	if (len < 2 || octets_get_u16(message) != ask->id)
		return;
	child_page_take(page, CHILD_PAGE_REPLY, &ask->to, message, len);
	if (ask->calls->on_message(ask->ctx, message, len) != XFRD_ASK_MORE)
		ask_free(ask);
	child_page_drop(page);
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
ask_open_datagrams(struct xfrd_ask *ask, const struct xfrd_ask_server *server)
{
	const struct net_client_options options = {
		.to = &server->to,
		.from = server->from.ss_family != 0 ? &server->from : NULL,
		.timeout_sec = UDP_SEC,
	};

	ask->id = ask_random();
	return net_client_open(ask->asks->base, &options, &ask_datagrams, ask,
		&ask->client);
}

/* ---- questions ----------------------------------------------------------- */

static void
ask_on_silence(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd_ask *ask = arg;

	assert(ask->is_sent && ask->pool.conn != NULL);
	conn_wear(conn_of(ask));
	conn_drop_job(ask, true);
	ask->calls->on_fail(ask->ctx, ETIMEDOUT, NULL);
	ask_free(ask);
}

void
xfrd_asks_follow(struct xfrd_asks *asks, const struct conf_server *o)
{
	asks->pool.conns_max = o->xfrd_tcp_max > 0 ? o->xfrd_tcp_max : 1;
	asks->pool.per_conn = o->xfrd_tcp_pipeline > 0 ? o->xfrd_tcp_pipeline
						       : 1;
	asks->timeout_sec = o->tcp_timeout > 0 ? o->tcp_timeout
					       : TCP_TIMEOUT_SEC;
	asks->tcp_mss = (int)o->outgoing_tcp_mss;
}

void
xfrd_asks_init(struct xfrd_asks *asks)
{
	xfr_pool_init(&asks->pool);
	CDS_INIT_LIST_HEAD(&asks->servers);
	CDS_INIT_LIST_HEAD(&asks->waiting);
	asks->is_told = false;
}

void
xfrd_asks_pause(struct xfrd_asks *asks, bool pause)
{
	struct xfr_pool_conn *conn;

	if (asks->pool.is_paused == pause)
		return;
	xfr_pool_pause(&asks->pool, pause, clock_now_msec());
	cds_list_for_each_entry(conn, &asks->pool.conns, node)
		net_client_pause(((struct conn *)conn)->client, pause);
}

bool
xfrd_asks_know_silent(const struct xfrd_asks *asks,
	const struct xfrd_ask_server *server, int64_t since)
{
	const struct ask_peer *peer = peer_find(asks, server);

	return peer != NULL && peer->pool.heard_msec < since;
}

enum nsd_err
xfrd_ask_open(struct xfrd_asks *asks, const struct xfrd_ask_server *server,
	const struct xfrd_ask_how *how, const struct xfrd_ask_calls *calls,
	void *ctx, struct xfrd_ask **made)
{
	struct xfrd_ask *ask = calloc(1, sizeof(*ask));
	enum nsd_err err = NSD_E_MEMORY;
	int error;

	assert(server->tcp || server->tls == NULL);
	if (ask == NULL)
		return NSD_E_MEMORY;
	ask->asks = asks;
	ask->calls = calls;
	ask->ctx = ctx;
	ask->to = server->to;
	ask->pool.is_urgent = how->is_urgent;
	ask->pool.past = how->past;
	if (!server->tcp) {
		err = ask_open_datagrams(ask, server);
	} else {
		ask->event = event_new(asks->base, -1, 0, ask_on_silence, ask);
		if (ask->event != NULL)
			err = conn_find_to(ask, server);
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
	return ask->pool.conn != NULL
		? net_client_is_open(conn_of(ask)->client)
		: ask->client != NULL || ask->was_open;
}

int64_t
xfrd_ask_get_turn(const struct xfrd_ask *ask, int64_t now)
{
	return xfr_pool_get_turn(&ask->pool, now);
}

enum nsd_err
xfrd_ask_send(struct xfrd_ask *ask, const uint8_t *message, size_t len)
{
	assert(len >= 2 && len <= UINT16_MAX && !ask->is_sent);
	assert((ask->pool.conn == NULL) == (ask->client != NULL));
	ask->is_sent = true;
	if (ask->pool.conn == NULL)
		return net_client_send(ask->client, message, len);
	event_add(ask->event, &(struct timeval){
		.tv_sec = (time_t)ask->asks->timeout_sec});
	return net_client_send(conn_of(ask)->client, message, len);
}

void
xfrd_ask_close(struct xfrd_ask *ask)
{
	if (ask == NULL)
		return;
	if (ask->pool.conn != NULL) {
		if (ask->is_sent)
			conn_wear(conn_of(ask));
		conn_drop_job(ask, ask->is_sent);
	}
	ask_free(ask);
}
