/*
 * load.c - asks a server on loopback as fast as it answers, or at a rate, and
 * counts and checks the answers. Prints one line of JSON.
 *
 *	load [options] udp|tcp PORT QUERIES
 *	  -t SEC   how long (3)             -d       set DO (EDNS, 1232 octets)
 *	  -w N     outstanding, per socket  -c N     sockets or connections
 *	  -n N     queries a connection     -r RATE  queries a second, UDP only
 *	  -e       an echo: the QR bit is not expected
 *	  -k       a cookie of the client beside DO (RFC 7873)
 *	  -s N     begin at query N of the list
 *	  -l MSEC  how long answers took, and its course in parts of MSEC; UDP
 *	  -o FILE  with -l: that of each answer goes there, see latency.h
 *	  -b PORT  with -l and -r: asks an echo there beside, see beside.h
 *	  -i       with -r: rests between queries, for others on its core
 *	  -E SIZE  EDNS in all queries, with this UDP payload size
 *	  -D MSEC  UDP: how long to wait for replies at the end (100)
 *	  -T MSEC  TCP: a connection that is so long without a reply is closed
 *
 * QUERIES has lines "NAME TYPE". A reply counts if its id is outstanding, it
 * has the QR bit and the question is the one that was asked.
 */
#include "config.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "beside.h"
#include "latency.h"
#include "query_list.h"

#define BATCH 64
#define WINDOW_MAX 4096
#define SOCKETS_MAX 1024
#define REPLY_SIZE 4096
#define LOST_NS 250000000
#define EXPIRE_MS 5

struct query {
	uint32_t at;  /* in packets */
	uint16_t len;
	uint16_t question_len;
};

struct options {
	double seconds;
	unsigned window;
	unsigned sockets;
	unsigned per_conn;
	double rate;
	bool dnssec;
	bool echo;
	bool cookie;
	uint32_t start;
	uint16_t port;
	bool tcp;
	bool latency;
	bool rests;
	uint16_t beside;
	uint16_t edns_size; /* 0: no EDNS, or 1232 with DO */
	uint64_t drain_ns;
	uint64_t timeout_ns; /* of TCP; 0: none */
	const char *save;
};

static struct options opt = { .seconds = 3, .window = 64, .sockets = 1,
	.drain_ns = 100000000 };
static uint8_t *packets;
static struct query *queries;
static uint32_t query_count, query_next;
static uint64_t sent, answered, lost, bad, rcodes[16], truncated, octets;
static uint64_t conns, refused, timeouts;

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- queries */

static size_t query_room, packets_room, packets_used;

static void
add_query(void *ctx, const char *name, uint16_t type)
{
	const struct query_edns *edns = ctx;
	struct query *q;

	if (query_count == query_room) {
		query_room = query_room * 2 + 1024;
		queries = realloc(queries, query_room * sizeof(*queries));
	}
	if (packets_used + QUERY_LIST_MAX > packets_room) {
		packets_room = packets_room * 2 + 65536;
		packets = realloc(packets, packets_room);
	}
	if (queries == NULL || packets == NULL)
		err(1, NULL);
	q = &queries[query_count++];
	q->at = (uint32_t)packets_used;
	q->len = (uint16_t)query_list_write(packets + packets_used, name, type,
		edns, &q->question_len);
	packets_used += q->len;
}

static void
read_queries(const char *file)
{
	struct query_edns edns = {
		.size = opt.edns_size != 0 ? opt.edns_size
			: opt.dnssec ? 1232 : 0,
		.dnssec = opt.dnssec,
		.cookie = opt.cookie,
	};

	query_list_read(file, add_query, &edns);
	if (query_count == 0)
		errx(1, "%s: no queries", file);
	query_next = opt.start % query_count;
}

static uint32_t
next_query(void)
{
	uint32_t q = query_next++;

	if (query_next == query_count)
		query_next = 0;
	return q;
}

static void
check_reply(const uint8_t *reply, size_t len, uint32_t q)
{
	const uint8_t *query = packets + queries[q].at;
	size_t question = queries[q].question_len;

	if (len < 12 + question || (!opt.echo && (reply[2] & 0x80) == 0)
	    || memcmp(reply + 12, query + 12, question) != 0) {
		bad++;
		return;
	}
	answered++;
	octets += len;
	rcodes[reply[3] & 15]++;
	truncated += reply[2] >> 1 & 1;
}

