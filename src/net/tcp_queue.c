/*
 * tcp_queue.c - the queue for TCP places, and the connections that make room.
 * Clients wait here and not before the listener, where their networks are not
 * known. See doc/decisions/0109.
 */
#include "config.h"

#include "tcp.h"

#include <sys/socket.h>

/* Time after its last request for which a connection keeps its place when all
 * are taken. */
#define IDLE_MIN_MS 200
/* The time before its first request, which comes with the end of the handshake
 * or right behind it. Short, so that a flood of silent connections passes. */
#define SILENT_MIN_MS 20
/* The time while its client is slow to take replies. */
#define STUCK_MIN_MS 5000
/* Connections of a list that are looked at to find one that can be closed. */
#define ROOM_SCAN_MAX 64
/* Connections that get a place at a time. */
#define ADMIT_MAX 64

/* ---- making room */

/* A search for an idle connection. */
struct idle_search {
	struct net_tcp *tcp;
	struct tcp_net *next;  /* the network whose turn it is; NULL: just one
				* to close */
	struct tcp_net *heir;  /* the network that gets the place that was
				* found */
	uint64_t retry_ms;     /* not later than the time to look again */
};

/* The time from which on another connection may take the place of conn. */
static uint64_t
free_at_ms(const struct tcp_conn *conn)
{
	switch (conn->phase) {
	case TCP_LINGERING:
		return 0;
	case TCP_SILENT:
		return conn->active_ms + SILENT_MIN_MS;
	default:
		return conn->active_ms + (tcp_conn_is_in_use(conn)
			? STUCK_MIN_MS : IDLE_MIN_MS);
	}
}

/* Finds the network whose queue gets the place of conn if that is idle; NULL:
 * conn keeps it. While networks have more than their share, one that has its
 * own share gets no places of others, or it would take the places of all who
 * pause. */
static struct tcp_net *
heir_of(const struct idle_search *s, const struct tcp_conn *conn)
{
	struct net_tcp *tcp = s->tcp;

	if (conn->net == NULL || cds_list_empty(&tcp->share.heavy)
		|| tcp_share_is_below(tcp, s->next))
		return s->next;
	return conn->net->queued > 0 ? conn->net : NULL;
}

static struct tcp_conn *
find_idle_of(struct idle_search *s, enum tcp_phase phase)
{
	struct tcp_conn *conn;
	unsigned scanned = 0;

	cds_list_for_each_entry(conn, &s->tcp->conns[phase], by_age) {
		uint64_t free_ms = free_at_ms(conn);

		if (conn->gathered || scanned++ == ROOM_SCAN_MAX)
			break;
		s->heir = s->next != NULL ? heir_of(s, conn) : NULL;
		if (s->heir == NULL && s->next != NULL)
			continue;
		if (free_ms <= s->tcp->now_ms)
			return conn;
		if (free_ms < s->retry_ms)
			s->retry_ms = free_ms;
	}
	return NULL;
}

/* Finds an idle connection of a network whose clients wait. */
static struct tcp_conn *
find_idle_in(struct idle_search *s, struct tcp_net *net)
{
	struct tcp_conn *conn;
	unsigned scanned = 0;

	if (net->queued == 0)
		return NULL;
	s->heir = net;
	cds_list_for_each_entry(conn, &net->conns, by_net) {
		uint64_t free_ms = free_at_ms(conn);

		if (!conn->gathered && free_ms <= s->tcp->now_ms)
			return conn;
		if (!conn->gathered && free_ms < s->retry_ms)
			s->retry_ms = free_ms;
		if (++scanned == ROOM_SCAN_MAX)
			break;
	}
	return NULL;
}

/* Finds an idle connection of networks that get only places of their own: it
 * may be behind many that have been idle for longer. Few networks have so many
 * places. */
static struct tcp_conn *
find_own_idle(struct idle_search *s)
{
	struct tcp_share *share = &s->tcp->share;
	struct tcp_conn *conn = NULL;
	struct tcp_net *net;

	if (cds_list_empty(&share->heavy)
		|| tcp_share_is_below(s->tcp, s->next))
		return NULL;
	if (!s->next->is_heavy)
		conn = find_idle_in(s, s->next);
	cds_list_for_each_entry(net, &share->heavy, by_weight) {
		if (conn != NULL)
			break;
		conn = find_idle_in(s, net);
	}
	return conn;
}

/* The connection that has been idle longest, rather one that never asked
 * anything. NULL: all are in use. */
static struct tcp_conn *
find_idle(struct idle_search *s)
{
	static const enum tcp_phase phases[]
		= { TCP_LINGERING, TCP_GREETING, TCP_SILENT, TCP_OPEN };
	struct tcp_conn *conn = NULL;

	for (unsigned i = 0; i < 4 && conn == NULL; i++)
		conn = find_idle_of(s, phases[i]);
	if (conn == NULL && s->next != NULL)
		conn = find_own_idle(s);
	return conn;
}

