/*
 * tcp.h - common parts of the TCP service. From the top: tcp.c accepts
 * connections and times them out; tcp_queue.c keeps connections waiting for
 * which there is no place, and makes room for them; tcp_conn.c reads from one
 * connection and decides what is next for it; tcp_send.c writes to it;
 * tcp_stream.c does so for streams, and shares out the time; tcp_later.c sends
 * replies when their batch is over; tcp_io.c is its
 * socket, or the filter before it; tcp_share.c counts connections by network;
 * tcp_cpu.c charges the thread's time to them; tcp_wait.c waits.
 */
#ifndef SRC_NET_TCP_H
#define SRC_NET_TCP_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/list.h"
#include "later.h"
#include "net/count.h"
#include "net/proxy.h"
#include "net/server.h"

#define TCP_LENGTH_SIZE 2
#define TCP_MESSAGE_MAX 65535
/* A header, RFC 1035 section 4.1.1: nothing shorter is a message. */
#define TCP_MESSAGE_MIN 12
/* Time for which we read and drop octets that a client sends after the last
 * reply. */
#define TCP_LINGER_MS 2000
/* Time for a client until its connection's filter is open. */
#define TCP_GREETING_MS 10000

/* Pause of accepting for lack of descriptors or memory. */
#define TCP_PAUSE_MS 500

/* Most connections that wait for a place. Each holds a descriptor, and what its
 * client sends. */
#define TCP_QUEUE_MAX 1024u
/* The longest time in the queue. */
#define TCP_QUEUE_MS 10000

/* Most sockets that one turn serves. */
#define TCP_READY_MAX 64

/*
 * The work of one turn before UDP has its own, in units of some 0.3 us: the
 * cost of a small request among others. The rest waits for the next turn, so
 * that no client decides how long a turn is.
 */
#define TCP_TURN_COST 1024
#define TCP_COST_REQUEST 1
#define TCP_COST_EVENT 4
#define TCP_COST_ACCEPT 32
#define TCP_COST_CLOSE 16
/* A step in opening a filter costs at least this: that of TLS which signs takes
 * 0.1 to 0.3 ms. A longer step costs more, by the second number for each 10
 * us. */
#define TCP_COST_GREETING 512
#define TCP_COST_10_USEC 33
/* Octets read or sent that cost 1. Streams have a measure of their own, struct
 * tcp_pace. */
#define TCP_COST_OCTETS 1024

/* A listener or a connection, as the epoll set knows it. */
struct tcp_source {
	void (*on_ready)(struct tcp_source *source);
	unsigned ready_at; /* 1 + index in net_tcp.ready; 0: not there */
};

enum tcp_waiting { TCP_WAIT_NOTHING, TCP_WAIT_READ, TCP_WAIT_WRITE };

/* The list that a connection is in. A list has one time-out, so its oldest
 * connection is due first. */
enum tcp_phase {
	TCP_SILENT, /* has asked nothing yet */
	TCP_OPEN,
	TCP_LINGERING,
	TCP_GREETING, /* the filter is not open yet */
	TCP_QUEUED,   /* has no place yet, and is not one of net_tcp.count */
	TCP_PHASES,
};

/* The clients of a network. */
struct tcp_net {
	struct cds_list_head by_hash;   /* in tcp_share.buckets */
	struct cds_list_head by_weight; /* in tcp_share.heavy, if is_heavy */
	struct cds_list_head by_queue;  /* in tcp_share.queued, if any are */
	struct cds_list_head conns;     /* in the order of their coming */
	struct cds_list_head queue;     /* connections without a place,
					 * likewise */
	uint64_t prefix;
	unsigned count;
	unsigned queued;
	bool is_heavy;
};

/* The share of a network: a quarter of all places. Places above its share are
 * lent, and go to other networks when these come. */
#define TCP_SHARE_PART 4u
#define TCP_SHARE_BITS 10
#define TCP_SHARE_BUCKETS (1u << TCP_SHARE_BITS)

/* The connections by network: tcp_share.c. */
struct tcp_share {
	uint64_t secret[2]; /* of the hash */
	struct cds_list_head buckets[TCP_SHARE_BUCKETS];
	struct cds_list_head heavy;  /* networks that have more than theirs */
	struct cds_list_head queued; /* networks whose clients wait for a place;
				      * the one that got a place last is at the
				      * end */
	struct tcp_net *crowd;       /* the network of these that had most
				      * clients waiting when the last one came;
				      * or NULL */
	struct tcp_net *spare;       /* a freed one, for the next */
	struct tcp_net unknown;      /* of connections in the queue whose proxy
				      * has not named the client yet */
};

