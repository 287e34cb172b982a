/*
 * room.h - the memory of requests from when they are received until their
 * replies are sent. The opener of a socket may give it memory that it shares
 * with another process: that can then tell which requests this one died of.
 *
 * All UDP sockets of a thread may share one room, and all groups of TCP sockets
 * another: a batch is answered before the next one is received.
 */
#ifndef NET_ROOM_H
#define NET_ROOM_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/exchange.h"
#include "net/proxy.h"

#define NET_ROOM_LINE 64u
/* The octets of a datagram that are kept; longer ones are cut. */
#define NET_ROOM_DATAGRAM 4096u
/* An odd number of cache lines: datagrams at a power of two from each other
 * would all begin in the same set of the cache. */
#define NET_ROOM_STRIDE (NET_ROOM_DATAGRAM + NET_ROOM_LINE)
/* The room that all connections of a turn read into before they are answered.
 * It holds the longest rest of a connection and one read. */
#define NET_ROOM_STREAMS (256u * 1024)

struct net_udp_room {
	struct exchange exchanges[EXCHANGE_BATCH_MAX];
	struct sockaddr_storage peer[EXCHANGE_BATCH_MAX];
	struct proxy_header headers[EXCHANGE_BATCH_MAX]; /* from proxies */
	uint8_t requests[EXCHANGE_BATCH_MAX][NET_ROOM_STRIDE]
		__attribute__((aligned(NET_ROOM_LINE)));
};

struct net_tcp_room {
	struct exchange exchanges[EXCHANGE_BATCH_MAX];
	struct sockaddr_storage peer[EXCHANGE_BATCH_MAX];
	uint8_t in[NET_ROOM_STREAMS] __attribute__((aligned(NET_ROOM_LINE)));
};

#endif
