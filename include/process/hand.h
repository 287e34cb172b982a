/*
 * hand.h - the messages that a process has in hand: those that it works on.
 * They lie in memory that it shares with main alone. When the process dies,
 * main has them in the log and in a file (main/inhand.h).
 * The process writes this memory. Main reads the heartbeat while the process
 * lives, and the rest once it is dead. An attacker who has taken the process
 * over may write anything there: main checks each length and address, and reads
 * nothing outside of this memory.
 */
#ifndef PROCESS_HAND_H
#define PROCESS_HAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net/room.h"

/* The longest message of DNS. */
#define HAND_OCTETS_MAX 65535u

enum hand_kind {
	HAND_NOTHING,
	HAND_REQUEST_UDP, /* of a client */
	HAND_REQUEST_TCP,
	HAND_REQUEST_TLS,
	HAND_REPLY,       /* of a primary, over UDP, TCP or TLS */
	HAND_NOTIFY,      /* from a client, by way of a worker */
	HAND_COMMAND,     /* of the control channel: a line of text */
	HAND_KIND_COUNT,
};

struct hand {
	uint64_t heartbeat; /* atomic; see main/watch.h */
	/* Of a worker: how often it has begun to read from a socket. */
	uint64_t turns;
	/* Of a worker: the batch that it answers, in one of the rooms below.
	 * Main has this memory at the same address. */
	uint64_t request_count; /* 0: no batch */
	const struct exchange *requests;
	/* Of xfrd: a copy of one message. */
	uint32_t kind; /* enum hand_kind */
	uint32_t len;
	struct sockaddr_storage peer; /* the sender; AF_UNSPEC: none */
	uint8_t octets[HAND_OCTETS_MAX];
	struct net_udp_room udp;
	struct net_tcp_room tcp;
};

/* Of a worker: sets the requests that are in hand; count 0: none. Cost: two
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

/* Of xfrd: copies a message into the hand, as far as there is room; peer: the
 * sender, or NULL. hand may be NULL. */
void hand_take(struct hand *hand, enum hand_kind kind,
	const struct sockaddr_storage *peer, const void *octets, size_t len);
/* Of xfrd: the message of hand_take is not in hand any more. */
void hand_drop(struct hand *hand);

/* A message that a dead process had in hand. */
struct hand_message {
	enum hand_kind kind;          /* not HAND_NOTHING */
	struct sockaddr_storage peer; /* AF_INET or AF_INET6; AF_UNSPEC: it is
				       * not known, or there is none */
	const uint8_t *octets;        /* within the hand */
	size_t len;                   /* up to HAND_OCTETS_MAX */
};
#define HAND_MESSAGES_MAX (EXCHANGE_BATCH_MAX + 1u)

/* Of main: reads the messages of a dead process, without those whose addresses
 * or lengths are not valid; returns how many they are. */
size_t hand_read(const struct hand *hand,
	struct hand_message messages[HAND_MESSAGES_MAX]);

/* "UDP request" and the like. */
const char *hand_kind_text(enum hand_kind kind);

#endif