/* ---- UDP: each socket has slots; a slot's number is in the id */

struct udp {
	int fd;
	uint32_t outstanding;
	uint64_t heard_ns;
	uint32_t query[WINDOW_MAX];
	uint16_t id[WINDOW_MAX];
	bool busy[WINDOW_MAX];
	uint64_t sent_ns[WINDOW_MAX];
	uint32_t free_slots[WINDOW_MAX];
	uint32_t free_count;
};

static struct mmsghdr msgs[BATCH];
static struct iovec iovs[BATCH];
static uint8_t buffers[BATCH][REPLY_SIZE];
static _Alignas(struct cmsghdr) uint8_t controls[BATCH][64];
static uint16_t round_id;

static struct sockaddr_in
server_address(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons(opt.port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
}

static void
udp_open(struct udp *u)
{
	struct sockaddr_in to = server_address();
	int buffer = 4 << 20;

	u->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (u->fd == -1)
		err(1, "socket");
	setsockopt(u->fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer,
		sizeof(buffer));
	if (connect(u->fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		err(1, "connect");
	for (uint32_t i = 0; i < opt.window; i++)
		u->free_slots[u->free_count++] = i;
	u->heard_ns = now_ns();
	if (opt.latency)
		latency_enable(u->fd);
}

/* Sends up to max queries; at a rate, slots that are still busy are reused
 * for newer queries and their replies lost. */
static void
udp_send(struct udp *u, uint32_t max)
{
	uint64_t now = opt.latency ? latency_now_ns() : 0;
	unsigned n = 0;
	int done;

	while (n < BATCH && n < max && u->free_count > 0) {
		uint32_t slot = u->free_slots[--u->free_count];
		uint32_t q = next_query();
		uint16_t id;

		/* 12 bits of slot; the rest tells an old reply from a new. */
		id = (uint16_t)(slot | (uint32_t)(round_id++ & 15) << 12);
		memcpy(buffers[n], packets + queries[q].at, queries[q].len);
		buffers[n][0] = (uint8_t)(id >> 8);
		buffers[n][1] = (uint8_t)id;
		iovs[n].iov_base = buffers[n];
		iovs[n].iov_len = queries[q].len;
		u->query[slot] = q;
		u->id[slot] = id;
		u->busy[slot] = true;
		u->sent_ns[slot] = now;
		msgs[n].msg_hdr.msg_controllen = 0;
		n++;
	}
	if (n == 0)
		return;
	done = sendmmsg(u->fd, msgs, n, 0);
	if (done < 0)
		done = 0;
	sent += n;
	lost += n - (unsigned)done;
	u->outstanding += n;
	/* The queries that the socket refused time out like lost ones. */
}

static unsigned
udp_receive(struct udp *u)
{
	int got;

	for (int i = 0; i < BATCH; i++) {
		iovs[i].iov_base = buffers[i];
		iovs[i].iov_len = REPLY_SIZE;
		msgs[i].msg_hdr.msg_controllen = sizeof(controls[i]);
	}
	got = recvmmsg(u->fd, msgs, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++) {
		const uint8_t *r = buffers[i];
		uint16_t id = (uint16_t)(r[0] << 8 | r[1]);
		uint32_t slot = id & 4095;

		if (msgs[i].msg_len < 12 || slot >= opt.window
		    || !u->busy[slot] || u->id[slot] != id) {
			bad++;
			continue;
		}
		check_reply(r, msgs[i].msg_len, u->query[slot]);
		if (opt.latency)
			latency_note(u->sent_ns[slot],
				latency_heard_ns(&msgs[i].msg_hdr));
		u->busy[slot] = false;
		u->free_slots[u->free_count++] = slot;
		u->outstanding--;
	}
	if (got > 0)
		u->heard_ns = now_ns();
	return got > 0 ? (unsigned)got : 0;
}

/* Gives up all that is outstanding. */
static void
udp_reset(struct udp *u)
{
	u->free_count = 0;
	for (uint32_t i = 0; i < opt.window; i++) {
		lost += u->busy[i];
		u->busy[i] = false;
		u->free_slots[u->free_count++] = i;
	}
	u->outstanding = 0;
	u->heard_ns = now_ns();
}

static void
udp_closed_loop(struct udp *u, uint64_t end)
{
	struct pollfd *wait = calloc(opt.sockets, sizeof(*wait));
	uint64_t now = now_ns();

	for (unsigned i = 0; i < opt.sockets; i++)
		wait[i] = (struct pollfd){ .fd = u[i].fd, .events = POLLIN };
	while (now < end) {
		unsigned got = 0;

		for (unsigned i = 0; i < opt.sockets; i++) {
			udp_send(&u[i], BATCH);
			got += udp_receive(&u[i]);
		}
		now = now_ns();
		if (got > 0)
			continue;
		poll(wait, opt.sockets, 50);
		for (unsigned i = 0; i < opt.sockets; i++)
			if (u[i].outstanding > 0
			    && now > u[i].heard_ns + LOST_NS)
				udp_reset(&u[i]);
	}
	free(wait);
}

/* A rate: what is due by now is sent, whatever has been answered. */
static void
udp_open_loop(struct udp *u, uint64_t start, uint64_t end)
{
	static const struct timespec rest = { .tv_nsec = 500000 };
	uint64_t now = start;
	unsigned turn = 0;

	while (now < end) {
		uint64_t due = (uint64_t)((double)(now - start) * opt.rate
			/ 1e9);
		unsigned got = 0;

		beside_turn();
		while (sent < due) {
			uint64_t left = due - sent;
			struct udp *one = &u[turn++ % opt.sockets];

			if (one->free_count == 0)
				udp_reset(one);
			udp_send(one, left > 16 ? 16 : (uint32_t)left);
			if (turn % 8 == 0)
				break;
		}
		for (unsigned i = 0; i < opt.sockets; i++)
			got += udp_receive(&u[i]);
		now = now_ns();
		(void)got;
		if (opt.latency)
			latency_turn(now);
		/* Replies that arrive during the pause have their time from the
		 * kernel. */
		if (opt.rests)
			nanosleep(&rest, NULL);
	}
}

static void
run_udp(void)
{
	struct udp *u = calloc(opt.sockets, sizeof(*u));
	uint64_t start = now_ns(), drain;

	if (u == NULL)
		err(1, NULL);
	for (int i = 0; i < BATCH; i++) {
		msgs[i].msg_hdr.msg_iov = &iovs[i];
		msgs[i].msg_hdr.msg_iovlen = 1;
		msgs[i].msg_hdr.msg_control = controls[i];
	}
	for (unsigned i = 0; i < opt.sockets; i++)
		udp_open(&u[i]);
	if (opt.beside != 0)
		beside_open(opt.beside);
	if (opt.rate > 0)
		udp_open_loop(u, start, start + (uint64_t)(opt.seconds * 1e9));
	else
		udp_closed_loop(u, start + (uint64_t)(opt.seconds * 1e9));
	/* Wait for replies that are under way. */
	drain = now_ns() + opt.drain_ns;
	while (now_ns() < drain)
		for (unsigned i = 0; i < opt.sockets; i++)
			udp_receive(&u[i]);
	beside_close();
	for (unsigned i = 0; i < opt.sockets; i++) {
		lost += u[i].outstanding;
		close(u[i].fd);
	}
	free(u);
}

/* ---- TCP: connections with a window each, all on one epoll */

struct tcp {
	int fd;
	unsigned begun;  /* queries sent on this connection */
	unsigned done;   /* replies received */
	uint32_t query[WINDOW_MAX]; /* by number modulo the window */
	uint8_t *in;
	size_t in_len;
	uint64_t heard_ns; /* of the last reply, or the connection's begin */
	bool connecting;
};

#define TCP_BUFFER (1 << 20)

static int epoll_fd;

static void
tcp_connect(struct tcp *t)
{
	static unsigned source;
	struct sockaddr_in to = server_address(), from = to;
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET,
		.data = { .ptr = t } };
	int on = 1;

	t->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (t->fd == -1)
		err(1, "socket");
	setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* Many source addresses, not to run out of ports in TIME_WAIT. */
	from.sin_port = 0;
	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + source++ % 64);
	setsockopt(t->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on,
		sizeof(on));
	if (bind(t->fd, (struct sockaddr *)&from, sizeof(from)) != 0)
		err(1, "bind");
	t->begun = t->done = 0;
	t->in_len = 0;
	t->heard_ns = now_ns();
	t->connecting = true;
	if (connect(t->fd, (struct sockaddr *)&to, sizeof(to)) != 0
	    && errno != EINPROGRESS)
		err(1, "connect");
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, t->fd, &event) != 0)
		err(1, "epoll_ctl");
	conns++;
}

