/*
 * tcp_send.c - sends on a TCP connection: replies, and what the client did not
 * take yet.
 */
#include "config.h"

#include "tcp_cpu.h"
#include "tcp_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/assert.h"
#include "base/octets.h"

/* The most that is kept for a client that does not take its replies; further
 * requests wait. It holds the longest reply. */
#define OUT_MAX (128 * 1024)

/* ---- replies of a batch */

/* Keeps the way back to the client of an exchange whose reply comes later.
 * Without memory the connection ends. */
static void
conn_take_later(struct tcp_conn *conn, struct exchange *x)
{
	struct net_tcp *tcp = conn->tcp;
	struct tcp_later *later = malloc(sizeof(*later));
	void *of = x->later;

	x->later = NULL;
	if (later == NULL) {
		conn->dead = true;
		tcp->handler.on_later(tcp->handler.ctx, of, NULL);
		return;
	}
	later->base.end = tcp->later_end;
	later->conn = conn;
	cds_list_add_tail(&later->base.by_owner, &conn->laters);
	conn->later_count++;
	conn->later_ms = tcp->now_ms;
	tcp->handler.on_later(tcp->handler.ctx, of, &later->base);
}

_Static_assert(EXCHANGE_BATCH_MAX <= 64, "tcp_conn.answered has a bit each");

/* False if a request that is put back is to have all that a new one has. */
static bool
exchange_is_answered(const struct exchange *x)
{
	return x->seen == EXCHANGE_ANSWERED || (!x->put_off && !x->pass_on);
}

/* Puts the requests from exchange i to end (exclusive) back: they will be asked
 * again. */
static void
conn_put_back(struct tcp_conn *conn, size_t i, size_t end)
{
	struct net_tcp *tcp = conn->tcp;

	conn->seen += (unsigned)(end - i);
	/* New requests come when all that were put back have come again. */
	ASSERT_HOT(conn->seen <= EXCHANGE_BATCH_MAX);
	for (size_t j = end; j-- > i;) {
		struct exchange *x = &tcp->exchanges[j];

		conn->answered <<= 1;
		conn->answered |= exchange_is_answered(x);
		if (x->later != NULL)
			conn_take_later(conn, x);
		if (x->stream == NULL)
			continue;
		if (x->stream == conn->stream)
			conn->stream = NULL;
		tcp_stream_end(tcp, x->stream);
	}
	conn->data = tcp->exchanges[i].request - TCP_LENGTH_SIZE;
	conn->queries -= (unsigned)(end - i);
	conn->closing = false;
}

/* Keeps what the socket did not take of the replies first..end (exclusive), up
 * to OUT_MAX. Puts the requests of the others back. */
static void
conn_keep(struct tcp_conn *conn, size_t first, size_t end, size_t sent)
{
	struct net_tcp *tcp = conn->tcp;
	uint32_t need = 0;
	size_t at = 0, last;

	for (last = first; last < end; last++) {
		uint32_t len = tcp->exchanges[last].reply_len;

		len += len > 0 ? TCP_LENGTH_SIZE : 0;
		if (at + len > sent) {
			uint32_t left = (uint32_t)(at + len - sent);

			left = left < len ? left : len;
			if (need > 0 && need + left > OUT_MAX)
				break;
			need += left;
		}
		at += len;
	}
	if (last < end)
		conn_put_back(conn, last, end);
	conn->out = malloc(need);
	if (conn->out == NULL) {
		conn->dead = true;
		return;
	}
	at = 0;
	for (size_t i = first; i < last; i++) {
		uint32_t len = tcp->exchanges[i].reply_len;
		size_t skip = sent > at ? sent - at : 0;

		len += len > 0 ? TCP_LENGTH_SIZE : 0;
		if (skip < len) {
			memcpy(conn->out + conn->out_len,
				tcp_reply_buffer(tcp, i) - TCP_LENGTH_SIZE
					+ skip,
				len - skip);
			conn->out_len += len - (uint32_t)skip;
		}
		at += len;
	}
}

size_t
tcp_conn_reply(struct tcp_conn *conn, size_t first, size_t end)
{
	struct net_tcp *tcp = conn->tcp;
	struct iovec iov[EXCHANGE_BATCH_MAX];
	size_t i, count = 0, total = 0;
	ssize_t sent;

	for (i = first; i < end && conn->stream == NULL; i++) {
		struct exchange *x = &tcp->exchanges[i];

		if (x->put_off)
			break;

		conn->stream = x->stream;
		ASSERT_HOT(x->reply_len <= x->reply_capacity);
		if (x->reply_len == 0) {
			if (x->later != NULL)
				conn_take_later(conn, x);
			continue;
		}
		octets_put_u16(x->reply - TCP_LENGTH_SIZE,
			(uint16_t)x->reply_len);
		iov[count].iov_base = x->reply - TCP_LENGTH_SIZE;
		iov[count].iov_len = x->reply_len + TCP_LENGTH_SIZE;
		total += iov[count++].iov_len;
	}
	/* Requests behind a transfer wait for its end. */
	if (i < end)
		conn_put_back(conn, i, end);
	if (total == 0)
		return 0;
	sent = tcp_io_write_all(conn, iov, count);
	if (sent == -1 && !filter_error_passes(errno)) {
		net_count_add(tcp->handler.tx_err, 1);
		conn->dead = true;
	} else if (sent == -1 || (size_t)sent < total) {
		conn_keep(conn, first, i, sent > 0 ? (size_t)sent : 0);
	}
	return count;
}

/* ---- replies that had to wait */

bool
tcp_conn_keep_more(struct tcp_conn *conn, const uint8_t *octets, size_t len)
{
	uint8_t *out;

	if (conn->out_len + len > 2 * OUT_MAX)
		return false;
	out = realloc(conn->out, conn->out_len + len);
	if (out == NULL)
		return false;
	memcpy(out + conn->out_len, octets, len);
	conn->out = out;
	conn->out_len += (uint32_t)len;
	return true;
}

bool
tcp_conn_send_out(struct tcp_conn *conn)
{
	ssize_t sent;

	if (conn->out_len == 0)
		return true;
	sent = tcp_io_write(conn, conn->out + conn->out_at,
		conn->out_len - conn->out_at);
	if (sent == -1) {
		conn->dead = !filter_error_passes(errno);
		return false;
	}
	tcp_conn_note_taken(conn, (size_t)sent, conn->out_len - conn->out_at);
	tcp_cpu_add(conn, (unsigned)sent / TCP_COST_OCTETS);
	conn->out_at += (uint32_t)sent;
	if (conn->out_at < conn->out_len)
		return false;
	free(conn->out);
	conn->out = NULL;
	conn->out_at = 0;
	conn->out_len = 0;
	return true;
}
