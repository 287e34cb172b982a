/*
 * server.h - brings requests over UDP and TCP to a handler, and replies back.
 *
 * It runs in a worker, on the worker's libevent loop. It knows nothing of DNS
 * but the two-octet length before a message on a stream
 * (RFC 1035 section 4.2.2, RFC 7766).
 */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/exchange.h"
#include "base/filter.h"
#include "base/latency.h"
#include "net/later.h"
#include "net/room.h"

struct event_base;

struct net_handler {
	/* Answers count (1..EXCHANGE_BATCH_MAX) requests, all of one transport:
	 * sets reply_len of each, up to its reply_capacity. */
	void (*on_batch)(void *ctx, struct exchange *exchanges, size_t count);
	void *ctx;
	/*
	 * For exchanges whose stream the handler has set; NULL if it never
	 * does. on_stream writes the next message and returns its length; 0:
	 * there are no more. It is called when the client has room, never from
	 * within on_batch. on_stream_end is called once for each stream, when
	 * it ends or its connection is gone, even if the stream was never asked
	 * for a message.
	 */
	size_t (*on_stream)(void *ctx, void *stream, uint8_t *reply,
		size_t capacity);
	void (*on_stream_end)(void *ctx, void *stream);
	/*
	 * For exchanges whose `later` the handler has set; NULL if it never
	 * does. Called once for each, with that value, when on_batch has
	 * returned: reply is the handler's, who releases it (net/later.h).
	 * NULL: there is no memory. No reply is sent from within it.
	 */
	void (*on_later)(void *ctx, void *later, struct net_later *reply);
	/* A stream had a length that no message has (0..11); its connection
	 * closes. peer is lent. NULL: not called. */
	void (*on_bad_length)(void *ctx, const struct sockaddr_storage *peer,
		size_t len);
	/* Of sockets that are for proxies: true if this proxy may name its
	 * clients. peer is lent. NULL: any proxy may. */
	bool (*may_proxy)(void *ctx, const struct sockaddr_storage *peer);
	/*
	 * Of clients on streams, if options say that their time is limited.
	 * on_spent: the thread has used nsec of processor time for connections
	 * of a client; now_msec: of clock_coarse_msec. is_throttled: true if a
	 * client has had too much. Then its new connections are closed, and
	 * counted as errors, and its open ones are not served. peer is lent;
	 * it is the client, not its proxy. NULL, both: no limit.
	 */
	void (*on_spent)(void *ctx, const struct sockaddr_storage *peer,
		int64_t nsec, uint64_t now_msec);
	bool (*is_throttled)(void *ctx, const struct sockaddr_storage *peer,
		uint64_t now_msec);
	/* Counters that the transport keeps; may be NULL. rx_err: errors of the
	 * system, connections and datagrams that are turned away, and octets
	 * that are no message: nothing of that is handed over. requests:
	 * requests handed over without a stream. All sockets of a process count
	 * in the same one: by it streams are given a share of the time
	 * (net_tcp_open). */
	uint64_t *rx_err;
	uint64_t *tx_err;
	uint64_t *requests;
	/* Raised before octets of clients are read, once for a turn of a
	 * socket, or of all connections. */
	uint64_t *turns;
	/* exchange.local is set while this is not 0; atomic. NULL: it never
	 * is. */
	const uint32_t *wants_local;
	/* The times from before requests were received (on streams: from when
	 * they were handed over for the last time) until the replies were given
	 * to the system. Requests without a reply, and messages of on_stream,
	 * are not counted. NULL: none are. */
	struct latency_block *latency;
};

struct net_udp_options {
	/* Octets of room for a reply (the larger EDNS size). No reply has more
	 * than an IPv4 datagram carries, 65507 octets. If it is up to 1232,
	 * IPv4 replies are sent with DF as long as the interface carries them
	 * whole (RFC 9715). */
	size_t reply_size;
	bool for_proxies;
	/* The room of datagrams: all zeros at first, lent until the socket is
	 * closed, and shared by sockets of a thread. NULL: the socket makes its
	 * own. */
	struct net_udp_room *room;
};

struct net_udp;

/*
 * Serves a bound UDP socket. It moves batches with recvmmsg and sendmmsg, at
 * most a few before other events get their turn.
 *
 * Datagrams from port 0, or to a broadcast or multicast address, are dropped
 * and counted as errors. Empty and short ones are handed over; of a datagram
 * over 4096 octets, the first 4096 are. A reply leaves from the address that
 * the request was sent to, also on a wildcard socket. Errors of sending (full
 * buffer, unreachable, too large) are counted; they are never fatal and never
 * logged one by one.
 *
 * Of proxies, each datagram begins with a header of the PROXY protocol
 * (net/proxy.h), which names the client's address (exchange.peer; the proxy's
 * own is exchange.proxy). The reply goes to the proxy, without a header. A
 * datagram with another beginning is dropped, and so is one of a proxy that is
 * not allowed; both are counted as errors.
 *
 * in: fd, which stays the caller's. Copies *options and *handler.
 * returns NSD_OK with *udp, not to be closed from within on_batch;
 *     NSD_E_MEMORY without memory; NSD_E_SYSTEM if fd has no address or
 *     refuses an option, or the loop refuses the event.
 */
