/*
 * client.h - sends messages to another server and takes its messages, over TCP
 * or UDP.
 *
 * It runs on the caller's libevent loop. It knows nothing of DNS but the
 * two-octet length before a message on a stream (RFC 1035 section 4.2.2).
 */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

struct bufferevent;
struct event_base;
struct net_client;

struct net_client_calls {
	/* Over TCP: the other side has taken the connection. NULL: not called.
	 * May not close the client. */
	void (*on_open)(void *ctx);
	/* The other server has sent a message, which is lent. Over UDP it is
	 * from the address that was asked. May close the client. */
	void (*on_message)(void *ctx, const uint8_t *message, size_t len);
	/*
	 * No more messages come. Never called from within net_client_open and
	 * net_client_send. Called once; the client is still to be closed, which
	 * may be done here.
	 * error: 0 if the other side has closed; ETIMEDOUT if it was silent for
	 * too long, or did not take what was sent; else an errno.
	 */
	void (*on_end)(void *ctx, int error);
};

/* Makes a stream over a socket, other than a plain one. */
struct net_client_stream {
	/* The socket is to be connected, and the stream's from then on; NULL:
	 * no memory. */
	struct bufferevent *(*open)(void *ctx, struct event_base *base,
		int fd);
	void *ctx;
};

struct net_client_options {
	const struct sockaddr_storage *to;
	const struct sockaddr_storage *from; /* port 0: any; NULL: the system's
					      * choice */
	bool tcp;
	const struct net_client_stream *stream; /* of TCP; NULL: plain */
	int tcp_mss;          /* 0: the system's */
	unsigned timeout_sec; /* the longest time without octets of the other
			       * side; also while the client is idle */
};

/*
 * Begins to connect; over UDP that asks nothing of the other side. Copies its
 * arguments, but keeps base and ctx.
 * returns NSD_OK with *client; NSD_E_MEMORY; NSD_E_SYSTEM with errno: there is
 * no socket, no such source address, or no way to that server.
 */
enum nsd_err net_client_open(struct event_base *base,
	const struct net_client_options *options,
	const struct net_client_calls *calls, void *ctx,
	struct net_client **client) MUST_USE;

/*
 * Sends a message of 1 to 65535 octets, or has a copy of it wait until the
 * connection is made.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_LIMIT: NET_CLIENT_WAITING_MAX octets wait
 * already; NSD_E_SYSTEM with errno: over UDP, the system does not send it.
 */
#define NET_CLIENT_WAITING_MAX (256u * 1024)
enum nsd_err net_client_send(struct net_client *client,
	const uint8_t *message, size_t len) MUST_USE;

/* Over TCP: stops or resumes reading. While paused, no message and no end is
 * reported, and silence does not count. Later all that came before is
 * reported. */
void net_client_pause(struct net_client *client, bool pause);

/* True if the other side has taken the connection (and the TLS handshake is
 * done); also once it has ended. Over UDP it is false. */
bool net_client_is_open(const struct net_client *client);

/* Lends the client's stream; NULL: over UDP. */
struct bufferevent *net_client_get_stream(const struct net_client *client);

/* Ends the client; on_end is not called any more. NULL is fine. */
void net_client_close(struct net_client *client);

#endif