/* The thread's time that streams may take. */
struct tcp_pace {
	struct cds_list_head waiting; /* connections, the next one first */
	uint64_t requests;   /* of other clients, at the last look */
	int64_t at_nsec;     /* time used by the thread, at the last look */
	int64_t credit_nsec; /* beside other clients: time for streams. Below 0:
			      * they have had more */
	size_t room;         /* alone: octets, in this turn */
	size_t quiet;        /* the same at its beginning; 0: not alone */
};

union tcp_address {
	struct sockaddr sa;
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
};

/* The work for a client in this turn. */
struct tcp_charge {
	struct tcp_conn *conn;  /* NULL: the connection is gone, or has never
				 * been */
	union tcp_address peer; /* set if conn is not; AF_UNSPEC: no client is
				 * charged */
	unsigned cost;          /* part of the shared time */
	int64_t nsec;           /* time that was measured apart */
};

/* The clients that a look at the time is shared out to; turns seldom have
 * more. */
#define TCP_CHARGES_MAX 32u

/* The thread's time by client: tcp_cpu.h. */
struct tcp_cpu {
	bool counting;       /* there is a limit, and a turn */
	int64_t at_nsec;     /* time used by the thread, at the turn's begin */
	int64_t apart_nsec;  /* time since then that was charged apart */
	unsigned count;
	struct tcp_charge charges[TCP_CHARGES_MAX];
	struct cds_list_head throttled; /* connections, the next one first */
	struct sockaddr_storage peer; /* the client at hand */
};

/*
 * One connection. In a turn:
 * - It is gathered: its octets are read into the buffer that all share,
 *   data..data_end, and complete requests join the batch.
 * - The batch is answered when it is full, or when all that was ready has been
 *   read.
 * - Its turn ends: what is left of data moves to rest, replies that the client
 *   did not take are in out, and it waits for the next event.
 * - If it has a stream, it waits in line besides when there is room.
 */
struct tcp_conn {
	struct tcp_source source;
	struct net_tcp *tcp;
	struct cds_list_head by_age;  /* in net_tcp.conns */
	struct cds_list_head by_turn; /* in net_tcp.gathered, in
				       * tcp_pace.waiting, or in
				       * tcp_cpu.throttled */
	struct cds_list_head by_net;  /* in tcp_net.conns or in tcp_net.queue,
				       * if net is set */
	struct tcp_net *net; /* NULL: not known before a proxy says it */
	uint64_t active_ms;  /* last request or progress in sending */
	/* Of a stream, since active_ms: octets taken, time waited for that. */
	uint32_t taken;
	uint32_t waited_ms;
	uint32_t held_ms;    /* of now_ms when it was held up, if held */
	struct cds_list_head laters; /* replies that come later */
	uint64_t later_ms;   /* the time of the last such request */
	unsigned later_count;
	uint64_t throttled_ms; /* while it is throttled: until then */
	unsigned charge;     /* 1 + its index in tcp_cpu.charges; 0: none */
	const uint8_t *data; /* in net_tcp.in, while gathered */
	const uint8_t *data_end;
	uint8_t *rest;       /* requests not yet complete or answered */
	uint8_t *out;        /* replies that did not fit the socket */
	void *stream;        /* more replies, made when there is room */
	const struct filter *filter; /* before the socket; or NULL */
	union {
		const struct tcp_listener *listener; /* without a place: that
						      * it came to */
		void *filtered; /* the state of filter */
	};
	const struct exchange_identity *identity;
	enum exchange_transport transport;
	int fd;
	uint32_t rest_len;
	uint32_t rest_size;
	uint32_t out_at;     /* sent so far */
	uint32_t out_len;
	unsigned queries;
	/* Of the next requests, the first `seen` have been handed over before.
	 * Bits of these, the lowest of the first one: it was answered (enum
	 * exchange_seen). */
	unsigned seen;
	uint64_t answered;
	enum tcp_waiting waiting;
	enum tcp_phase phase;
	bool gathered;
	bool streams;        /* is in tcp_pace.waiting */
	bool held;           /* the client did not take all of a stream */
	bool throttled;      /* is in tcp_cpu.throttled */
	bool dated;          /* is_dated of its filter */
	bool awaits_header;  /* of its proxy: net/proxy.h */
	bool malformed;      /* a length that no message has is counted */
	bool eof;            /* the client will send no more */
	bool closing;        /* we read no more and close once all is sent */
	bool dead;           /* is destroyed when its turn ends */
	union tcp_address peer;
	union tcp_address proxy; /* the proxy that has named the peer; or
				  * AF_UNSPEC */
	union tcp_address local; /* the address that the peer asked;
				  * AF_UNSPEC: nobody has wanted it */
};

