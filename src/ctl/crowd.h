/* crowd.h - counts connections by the network of their clients, so that
 * strangers of one network keep no other out. */
#ifndef CTL_CROWD_H
#define CTL_CROWD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/list.h"

/* A connection among others. */
struct crowd_one {
	struct cds_list_head node; /* the oldest first */
	uint64_t net;              /* of crowd_find_net */
};

/* The network of an address: 24 bits of IPv4, 56 of IPv6 (what one customer has
 * at most, RFC 6177). 0: it has none, as that of a UNIX socket. */
uint64_t crowd_find_net(const struct sockaddr_storage *peer);

/* 127.0.0.0/24, ::1. */
bool crowd_is_loopback(const struct sockaddr_storage *peer);

/* Returns the weight by which a connection is dropped for another; 0: not at
 * all. count: the connections of its network, itself included. */
typedef unsigned crowd_weigh(const struct crowd_one *one, unsigned count,
	void *arg);

/* The connection of the greatest weight, of several the oldest; NULL: all weigh
 * 0. all: some dozens, as each is compared with each. */
struct crowd_one *crowd_pick(struct cds_list_head *all, crowd_weigh *weigh,
	void *arg);

#endif
