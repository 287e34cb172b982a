/*
 * replay_udp.c - sends queries over UDP, and takes the replies. What is under
 * way stands in a ring in the order of sending, so the oldest is the next to
 * time out.
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "latency.h"
#include "replay.h"

#define RING (1u << 18)
#define IDS 65536
#define BATCH 64
#define REPLY_SIZE 4096

struct udp_socket {
	struct replay_source source;
	int fd;
	uint16_t next_id;
	uint32_t by_id[IDS]; /* place in the ring plus one; 0: free */
};

struct udp_asked {
	uint64_t sent_ns;  /* by the clock of latency.h */
	uint64_t begun_ns; /* by replay_now_ns */
	struct udp_socket *socket;
	uint32_t query;
	uint16_t id;
	bool again;
	bool waits;
};

static struct replay *run;
static struct udp_socket *sockets[2][REPLAY_SOCKETS_MAX];
static struct udp_asked *ring;
static uint64_t ring_begin, ring_end; /* modulo RING */

static struct mmsghdr msgs[BATCH];
static struct iovec iovs[BATCH];
static uint8_t buffers[BATCH][REPLY_SIZE];
static _Alignas(struct cmsghdr) uint8_t controls[BATCH][64];

/* ---- replies */

static void
take_reply(struct udp_socket *s, const uint8_t *reply, size_t len,
	uint64_t heard_ns)
{
	struct udp_asked *asked;
	uint32_t place;

	if (len < 12) {
		run->counts.udp.bad++;
		return;
	}
	place = s->by_id[reply[0] << 8 | reply[1]];
	if (place == 0) {
		run->counts.udp.bad++;
		run->counts.udp.late++;
		return;
	}
	asked = &ring[place - 1];
	if (!replay_check(run, asked->query, reply, len)) {
		run->counts.udp.bad++;
		return;
	}
	run->counts.udp.answered++;
	run->counts.udp.octets += len;
	run->udp_lengths[len]++;
	histogram_add(&run->udp, heard_ns > asked->sent_ns
		? heard_ns - asked->sent_ns : 0);
	s->by_id[asked->id] = 0;
	asked->waits = false;
	run->pending--;
	if (asked->again || (run->options.cut_again && (reply[2] & 2) != 0))
		tcp_ask(run, asked->query, asked->begun_ns);
}

static void
on_replies(struct replay_source *source, uint32_t events)
{
	struct udp_socket *s = (struct udp_socket *)source;
	int got;

	(void)events;
	for (int i = 0; i < BATCH; i++) {
		msgs[i].msg_hdr.msg_controllen = sizeof(controls[i]);
		iovs[i].iov_len = REPLY_SIZE;
	}
	/* An error is one of an earlier datagram (ICMP); that times out. */
	got = recvmmsg(s->fd, msgs, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++)
		take_reply(s, buffers[i], msgs[i].msg_len,
			latency_heard_ns(&msgs[i].msg_hdr));
}

/* ---- time-outs */

static void
give_up(struct udp_asked *asked)
{
	if (!asked->waits)
		return;
	asked->waits = false;
	asked->socket->by_id[asked->id] = 0;
	run->counts.udp.timeouts++;
	run->pending--;
}

void
udp_expire(struct replay *r, uint64_t before_ns)
{
	(void)r;
	while (ring_begin < ring_end) {
		struct udp_asked *asked = &ring[ring_begin % RING];

		if (asked->waits && asked->begun_ns >= before_ns)
			return;
		give_up(asked);
		ring_begin++;
	}
}

/* ---- sending */

static struct udp_asked *
ring_add(void)
{
	if (ring_end - ring_begin == RING) {
		give_up(&ring[ring_begin % RING]);
		ring_begin++;
	}
	return &ring[ring_end++ % RING];
}

static void
write_id(uint8_t *message, uint16_t id)
{
	message[0] = (uint8_t)(id >> 8);
	message[1] = (uint8_t)id;
}

void
udp_send(struct replay *r, uint32_t query, bool again)
{
	const struct replay_query *q = &r->in.queries[query];
	const struct sockaddr_storage *to = replay_server(r, q);
	struct udp_socket *s = sockets[to->ss_family == AF_INET6]
		[q->source % r->options.sockets];
	uint8_t *message = r->in.octets + q->at;
	struct udp_asked *asked;
	uint16_t id = s->next_id++;

	if (s->by_id[id] != 0)
		give_up(&ring[s->by_id[id] - 1]);
	write_id(message, id);
	asked = ring_add();
	*asked = (struct udp_asked){
		.sent_ns = latency_now_ns(),
		.begun_ns = replay_now_ns(),
		.socket = s,
		.query = query,
		.id = id,
		.again = again,
	};
	if (send(s->fd, message, q->len, 0) != q->len) {
		r->counts.udp.unsent++;
		return;
	}
	asked->waits = true;
	s->by_id[id] = (uint32_t)(asked - ring) + 1;
	r->counts.udp.sent++;
	r->pending++;
}

static struct udp_socket *
socket_open(struct replay *r, const struct sockaddr_storage *to, unsigned i)
{
	struct udp_socket *s = calloc(1, sizeof(*s));
	int room = 4 << 20;

	if (s == NULL)
		err(1, NULL);
	s->source.on_ready = on_replies;
	s->fd = socket(to->ss_family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (s->fd == -1)
		err(1, "socket");
	if (setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room,
			sizeof(room)) != 0)
		(void)setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &room,
			sizeof(room));
	replay_bind(r, s->fd, to->ss_family, i);
	if (connect(s->fd, (const struct sockaddr *)to, sizeof(*to)) != 0)
		err(1, "connect");
	latency_enable(s->fd);
	replay_watch(r, s->fd, &s->source, EPOLLIN);
	return s;
}

void
udp_begin(struct replay *r)
{
	run = r;
	ring = calloc(RING, sizeof(*ring));
	if (ring == NULL)
		err(1, NULL);
	for (int i = 0; i < BATCH; i++) {
		iovs[i].iov_base = buffers[i];
		msgs[i].msg_hdr.msg_iov = &iovs[i];
		msgs[i].msg_hdr.msg_iovlen = 1;
		msgs[i].msg_hdr.msg_control = controls[i];
	}
	for (int family = 0; family < 2; family++)
		for (unsigned i = 0; i < r->options.sockets; i++)
			if (r->options.server[family].ss_family != 0)
				sockets[family][i] = socket_open(r,
					&r->options.server[family], i);
}