static void
tcp_again(struct tcp *t)
{
	lost += t->begun - t->done;
	close(t->fd);
	tcp_connect(t);
}

/* Fills the window with one write. */
static bool
tcp_send(struct tcp *t)
{
	uint8_t out[65536];
	size_t len = 0;

	while (t->begun - t->done < opt.window && len < sizeof(out) - 600
	    && (opt.per_conn == 0 || t->begun < opt.per_conn)) {
		uint32_t q = next_query();
		uint8_t *at = out + len;

		t->query[t->begun % opt.window] = q;
		at[0] = (uint8_t)(queries[q].len >> 8);
		at[1] = (uint8_t)queries[q].len;
		memcpy(at + 2, packets + queries[q].at, queries[q].len);
		at[2] = (uint8_t)(t->begun >> 8);
		at[3] = (uint8_t)t->begun;
		len += 2u + queries[q].len;
		t->begun++;
		sent++;
	}
	/* A window always fits an empty send buffer of the system. */
	return len == 0 || send(t->fd, out, len, MSG_NOSIGNAL)
		== (ssize_t)len;
}

/* Takes the complete replies; RFC 7766 lets them come in any order. */
static void
tcp_replies(struct tcp *t)
{
	size_t at = 0;

	while (t->in_len - at >= 2) {
		size_t len = (size_t)t->in[at] << 8 | t->in[at + 1];
		const uint8_t *reply = t->in + at + 2;
		unsigned number;

		if (t->in_len - at < 2 + len)
			break;
		at += 2 + len;
		if (len < 12) {
			bad++;
			continue;
		}
		number = (unsigned)(reply[0] << 8 | reply[1]);
		check_reply(reply, len, t->query[number % opt.window]);
		t->done++;
	}
	memmove(t->in, t->in + at, t->in_len - at);
	t->in_len -= at;
}

