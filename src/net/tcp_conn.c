/*
 * tcp_conn.c - one TCP connection: requests in, its turns, its end.
 */
#include "config.h"

#include "tcp_cpu.h"
#include "tcp_io.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/octets.h"
#include "net/proxy.h"

/* The most that one connection reads in a turn of the loop. */
#define READ_MAX (32 * 1024)
#define IN_SIZE NET_ROOM_STREAMS
/* From this size on the rest of a message is read to its place directly. To
 * copy it in front of each read takes quadratic time if the client is slow. */
#define REST_LARGE 4096

static bool
conn_is_stopped(const struct tcp_conn *conn)
{
	return conn->closing || conn->dead || tcp_conn_is_busy(conn)
		|| tcp_conn_has_many_laters(conn);
}

static void
rest_free(struct tcp_conn *conn)
{
	free(conn->rest);
	conn->rest = NULL;
	conn->rest_len = 0;
	conn->rest_size = 0;
}

/* The size of the message that data begins with, its length field included; 0
 * if that is not there yet. */
static uint32_t
message_size(const uint8_t *data, size_t len)
{
	if (len < TCP_LENGTH_SIZE)
		return 0;
	return TCP_LENGTH_SIZE + (uint32_t)octets_get_u16(data);
}

static bool
rest_has_message(const struct tcp_conn *conn)
{
	uint32_t size = message_size(conn->rest, conn->rest_len);

	return !conn->awaits_header && size != 0 && size <= conn->rest_len;
}

/* Takes a connection out of the lists and counts of those that have a place or
 * wait for one. */
static void
conn_leave(struct tcp_conn *conn)
{
	struct net_tcp *tcp = conn->tcp;

	cds_list_del(&conn->by_age);
	tcp_share_leave(conn);
	if (conn->phase == TCP_QUEUED) {
		tcp_wait_on_queue_left(tcp);
		return;
	}
	assert(tcp->count > 0);
	tcp->count--;
}

void
tcp_conn_destroy(struct tcp_conn *conn)
{
	struct net_tcp *tcp = conn->tcp;

	assert(!conn->gathered);
	if (conn->source.ready_at != 0)
		tcp->ready[conn->source.ready_at - 1].data.ptr = NULL;
	tcp_io_close(conn);
	tcp_cpu_add(conn, TCP_COST_CLOSE);
	tcp_cpu_leave(conn);
	tcp_stream_leave(conn);
	if (conn->stream != NULL)
		tcp_stream_end(tcp, conn->stream);
	later_forget_all(&conn->laters);
	free(conn->rest);
	free(conn->out);
	conn_leave(conn);
	if (tcp->spare == NULL)
		tcp->spare = conn;
	else
		free(conn);
	tcp_wait_on_room(tcp);
}

/* ---- answering a turn */

/* Has the batch answered and sends the replies. The exchanges of a connection
 * stand together, so it needs one write. */
static void
turn_answer(struct net_tcp *tcp)
{
	struct latency_block *block = tcp->handler.latency;
	size_t count = tcp->batch_count, requests = 0, answers = 0, first;
	size_t end;
	int64_t begun;

	if (count == 0)
		return;
	begun = net_count_begin(&tcp->handler);
	tcp->handler.on_batch(tcp->handler.ctx, tcp->exchanges, count);
	tcp->batch_count = 0;
	for (size_t i = 0; i < count; i++) {
		tcp_cpu_add(tcp->owner[i], TCP_COST_REQUEST
			+ tcp->exchanges[i].reply_len / TCP_COST_OCTETS
			+ tcp->exchanges[i].cost);
		requests += tcp->exchanges[i].stream == NULL;
	}
	net_count_add(tcp->handler.requests, requests);
	for (first = 0; first < count; first = end) {
		struct tcp_conn *conn = tcp->owner[first];

		for (end = first + 1; end < count; end++)
			if (tcp->owner[end] != conn)
				break;
		answers += tcp_conn_reply(conn, first, end);
	}
	if (block != NULL)
		latency_add(&block->tcp, clock_now_usec() - begun, answers);
}

/* ---- requests */

