/*
 * tcp_share.c - connections by the network of their clients, so that no network
 * can hold all places. See doc/decisions/0109.
 */
#include "config.h"

#include "tcp.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Networks in a row that are looked at for a place, or connections of one. */
#define SCAN_MAX 64u

/* The network of a client: 24 bits of IPv4, 56 of IPv6 (what one customer has
 * at most, RFC 6177), and the family behind them. */
static uint64_t
prefix_of(const struct sockaddr *peer)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)peer;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;
	uint8_t octets[8] = {0};
	uint64_t prefix;

	if (peer->sa_family == AF_INET6)
		memcpy(octets, &in6->sin6_addr, 7);
	else
		memcpy(octets, &in->sin_addr, 3);
	octets[7] = peer->sa_family == AF_INET6 ? 6 : 4;
	memcpy(&prefix, octets, sizeof(prefix));
	return prefix;
}

/* The bucket of a network. A keyed hash: clients cannot choose networks that
 * share one. */
static struct cds_list_head *
share_bucket(struct tcp_share *share, uint64_t prefix)
{
	uint64_t hash = (prefix ^ share->secret[0]) * (share->secret[1] | 1);

	hash ^= hash >> 32;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return &share->buckets[hash >> (64 - TCP_SHARE_BITS)];
}

static struct tcp_net *
find_net(struct tcp_share *share, uint64_t prefix)
{
	struct tcp_net *net;

	cds_list_for_each_entry(net, share_bucket(share, prefix), by_hash)
		if (net->prefix == prefix)
			return net;
	return NULL;
}

/* The places that a network has for sure. */
static unsigned
share_size(const struct net_tcp *tcp)
{
	unsigned share = tcp->options.connections_max / TCP_SHARE_PART;

	return share > 0 ? share : 1;
}

/* Sees whether a network has more than its share. */
static void
net_weigh(struct net_tcp *tcp, struct tcp_net *net)
{
	bool heavy = net->count > share_size(tcp);

	if (heavy == net->is_heavy)
		return;
	net->is_heavy = heavy;
	if (heavy)
		cds_list_add_tail(&net->by_weight, &tcp->share.heavy);
	else
		cds_list_del(&net->by_weight);
}

enum nsd_err
tcp_share_init(struct tcp_share *share)
{
	CDS_INIT_LIST_HEAD(&share->heavy);
	CDS_INIT_LIST_HEAD(&share->queued);
	CDS_INIT_LIST_HEAD(&share->unknown.conns);
	CDS_INIT_LIST_HEAD(&share->unknown.queue);
	/* Connections without a known client come after all networks, and get
	 * free places only. */
	share->unknown.count = UINT_MAX;
	for (size_t i = 0; i < TCP_SHARE_BUCKETS; i++)
		CDS_INIT_LIST_HEAD(&share->buckets[i]);
	return getrandom(share->secret, sizeof(share->secret), 0)
		== (ssize_t)sizeof(share->secret) ? NSD_OK : NSD_E_SYSTEM;
}

void
tcp_share_fini(struct tcp_share *share)
{
	free(share->spare);
}

/* Finds or makes a network. NULL: there is no memory. */
static struct tcp_net *
get_net(struct tcp_share *share, uint64_t prefix)
{
	struct tcp_net *net = find_net(share, prefix);

	if (net != NULL)
		return net;
	net = share->spare != NULL ? share->spare : malloc(sizeof(*net));
	share->spare = NULL;
	if (net == NULL)
		return NULL;
	memset(net, 0, sizeof(*net));
	net->prefix = prefix;
	CDS_INIT_LIST_HEAD(&net->conns);
	CDS_INIT_LIST_HEAD(&net->queue);
	cds_list_add(&net->by_hash, share_bucket(share, prefix));
	return net;
}

void
tcp_share_join(struct tcp_conn *conn)
{
	struct net_tcp *tcp = conn->tcp;
	struct tcp_net *net
		= get_net(&tcp->share, prefix_of(&conn->peer.sa));

	if (net == NULL)
		return; /* no memory: it counts for no network */
	conn->net = net;
	cds_list_add_tail(&conn->by_net, &net->conns);
	net->count++;
	net_weigh(tcp, net);
}

