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
#include "xfr/pool.h"

struct event;
struct event_base;
struct tls_client;
struct conf_server;
struct child_page;
struct xfrd_ask;

/* Questions to other servers, and their connections. */
struct xfrd_asks {
	/* Set by the owner. */
	struct event_base *base;
	struct xfr_pool pool; /* conns_max: xfrd-tcp-max; per_conn:
			       * xfrd-tcp-pipeline */
	unsigned timeout_sec; /* tcp-timeout: without a message, over TCP */
	int tcp_mss;          /* outgoing-tcp-mss */
	struct child_page *page; /* the message being read; or NULL */
	struct event *room_event; /* added when a connection may be had while
				   * questions wait; or NULL */
	/* The owner's, from xfrd_asks_init on: questions that wait for a
	 * connection. */
	struct cds_list_head waiting;
	bool is_told; /* room_event is to come; reset by the owner */
	/* private */
	struct cds_list_head servers;
};

struct xfrd_ask_server {
	struct sockaddr_storage to;
	struct sockaddr_storage from; /* family 0: the system's choice */
	bool tcp;
	const struct tls_client *tls; /* over TCP: with TLS; NULL: plain. Lent
				       * until xfrd_asks_forget_tls */
};

enum xfrd_ask_next {
	XFRD_ASK_MORE,  /* messages are to come */
	XFRD_ASK_ENDED, /* this message was the last one */
	XFRD_ASK_LEFT,  /* more may come; they are not wanted */
};

struct xfrd_ask_calls {
	/* A message with the question's ID has come; nothing else of it is
	 * checked. */
	enum xfrd_ask_next (*on_message)(void *ctx, const uint8_t *message,
		size_t len);
	/* No more messages come. error: as of on_end in net/client.h; why: what
	 * TLS says; or NULL. */
	void (*on_fail)(void *ctx, int error, const char *why);
	/* Over TCP: the question has left its connection, without a message so
	 * far, and is to be opened and sent again. This one is over, and
	 * freed. */
	void (*on_again)(void *ctx, const struct xfr_pool_past *past);
};

/* How a question over TCP is asked. */
struct xfrd_ask_how {
	bool is_urgent; /* slower ones may be given up for it */
	struct xfr_pool_past past; /* from the last on_again; zeros at first */
};

void xfrd_asks_init(struct xfrd_asks *asks);
/* Has questions that come from now on bound by these options. */
void xfrd_asks_follow(struct xfrd_asks *asks, const struct conf_server *o);
/* No question will be asked with these credentials any more. Connections that
 * were made with them go on with questions that are under way. */
void xfrd_asks_forget_tls(struct xfrd_asks *asks, const struct tls_client *tls);
/* Stops reading from connections, or goes on. */
void xfrd_asks_pause(struct xfrd_asks *asks, bool pause);

/*
 * Prepares a question: chooses its ID, and finds a connection or opens one.
 * Keeps calls and ctx. It is over, and freed, when on_message has returned
 * another value than XFRD_ASK_MORE, after on_fail or on_again, or with
 * xfrd_ask_close. May end other questions, for those that are in haste.
 * returns NSD_OK with *ask; NSD_E_AGAIN: there is no connection for it now;
 * NSD_E_MEMORY; NSD_E_SYSTEM with errno: there is no way to that server.
 */
enum nsd_err xfrd_ask_open(struct xfrd_asks *asks,
	const struct xfrd_ask_server *server, const struct xfrd_ask_how *how,
	const struct xfrd_ask_calls *calls, void *ctx,
	struct xfrd_ask **ask) MUST_USE;
uint16_t xfrd_ask_id(const struct xfrd_ask *ask);
/* Returns when the turn of a question over TCP came (xfr_pool_get_turn); now:
 * it is to come. */
int64_t xfrd_ask_get_turn(const struct xfrd_ask *ask, int64_t now);
/* True if a server has connections, and has sent no message on any of them
 * since then. */
bool xfrd_asks_know_silent(const struct xfrd_asks *asks,
	const struct xfrd_ask_server *server, int64_t since);
/* Tells the owner soon that a connection may be had. */
void xfrd_asks_tell_room(struct xfrd_asks *asks);
/* True if the server has accepted the connection that the question is, or was
 * last, on. Over UDP always. */
bool xfrd_ask_is_open(const struct xfrd_ask *ask);
/*
 * Sends a question; borrows the message.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_LIMIT: too much waits for that server;
 * NSD_E_SYSTEM with errno.
 */
enum nsd_err xfrd_ask_send(struct xfrd_ask *ask, const uint8_t *message,
	size_t len) MUST_USE;
/* Ends a question without an answer; NULL is fine. Not from within its own
 * calls. */
void xfrd_ask_close(struct xfrd_ask *ask);

#endif
