/*
 * tcp_cpu.h - the processor's time that connections take: it is charged to
 * their clients, and a client that has had too much gets none for a while.
 */
#ifndef SRC_NET_TCP_CPU_H
#define SRC_NET_TCP_CPU_H

#include "base/clock.h"
#include "tcp.h"

void tcp_cpu_init(struct tcp_cpu *cpu);

/* Begin and end a turn; the end hands all charges to the handler. Without a
 * limit neither does anything, nor do the functions called between them. */
void tcp_cpu_begin(struct net_tcp *tcp);
void tcp_cpu_end(struct net_tcp *tcp);

/* Charges a connection for work of this cost. */
void tcp_cpu_charge_conn(struct tcp_conn *conn, unsigned cost);

static inline void
tcp_cpu_charge(struct tcp_conn *conn, unsigned cost)
{
	if (conn->tcp->cpu.counting)
		tcp_cpu_charge_conn(conn, cost);
}

/* Charges the work, and counts it for the length of the turn. */
static inline void
tcp_cpu_add(struct tcp_conn *conn, unsigned cost)
{
	conn->tcp->turn_cost += cost;
	tcp_cpu_charge(conn, cost);
}

/* Marks the begin of work for a connection that is measured apart;
 * tcp_cpu_charge_since ends it. Marks do not overlap. */
static inline int64_t
tcp_cpu_mark(const struct net_tcp *tcp)
{
	return tcp->cpu.counting ? clock_thread_nsec() : 0;
}

void tcp_cpu_charge_since(struct tcp_conn *conn, int64_t mark);

/* True if a newcomer is to be closed, as its network has had too much time. The
 * cost of the refusal is charged to it, too. */
bool tcp_cpu_refuses(struct net_tcp *tcp,
	const struct sockaddr_storage *peer);

/* True if the client of a connection has had too much time. */
bool tcp_cpu_is_over(struct tcp_conn *conn);

/*
 * Puts a connection, which is not gathered and waits for nothing, aside until
 * its client may have more. It may time out, or make room for others, as any
 * that is idle.
 */
void tcp_cpu_bar(struct tcp_conn *conn);

/* The connection is being destroyed. */
void tcp_cpu_leave(struct tcp_conn *conn);

/* The next throttled connection that may go on; NULL: there is none for now.
 * The timer fires when one may. */
struct tcp_conn *tcp_cpu_release(struct net_tcp *tcp);

#endif
