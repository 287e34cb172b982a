/*
 * tcp.c - requests over TCP: accepting, time-outs, turns.
 */
#include "config.h"

#include "tcp_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Most connections accepted in one turn of the loop. */
#define ACCEPT_MAX 64
/* Turns that use up the budget of accepts before it is doubled. */
#define ACCEPT_USED 4
/* Timed-out connections that are closed at a time. */
#define EXPIRE_MAX 32
/* Connections that go on at a time when their clients may have time again. */
#define RESUME_MAX 256

static struct tcp_conn *
conn_oldest(struct net_tcp *tcp, enum tcp_phase phase)
{
	return list_first_or_null(&tcp->conns[phase], struct tcp_conn, by_age);
}

static bool
is_lack_of_resources(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS
		|| error == ENOMEM;
}

/* True for an error of a connection that broke while it waited, and not of the
 * listener: accept(2) reports the network's errors, too. */
static bool
is_passing(int error)
{
	return error == EINTR || error == ECONNABORTED || error == EPROTO
		|| error == ENETDOWN || error == ENOPROTOOPT
		|| error == EHOSTDOWN || error == ENONET
		|| error == EHOSTUNREACH || error == ENETUNREACH
		|| error == EOPNOTSUPP || error == EPERM;
}

static bool
may_proxy(const struct net_tcp *tcp, const struct sockaddr_storage *peer)
{
	return tcp->handler.may_proxy == NULL
		|| tcp->handler.may_proxy(tcp->handler.ctx, peer);
}

/* Takes a new connection, which may get a place or wait for one. */
static void
take_newcomer(const struct tcp_listener *listener, int fd,
	const struct sockaddr_storage *peer)
{
	struct net_tcp *tcp = listener->tcp;
	struct tcp_conn *conn = tcp_conn_create(listener, fd, peer);

	if (conn == NULL)
		return;
	if (tcp_is_full(tcp) || tcp->queued > 0)
		tcp_queue_add(conn);
	else
		tcp_conn_enter(conn, true);
}

/* Accepts one connection. False if there are no more in this turn. */
static bool
accept_one(const struct tcp_listener *listener)
{
	struct net_tcp *tcp = listener->tcp;
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	int fd = accept4(listener->fd, (struct sockaddr *)&peer, &len,
		SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd != -1) {
		if (listener->for_proxies && !may_proxy(tcp, &peer)) {
			close(fd);
			net_count_add(tcp->handler.rx_err, 1);
		} else if (!listener->for_proxies
			&& tcp_cpu_refuses(tcp, &peer)) {
			close(fd);
			net_count_add(tcp->handler.rx_err, 1);
		} else {
			take_newcomer(listener, fd, &peer);
		}
		return true;
	}
	if (is_passing(errno))
		return true;
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return false;
	net_count_add(tcp->handler.rx_err, 1);
	if (!is_lack_of_resources(errno) || !tcp_queue_free_descriptor(tcp))
		tcp_wait_pause(tcp, tcp->now_ms + TCP_PAUSE_MS);
	return false;
}

/*
 * Accepts many connections in a turn if many come. The budget doubles when it
 * has been used up for some turns, and falls back to the connections that there
 * were. So a trickle does not pay each time for an accept that finds nothing.
 */
static void
on_connection(struct tcp_source *source)
{
	struct tcp_listener *listener = (struct tcp_listener *)source;
	struct net_tcp *tcp = listener->tcp;
	unsigned accepted = 0;

	/* Pausing may come from another listener that has found no room. */
	while (!tcp->paused && accepted < listener->budget
		&& !tcp_turn_is_over(tcp)) {
		if (tcp->queued >= TCP_QUEUE_MAX
			&& tcp_wait_behind_queue(listener))
			return;
		if (!accept_one(listener)) {
			listener->budget = accepted > 0 ? accepted : 1;
			listener->used = 0;
			return;
		}
		accepted++;
		tcp->turn_cost += TCP_COST_ACCEPT;
	}
	if (listener->budget < ACCEPT_MAX
		&& ++listener->used >= ACCEPT_USED) {
		listener->used = 0;
		listener->budget *= 2;
	}
}

/* Closes connections of a phase that have timed out. Returns the time at which
 * the next is due; 0: there is none. */
