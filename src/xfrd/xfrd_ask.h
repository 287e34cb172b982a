/*
 * xfrd_ask.h - a question of xfrd to another server, and the messages that
 * answer it: over UDP with a socket of its own, over TCP on a connection that
 * questions to one server share (RFC 7766).
 */
#ifndef XFRD_XFRD_ASK_H
#define XFRD_XFRD_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/list.h"

struct event;
struct event_base;
struct tls_client;
struct hand;
struct xfrd_ask;

/* Whom all questions go through. */
struct xfrd_asks {
	/* Set by the owner. */
	struct event_base *base;
	unsigned conns_max;   /* xfrd-tcp-max */
	unsigned per_conn;    /* xfrd-tcp-pipeline */
	unsigned timeout_sec; /* tcp-timeout: without a message, over TCP */
	int tcp_mss;          /* outgoing-tcp-mss */
	struct hand *hand;    /* has the message that is being read; or NULL */
	struct event *room_event; /* made active when a connection may be
				   * opened while somebody waits; or NULL */
	/* The owner's, from xfrd_asks_init on: who waits for a connection. As
	 * long as somebody does, one is opened only while turn is set. */
	struct cds_list_head waiting;
	bool turn;
	/* private */
	struct cds_list_head conns;
	unsigned conn_count;
	bool paused;
};

struct xfrd_ask_server {
	struct sockaddr_storage to;
	struct sockaddr_storage from; /* family 0: the system's choice */
	bool tcp;
	const struct tls_client *tls; /* over TCP: with TLS; NULL: plain. Lent
				       * as long as the asks are */
};

enum xfrd_ask_next {
	XFRD_ASK_MORE,  /* messages are to come */
	XFRD_ASK_ENDED, /* that was the last one */
	XFRD_ASK_LEFT,  /* more may come; they are not wanted */
};

struct xfrd_ask_calls {
	/* A message with the question's ID has come; nothing else of it is
	 * checked. */
	enum xfrd_ask_next (*on_message)(void *ctx, const uint8_t *message,
		size_t len);
	/* No more come. error: as of on_end in net/client.h; why: what TLS
	 * says; or NULL. */
	void (*on_fail)(void *ctx, int error, const char *why);
};

void xfrd_asks_init(struct xfrd_asks *asks);
/* Nothing is read from connections for now; or it is, again. */
void xfrd_asks_pause(struct xfrd_asks *asks, bool pause);

/*
 * Prepares a question: chooses its ID, and finds a connection or opens one.
 * Keeps calls and ctx. It is over, and freed, when on_message has returned
 * another value than XFRD_ASK_MORE, after on_fail, or with xfrd_ask_close.
 * returns NSD_OK with *ask; NSD_E_AGAIN: all connections are in use, or others
 * wait for one; NSD_E_MEMORY; NSD_E_SYSTEM with errno: there is no way to that
 * server.
 */
enum nsd_err xfrd_ask_open(struct xfrd_asks *asks,
	const struct xfrd_ask_server *server,
	const struct xfrd_ask_calls *calls, void *ctx,
	struct xfrd_ask **ask) MUST_USE;
uint16_t xfrd_ask_id(const struct xfrd_ask *ask);
/* True if its server has sent a message over TCP, for any question, within so
 * many milliseconds. Cost: the connections. */
bool xfrd_ask_is_heard(const struct xfrd_ask *ask, int64_t msec);
/* True if its server has taken the connection that it is, or was last, on. Over
 * UDP always. */
bool xfrd_ask_is_open(const struct xfrd_ask *ask);
/*
 * Sends it; borrows the message. It is sent again on another connection, once
 * each, if the connection had been used before and turns out to be closed, and
 * if that is silent, or busy with others, for long.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_LIMIT: too much waits for that server;
 * NSD_E_SYSTEM with errno.
 */
enum nsd_err xfrd_ask_send(struct xfrd_ask *ask, const uint8_t *message,
	size_t len) MUST_USE;
/* Nothing more is wanted; NULL is fine. Not from within its own calls. */
void xfrd_ask_close(struct xfrd_ask *ask);

#endif