static void
turn_add(struct tcp_conn *conn, const uint8_t *request, uint32_t len)
{
	struct net_tcp *tcp = conn->tcp;
	size_t i = tcp->batch_count++;
	struct exchange *x = &tcp->exchanges[i];

	ASSERT_HOT(i < EXCHANGE_BATCH_MAX);
	POISON_HOT(x, sizeof(*x));
	POISON_HOT(&tcp->peer[i], sizeof(tcp->peer[i]));
	memcpy(&tcp->peer[i], &conn->peer, sizeof(conn->peer));
	tcp->owner[i] = conn;
	x->request = request;
	x->request_len = len;
	x->reply = tcp_reply_buffer(tcp, i);
	x->reply_capacity = TCP_MESSAGE_MAX;
	x->reply_len = 0;
	x->cost = 0;
	x->transport = conn->transport;
	x->identity = conn->identity;
	x->is_dated = conn->dated;
	x->idle_100ms = conn->closing ? 0 : tcp->idle_100ms;
	x->peer = &tcp->peer[i];
	x->proxy = conn->proxy.sa.sa_family != AF_UNSPEC ? &conn->proxy.sa
							 : NULL;
	x->local = tcp_io_find_local(conn);
	x->stream = NULL;
	x->later = NULL;
	x->put_off = false;
	x->pass_on = false;
	x->seen = EXCHANGE_NEW;
	if (conn->seen == 0)
		return;
	conn->seen--;
	x->seen = (conn->answered & 1) != 0 ? EXCHANGE_ANSWERED
		: EXCHANGE_PUT_OFF;
	conn->answered >>= 1;
}

static void
conn_bad_length(struct tcp_conn *conn, size_t len)
{
	struct net_tcp *tcp = conn->tcp;
	struct sockaddr_storage peer;

	conn->closing = true;
	/* Behind requests that were put back, the length comes again. */
	if (conn->malformed)
		return;
	conn->malformed = true;
	net_count_add(tcp->handler.rx_err, 1);
	if (tcp->handler.on_bad_length == NULL)
		return;
	memset(&peer, 0, sizeof(peer));
	memcpy(&peer, &conn->peer, sizeof(conn->peer));
	tcp->handler.on_bad_length(tcp->handler.ctx, &peer, len);
}

enum proxy_outcome
tcp_conn_read_header(struct tcp_conn *conn, const uint8_t *data, size_t len,
	uint32_t *taken)
{
	struct proxy_header header;
	enum proxy_outcome outcome = proxy_read_header(data, len, &header);

	if (outcome == PROXY_MALFORMED)
		net_count_add(conn->tcp->handler.rx_err, 1);
	if (outcome != PROXY_WHOLE)
		return outcome;
	conn->awaits_header = false;
	if (header.has_client) {
		conn->proxy = conn->peer;
		memcpy(&conn->peer, &header.client, sizeof(conn->peer));
		memcpy(&conn->local, &header.server, sizeof(conn->local));
	}
	if (tcp_cpu_is_over(conn)) {
		net_count_add(conn->tcp->handler.rx_err, 1);
		return PROXY_MALFORMED;
	}
	*taken = header.len;
	return PROXY_WHOLE;
}

/* Takes the header of the connection's proxy. False: the header is not whole
 * yet, or the connection ends. */
static bool
conn_take_header(struct tcp_conn *conn)
{
	size_t left = (size_t)(conn->data_end - conn->data);
	uint32_t taken;

	switch (tcp_conn_read_header(conn, conn->data, left, &taken)) {
	case PROXY_INCOMPLETE:
		return false;
	case PROXY_MALFORMED:
		conn->dead = true;
		return false;
	case PROXY_WHOLE:
		break;
	}
	conn->data += taken;
	tcp_share_join(conn);
	return true;
}

/* Adds complete requests to the batch, until one is not complete or the
 * connection has to wait. */
static void
conn_parse(struct tcp_conn *conn)
{
	struct net_tcp *tcp = conn->tcp;
	unsigned max = tcp->options.queries_max;
	bool any = false;

	if (conn->awaits_header && !conn_take_header(conn))
		return;
	while (!conn_is_stopped(conn) && !tcp_turn_is_over(tcp)) {
		size_t left = (size_t)(conn->data_end - conn->data);
		uint32_t size = message_size(conn->data, left);

		if (size == 0)
			break;
		if (size < TCP_LENGTH_SIZE + TCP_MESSAGE_MIN) {
			conn_bad_length(conn, size - TCP_LENGTH_SIZE);
			break;
		}
		if (size > left)
			break;
		if (tcp->batch_count == EXCHANGE_BATCH_MAX) {
			turn_answer(tcp);
			continue;
		}
		/* The reply to the last request tells that it is. */
		conn->queries++;
		if (max != 0 && conn->queries >= max)
			conn->closing = true;
		turn_add(conn, conn->data + TCP_LENGTH_SIZE,
			size - TCP_LENGTH_SIZE);
		conn->data += size;
		any = true;
	}
	if (!any)
		return;
	if (conn->phase == TCP_SILENT)
		conn->phase = TCP_OPEN;
	tcp_conn_touch(conn);
}