static uint64_t
conns_expire(struct net_tcp *tcp, enum tcp_phase phase, uint64_t now)
{
	struct tcp_conn *conn;
	unsigned closed = 0;

	while ((conn = conn_oldest(tcp, phase)) != NULL) {
		uint64_t due = conn->active_ms
			+ tcp_wait_timeout_ms(tcp, phase);

		if (due > now)
			return due;
		if (conn->gathered || closed++ == EXPIRE_MAX)
			return now + 1;
		if (conn->later_count > 0
			&& now < conn->later_ms + TCP_LATER_MS) {
			tcp_conn_touch(conn);
			continue;
		}
		if (phase == TCP_QUEUED)
			net_count_add(tcp->handler.rx_err, 1);
		tcp_conn_destroy(conn);
	}
	return 0;
}

static void
resume_throttled(struct net_tcp *tcp)
{
	struct tcp_conn *conn;

	for (unsigned i = 0; i < RESUME_MAX; i++) {
		conn = tcp_cpu_release(tcp);
		if (conn == NULL)
			return;
		tcp_conn_next(conn);
	}
	tcp_wait_until(tcp, tcp->now_ms);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct net_tcp *tcp = arg;
	uint64_t now, due;

	tcp_wait_read_clock(tcp);
	now = tcp->now_ms;
	tcp->timer_ms = 0;
	for (int phase = 0; phase < TCP_PHASES; phase++) {
		due = conns_expire(tcp, (enum tcp_phase)phase, now);
		if (due != 0)
			tcp_wait_until(tcp, due);
	}
	resume_throttled(tcp);
	tcp_queue_admit(tcp, false);
	if (!tcp->paused)
		return;
	if (tcp->resume_ms <= now)
		tcp_wait_resume(tcp);
	else
		tcp_wait_until(tcp, tcp->resume_ms);
}

/* Asks which sockets are ready. */
static void
ready_wait(struct net_tcp *tcp)
{
	int count = epoll_wait(tcp->epoll, tcp->ready, TCP_READY_MAX, 0);

	tcp->ready_next = 0;
	tcp->ready_count = count > 0 ? (unsigned)count : 0;
	for (unsigned i = 0; i < tcp->ready_count; i++) {
		struct tcp_source *source = tcp->ready[i].data.ptr;

		source->ready_at = i + 1;
	}
}

/* The idle time-out in the units of RFC 7828, as far as these go. */
static uint16_t
idle_100ms(const struct net_tcp *tcp)
{
	uint64_t units = tcp_wait_timeout_ms(tcp, TCP_OPEN) / 100;

	return (uint16_t)(units < UINT16_MAX ? units : UINT16_MAX);
}

/* Gives free places to connections that wait, and these half a turn at least:
 * they are not to wait behind all that are ready, too. */
static void
let_in(struct net_tcp *tcp)
{
	if (tcp->turn_cost > TCP_TURN_COST / 2)
		tcp->turn_cost = TCP_TURN_COST / 2;
	tcp_queue_end_turn(tcp);
	tcp_turn_end(tcp);
}

/* Sends messages of streams, as much as they may in this turn. */
static void
turn_stream(struct net_tcp *tcp)
{
	struct tcp_conn *conn;
	int64_t mark;

	if (!tcp_stream_begin(tcp))
		return;
	while ((conn = tcp_stream_next(tcp)) != NULL) {
		mark = tcp_cpu_mark(tcp);
		tcp_stream_send(conn);
		tcp_cpu_charge_since(conn, mark);
		tcp_conn_next(conn);
	}
	tcp_stream_stop(tcp);
}

/* Does a turn. A connection that is destroyed takes itself off the list. */
static void
on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct net_tcp *tcp = arg;

	net_count_add(tcp->handler.turns, 1);
	tcp_wait_read_clock(tcp);
	if (tcp->ready_next == tcp->ready_count)
		ready_wait(tcp);
	tcp->turn_cost = 0;
	tcp_cpu_begin(tcp);
	tcp->idle_100ms = idle_100ms(tcp);
	while (tcp->ready_next < tcp->ready_count && !tcp_turn_is_over(tcp)) {
		struct tcp_source *source
			= tcp->ready[tcp->ready_next++].data.ptr;

		if (source == NULL)
			continue;
		tcp->turn_cost += TCP_COST_EVENT;
		source->ready_at = 0;
		source->on_ready(source);
	}
	tcp_turn_end(tcp);
	turn_stream(tcp);
	if (tcp->queued > 0)
		let_in(tcp);
	tcp_cpu_end(tcp);
}

