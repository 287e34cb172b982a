/*
 * tcp_send.c - sends on a TCP connection: replies, streams, and what the client
 * did not take yet.
 */
#include "config.h"

#include "tcp_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/octets.h"

/* The most that is kept for a client that does not take its replies; further
 * requests wait. It holds the longest reply. */
#define OUT_MAX (128 * 1024)
/* Octets of streams that are made before others get their turn. */
#define PUMP_MAX (256 * 1024)
/* If others took longer than this meanwhile, streams get a tenth of the time:
 * so many octets for each microsecond of the others', but a message at least.
 * Who asks over UDP is not to wait for who takes zones. */
#define PUMP_ALONE_USEC 20
#define PUMP_PER_USEC 80
/* And those that are sent at once: a call and a way through the kernel for each
 * message cost more. A stream's messages have 16 KiB mostly; the last one may
 * have 64. All that is kept if the client does not take it. */
#define PUMP_SEND (48 * 1024)

void
tcp_stream_end(struct net_tcp *tcp, void *stream)
{
	if (tcp->handler.on_stream_end != NULL)
		tcp->handler.on_stream_end(tcp->handler.ctx, stream);
}

/* ---- replies of a batch */

/* Puts the requests from exchange i to end (exclusive) back: they will be asked
 * again. */
static void
conn_put_back(struct tcp_conn *conn, size_t i, size_t end)
{
	struct net_tcp *tcp = conn->tcp;

	conn->seen += (unsigned)(end - i);
	for (size_t j = i; j < end; j++) {
		struct exchange *x = &tcp->exchanges[j];

		if (!x->put_off || x->seen == EXCHANGE_ANSWERED)
			conn->answered++;
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

void
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
		if (x->reply_len == 0)
			continue;
		octets_put_u16(x->reply - TCP_LENGTH_SIZE,
			(uint16_t)x->reply_len);
		iov[count].iov_base = x->reply - TCP_LENGTH_SIZE;
		iov[count].iov_len = x->reply_len + TCP_LENGTH_SIZE;
		total += iov[count++].iov_len;
	}
	/* What was asked behind a transfer waits for its end. */
	if (i < end)
		conn_put_back(conn, i, end);
	if (total == 0)
		return;
	sent = tcp_io_write_all(conn, iov, count);
	if (sent == -1 && !filter_error_passes(errno)) {
		net_count_add(tcp->handler.tx_err, 1);
		conn->dead = true;
	} else if (sent == -1 || (size_t)sent < total) {
		conn_keep(conn, first, i, sent > 0 ? (size_t)sent : 0);
	}
}

/* ---- streams and replies that had to wait */

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
	tcp_conn_touch(conn);
	conn->tcp->turn_cost += (unsigned)sent / TCP_COST_OCTETS;
	conn->out_at += (uint32_t)sent;
	if (conn->out_at < conn->out_len)
		return false;
	free(conn->out);
	conn->out = NULL;
	conn->out_at = 0;
	conn->out_len = 0;
	return true;
}

/* Keeps the end of a stream's messages that the socket did not take. */
static void
conn_keep_messages(struct tcp_conn *conn, const uint8_t *messages, size_t len)
{
	conn->out = malloc(len);
	if (conn->out == NULL) {
		conn->dead = true;
		return;
	}
	memcpy(conn->out, messages, len);
	conn->out_len = (uint32_t)len;
}

/* Chooses what streams may make in a turn, when the first of them begins. */
static void
pump_begin(struct net_tcp *tcp)
{
	int64_t away;

	if (tcp->stream_begun)
		return;
	away = clock_now_usec() - tcp->stream_at_usec;
	tcp->stream_begun = true;
	tcp->stream_room = PUMP_MAX;
	if (away >= PUMP_ALONE_USEC && away < PUMP_MAX / PUMP_PER_USEC)
		tcp->stream_room = (size_t)away * PUMP_PER_USEC;
}

/* Makes messages of the stream, each behind its length, until there are enough
 * to be sent or the stream ends. Returns their octets. */
static size_t
pump_fill(struct tcp_conn *conn, uint8_t *out)
{
	struct net_tcp *tcp = conn->tcp;
	size_t len = 0, room = tcp->stream_room;

	while (len < PUMP_SEND && len < room) {
		uint8_t *message = out + len;
		size_t one = tcp->handler.on_stream(tcp->handler.ctx,
			conn->stream, message + TCP_LENGTH_SIZE,
			TCP_MESSAGE_MAX);

		if (one == 0) {
			tcp_stream_end(tcp, conn->stream);
			conn->stream = NULL;
			break;
		}
		ASSERT_HOT(one <= TCP_MESSAGE_MAX);
		octets_put_u16(message, (uint16_t)one);
		len += TCP_LENGTH_SIZE + one;
	}
	tcp->turn_cost += (unsigned)(len / TCP_COST_STREAM_OCTETS);
	tcp->stream_room -= len < room ? len : room;
	return len;
}

/* Uses the first two reply buffers, which are free: replies are only written
 * while a batch is answered. */
void
tcp_conn_pump(struct tcp_conn *conn)
{
	struct net_tcp *tcp = conn->tcp;
	uint8_t *out = tcp_reply_buffer(tcp, 0) - TCP_LENGTH_SIZE;

	pump_begin(tcp);
	while (conn->stream != NULL && tcp->stream_room > 0
		&& !tcp_turn_is_over(tcp)) {
		size_t len = pump_fill(conn, out);
		ssize_t sent;

		if (len == 0)
			return;
		sent = tcp_io_write(conn, out, len);
		tcp->stream_at_usec = clock_now_usec();
		if (sent == -1 && !filter_error_passes(errno)) {
			conn->dead = true;
			return;
		}
		if (sent > 0)
			tcp_conn_touch(conn);
		if (sent == (ssize_t)len)
			continue;
		sent = sent > 0 ? sent : 0;
		conn_keep_messages(conn, out + sent, len - (size_t)sent);
		return;
	}
}
