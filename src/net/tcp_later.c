/*
 * tcp_later.c - replies on TCP connections that come when their batch is over.
 */
#include "config.h"

#include "tcp.h"

#include "base/octets.h"

/* Puts a reply behind those that wait to be sent. */
static void
later_put(struct tcp_conn *conn, const uint8_t *reply, size_t len)
{
	uint8_t head[TCP_LENGTH_SIZE];

	octets_put_u16(head, (uint16_t)len);
	if (!tcp_conn_keep_more(conn, head, sizeof(head))
		|| !tcp_conn_keep_more(conn, reply, len))
		conn->dead = true;
}

void
tcp_later_end(struct net_later *base, const uint8_t *reply, size_t len,
	bool closes)
{
	struct tcp_conn *conn = ((struct tcp_later *)base)->conn;
	bool was_busy = tcp_conn_is_busy(conn);

	cds_list_del(&base->by_owner);
	conn->later_count--;
	if (closes)
		conn->closing = true;
	if (reply != NULL)
		later_put(conn, reply, len);
	/* A gathered connection has its turn, which goes on. A throttled one
	 * waits until its client may have more. */
	if (conn->gathered || conn->throttled)
		return;
	tcp_wait_read_clock(conn->tcp);
	/* Octets that wait already are sent when the client has room. */
	if (!was_busy && !conn->dead)
		(void)tcp_conn_send_out(conn);
	tcp_conn_next(conn);
}
