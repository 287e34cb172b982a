/*
 * tcp_cpu.c - charges the thread's time to the networks of connections, and
 * throttles connections of a network that has taken too much. See
 * doc/decisions/0123.
 *
 * The thread's time is read as a turn begins and as it ends, since that is a
 * system call. The time between is charged to the clients of the turn, in
 * proportion to the work that was done for them by the measure of
 * tcp_net.turn_cost. Handshakes and streams are dear and vary, so each of their
 * steps is measured apart.
 */
#include "config.h"

#include "tcp_cpu.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"

/* Time until a throttled connection is looked at again. A sixteenth of a second
 * is the resolution of the handler's time. */
#define THROTTLE_MS 60

/* ---- charging ------------------------------------------------------------ */

void
tcp_cpu_init(struct tcp_cpu *cpu)
{
	CDS_INIT_LIST_HEAD(&cpu->throttled);
}

static bool
is_wanted(const struct net_tcp *tcp)
{
	return tcp->options.limits_cpu && tcp->handler.on_spent != NULL;
}

void
tcp_cpu_begin(struct net_tcp *tcp)
{
	struct tcp_cpu *cpu = &tcp->cpu;

	cpu->counting = is_wanted(tcp);
	if (!cpu->counting)
		return;
	cpu->at_nsec = clock_thread_nsec();
	cpu->apart_nsec = 0;
}

/* Copies a client's address; the octets behind it mean nothing. */
static const struct sockaddr_storage *
peer_as_storage(struct tcp_cpu *cpu, const union tcp_address *peer)
{
	memcpy(&cpu->peer, peer, sizeof(*peer));
	return &cpu->peer;
}

/* Notes the client to charge. A proxy that has not named its client yet has
 * none. */
static void
charge_note_peer(struct tcp_charge *charge, const struct tcp_conn *conn)
{
	if (conn->awaits_header)
		charge->peer.sa.sa_family = AF_UNSPEC;
	else
		charge->peer = conn->peer;
}

/* Hands over what was charged since tcp_cpu_begin, or the last time. */
static void
charges_add_up(struct net_tcp *tcp)
{
	struct tcp_cpu *cpu = &tcp->cpu;
	int64_t now = clock_thread_nsec(), shared;
	uint64_t total = 0;

	shared = now - cpu->at_nsec - cpu->apart_nsec;
	for (unsigned i = 0; i < cpu->count; i++)
		total += cpu->charges[i].cost;
	for (unsigned i = 0; i < cpu->count; i++) {
		struct tcp_charge *charge = &cpu->charges[i];

		if (charge->conn != NULL) {
			charge_note_peer(charge, charge->conn);
			charge->conn->charge = 0;
		}
		if (total > 0 && shared > 0)
			charge->nsec += (int64_t)((uint64_t)shared
				* charge->cost / total);
		if (charge->peer.sa.sa_family != AF_UNSPEC && charge->nsec > 0)
			tcp->handler.on_spent(tcp->handler.ctx,
				peer_as_storage(cpu, &charge->peer),
				charge->nsec, tcp->now_ms);
	}
	cpu->count = 0;
	cpu->at_nsec = now;
	cpu->apart_nsec = 0;
}

void
tcp_cpu_end(struct net_tcp *tcp)
{
	if (!tcp->cpu.counting)
		return;
	charges_add_up(tcp);
	tcp->cpu.counting = false;
}

static struct tcp_charge *
charge_add(struct net_tcp *tcp)
{
	struct tcp_cpu *cpu = &tcp->cpu;
	struct tcp_charge *charge;

	if (cpu->count == TCP_CHARGES_MAX)
		charges_add_up(tcp);
	ASSERT_HOT(cpu->count < TCP_CHARGES_MAX);
	charge = &cpu->charges[cpu->count++];
	charge->conn = NULL;
	charge->cost = 0;
	charge->nsec = 0;
	return charge;
}

static struct tcp_charge *
charge_of(struct tcp_conn *conn)
{
	struct tcp_cpu *cpu = &conn->tcp->cpu;

	if (conn->charge == 0) {
		charge_add(conn->tcp)->conn = conn;
		conn->charge = cpu->count;
	}
	return &cpu->charges[conn->charge - 1];
}

void
tcp_cpu_charge_conn(struct tcp_conn *conn, unsigned cost)
{
	charge_of(conn)->cost += cost;
}

void
tcp_cpu_charge_since(struct tcp_conn *conn, int64_t mark)
{
	int64_t nsec;

	if (!conn->tcp->cpu.counting)
		return;
	nsec = clock_thread_nsec() - mark;
	charge_of(conn)->nsec += nsec;
	conn->tcp->cpu.apart_nsec += nsec;
}

/* ---- throttling -------------------------------------------------------- */

bool
tcp_cpu_refuses(struct net_tcp *tcp, const struct sockaddr_storage *peer)
{
	struct tcp_charge *charge;

	if (!tcp->cpu.counting
		|| !tcp->handler.is_throttled(tcp->handler.ctx, peer,
			tcp->now_ms))
		return false;
	charge = charge_add(tcp);
	memcpy(&charge->peer, peer, sizeof(charge->peer));
	charge->cost = TCP_COST_ACCEPT;
	return true;
}

static bool
conn_is_over(struct tcp_conn *conn)
{
	struct net_tcp *tcp = conn->tcp;

	return is_wanted(tcp) && !conn->awaits_header
		&& tcp->handler.is_throttled(tcp->handler.ctx,
			peer_as_storage(&tcp->cpu, &conn->peer), tcp->now_ms);
}

bool
tcp_cpu_is_over(struct tcp_conn *conn)
{
	return conn->throttled
		|| (conn->tcp->cpu.counting && conn_is_over(conn));
}

/* Puts a connection at the end of the list of throttled ones, which so is in
 * the order of throttled_ms. */
static void
conn_join_throttled(struct tcp_conn *conn)
{
	struct net_tcp *tcp = conn->tcp;

	conn->throttled_ms = tcp->now_ms + THROTTLE_MS;
	cds_list_add_tail(&conn->by_turn, &tcp->cpu.throttled);
	tcp_wait_until(tcp, conn->throttled_ms);
}

void
tcp_cpu_bar(struct tcp_conn *conn)
{
	if (conn->throttled)
		return;
	/* From now on a stream does not wait for its client. */
	conn->held = false;
	conn->throttled = true;
	conn_join_throttled(conn);
}

void
tcp_cpu_leave(struct tcp_conn *conn)
{
	struct tcp_cpu *cpu = &conn->tcp->cpu;

	if (conn->throttled)
		cds_list_del(&conn->by_turn);
	conn->throttled = false;
	if (conn->charge == 0)
		return;
	charge_note_peer(&cpu->charges[conn->charge - 1], conn);
	cpu->charges[conn->charge - 1].conn = NULL;
	conn->charge = 0;
}

struct tcp_conn *
tcp_cpu_release(struct net_tcp *tcp)
{
	struct tcp_conn *conn;

	while ((conn = list_first_or_null(&tcp->cpu.throttled, struct tcp_conn,
			by_turn)) != NULL) {
		if (conn->throttled_ms > tcp->now_ms) {
			tcp_wait_until(tcp, conn->throttled_ms);
			return NULL;
		}
		cds_list_del(&conn->by_turn);
		if (!conn_is_over(conn)) {
			conn->throttled = false;
			return conn;
		}
		conn_join_throttled(conn);
	}
	return NULL;
}
