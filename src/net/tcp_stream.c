/*
 * tcp_stream.c - sends streams: messages that are made when there is room.
 * Clients that take zones must not delay those with queries, so streams have a
 * tenth of the thread's time while others have requests, and all the time that
 * they leave.
 *
 * The processor's time is shared, as the kernel counts it: the cost of a
 * message depends on the zone, TSIG and TLS. Credit is the time that streams
 * may take: a ninth of the time that others have taken meanwhile. A message may
 * exceed the credit; then streams are in debt. If no request has come since
 * they were sent last, they go on without looking at a clock, a message at
 * first and twice as much each time.
 */
#include "config.h"

#include "tcp_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/octets.h"

/* Streams get the SHARE_PARTth part of the time. */
#define SHARE_PART 10
/* The most time that streams save up, for which others so may have to wait. */
#define CREDIT_MAX_NSEC 300000
/* Some octets that a stream makes and sends in a microsecond. Only the length
 * of a write depends on it. */
#define OCTETS_PER_USEC 512
/* Octets in a turn without other requests: in the first turn, and at most. */
#define QUIET_MIN ((size_t)8 * 1024)
#define QUIET_MAX ((size_t)128 * 1024)
/* Octets that are sent at once: a call and a way through the kernel for each
 * message cost more. A stream's messages have 16 KiB mostly; the last one may
 * have 64. All that is kept if the client does not take it. */
#define SEND_MAX ((size_t)48 * 1024)

/* ---- the line */

void
tcp_stream_join(struct tcp_conn *conn)
{
	ASSERT_HOT(!conn->gathered);
	if (conn->streams)
		return;
	conn->streams = true;
	cds_list_add_tail(&conn->by_turn, &conn->tcp->pace.waiting);
}

void
tcp_stream_leave(struct tcp_conn *conn)
{
	if (!conn->streams)
		return;
	conn->streams = false;
	cds_list_del(&conn->by_turn);
}

bool
tcp_stream_begin(struct net_tcp *tcp)
{
	struct tcp_pace *pace = &tcp->pace;
	uint64_t requests = tcp->handler.requests != NULL
		? *tcp->handler.requests : 0;
	int64_t now;

	if (cds_list_empty(&pace->waiting))
		return false;
	if (requests == pace->requests) {
		pace->quiet = pace->quiet == 0 ? QUIET_MIN : pace->quiet * 2;
		if (pace->quiet > QUIET_MAX)
			pace->quiet = QUIET_MAX;
		pace->room = pace->quiet;
		pace->credit_nsec = 0;
		return true;
	}
	now = clock_thread_nsec();
	pace->credit_nsec += (now - pace->at_nsec) / (SHARE_PART - 1);
	if (pace->credit_nsec > CREDIT_MAX_NSEC)
		pace->credit_nsec = CREDIT_MAX_NSEC;
	pace->at_nsec = now;
	pace->requests = requests;
	pace->quiet = 0;
	pace->room = 0;
	return pace->credit_nsec > 0;
}

struct tcp_conn *
tcp_stream_next(struct net_tcp *tcp)
{
	struct tcp_conn *conn = list_first_or_null(&tcp->pace.waiting,
		struct tcp_conn, by_turn);

	if (conn == NULL
		|| (tcp->pace.room == 0 && tcp->pace.credit_nsec <= 0))
		return NULL;
	tcp_stream_leave(conn);
	return conn;
}

void
tcp_stream_stop(struct net_tcp *tcp)
{
	if (tcp->pace.quiet > 0)
		tcp->pace.at_nsec = clock_thread_nsec();
}

/* Charges streams for octets that they have made. */
static void
pace_spend(struct tcp_pace *pace, size_t len)
{
	int64_t now;

	if (pace->quiet > 0) {
		pace->room -= len < pace->room ? len : pace->room;
		return;
	}
	now = clock_thread_nsec();
	pace->credit_nsec -= now - pace->at_nsec;
	pace->at_nsec = now;
}

/* The octets to send at once: a message has more than the least. */
static size_t
pace_room(const struct tcp_pace *pace)
{
	size_t room = pace->room;

	if (pace->quiet == 0)
		room = (size_t)pace->credit_nsec * OCTETS_PER_USEC / 1000;
	return room < SEND_MAX ? room : SEND_MAX;
}

/* ---- messages */

/* Keeps the end of messages that the socket did not take. */
static void
stream_keep(struct tcp_conn *conn, const uint8_t *messages, size_t len)
{
	conn->out = malloc(len);
	if (conn->out == NULL) {
		conn->dead = true;
		return;
	}
	memcpy(conn->out, messages, len);
	conn->out_len = (uint32_t)len;
}

/* Makes messages, each behind its length, until there are enough to be sent or
 * the stream ends. Returns their octets. */
static size_t
stream_fill(struct tcp_conn *conn, uint8_t *out)
{
	struct net_tcp *tcp = conn->tcp;
	size_t len = 0, room = pace_room(&tcp->pace);

	do {
		uint8_t *message = out + len;
		size_t one = tcp->handler.on_stream(tcp->handler.ctx,
			conn->stream, message + TCP_LENGTH_SIZE,
			TCP_MESSAGE_MAX);

		if (one == 0) {
			tcp_stream_end(tcp, conn->stream);
			conn->stream = NULL;
			conn->held = false;
			break;
		}
		ASSERT_HOT(one <= TCP_MESSAGE_MAX);
		octets_put_u16(message, (uint16_t)one);
		len += TCP_LENGTH_SIZE + one;
	} while (len < room);
	return len;
}

/* Makes messages and sends them; returns their octets. Uses the first two reply
 * buffers, which are free: replies are only written while a batch is answered.
 */
static size_t
stream_write(struct tcp_conn *conn)
{
	uint8_t *out = tcp_reply_buffer(conn->tcp, 0) - TCP_LENGTH_SIZE;
	size_t len = stream_fill(conn, out), sent;
	ssize_t taken;

	if (len == 0)
		return 0;
	taken = tcp_io_write(conn, out, len);
	if (taken == -1 && !filter_error_passes(errno)) {
		conn->dead = true;
		return len;
	}
	sent = taken > 0 ? (size_t)taken : 0;
	tcp_conn_note_taken(conn, sent, len);
	if (sent < len)
		stream_keep(conn, out + sent, len - sent);
	return len;
}

void
tcp_stream_send(struct tcp_conn *conn)
{
	struct net_tcp *tcp = conn->tcp;
	size_t len = 0;

	if (tcp_conn_send_out(conn))
		len = stream_write(conn);
	if (conn->stream != NULL && conn->out_len == 0 && !conn->dead)
		tcp_stream_join(conn);
	pace_spend(&tcp->pace, len);
}