static enum nsd_err
listeners_open(struct net_tcp *tcp, const struct net_listener *listeners,
	size_t count)
{
	tcp->listeners = calloc(count > 0 ? count : 1,
		sizeof(*tcp->listeners));
	if (tcp->listeners == NULL)
		return NSD_E_MEMORY;
	for (; tcp->listener_count < count; tcp->listener_count++) {
		struct tcp_listener *l = &tcp->listeners[tcp->listener_count];

		l->source.on_ready = on_connection;
		l->tcp = tcp;
		l->fd = listeners[tcp->listener_count].fd;
		l->for_proxies = listeners[tcp->listener_count].for_proxies;
		l->filter = listeners[tcp->listener_count].filter;
		l->budget = 1;
		if (!tcp_wait_for(l))
			return NSD_E_SYSTEM;
	}
	return NSD_OK;
}

void
net_tcp_set_options(struct net_tcp *tcp, const struct net_tcp_options *options)
{
	tcp->options = *options;
	tcp_share_weigh_all(tcp);
	/* There may be places for those that wait, or less time. */
	tcp_wait_until(tcp, tcp->now_ms);
}

void
net_tcp_end_streams(struct net_tcp *tcp, net_tcp_ends *ends, void *ctx)
{
	struct tcp_conn *conn, *next;

	for (int phase = 0; phase < TCP_PHASES; phase++)
		cds_list_for_each_entry_safe(conn, next, &tcp->conns[phase],
			by_age) {
			struct sockaddr_storage peer = {.ss_family = 0};

			memcpy(&peer, &conn->peer, sizeof(conn->peer));
			if (conn->stream != NULL
				&& ends(ctx, conn->stream, &peer))
				tcp_conn_destroy(conn);
		}
}

enum nsd_err
net_tcp_open(struct event_base *base, const struct net_listener *listeners,
	size_t listener_count, const struct net_tcp_options *options,
	const struct net_handler *handler, struct net_tcp **result)
{
	struct net_tcp *tcp = calloc(1, sizeof(*tcp));
	enum nsd_err err;

	if (tcp == NULL)
		return NSD_E_MEMORY;
	tcp->options = *options;
	tcp->handler = *handler;
	tcp->later_end = tcp_later_end;
	tcp_wait_read_clock(tcp);
	for (int phase = 0; phase < TCP_PHASES; phase++)
		CDS_INIT_LIST_HEAD(&tcp->conns[phase]);
	tcp_cpu_init(&tcp->cpu);
	evtimer_assign(&tcp->timer, base, on_timer, tcp);
	tcp->epoll = epoll_create1(EPOLL_CLOEXEC);
	event_assign(&tcp->event, base, tcp->epoll, EV_READ | EV_PERSIST,
		on_turn, tcp);
	err = tcp_turn_init(tcp, options->room);
	if (err == NSD_OK)
		err = tcp_share_init(&tcp->share);
	if (err == NSD_OK && (tcp->epoll == -1
		    || event_add(&tcp->event, NULL) != 0))
		err = NSD_E_SYSTEM;
	if (err == NSD_OK)
		err = listeners_open(tcp, listeners, listener_count);
	if (err != NSD_OK) {
		net_tcp_close(tcp);
		return err;
	}
	*result = tcp;
	return NSD_OK;
}

void
net_tcp_close(struct net_tcp *tcp)
{
	struct tcp_conn *conn;

	if (tcp == NULL)
		return;
	tcp->paused = false;
	event_del(&tcp->event);
	/* The listeners stay open; they leave the set with its end. */
	if (tcp->epoll != -1)
		close(tcp->epoll);
	for (int phase = 0; phase < TCP_PHASES; phase++)
		while ((conn = conn_oldest(tcp, phase)) != NULL)
			tcp_conn_destroy(conn);
	evtimer_del(&tcp->timer);
	tcp_turn_fini(tcp);
	tcp_share_fini(&tcp->share);
	free(tcp->spare);
	free(tcp->listeners);
	free(tcp);
}

unsigned
net_tcp_count(const struct net_tcp *tcp)
{
	return tcp->count;
}