/* Makes room for a network with a queue: preferably s->next, but s->heir gets
 * it. */
static bool
make_place(struct idle_search *s)
{
	struct net_tcp *tcp = s->tcp;
	struct tcp_conn *conn = NULL;

	s->heir = s->next;
	if (tcp_share_is_below(tcp, s->next))
		conn = tcp_share_find_place(tcp);
	if (conn == NULL && !tcp->options.reject_overflow)
		conn = find_idle(s);
	if (conn == NULL)
		return false;
	tcp_conn_destroy(conn);
	return true;
}

bool
tcp_queue_free_descriptor(struct net_tcp *tcp)
{
	struct idle_search s = { .tcp = tcp };
	struct tcp_conn *conn = tcp_share_find_last(tcp);

	if (conn != NULL)
		net_count_add(tcp->handler.rx_err, 1);
	else
		conn = find_idle(&s);
	if (conn == NULL)
		return false;
	tcp_conn_destroy(conn);
	return true;
}

/* ---- the queue */

static struct tcp_conn *
first_of(struct tcp_net *net)
{
	return list_first_or_null(&net->queue, struct tcp_conn, by_net);
}

void
tcp_queue_admit(struct net_tcp *tcp, bool early)
{
	struct idle_search s = { .tcp = tcp };

	for (unsigned i = 0; i < ADMIT_MAX; i++) {
		s.next = tcp_share_find_next(tcp);
		if (s.next == NULL)
			return;
		s.heir = s.next;
		s.retry_ms = tcp->now_ms + IDLE_MIN_MS;
		if (tcp_is_full(tcp) && !make_place(&s)) {
			tcp_wait_until(tcp, s.retry_ms);
			return;
		}
		tcp_share_take_turn(tcp, s.heir);
		tcp_conn_enter(first_of(s.heir), early);
	}
	tcp_wait_until(tcp, tcp->now_ms);
}

static void
queue_drop(struct tcp_conn *conn)
{
	net_count_add(conn->tcp->handler.rx_err, 1);
	tcp_conn_destroy(conn);
}

void
tcp_queue_end_turn(struct net_tcp *tcp)
{
	struct tcp_net *net;

	if (tcp->queue_news || !tcp_is_full(tcp))
		tcp_queue_admit(tcp, true);
	tcp->queue_news = false;
	while (tcp->options.reject_overflow
		&& (net = tcp_share_find_next(tcp)) != NULL
		&& net != &tcp->share.unknown)
		queue_drop(first_of(net));
	while (tcp->queued > TCP_QUEUE_MAX)
		queue_drop(tcp_share_find_last(tcp));
}

/* Reads the header of a proxy, which names its client. Octets behind the header
 * stay where they are. */
static enum proxy_outcome
queue_take_header(struct tcp_conn *conn)
{
	uint8_t data[PROXY_HEADER_MAX];
	ssize_t got = recv(conn->fd, data, sizeof(data),
		MSG_PEEK | MSG_DONTWAIT);
	enum proxy_outcome outcome;
	uint32_t taken;

	if (got <= 0)
		return PROXY_MALFORMED;
	outcome = tcp_conn_read_header(conn, data, (size_t)got, &taken);
	if (outcome == PROXY_WHOLE
		&& recv(conn->fd, data, taken, MSG_DONTWAIT)
			!= (ssize_t)taken)
		return PROXY_MALFORMED;
	return outcome;
}

static void
on_header(struct tcp_source *source)
{
	struct tcp_conn *conn = (struct tcp_conn *)source;
	struct net_tcp *tcp = conn->tcp;

	switch (queue_take_header(conn)) {
	case PROXY_MALFORMED:
		tcp_conn_destroy(conn);
		return;
	case PROXY_INCOMPLETE:
		/* A socket with unread octets would be ready all the time, so
		 * it is not looked at again before it has a place. */
		tcp_conn_ignore(conn);
		return;
	case PROXY_WHOLE:
		break;
	}
	tcp_conn_ignore(conn);
	tcp_share_leave(conn);
	tcp_share_queue(conn);
	tcp->queue_news = true;
}

void
tcp_queue_add(struct tcp_conn *conn)
{
	struct net_tcp *tcp = conn->tcp;

	conn->phase = TCP_QUEUED;
	conn->source.on_ready = on_header;
	cds_list_add_tail(&conn->by_age, &tcp->conns[TCP_QUEUED]);
	tcp_share_queue(conn);
	tcp->queued++;
	tcp_wait_on_newcomer(tcp);
	/* Behind others of its network it does not change who gets a place. */
	if (conn->net->queued == 1)
		tcp->queue_news = true;
	/* A header inside of a filter cannot be read yet. */
	if (conn->awaits_header && conn->listener->filter == NULL)
		tcp_conn_next(conn);
}
