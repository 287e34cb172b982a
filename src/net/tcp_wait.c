/*
 * tcp_wait.c - the events that the TCP service waits for: connections, and a
 * time.
 */
#include "config.h"

#include "tcp.h"

#include <errno.h>

#include "base/clock.h"

/* The least that is left of the idle time-out when there are many. */
#define IDLE_LEAST_MS 2000
/* Time for which newcomers wait before a listener while the queue is full: most
 * connections of a crowd are gone by then. */
#define PATIENCE_MS 500

void
tcp_wait_read_clock(struct net_tcp *tcp)
{
	tcp->now_ms = clock_coarse_msec();
}

void
tcp_wait_until(struct net_tcp *tcp, uint64_t at_ms)
{
	uint64_t now = tcp->now_ms;
	uint64_t wait_ms = at_ms > now ? at_ms - now : 0;
	struct timeval wait;

	if (tcp->timer_ms != 0 && tcp->timer_ms <= at_ms)
		return;
	/* The coarse clock may lag by a tick: never fire before it is due. */
	wait_ms += 5;
	wait.tv_sec = (time_t)(wait_ms / 1000);
	wait.tv_usec = (suseconds_t)(wait_ms % 1000 * 1000);
	if (event_add(&tcp->timer, &wait) == 0)
		tcp->timer_ms = at_ms;
}

/* Counts the halvings of the idle time-out. */
static unsigned
count_halvings(const struct net_tcp *tcp)
{
	uint64_t max = tcp->options.connections_max;
	uint64_t left = tcp->count < max ? max - tcp->count : 0;

	if (left * 2 >= max)
		return 0;
	if (left * 4 >= max)
		return 1;
	return left * 8 >= max ? 2 : 3;
}

uint64_t
tcp_wait_timeout_ms(const struct net_tcp *tcp, enum tcp_phase phase)
{
	uint64_t most = (uint64_t)tcp->options.timeout_sec * 1000, ms;
	unsigned halvings = count_halvings(tcp);

	if (phase == TCP_LINGERING)
		return TCP_LINGER_MS;
	if (phase == TCP_QUEUED)
		return TCP_QUEUE_MS;
	if (phase == TCP_GREETING && most > TCP_GREETING_MS)
		return TCP_GREETING_MS;
	if (halvings == 0)
		return most;
	if (phase == TCP_SILENT)
		halvings += 2;
	ms = most >> halvings;
	if (ms < IDLE_LEAST_MS || (tcp->options.reject_overflow
		    && tcp->count >= tcp->options.connections_max))
		ms = IDLE_LEAST_MS;
	return ms < most ? ms : most;
}

void
tcp_wait_on_newcomer(struct net_tcp *tcp)
{
	unsigned halvings = count_halvings(tcp);

	/* Connections that are due earlier now are found when the timer
	 * fires. */
	if (halvings > tcp->halvings)
		tcp_wait_until(tcp, tcp->now_ms);
	else if (tcp->timer_ms == 0 || halvings > 0)
		tcp_wait_until(tcp, tcp->now_ms
			+ tcp_wait_timeout_ms(tcp, TCP_SILENT));
	tcp->halvings = halvings;
}

bool
tcp_wait_for(struct tcp_listener *listener)
{
	struct epoll_event event = { .events = EPOLLIN,
		.data = { .ptr = &listener->source } };

	return epoll_ctl(listener->tcp->epoll, EPOLL_CTL_ADD, listener->fd,
		       &event) == 0
		|| errno == EEXIST;
}

void
tcp_wait_pause(struct net_tcp *tcp, uint64_t until_ms)
{
	for (size_t i = 0; i < tcp->listener_count; i++)
		(void)epoll_ctl(tcp->epoll, EPOLL_CTL_DEL,
			tcp->listeners[i].fd, NULL);
	tcp->paused = true;
	tcp->resume_ms = until_ms;
	tcp_wait_until(tcp, until_ms);
}

void
tcp_wait_resume(struct net_tcp *tcp)
{
	tcp->paused = false;
	for (size_t i = 0; i < tcp->listener_count; i++) {
		if (!tcp_wait_for(&tcp->listeners[i])) {
			tcp_wait_pause(tcp, tcp->now_ms + TCP_PAUSE_MS);
			return;
		}
	}
}

void
tcp_wait_on_room(struct net_tcp *tcp)
{
	if (tcp->paused)
		tcp_wait_resume(tcp);
}

void
tcp_wait_on_queue_left(struct net_tcp *tcp)
{
	/* The crowd is gone once the queue is half empty, and not before: a
	 * single free place of a full queue is taken at once. */
	if (--tcp->queued != TCP_QUEUE_MAX / 2)
		return;
	for (size_t i = 0; i < tcp->listener_count; i++)
		tcp->listeners[i].behind_ms = 0;
}

bool
tcp_wait_behind_queue(struct tcp_listener *listener)
{
	struct net_tcp *tcp = listener->tcp;
	uint64_t until_ms;

	/* All listeners: a crowd at the others is not seen during a pause. */
	for (size_t i = 0; i < tcp->listener_count; i++)
		if (tcp->listeners[i].behind_ms == 0)
			tcp->listeners[i].behind_ms = tcp->now_ms;
	until_ms = listener->behind_ms + PATIENCE_MS;
	if (until_ms <= tcp->now_ms)
		return false;
	tcp_wait_pause(tcp, until_ms);
	return true;
}

void
tcp_conn_touch(struct tcp_conn *conn)
{
	conn->active_ms = conn->tcp->now_ms;
	cds_list_del(&conn->by_age);
	cds_list_add_tail(&conn->by_age, &conn->tcp->conns[conn->phase]);
}

void
tcp_conn_note_taken(struct tcp_conn *conn, size_t taken, size_t offered)
{
	uint32_t now_ms = (uint32_t)conn->tcp->now_ms;

	if (conn->stream != NULL) {
		if (conn->held)
			conn->waited_ms += now_ms - conn->held_ms;
		conn->held = taken < offered;
		conn->held_ms = now_ms;
		conn->taken += (uint32_t)taken;
		if (taken == 0
			|| (uint64_t)conn->taken * 1000
				< (uint64_t)conn->waited_ms
					* conn->tcp->options.stream_rate)
			return;
	}
	tcp_conn_touch(conn);
	conn->taken = 0;
	conn->waited_ms = 0;
}