static void
tcp_event(struct tcp *t, uint32_t events)
{
	if (t->connecting) {
		int error = 0;
		socklen_t len = sizeof(error);

		getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len);
		if (error != 0) {
			refused++;
			tcp_again(t);
			return;
		}
		if ((events & EPOLLOUT) == 0)
			return;
		t->connecting = false;
		if (!tcp_send(t))
			tcp_again(t);
		return;
	}
	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0)
		return;
	for (;;) {
		ssize_t got = recv(t->fd, t->in + t->in_len,
			TCP_BUFFER - t->in_len, 0);
		bool drained = got < (ssize_t)(TCP_BUFFER - t->in_len);

		if (got == -1 && errno == EAGAIN)
			return;
		if (got <= 0) {
			tcp_again(t);
			return;
		}
		t->in_len += (size_t)got;
		t->heard_ns = now_ns();
		tcp_replies(t);
		if (opt.per_conn != 0 && t->done >= opt.per_conn) {
			tcp_again(t);
			return;
		}
		if (!tcp_send(t)) {
			tcp_again(t);
			return;
		}
		if (drained && (events & EPOLLRDHUP) == 0)
			return;
	}
}

/* Closes connections that have waited too long, and opens others. */
static void
tcp_expire(struct tcp *t, uint64_t now)
{
	for (unsigned i = 0; i < opt.sockets; i++) {
		if (now < t[i].heard_ns + opt.timeout_ns)
			continue;
		timeouts++;
		tcp_again(&t[i]);
	}
}