/* Gathers the connection: its octets of this turn are the next len ones of the
 * shared buffer. */
static void
conn_gather(struct tcp_conn *conn, size_t len)
{
	struct net_tcp *tcp = conn->tcp;

	rest_free(conn);
	conn->data = tcp->in + tcp->in_used;
	conn->data_end = conn->data + len;
	tcp->in_used += len;
	conn->gathered = true;
	cds_list_add_tail(&conn->by_turn, &tcp->gathered);
	conn_parse(conn);
}

/* Makes room for len octets in the shared buffer; returns where. */
static uint8_t *
in_reserve(struct net_tcp *tcp, size_t len)
{
	ASSERT_HOT(len <= IN_SIZE);
	if (tcp->in_used + len > IN_SIZE)
		tcp_turn_end(tcp);
	return tcp->in + tcp->in_used;
}

/* Takes up the requests that had to wait. */
static void
conn_resume(struct tcp_conn *conn)
{
	size_t len = conn->rest_len;
	uint8_t *at = in_reserve(conn->tcp, len);

	memcpy(at, conn->rest, len);
	conn_gather(conn, len);
}

/* ---- waiting for the next event */

static void
conn_wait(struct tcp_conn *conn, enum tcp_waiting waiting)
{
	struct epoll_event event = {
		.events = waiting == TCP_WAIT_READ ? EPOLLIN : EPOLLOUT,
		.data = { .ptr = &conn->source },
	};
	int what = conn->waiting == TCP_WAIT_NOTHING ? EPOLL_CTL_ADD
		: EPOLL_CTL_MOD;

	if (conn->waiting == waiting)
		return;
	conn->waiting = waiting;
	if (epoll_ctl(conn->tcp->epoll, what, conn->fd, &event) != 0)
		tcp_conn_destroy(conn);
}

void
tcp_conn_ignore(struct tcp_conn *conn)
{
	if (conn->waiting != TCP_WAIT_NOTHING)
		(void)epoll_ctl(conn->tcp->epoll, EPOLL_CTL_DEL, conn->fd,
			NULL);
	conn->waiting = TCP_WAIT_NOTHING;
}

/* True if the client has had too much of the processor's time. Then the
 * connection is not served, nor its socket waited for, until that is over. */
static bool
conn_is_throttled(struct tcp_conn *conn)
{
	if (!tcp_cpu_is_over(conn))
		return false;
	tcp_stream_leave(conn);
	tcp_conn_ignore(conn);
	tcp_cpu_bar(conn);
	return true;
}

/* Ends our side, as all is answered. If we closed with octets unread, the
 * system would reset the connection and lose replies on their way. So read and
 * drop what comes, for a while (RFC 9293 section 3.6.1). */
static void
conn_linger(struct tcp_conn *conn)
{
	struct net_tcp *tcp = conn->tcp;

	if (!tcp_io_end(conn)) {
		tcp_conn_destroy(conn);
		return;
	}
	rest_free(conn);
	cds_list_del(&conn->by_age);
	conn->phase = TCP_LINGERING;
	conn->active_ms = tcp->now_ms;
	cds_list_add_tail(&conn->by_age, &tcp->conns[conn->phase]);
	tcp_wait_until(tcp, conn->active_ms + TCP_LINGER_MS);
	conn_wait(conn, TCP_WAIT_READ);
}

/* True if the connection is to be read from, without an event of the socket. */
static bool
conn_is_ready(const struct tcp_conn *conn)
{
	return !conn->closing && tcp_io_is_ready(conn);
}

void
tcp_conn_next(struct tcp_conn *conn)
{
	if (conn->dead)
		tcp_conn_destroy(conn);
	else if (tcp_conn_is_busy(conn))
		conn_wait(conn, TCP_WAIT_WRITE);
	else if (tcp_conn_has_many_laters(conn)
		|| (conn->later_count > 0 && (conn->closing || conn->eof)))
		tcp_conn_ignore(conn); /* goes on with a reply that comes */
	else if (rest_has_message(conn) || conn_is_ready(conn))
		conn_wait(conn, TCP_WAIT_WRITE);
	else if (conn->eof)
		tcp_conn_destroy(conn);
	else if (conn->closing)
		conn_linger(conn);
	else
		conn_wait(conn, TCP_WAIT_READ);
}