enum nsd_err net_udp_open(struct event_base *base, int fd,
	const struct net_udp_options *options,
	const struct net_handler *handler, struct net_udp **udp) MUST_USE;
/*
 * Sets another room for replies; not from within on_batch. Requests that wait
 * in the socket stay. returns NSD_OK; NSD_E_MEMORY: all is as it was.
 */
enum nsd_err net_udp_set_reply_size(struct net_udp *udp, size_t reply_size)
	MUST_USE;
/*
 * Reads and hands over one request at a time (careful), or as many as there
 * are, as at first. A worker that dies of a careful request takes no other
 * request along. If some 400 wait already, all are read even so: time is short.
 */
void net_udp_set_careful(struct net_udp *udp, bool careful);
/*
 * Reads the count of datagrams that the kernel has dropped on the socket,
 * mostly because they were not read in time, since the last call, or since
 * net_udp_open. Modulo 2^32. 0 if the system does not say (Linux before 4.12).
 * Cost: a system call.
 */
uint32_t net_udp_take_lost(struct net_udp *udp);
/* Stops serving; NULL is fine. */
void net_udp_close(struct net_udp *udp);

struct net_tcp_options {
	unsigned connections_max; /* tcp-count, all sockets of this server */
	unsigned queries_max;     /* tcp-query-count; 0: any number */
	unsigned timeout_sec;     /* tcp-timeout: idle, and for a write */
	bool reject_overflow;     /* tcp-reject-overflow */
	bool limits_cpu;          /* tcp-cpu-limit: there is one */
	/* The least rate, in octets a second, of a client that a stream waits
	 * for. With less it counts as idle; 0: only with no octet. */
	unsigned stream_rate;
	/* The room of requests, for net_tcp_open: lent until net_tcp_close.
	 * NULL: tcp makes its own. */
	struct net_tcp_room *room;
};

/* A listening socket. */
struct net_listener {
	int fd;           /* non-blocking; stays the caller's */
	bool for_proxies; /* connections begin with a header of the PROXY
			   * protocol (net/proxy.h), which names the client;
			   * connections without it, or of proxies that are not
			   * allowed, are closed, and counted as errors */
	const struct filter *filter; /* of its connections; lent as long
				      * as tcp is there; NULL: none */
};

struct net_tcp;

/*
 * Serves listening TCP sockets. One turn of the loop reads requests of many
 * connections. All complete requests are handed over in batches, and the
 * replies to one connection are sent with one write. A client that does not
 * read its replies is not read from. An idle connection holds no buffer.
 *
 * When all places are taken, new connections are accepted and wait, up to 1024
 * and for ten seconds. The connection that has been idle longest makes room
 * once it has been idle for a fifth of a second, or for a fiftieth if it never
 * asked anything. An incomplete request is no activity. No network keeps more
 * than its share while others wait (doc/decisions/0109). With reject_overflow
 * new connections are accepted and closed instead, and an idle one is given two
 * seconds. Without descriptors a connection that waits or is idle is closed, or
 * accepting pauses.
 *
 * Streams have a tenth of the thread's time while others have requests, and all
 * the time that these leave (doc/decisions/0114).
 *
 * A connection with a filter has ten seconds until the filter is open, or
 * tcp-timeout if that is less. Opening may cost much, so a turn does it for
 * few.
 *
 * A quarter of all places is the share of a network (IPv4: 24 bits, IPv6: 56).
 * Places above its share go to newcomers of other networks, idle or not; its
 * own newcomers take only its own idle places meanwhile, or are closed. See
 * doc/decisions/0109. The idle time-out shrinks when more than half of all
 * places are taken.
 *
 * in: Copies its arguments.
 * returns NSD_OK with *tcp, not to be closed from a handler; NSD_E_MEMORY
 *     without memory; NSD_E_SYSTEM if the system gives no epoll set or refuses
 *     a socket in it, or the loop refuses the event.
 */
enum nsd_err net_tcp_open(struct event_base *base,
	const struct net_listener *listeners, size_t count,
	const struct net_tcp_options *options,
	const struct net_handler *handler, struct net_tcp **tcp) MUST_USE;
/* Sets other options. Open connections stay, even if they are too many; the
 * time-out is theirs, too. */
void net_tcp_set_options(struct net_tcp *tcp,
	const struct net_tcp_options *options);
/* Closes the connections for whose stream `ends` returns true; not from a
 * handler. peer is lent; it is the client, not its proxy. */
typedef bool net_tcp_ends(void *ctx, void *stream,
	const struct sockaddr_storage *peer);
void net_tcp_end_streams(struct net_tcp *tcp, net_tcp_ends *ends, void *ctx);
/* Closes all connections; what is unsent is lost. NULL is fine. */
void net_tcp_close(struct net_tcp *tcp);
/* The count of open connections, without those that wait for a place. */
unsigned net_tcp_count(const struct net_tcp *tcp);

#endif
