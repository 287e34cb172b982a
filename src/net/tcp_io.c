/* tcp_io.c - the filter of a TCP connection. */
#include "config.h"

#include "net/count.h"
#include "tcp_cpu.h"
#include "tcp_io.h"

#include <unistd.h>

bool
tcp_io_begin(struct tcp_conn *conn, const struct filter *filter)
{
	if (filter == NULL)
		return true;
	conn->filtered = filter->open(filter->ctx, conn->fd);
	if (conn->filtered == NULL)
		return false;
	conn->filter = filter;
	conn->transport = TRANSPORT_TLS;
	return true;
}

void
tcp_io_close(struct tcp_conn *conn)
{
	if (conn->filter != NULL)
		conn->filter->close(conn->filtered);
	/* No duplicate of the socket is open, so this takes it out of the epoll
	 * set. */
	close(conn->fd);
}

bool
tcp_io_end(struct tcp_conn *conn)
{
	if (conn->filter != NULL)
		conn->filter->end(conn->filtered);
	return shutdown(conn->fd, SHUT_WR) == 0;
}

/* A step of opening a filter has ended: a signature with a long key takes as
 * long as many with a short one. */
static void
count_greeting(struct net_tcp *tcp, int64_t begun_usec)
{
	int64_t cost = (clock_now_usec() - begun_usec) * TCP_COST_10_USEC / 10;

	if (cost < TCP_COST_GREETING)
		cost = TCP_COST_GREETING;
	tcp->turn_cost += cost < TCP_TURN_COST ? (unsigned)cost : TCP_TURN_COST;
}

ssize_t
tcp_io_read_filter(struct tcp_conn *conn, uint8_t *at, size_t size)
{
	bool greets = conn->phase == TCP_GREETING;
	int64_t mark = greets ? tcp_cpu_mark(conn->tcp) : 0;
	int64_t begun = greets ? clock_now_usec() : 0;
	ssize_t got = conn->filter->read(conn->filtered, at, size);

	if (!greets)
		return got;
	tcp_cpu_charge_since(conn, mark);
	count_greeting(conn->tcp, begun);
	if (!conn->filter->is_open(conn->filtered))
		return got;
	conn->identity = conn->filter->identity(conn->filtered);
	conn->dated = conn->filter->is_dated(conn->filtered);
	conn->phase = TCP_SILENT;
	tcp_conn_touch(conn);
	return got;
}

const struct sockaddr *
tcp_io_find_local(struct tcp_conn *conn)
{
	socklen_t len = sizeof(conn->local);

	if (!net_wants_local(&conn->tcp->handler))
		return NULL;
	if (conn->local.sa.sa_family == AF_UNSPEC
		&& getsockname(conn->fd, &conn->local.sa, &len) == -1)
		conn->local.sa.sa_family = AF_UNSPEC;
	return conn->local.sa.sa_family != AF_UNSPEC ? &conn->local.sa : NULL;
}
