/*
 * replay_tcp.c - asks over TCP: a connection for each query, or some that stay
 * and have many queries on their way.
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "replay.h"

/* Queries under way on a connection that stays. */
#define SLOTS_MAX 256
#define IN_SIZE (2 + 65535)

struct tcp_asked {
	uint64_t begun_ns;
	uint64_t first_ns; /* when it was sent over UDP; 0: it was not */
	uint32_t query;
	uint8_t round; /* in the id, to tell old replies */
	bool waits;
};

struct tcp_conn {
	struct replay_source source;
	struct tcp_conn *next_spare; /* or the next that has ended */
	struct tcp_conn **kept; /* of one that stays: its place */
	int fd;
	bool connected;
	unsigned place; /* in open_conns */
	unsigned asked_count;
	unsigned slots;
	struct tcp_asked *asked;
	uint8_t *out;
	size_t out_len, out_size;
	uint8_t *in;
	size_t in_len;
};

static struct replay *run;
static struct tcp_conn *kept_conns[2][REPLAY_KEPT_MAX];
static struct tcp_conn **open_conns;
static unsigned open_count;
static struct tcp_conn *spare_conns, *ended_conns;
static uint32_t next_from;

/* ---- connections */

static struct tcp_conn *
conn_new(unsigned slots)
{
	struct tcp_conn *conn = spare_conns;

	if (conn != NULL) {
		spare_conns = conn->next_spare;
		return conn;
	}
	conn = calloc(1, sizeof(*conn));
	if (conn == NULL)
		err(1, NULL);
	conn->slots = slots;
	conn->asked = calloc(slots, sizeof(*conn->asked));
	conn->in = malloc(IN_SIZE);
	if (conn->asked == NULL || conn->in == NULL)
		err(1, NULL);
	return conn;
}

static void
on_ended(struct replay_source *source, uint32_t events)
{
	(void)source;
	(void)events;
}

/* Ends a connection, and adds what was not answered to a count. Events that
 * the loop has already taken may still come for it. */
static void
conn_end(struct tcp_conn *conn, uint64_t *count)
{
	for (unsigned i = 0; i < conn->slots; i++)
		conn->asked[i].waits = false;
	*count += conn->asked_count;
	run->pending -= conn->asked_count;
	close(conn->fd);
	if (conn->kept != NULL)
		*conn->kept = NULL;
	open_conns[conn->place] = open_conns[--open_count];
	open_conns[conn->place]->place = conn->place;
	conn->source.on_ready = on_ended;
	conn->next_spare = ended_conns;
	ended_conns = conn;
}

void
tcp_recycle(void)
{
	struct tcp_conn *conn;

	while ((conn = ended_conns) != NULL) {
		ended_conns = conn->next_spare;
		conn->next_spare = spare_conns;
		spare_conns = conn;
	}
}

static bool
conn_flush(struct tcp_conn *conn)
{
	ssize_t got;

	if (!conn->connected || conn->out_len == 0)
		return true;
	got = send(conn->fd, conn->out, conn->out_len, MSG_NOSIGNAL);
	if (got < 0)
		return errno == EAGAIN;
	conn->out_len -= (size_t)got;
	memmove(conn->out, conn->out + got, conn->out_len);
	return true;
}

/* ---- replies */

static void
conn_take(struct tcp_conn *conn, const uint8_t *reply, size_t len)
{
	struct tcp_asked *asked;
	uint64_t now = replay_now_ns();

	asked = len < 12 ? NULL : &conn->asked[reply[1] % conn->slots];
	if (asked == NULL || !asked->waits || reply[0] != asked->round
	    || !replay_check(run, asked->query, reply, len)) {
		run->counts.tcp.bad++;
		return;
	}
	asked->waits = false;
	conn->asked_count--;
	run->pending--;
	run->counts.tcp.answered++;
	run->counts.tcp.octets += len;
	run->tcp_lengths[len]++;
	histogram_add(&run->tcp, now - asked->begun_ns);
	if (asked->first_ns != 0)
		histogram_add(&run->both, now - asked->first_ns);
}

static void
conn_messages(struct tcp_conn *conn)
{
	size_t at = 0;

	while (conn->in_len - at >= 2) {
		size_t len = (size_t)(conn->in[at] << 8 | conn->in[at + 1]);

		if (conn->in_len - at < 2 + len)
			break;
		conn_take(conn, conn->in + at + 2, len);
		at += 2 + len;
	}
	conn->in_len -= at;
	memmove(conn->in, conn->in + at, conn->in_len);
}

static void
conn_read(struct tcp_conn *conn, bool has_end)
{
	ssize_t got;

	for (;;) {
		size_t room = IN_SIZE - conn->in_len;

		got = recv(conn->fd, conn->in + conn->in_len, room, 0);
		if (got <= 0)
			break;
		conn->in_len += (size_t)got;
		conn_messages(conn);
		if (conn->kept == NULL && conn->asked_count == 0) {
			conn_end(conn, &run->counts.tcp.cut);
			return;
		}
		if ((size_t)got < room && !has_end)
			return;
	}
	if (got == 0 || (errno != EAGAIN && errno != EINTR))
		conn_end(conn, &run->counts.tcp.cut);
}