void
tcp_share_queue(struct tcp_conn *conn)
{
	struct tcp_share *share = &conn->tcp->share;
	struct tcp_net *net = NULL;

	if (!conn->awaits_header)
		net = get_net(share, prefix_of(&conn->peer.sa));
	if (net == NULL)
		net = &share->unknown;
	conn->net = net;
	cds_list_add_tail(&conn->by_net, &net->queue);
	if (net->queued++ == 0)
		cds_list_add_tail(&net->by_queue, &share->queued);
	if (share->crowd == NULL || net->queued > share->crowd->queued)
		share->crowd = net;
}

void
tcp_share_leave(struct tcp_conn *conn)
{
	struct tcp_share *share = &conn->tcp->share;
	struct tcp_net *net = conn->net;

	if (net == NULL)
		return;
	conn->net = NULL;
	cds_list_del(&conn->by_net);
	if (conn->phase != TCP_QUEUED) {
		net->count--;
		net_weigh(conn->tcp, net);
	} else if (--net->queued == 0) {
		cds_list_del(&net->by_queue);
		if (share->crowd == net)
			share->crowd = NULL;
	}
	if (net->count > 0 || net->queued > 0)
		return;
	cds_list_del(&net->by_hash);
	if (share->spare == NULL)
		share->spare = net;
	else
		free(net);
}

void
tcp_share_weigh_all(struct net_tcp *tcp)
{
	struct tcp_net *net;

	for (size_t i = 0; i < TCP_SHARE_BUCKETS; i++)
		cds_list_for_each_entry(net, &tcp->share.buckets[i], by_hash)
			net_weigh(tcp, net);
}

bool
tcp_share_is_below(const struct net_tcp *tcp, const struct tcp_net *net)
{
	return net->count < share_size(tcp);
}

struct tcp_net *
tcp_share_find_next(struct net_tcp *tcp)
{
	struct tcp_net *net, *least = NULL;
	unsigned scanned = 0;

	cds_list_for_each_entry(net, &tcp->share.queued, by_queue) {
		if (least == NULL || net->count < least->count)
			least = net;
		if (++scanned == SCAN_MAX)
			break;
	}
	return least;
}

void
tcp_share_take_turn(struct net_tcp *tcp, struct tcp_net *net)
{
	cds_list_del(&net->by_queue);
	cds_list_add_tail(&net->by_queue, &tcp->share.queued);
}

struct tcp_conn *
tcp_share_find_last(struct net_tcp *tcp)
{
	/* The crowd of the last arrival may be behind the networks that are
	 * looked at. */
	struct tcp_net *net, *most = tcp->share.crowd;
	unsigned scanned = 0;

	cds_list_for_each_entry(net, &tcp->share.queued, by_queue) {
		if (most == NULL || net->queued > most->queued)
			most = net;
		if (++scanned == SCAN_MAX)
			break;
	}
	if (most == NULL)
		return NULL;
	return cds_list_entry(most->queue.prev, struct tcp_conn, by_net);
}

struct tcp_conn *
tcp_share_find_place(struct net_tcp *tcp)
{
	struct tcp_net *net, *heaviest = NULL;
	struct tcp_conn *conn, *busy = NULL;
	unsigned scanned = 0;

	cds_list_for_each_entry(net, &tcp->share.heavy, by_weight) {
		if (heaviest == NULL || net->count > heaviest->count)
			heaviest = net;
		if (++scanned == SCAN_MAX)
			break;
	}
	if (heaviest == NULL)
		return NULL;
	scanned = 0;
	cds_list_for_each_entry(conn, &heaviest->conns, by_net) {
		if (!conn->gathered && !tcp_conn_is_in_use(conn))
			return conn;
		if (!conn->gathered && busy == NULL)
			busy = conn;
		if (++scanned == SCAN_MAX)
			break;
	}
	return busy;
}
