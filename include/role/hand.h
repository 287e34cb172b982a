/*
 * hand.h - what a process has in hand, in memory that it shares with main
 * alone: when it dies, main tells what that was (proc/inhand.h).
 *
 * The process writes it; main looks at the beat while it lives, and at the rest
 * once it is dead. Whoever takes the process over may write what they like:
 * main checks each length and place, and reads nothing but this memory.
 */
#ifndef ROLE_HAND_H
#define ROLE_HAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net/room.h"

/* The longest message of DNS. */
#define HAND_OCTETS_MAX 65535u

enum hand_kind {
	HAND_NOTHING,
	HAND_REQUEST_UDP, /* a client's */
	HAND_REQUEST_TCP,
	HAND_REQUEST_TLS,
	HAND_REPLY,       /* a primary's, over UDP, TCP or TLS */
	HAND_NOTIFY,      /* passed on by a worker */
	HAND_COMMAND,     /* of the control channel: a line of text */
	HAND_KIND_COUNT,
};

struct hand {
	uint64_t beat; /* atomic; see proc/watch.h */
	/* Of a worker: how often it has turned to what its clients sent. */
	uint64_t turns;
	/* Of a worker: the batch that it answers, in one of the rooms. The
	 * memory is at the same place in main. */
	uint64_t request_count; /* 0: it answers none */
	const struct exchange *requests;
	/* Of xfrd: a copy of one message. */
	uint32_t kind; /* enum hand_kind */
	uint32_t len;
	struct sockaddr_storage peer; /* no family: nobody's */
	uint8_t octets[HAND_OCTETS_MAX];
	struct net_udp_room udp;
	struct net_tcp_room tcp;
};

/* A worker's: these requests are in hand; or none, with count 0. Cost: two
 * stores. hand may be NULL. */
static inline void
hand_set_requests(struct hand *hand, const struct exchange *requests,
	size_t count)
{
	if (hand == NULL)
		return;
	hand->requests = requests;
	__atomic_store_n(&hand->request_count, count, __ATOMIC_RELEASE);
}

/* Takes a copy of a message, as far as there is room; peer: whose it is, or
 * NULL. hand may be NULL. */
void hand_take(struct hand *hand, enum hand_kind kind,
	const struct sockaddr_storage *peer, const void *octets, size_t len);
/* The message is done with. */
void hand_drop(struct hand *hand);

/* One message of a process that is dead. */
struct hand_message {
	enum hand_kind kind;          /* not HAND_NOTHING */
	struct sockaddr_storage peer; /* AF_INET or AF_INET6; AF_UNSPEC: it is
				       * not known, or there is none */
	const uint8_t *octets;        /* within the hand */
	size_t len;                   /* up to HAND_OCTETS_MAX */
};
#define HAND_MESSAGES_MAX (EXCHANGE_BATCH_MAX + 1u)

/* Main's: reads what the process had in hand; returns how many messages. What
 * cannot be is left out. */
size_t hand_read(const struct hand *hand,
	struct hand_message messages[HAND_MESSAGES_MAX]);

/* "UDP request" and the like. */
const char *hand_kind_text(enum hand_kind kind);

#endif