static bool
conn_save_rest(struct tcp_conn *conn)
{
	size_t left = (size_t)(conn->data_end - conn->data);

	if (left == 0 || conn->closing)
		return true;
	conn->rest = malloc(left);
	if (conn->rest == NULL)
		return false;
	memcpy(conn->rest, conn->data, left);
	conn->rest_len = (uint32_t)left;
	conn->rest_size = (uint32_t)left;
	return true;
}

/* ---- the end of a turn -------------------------------------------------- */

static void
conn_end_turn(struct tcp_conn *conn)
{
	conn->gathered = false;
	if (!conn->dead && !conn_save_rest(conn))
		conn->dead = true;
	conn->data = NULL;
	conn->data_end = NULL;
	if (!conn->dead && conn->stream != NULL && conn->out_len == 0)
		tcp_stream_join(conn);
	tcp_conn_next(conn);
}

void
tcp_turn_end(struct net_tcp *tcp)
{
	struct tcp_conn *conn;

	turn_answer(tcp);
	while ((conn = list_first_or_null(&tcp->gathered, struct tcp_conn,
			by_turn)) != NULL) {
		cds_list_del(&conn->by_turn);
		conn_end_turn(conn);
	}
	POISON_HOT(tcp->in, tcp->in_used);
	tcp->in_used = 0;
}

/* ---- reading */

/* recv brought nothing: the connection ends or waits, as errno says. */
static void
conn_read_nothing(struct tcp_conn *conn, ssize_t got)
{
	if (got == 0) {
		conn->eof = true;
	} else if (errno != EAGAIN && errno != EWOULDBLOCK
	    && errno != EINTR) {
		conn->dead = true;
	}
	tcp_conn_next(conn);
}

/* Reads more of a large message to its place. True if it is complete. Else the
 * connection waits; it may be gone. */
static bool
conn_read_large(struct tcp_conn *conn)
{
	uint32_t size = message_size(conn->rest, conn->rest_len);
	uint32_t room = conn->rest_len * 2;
	uint8_t *rest;
	ssize_t got;

	room = room < size ? room : size;
	if (room > conn->rest_size) {
		rest = realloc(conn->rest, room);
		if (rest == NULL) {
			tcp_conn_destroy(conn);
			return false;
		}
		conn->rest = rest;
		conn->rest_size = room;
	}
	got = tcp_io_read(conn, conn->rest + conn->rest_len,
		conn->rest_size - conn->rest_len);
	if (got <= 0) {
		conn_read_nothing(conn, got);
		return false;
	}
	tcp_cpu_add(conn, (unsigned)got / TCP_COST_OCTETS);
	conn->rest_len += (uint32_t)got;
	if (conn->rest_len == size)
		return true;
	/* The filter may have more, which the socket does not tell. */
	tcp_conn_next(conn);
	return false;
}

/*
 * The first request may be there when a connection is accepted. A read costs a
 * call in vain if it is not, and no read a turn if it is. So a new connection
 * is read at once as long as requests mostly are there, and now and then to see
 * whether they are again.
 */
#define EARLY_MAX 12
#define EARLY_HIT 3
#define EARLY_TRY 16u

static bool
early_is_worth_it(struct net_tcp *tcp)
{
	return tcp->early >= 0 || ++tcp->early_missed % EARLY_TRY == 0;
}

static void
early_note(struct net_tcp *tcp, bool hit)
{
	tcp->early += hit ? EARLY_HIT : -1;
	if (tcp->early > EARLY_MAX)
		tcp->early = EARLY_MAX;
	if (tcp->early < -EARLY_HIT)
		tcp->early = -EARLY_HIT;
}

static void
conn_read(struct tcp_conn *conn)
{
	struct net_tcp *tcp = conn->tcp;
	uint8_t *at;
	ssize_t got;

	if (conn->rest_len >= REST_LARGE) {
		if (conn_read_large(conn))
			conn_resume(conn);
		return;
	}
	at = in_reserve(tcp, conn->rest_len + READ_MAX);
	got = tcp_io_read(conn, at + conn->rest_len, READ_MAX);
	if (conn->waiting == TCP_WAIT_NOTHING)
		early_note(tcp, got > 0);
	if (got <= 0) {
		conn_read_nothing(conn, got);
		return;
	}
	tcp_cpu_add(conn, (unsigned)got / TCP_COST_OCTETS);
	if (conn->rest_len > 0)
		memcpy(at, conn->rest, conn->rest_len);
	conn_gather(conn, conn->rest_len + (size_t)got);
}