struct tcp_listener {
	struct tcp_source source;
	struct net_tcp *tcp;
	const struct filter *filter; /* or NULL */
	int fd;
	bool for_proxies;
	unsigned budget; /* connections to accept in a turn */
	unsigned used;   /* turns in a row that used it up */
	uint64_t behind_ms; /* since then some may wait in the kernel for room
			     * in the queue; 0: none do */
};

/*
 * All sockets are in an epoll set of their own, which is one event of the loop.
 * Closing a connection takes it out of the set without a further call, and the
 * end of a turn is known.
 */
struct net_tcp {
	struct event event;
	int epoll;
	/* Ready sockets that were not served yet. A turn may end before the
	 * list does; the next one goes on from there, or the first of the list
	 * would be the only ones that ever get a turn. */
	struct epoll_event ready[TCP_READY_MAX];
	unsigned ready_count;
	unsigned ready_next;
	struct net_handler handler;
	struct net_tcp_options options;
	struct tcp_listener *listeners;
	size_t listener_count;
	bool paused;          /* the listeners are not waited for */
	uint64_t resume_ms;   /* until then */
	uint64_t now_ms;      /* of a clock that never goes back, as the turn
			       * began: it is shorter than the clock's tick */
	struct event timer;
	uint64_t timer_ms;    /* when it fires; 0: not set */
	uint16_t idle_100ms;  /* the idle time-out, as this turn began */
	unsigned halvings;    /* of the idle time-out, when one came last */

	/* net_later.end of connections */
	void (*later_end)(struct net_later *later, const uint8_t *reply,
		size_t len, bool closes);
	struct cds_list_head conns[TCP_PHASES]; /* oldest activity first */
	unsigned count;  /* connections that have a place */
	unsigned queued; /* connections that wait for a place */
	bool queue_news; /* a connection of this turn may get a place */
	struct tcp_conn *spare; /* one freed connection, for the next */

	unsigned turn_cost; /* of what was done in this turn */
	struct tcp_pace pace;
	struct tcp_cpu cpu;
	int early;             /* below 0: new connections seldom have a */
	unsigned early_missed; /* request; so many were not looked at */

	/* The turn: its gathered connections, and the batch so far. */
	struct cds_list_head gathered;
	size_t in_used;
	uint8_t *replies;
	size_t batch_count;
	struct net_tcp_room *own_room; /* NULL: the caller gave it */
	/* All of the room. */
	uint8_t *in;
	struct exchange *exchanges;
	struct sockaddr_storage *peer;
	struct tcp_conn *owner[EXCHANGE_BATCH_MAX];

	struct tcp_share share;
};

/* ---- tcp_wait.c: the clock, the timer, the listeners */

/* Reads the clock for net_tcp.now_ms. A turn and the timer begin with it. */
void tcp_wait_read_clock(struct net_tcp *tcp);

/* Makes sure that the timer fires at at_ms or before; its callback is that of
 * tcp.c. */
void tcp_wait_until(struct net_tcp *tcp, uint64_t at_ms);

/*
 * The idle time-out of a connection of a phase: tcp-timeout, and less when more
 * than half of all places are taken. A client that has asked something gets
 * 1/2, 1/4 (beyond three quarters) or 1/8 (beyond seven eighths) of it; another
 * one a quarter of that. The least is 2 seconds, or tcp-timeout if that is
 * less; all get the least if all places are taken and tcp-reject-overflow is
 * on. Lingering and queued connections have fixed times, new ones with a filter
 * at most TCP_GREETING_MS.
 */
uint64_t tcp_wait_timeout_ms(const struct net_tcp *tcp, enum tcp_phase phase);

/* Sets the timer after a connection has come: with many of them the time-outs
 * are shorter. */
void tcp_wait_on_newcomer(struct net_tcp *tcp);

/* Waits for connections to a listener. False: the system has no memory. */
bool tcp_wait_for(struct tcp_listener *listener);

/* Waits for no connections until until_ms, or until one that is open leaves. */
void tcp_wait_pause(struct net_tcp *tcp, uint64_t until_ms);

/* Waits for connections again; pauses for TCP_PAUSE_MS if that fails. */
void tcp_wait_resume(struct net_tcp *tcp);