static void
run_tcp(void)
{
	struct tcp *t = calloc(opt.sockets, sizeof(*t));
	struct epoll_event events[256];
	uint64_t end = now_ns() + (uint64_t)(opt.seconds * 1e9);
	uint64_t now, expired = 0;

	epoll_fd = epoll_create1(0);
	if (t == NULL || epoll_fd == -1)
		err(1, NULL);
	for (unsigned i = 0; i < opt.sockets; i++) {
		t[i].in = malloc(TCP_BUFFER);
		if (t[i].in == NULL)
			err(1, NULL);
		tcp_connect(&t[i]);
	}
	while ((now = now_ns()) < end) {
		int n = epoll_wait(epoll_fd, events, 256,
			opt.timeout_ns != 0 ? EXPIRE_MS : 50);

		for (int i = 0; i < n; i++)
			tcp_event(events[i].data.ptr, events[i].events);
		if (opt.timeout_ns != 0
		    && now > expired + EXPIRE_MS * 1000000ull) {
			tcp_expire(t, now);
			expired = now;
		}
	}
	for (unsigned i = 0; i < opt.sockets; i++) {
		close(t[i].fd);
		free(t[i].in);
	}
	free(t);
}

static void
parse_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "t:w:c:n:r:s:l:o:b:D:E:T:deik")) != -1) {
		switch (c) {
		case 't': opt.seconds = atof(optarg); break;
		case 'w': opt.window = (unsigned)atoi(optarg); break;
		case 'c': opt.sockets = (unsigned)atoi(optarg); break;
		case 'n': opt.per_conn = (unsigned)atoi(optarg); break;
		case 'r': opt.rate = atof(optarg); break;
		case 's': opt.start = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'l': opt.latency = true;
			latency_init(strtoul(optarg, NULL, 10) * 1000000);
			break;
		case 'o': opt.save = optarg; break;
		case 'b': opt.beside = (uint16_t)atoi(optarg); break;
		case 'D': opt.drain_ns = strtoul(optarg, NULL, 10) * 1000000;
			break;
		case 'E': opt.edns_size = (uint16_t)atoi(optarg); break;
		case 'T': opt.timeout_ns = strtoul(optarg, NULL, 10) * 1000000;
			break;
		case 'd': opt.dnssec = true; break;
		case 'e': opt.echo = true; break;
		case 'i': opt.rests = true; break;
		case 'k': opt.cookie = opt.dnssec = true; break;
		default: exit(2);
		}
	}
	if (argc - optind != 3)
		errx(2, "usage: load [options] udp|tcp PORT QUERIES");
	opt.tcp = strcmp(argv[optind], "tcp") == 0;
	opt.port = (uint16_t)atoi(argv[optind + 1]);
	if (opt.window == 0 || opt.window > WINDOW_MAX || opt.sockets == 0
	    || opt.sockets > SOCKETS_MAX)
		errx(2, "window 1..%d, sockets 1..%d", WINDOW_MAX,
			SOCKETS_MAX);
}

int
main(int argc, char **argv)
{
	uint64_t start;
	double seconds;

	parse_options(argc, argv);
	read_queries(argv[optind + 2]);
	start = now_ns();
	if (opt.tcp)
		run_tcp();
	else
		run_udp();
	seconds = (double)(now_ns() - start) / 1e9;
	printf("{\"sent\":%llu,\"answered\":%llu,\"lost\":%llu,\"bad\":%llu,"
		"\"noerror\":%llu,\"nxdomain\":%llu,\"refused\":%llu,"
		"\"servfail\":%llu,\"truncated\":%llu,\"octets\":%llu,"
		"\"connections\":%llu,\"failed\":%llu,\"timeouts\":%llu,"
		"\"seconds\":%.3f",
		(unsigned long long)sent, (unsigned long long)answered,
		(unsigned long long)lost, (unsigned long long)bad,
		(unsigned long long)rcodes[0], (unsigned long long)rcodes[3],
		(unsigned long long)rcodes[5], (unsigned long long)rcodes[2],
		(unsigned long long)truncated, (unsigned long long)octets,
		(unsigned long long)conns, (unsigned long long)refused,
		(unsigned long long)timeouts, seconds);
	if (opt.save != NULL)
		latency_save(opt.save);
	latency_print();
	printf("}\n");
	return 0;
}
