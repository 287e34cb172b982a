/*
 * tcp_io.h - reads and writes on a connection: its socket, or the filter that
 * stands before it. The only place that knows which.
 */
#ifndef SRC_NET_TCP_IO_H
#define SRC_NET_TCP_IO_H

#include <sys/socket.h>

#include "tcp.h"

/* Has the filter of its listener, if any, stand before the socket of a new
 * connection. False: no memory. */
bool tcp_io_begin(struct tcp_conn *conn, const struct filter *filter) MUST_USE;

/* Takes the filter away and closes the socket. */
void tcp_io_close(struct tcp_conn *conn);

/* Ends our side of the connection. False: the connection is of no use any
 * more. */
bool tcp_io_end(struct tcp_conn *conn) MUST_USE;

/* Finds the address that the client asked; NULL: nobody wants it, or it is not
 * known. Lent as long as the connection is there. Cost: a system call, for the
 * first request. */
const struct sockaddr *tcp_io_find_local(struct tcp_conn *conn);

/* As filter.h says; the connection is open from when its filter is. */
ssize_t tcp_io_read_filter(struct tcp_conn *conn, uint8_t *at, size_t size);

/* Reads up to size octets: as recv does. */
static inline ssize_t
tcp_io_read(struct tcp_conn *conn, uint8_t *at, size_t size)
{
	if (conn->filter != NULL)
		return tcp_io_read_filter(conn, at, size);
	return recv(conn->fd, at, size, MSG_DONTWAIT);
}

/* True if the connection is to be read from as soon as it can be written to. */
static inline bool
tcp_io_is_ready(const struct tcp_conn *conn)
{
	return conn->filter != NULL && conn->filter->is_ready(conn->filtered);
}

/* Writes: as sendmsg does. */
static inline ssize_t
tcp_io_write_all(struct tcp_conn *conn, struct iovec *iov, size_t count)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = count };

	if (conn->filter != NULL)
		return conn->filter->write(conn->filtered, iov, count);
	return sendmsg(conn->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Writes: as send does. */
static inline ssize_t
tcp_io_write(struct tcp_conn *conn, uint8_t *at, size_t len)
{
	struct iovec iov = { .iov_base = at, .iov_len = len };

	if (conn->filter != NULL)
		return conn->filter->write(conn->filtered, &iov, 1);
	return send(conn->fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

#endif