/* A connection was active, so it becomes the last of its phase to be timed
 * out. */
void tcp_conn_touch(struct tcp_conn *conn);

/*
 * Notes that the client took `taken` octets of those that were offered it. It
 * counts as active if it takes a stream at net_tcp_options.stream_rate, as long
 * as the stream waits for it and not it for the stream; or if the octets are of
 * no stream.
 */
void tcp_conn_note_taken(struct tcp_conn *conn, size_t taken,
	size_t offered);

/* A connection left: accepts again if accepting was paused. */
void tcp_wait_on_room(struct net_tcp *tcp);

/* A connection left the queue, for a place or for good. */
void tcp_wait_on_queue_left(struct net_tcp *tcp);

/* The queue is full. True: accepting is paused, as newcomers of the listener
 * have not waited for long. False: they are to be accepted. */
bool tcp_wait_behind_queue(struct tcp_listener *listener);

/* ---- tcp_share.c */

enum nsd_err tcp_share_init(struct tcp_share *share) MUST_USE;
/* Releases the networks. There are no connections any more. */
void tcp_share_fini(struct tcp_share *share);

/* Counts a connection for the network of its peer. Without memory it counts for
 * none. */
void tcp_share_join(struct tcp_conn *conn);
/* Counts a connection that is TCP_QUEUED for its network. Connections whose
 * peer is not known yet, or without memory, have a network of their own. */
void tcp_share_queue(struct tcp_conn *conn);
/* Undoes tcp_share_join or tcp_share_queue. */
void tcp_share_leave(struct tcp_conn *conn);

/* Finds anew which networks have more than their share, after a change of the
 * options. Cost: a look at all networks. */
void tcp_share_weigh_all(struct net_tcp *tcp);

/* True if the network has less than its share. */
bool tcp_share_is_below(const struct net_tcp *tcp, const struct tcp_net *net);

/* The network whose turn it is to get a place: the one with the fewest places
 * of those with a queue. NULL: there is none. Cost: bounded. */
struct tcp_net *tcp_share_find_next(struct net_tcp *tcp);
/* Notes that a network with a queue gets a place: networks with as many places
 * come before it from now on, and all in their turn if they are too many to be
 * looked at. */
void tcp_share_take_turn(struct net_tcp *tcp, struct tcp_net *net);

/* Finds the connection to drop if the queue is too long: the last one of the
 * network that has most there. NULL: the queue is empty. Cost: bounded. */
struct tcp_conn *tcp_share_find_last(struct net_tcp *tcp);

/* The connection that makes room for a network that has less than its share:
 * the eldest of the heaviest network, preferably one that has all its replies.
 * NULL: there is none. Cost: bounded. */
struct tcp_conn *tcp_share_find_place(struct net_tcp *tcp);

/* ---- tcp_conn.c */

/* The distance of reply buffers: an odd number of cache lines, so that they do
 * not all begin in the same set of the cache. */
#define REPLY_STRIDE (TCP_MESSAGE_MAX + 1 + 5 * 64)

static inline uint8_t *
tcp_reply_buffer(const struct net_tcp *tcp, size_t i)
{
	return tcp->replies + i * REPLY_STRIDE + TCP_LENGTH_SIZE;
}

/* All places are taken. */
static inline bool
tcp_is_full(const struct net_tcp *tcp)
{
	return tcp->count >= tcp->options.connections_max;
}

/* No more is to be done in this turn. */
static inline bool
tcp_turn_is_over(const struct net_tcp *tcp)
{
	return tcp->turn_cost >= TCP_TURN_COST;
}

/* Makes the buffers that connections share, but for the room, if there is one.
 * NSD_E_MEMORY without memory; tcp_turn_fini is due in any case. */
enum nsd_err tcp_turn_init(struct net_tcp *tcp, struct net_tcp_room *room)
	MUST_USE;
void tcp_turn_fini(struct net_tcp *tcp);

/* Ends a turn, or a part of it when the buffers are full: answers what is left
 * of the batch, and ends the turn of each connection that is gathered. */
void tcp_turn_end(struct net_tcp *tcp);

/* Takes an accepted socket, which has no place yet and is in no list. NULL (and
 * it is closed): there is no memory. */
struct tcp_conn *tcp_conn_create(const struct tcp_listener *listener, int fd,
	const struct sockaddr_storage *peer);

/* Gives a new connection a place. early: in a turn it may read at once the
 * octets that are there. The connection may be gone when this returns. */
void tcp_conn_enter(struct tcp_conn *conn, bool early);

