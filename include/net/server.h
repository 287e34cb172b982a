/*
 * server.h - requests over UDP and TCP to a handler, replies back.
 *
 * Runs in a worker on its libevent loop. Knows no DNS but the two-octet length
 * in front of a message on a stream (RFC 1035 section 4.2.2, RFC 7766).
 */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/exchange.h"

struct event_base;

struct net_handler {
	/* Answers count (1..EXCHANGE_BATCH_MAX) requests: sets reply_len of
	 * each. All from one transport. */
	void (*on_batch)(void *ctx, struct exchange *exchanges, size_t count);
	void *ctx;
	/*
	 * For the exchanges whose stream the handler set; NULL if it never
	 * does. on_stream writes the next message and returns its length,
	 * 0: there are no more. It is called when the client has room, never
	 * from within on_batch. on_stream_end is called once for each
	 * stream, at its end or when its connection is gone, also for a
	 * stream that was never asked for a message.
	 */
	size_t (*on_stream)(void *ctx, void *stream, uint8_t *reply,
		size_t capacity);
	void (*on_stream_end)(void *ctx, void *stream);
	/* A length on a stream that cannot be a message (0..11); the
	 * connection closes. Both are lent. NULL: nobody wants to know. */
	void (*on_bad_length)(void *ctx, const struct sockaddr_storage *peer,
		size_t len);
	/* Counters the transport keeps; may be NULL. */
	uint64_t *rx_err;
	uint64_t *tx_err;
	uint64_t *dropped;
};

struct net_udp;

/*
 * Serves a bound UDP socket: batches with recvmmsg and sendmmsg, at most a few
 * batches before other events get their turn. Datagrams from port 0 or to a
 * broadcast or multicast address are dropped and counted; empty and short
 * ones are handed over, of longer ones than 4096 octets the first 4096.
 * Replies leave from the address that was asked, also on a wildcard socket.
 * Errors of sending (full buffers, unreachable, too large) are counted, never
 * fatal, never logged one by one.
 * reply_size: room for a reply (the larger EDNS size), but never more than an
 * IPv4 datagram carries, 65507 octets. Up to 1232 IPv4 replies carry DF,
 * unless the interface cannot carry them whole: RFC 9715.
 * fd stays the caller's.
 * Returns NSD_E_MEMORY or NSD_E_SYSTEM. Copies *handler. Not to be closed
 * from within on_batch.
 */
enum nsd_err net_udp_open(struct event_base *base, int fd, size_t reply_size,
	const struct net_handler *handler, struct net_udp **udp) MUST_USE;
void net_udp_close(struct net_udp *udp);

struct net_tcp_options {
	unsigned connections_max; /* tcp-count, all sockets of this server */
	unsigned queries_max;     /* tcp-query-count; 0: any number */
	unsigned timeout_sec;     /* tcp-timeout: idle, and for a write */
	bool reject_overflow;     /* tcp-reject-overflow */
};

struct net_tcp;

/*
 * Serves listening TCP sockets. All complete requests that one turn of the
 * loop brings, of all connections, are handed over in batches; the replies to
 * one connection are sent with one write. A client that does not read is not
 * read from. When full: connections wait in the backlog, and the one that has
 * been idle longest makes room, if it has been for a fifth of a second, or a
 * fiftieth if it never asked anything; with reject_overflow connections are
 * accepted and closed instead, and an idle one is given two seconds. An
 * incomplete request is no activity.
 * Out of descriptors: an idle connection is closed, or accepting pauses.
 * An idle connection holds no buffer.
 * fds stay the caller's; they must be non-blocking. Copies its arguments.
 * Returns NSD_E_MEMORY or NSD_E_SYSTEM. Not to be closed from a handler.
 */
enum nsd_err net_tcp_open(struct event_base *base, const int *fds,
	size_t fd_count, const struct net_tcp_options *options,
	const struct net_handler *handler, struct net_tcp **tcp) MUST_USE;
/* Closes all connections; what is unsent is lost. */
void net_tcp_close(struct net_tcp *tcp);
/* Connections that are open now. */
unsigned net_tcp_count(const struct net_tcp *tcp);

#endif