static void
on_conn(struct replay_source *source, uint32_t events)
{
	struct tcp_conn *conn = (struct tcp_conn *)source;

	if (!conn->connected) {
		int error = 0;
		socklen_t len = sizeof(error);

		getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &len);
		if (error != 0) {
			conn_end(conn, &run->counts.tcp.refused);
			return;
		}
		if ((events & EPOLLOUT) == 0)
			return;
		conn->connected = true;
	}
	if ((events & EPOLLOUT) != 0 && !conn_flush(conn))
		conn_end(conn, &run->counts.tcp.cut);
	else if ((events & ~(uint32_t)EPOLLOUT) != 0)
		conn_read(conn, (events & ~(uint32_t)(EPOLLIN | EPOLLOUT))
			!= 0);
}

/* ---- asking */

static struct tcp_conn *
conn_open(const struct sockaddr_storage *to, struct tcp_conn **kept)
{
	struct tcp_conn *conn = conn_new(kept != NULL ? SLOTS_MAX : 1);
	int on = 1;

	conn->source.on_ready = on_conn;
	conn->kept = kept;
	conn->connected = false;
	conn->asked_count = 0;
	conn->out_len = conn->in_len = 0;
	conn->fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (conn->fd == -1)
		err(1, "socket");
	setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* Many local addresses, not to run out of ports in TIME_WAIT. */
	replay_bind(run, conn->fd, to->ss_family, next_from++);
	conn->place = open_count;
	open_conns[open_count++] = conn;
	run->counts.tcp.connections++;
	if (connect(conn->fd, (const struct sockaddr *)to, sizeof(*to)) != 0
	    && errno != EINPROGRESS) {
		conn_end(conn, &run->counts.tcp.refused);
		run->counts.tcp.refused++; /* of the query that is to come */
		return NULL;
	}
	if (kept != NULL)
		*kept = conn;
	replay_watch(run, conn->fd, &conn->source,
		EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	return conn;
}

static struct tcp_conn *
find_conn(const struct replay_query *q)
{
	const struct sockaddr_storage *to = replay_server(run, q);
	struct tcp_conn **kept = NULL;

	if (run->options.kept > 0)
		kept = &kept_conns[to->ss_family == AF_INET6]
			[q->source % run->options.kept];
	if (kept != NULL && *kept != NULL)
		return *kept;
	if (open_count == run->options.open_max) {
		run->counts.tcp.unsent++;
		return NULL;
	}
	return conn_open(to, kept);
}

static struct tcp_asked *
free_slot(struct tcp_conn *conn)
{
	for (unsigned i = 0; i < conn->slots; i++)
		if (!conn->asked[i].waits)
			return &conn->asked[i];
	return NULL;
}

static void
conn_write(struct tcp_conn *conn, const struct replay_query *q, uint8_t round,
	uint8_t slot)
{
	size_t need = conn->out_len + 2 + q->len;
	uint8_t *at;

	if (need > conn->out_size) {
		conn->out_size = need;
		conn->out = realloc(conn->out, need);
		if (conn->out == NULL)
			err(1, NULL);
	}
	at = conn->out + conn->out_len;
	at[0] = (uint8_t)(q->len >> 8);
	at[1] = (uint8_t)q->len;
	memcpy(at + 2, run->in.octets + q->at, q->len);
	at[2] = round;
	at[3] = slot;
	conn->out_len = need;
}

void
tcp_ask(struct replay *r, uint32_t query, uint64_t first_ns)
{
	const struct replay_query *q = &r->in.queries[query];
	uint64_t begun_ns = replay_now_ns();
	struct tcp_conn *conn = find_conn(q);
	struct tcp_asked *asked;

	r->counts.tcp.asked++;
	if (conn == NULL)
		return;
	asked = free_slot(conn);
	if (asked == NULL) {
		r->counts.tcp.unsent++;
		return;
	}
	*asked = (struct tcp_asked){
		.begun_ns = begun_ns,
		.first_ns = first_ns,
		.query = query,
		.round = (uint8_t)(asked->round + 1),
		.waits = true,
	};
	conn->asked_count++;
	r->pending++;
	conn_write(conn, q, asked->round, (uint8_t)(asked - conn->asked));
	if (!conn_flush(conn))
		conn_end(conn, &r->counts.tcp.cut);
}

static bool
conn_is_late(const struct tcp_conn *conn, uint64_t before_ns)
{
	for (unsigned i = 0; i < conn->slots; i++)
		if (conn->asked[i].waits
		    && conn->asked[i].begun_ns < before_ns)
			return true;
	return false;
}

/* A connection with a query that is late ends, and all of its queries with
 * it. */
void
tcp_expire(struct replay *r, uint64_t before_ns)
{
	for (unsigned i = open_count; i-- > 0;)
		if (conn_is_late(open_conns[i], before_ns))
			conn_end(open_conns[i], &r->counts.tcp.timeouts);
}

void
tcp_begin(struct replay *r)
{
	run = r;
	open_conns = calloc(r->options.open_max, sizeof(struct tcp_conn *));
	if (open_conns == NULL)
		err(1, NULL);
}