/* Reads the header of the connection's proxy, and from it the client's address.
 * *taken: octets of the header. PROXY_MALFORMED: the connection is to be
 * destroyed, for a fault or as the client has used up its time. */
enum proxy_outcome tcp_conn_read_header(struct tcp_conn *conn,
	const uint8_t *data, size_t len, uint32_t *taken);

/* Closes and releases a connection that is not gathered. */
void tcp_conn_destroy(struct tcp_conn *conn);

/* Waits for the next event of a connection that is not gathered. The connection
 * may be gone when this returns. */
void tcp_conn_next(struct tcp_conn *conn);

/* Stops waiting for a connection's socket, until tcp_conn_next. */
void tcp_conn_ignore(struct tcp_conn *conn);

/* True if there are replies that the client has not taken, or more to be
 * made. */
static inline bool
tcp_conn_is_busy(const struct tcp_conn *conn)
{
	return conn->out_len > 0 || conn->stream != NULL;
}

/* Replies to come of a connection from which on it is not read from; a batch
 * may bring some more. */
#define TCP_LATER_MAX 64u
/* Time for which a connection is not idle if it waits for such replies. */
#define TCP_LATER_MS 30000

static inline bool
tcp_conn_has_many_laters(const struct tcp_conn *conn)
{
	return conn->later_count >= TCP_LATER_MAX;
}

/* True if the client waits for replies, or we wait for it to take them. */
static inline bool
tcp_conn_is_in_use(const struct tcp_conn *conn)
{
	return tcp_conn_is_busy(conn) || conn->later_count > 0;
}

/* Tells the handler that a stream is over. */
static inline void
tcp_stream_end(struct net_tcp *tcp, void *stream)
{
	if (tcp->handler.on_stream_end != NULL)
		tcp->handler.on_stream_end(tcp->handler.ctx, stream);
}

/* Sends the replies to the exchanges first..end (exclusive), which are all of
 * this connection; keeps what the socket does not take. Returns the count of
 * replies. */
size_t tcp_conn_reply(struct tcp_conn *conn, size_t first, size_t end);

/* Keeps octets behind those that the client has not taken yet. They are part of
 * a reply's message, with its length. False: there is no memory, or too much
 * is kept already. */
bool tcp_conn_keep_more(struct tcp_conn *conn, const uint8_t *octets,
	size_t len) MUST_USE;

/* Sends replies that were kept. False if not all went, or the connection is
 * dead. */
bool tcp_conn_send_out(struct tcp_conn *conn);

/* ---- tcp_later.c */

/* Sends a reply that has come, or sees that there is none: net_later.end. */
void tcp_later_end(struct net_later *later, const uint8_t *reply, size_t len,
	bool closes);

/* The reply that comes later, of a connection. */
struct tcp_later {
	struct net_later base;
	struct tcp_conn *conn;
};

/* ---- tcp_queue.c */

/* Has a new connection wait for a place, until the end of the turn at least.
 * The connection may be gone when this returns. */
void tcp_queue_add(struct tcp_conn *conn);

/* Gives places to waiting connections that may have one by now: by the shares
 * of their networks, or since a connection is idle. Sets the timer for the next
 * look, if any wait. early: as of tcp_conn_enter. */
void tcp_queue_admit(struct net_tcp *tcp, bool early);

/* Settles the queue at the end of a turn: admits connections that may enter,
 * and closes those that are too many. With reject_overflow none waits. */
void tcp_queue_end_turn(struct net_tcp *tcp);

/* There are no descriptors: closes a connection that waits or is idle. False:
 * there is none. */
bool tcp_queue_free_descriptor(struct net_tcp *tcp);

/* ---- tcp_stream.c */

/* Has the connection, which has a stream and is not gathered, wait in line to
 * send what is in out and messages. It may wait there already. */
void tcp_stream_join(struct tcp_conn *conn);
/* Takes the connection out of the line, if it waits there. */
void tcp_stream_leave(struct tcp_conn *conn);

/* Chooses the time or octets of streams in this turn. False: there are none, or
 * no stream waits. True: tcp_stream_stop is due. */
bool tcp_stream_begin(struct net_tcp *tcp);
/* Takes the next connection out of the line. NULL: the time or octets of this
 * turn are used up, or no connection waits. */
struct tcp_conn *tcp_stream_next(struct net_tcp *tcp);
/* Sends what is in out and some messages; joins the line again if more fit. */
void tcp_stream_send(struct tcp_conn *conn);
void tcp_stream_stop(struct net_tcp *tcp);

#endif
