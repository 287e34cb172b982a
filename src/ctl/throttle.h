/*
 * throttle.h - bounds how many TLS handshakes a loop does for strangers.
 *
 * The costly part of a handshake is the server's signature, which comes before
 * the client has shown who it is. Each ClientHello takes a token of its network
 * (crowd.h; networks share slots of a table), and one that all
 * networks share. A client that shows a certificate gets them back, and its
 * network has a place of its own for an hour and needs none of the shared ones:
 * strangers do not keep out those who are known, unless they are of the same
 * network. The loopback, where everybody has the same address, has as many
 * tokens as all strangers, of its own: what keeps its clients out takes ten
 * times as much as elsewhere. A UNIX socket has no handshakes.
 */
#ifndef CTL_THROTTLE_H
#define CTL_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define THROTTLE_SLOTS 256u
/* Tokens a second (RATE), and at once (BURST), of a network and of all. */
#define THROTTLE_NET_RATE 5u
#define THROTTLE_NET_BURST 20u
#define THROTTLE_ALL_RATE 50u
#define THROTTLE_ALL_BURST 100u
#define THROTTLE_KNOWN 16u
#define THROTTLE_KNOWN_MSEC 3600000

/* Tokens of a network, or of all. Zeroed: it has its burst. */
struct throttle_slot {
	uint32_t taken;  /* thousandths of tokens that are not there */
	int64_t at_msec; /* time of the last refill */
};

/* A network of which a client has shown a certificate. */
struct throttle_known {
	struct throttle_slot slot;
	uint64_t net;
	int64_t seen_msec; /* when; 0: the place is free */
};

struct ctl_throttle {
	uint32_t seed; /* of the choice of slots: secret */
	struct throttle_slot all, loopback;
	struct throttle_slot slots[THROTTLE_SLOTS];
	struct throttle_known known[THROTTLE_KNOWN];
};

/* Takes the tokens of a handshake. False: there are none left. now_msec: of
 * base/clock.h, never 0. */
bool throttle_take(struct ctl_throttle *throttle,
	const struct sockaddr_storage *peer, int64_t now_msec);
/* Gives the tokens of `count` ClientHellos back: the client has shown a
 * certificate. */
void throttle_give(struct ctl_throttle *throttle,
	const struct sockaddr_storage *peer, unsigned count, int64_t now_msec);
/* True if a client of the peer's network has shown a certificate within the
 * hour, or if the network is this host. */
bool throttle_knows(struct ctl_throttle *throttle,
	const struct sockaddr_storage *peer, int64_t now_msec);

#endif