static void
conn_write(struct tcp_conn *conn)
{
	if (conn->stream != NULL)
		tcp_stream_join(conn);
	else
		(void)tcp_conn_send_out(conn);
	if (conn->dead || tcp_conn_is_busy(conn)
		|| tcp_conn_has_many_laters(conn))
		tcp_conn_next(conn);
	else if (rest_has_message(conn))
		conn_resume(conn);
	else if (conn_is_ready(conn))
		conn_read(conn);
	else
		tcp_conn_next(conn);
}

/* Drops what comes after the last reply. */
static void
conn_discard(struct tcp_conn *conn)
{
	uint8_t scratch[4096];
	ssize_t got = recv(conn->fd, scratch, sizeof(scratch), MSG_DONTWAIT);

	if (got == 0 || (got == -1 && errno != EAGAIN && errno != EWOULDBLOCK
		    && errno != EINTR))
		tcp_conn_destroy(conn);
}

static void
conn_on_ready(struct tcp_source *source)
{
	struct tcp_conn *conn = (struct tcp_conn *)source;

	if (conn->phase != TCP_LINGERING && conn_is_throttled(conn))
		return;
	tcp_cpu_charge(conn, TCP_COST_EVENT);
	if (conn->waiting == TCP_WAIT_WRITE)
		conn_write(conn);
	else if (conn->phase == TCP_LINGERING)
		conn_discard(conn);
	else
		conn_read(conn);
}

struct tcp_conn *
tcp_conn_create(const struct tcp_listener *listener, int fd,
	const struct sockaddr_storage *peer)
{
	struct net_tcp *tcp = listener->tcp;
	struct tcp_conn *conn = tcp->spare;

	tcp->spare = NULL;
	if (conn == NULL) {
		conn = malloc(sizeof(*conn));
		if (conn == NULL) {
			close(fd);
			net_count_add(tcp->handler.rx_err, 1);
			return NULL;
		}
	}
	memset(conn, 0, sizeof(*conn));
	CDS_INIT_LIST_HEAD(&conn->laters);
	conn->tcp = tcp;
	conn->listener = listener;
	conn->fd = fd;
	conn->awaits_header = listener->for_proxies;
	conn->transport = TRANSPORT_TCP;
	conn->active_ms = tcp->now_ms;
	memcpy(&conn->peer, peer, sizeof(conn->peer));
	tcp_cpu_charge(conn, TCP_COST_ACCEPT);
	return conn;
}

void
tcp_conn_enter(struct tcp_conn *conn, bool early)
{
	struct net_tcp *tcp = conn->tcp;
	const struct filter *filter = conn->listener->filter;

	if (conn->phase == TCP_QUEUED)
		conn_leave(conn);
	conn->source.on_ready = conn_on_ready;
	conn->active_ms = tcp->now_ms;
	conn->phase = filter != NULL ? TCP_GREETING : TCP_SILENT;
	cds_list_add_tail(&conn->by_age, &tcp->conns[conn->phase]);
	if (!conn->awaits_header)
		tcp_share_join(conn);
	tcp->count++;
	if (!tcp_io_begin(conn, filter)) {
		net_count_add(tcp->handler.rx_err, 1);
		tcp_conn_destroy(conn);
		return;
	}
	if (filter != NULL)
		tcp_wait_until(tcp, conn->active_ms
			+ tcp_wait_timeout_ms(tcp, TCP_GREETING));
	tcp_wait_on_newcomer(tcp);
	if (filter == NULL && early && early_is_worth_it(tcp))
		conn_read(conn);
	else
		conn_wait(conn, TCP_WAIT_READ);
}

enum nsd_err
tcp_turn_init(struct net_tcp *tcp, struct net_tcp_room *room)
{
	CDS_INIT_LIST_HEAD(&tcp->gathered);
	CDS_INIT_LIST_HEAD(&tcp->pace.waiting);
	tcp->replies = malloc((size_t)EXCHANGE_BATCH_MAX * REPLY_STRIDE);
	if (room == NULL)
		room = tcp->own_room = aligned_alloc(NET_ROOM_LINE,
			sizeof(*room));
	if (tcp->replies == NULL || room == NULL)
		return NSD_E_MEMORY;
	tcp->in = room->in;
	tcp->exchanges = room->exchanges;
	tcp->peer = room->peer;
	return NSD_OK;
}

void
tcp_turn_fini(struct net_tcp *tcp)
{
	free(tcp->own_room);
	free(tcp->replies);
}
