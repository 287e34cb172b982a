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
	/* Counters the transport keeps; may be NULL. */
	uint64_t *rx_err;
	uint64_t *tx_err;
	uint64_t *dropped;
};

struct net_udp;

/*
 * Serves a bound UDP socket: batches with recvmmsg and sendmmsg, at most a few
 * batches before other events get their turn. Datagrams from port 0 are
 * dropped. Errors of sending (full buffers, unreachable, too large) are
 * counted, never fatal, never logged one by one.
 * reply_size: room for a reply (the larger EDNS size). fd stays the caller's.
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
 * Serves listening TCP sockets. All complete requests that one read brings are
 * handed over in batches and their replies sent with one write. A client that
 * does not read is not read from. When full: connections wait in the backlog
 * (or are accepted and closed, reject_overflow), idle time-outs shorten, and
 * the connection that has been idle longest makes room.
 */
enum nsd_err net_tcp_open(struct event_base *base, const int *fds,
	size_t fd_count, const struct net_tcp_options *options,
	const struct net_handler *handler, struct net_tcp **tcp) MUST_USE;
void net_tcp_close(struct net_tcp *tcp);

#endif
