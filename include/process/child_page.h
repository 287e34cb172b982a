/*
 * child_page.h - the messages that a process has in hand: those that it works
 * on. They lie in memory that it shares with main alone. When the process dies,
 * main has them in the log and in a file (main/inhand.h). The process writes
 * this memory. Main reads the heartbeat while the process lives, and the rest
 * once it is dead. An attacker who has taken the process over may write
 * anything there: main checks each length and address, and reads nothing
 * outside of this memory.
 */
#ifndef PROCESS_CHILD_PAGE_H
#define PROCESS_CHILD_PAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net/room.h"

/* The longest message of DNS. */
#define CHILD_PAGE_OCTETS_MAX 65535u

enum child_page_kind {
	CHILD_PAGE_NOTHING,
	CHILD_PAGE_REQUEST_UDP, /* of a client */
	CHILD_PAGE_REQUEST_TCP,
	CHILD_PAGE_REQUEST_TLS,
	CHILD_PAGE_REPLY,       /* of a primary, over UDP, TCP or TLS */
	CHILD_PAGE_NOTIFY,      /* from a client, by way of a worker */
	CHILD_PAGE_UPDATE,      /* the same */
	CHILD_PAGE_COMMAND,     /* of the control channel: a line of text */
	CHILD_PAGE_KIND_COUNT,
};

struct child_page {
	uint64_t heartbeat; /* atomic; see main/watch.h */
	/* Of a worker: how often it has begun to read from a socket. */
	uint64_t turns;
	/* Of a worker: the batch that it answers, in one of the rooms below.
	 * Main has this memory at the same address. */
	uint64_t request_count; /* 0: no batch */
	const struct exchange *requests;
	/* Of xfrd: a copy of one message. */
	uint32_t kind; /* enum child_page_kind */
	uint32_t len;
	struct sockaddr_storage peer; /* the sender; AF_UNSPEC: none */
	uint8_t octets[CHILD_PAGE_OCTETS_MAX];
	struct net_udp_room udp;
	struct net_tcp_room tcp;
};

/* Of a worker: sets the requests that are in hand; count 0: none. Cost: two
 * stores. page may be NULL. */
static inline void
child_page_set_requests(struct child_page *page,
	const struct exchange *requests,
	size_t count)
{
	if (page == NULL)
		return;
	page->requests = requests;
	__atomic_store_n(&page->request_count, count, __ATOMIC_RELEASE);
}

/* Of xfrd: copies a message into the page, as far as there is room; peer: the
 * sender, or NULL. page may be NULL. */
void child_page_take(struct child_page *page, enum child_page_kind kind,
	const struct sockaddr_storage *peer, const void *octets, size_t len);
/* Of xfrd: the message of child_page_take is not in hand any more. */
void child_page_drop(struct child_page *page);

/* A message that a dead process had in hand. */
struct child_page_message {
	enum child_page_kind kind;    /* not CHILD_PAGE_NOTHING */
	struct sockaddr_storage peer; /* AF_INET or AF_INET6; AF_UNSPEC: it is
				       * not known, or there is none */
	const uint8_t *octets;        /* within the page */
	size_t len;                   /* up to CHILD_PAGE_OCTETS_MAX */
};
#define CHILD_PAGE_MESSAGES_MAX (EXCHANGE_BATCH_MAX + 1u)

/* Of main: reads the messages of a dead process, without those whose addresses
 * or lengths are not valid; returns how many they are. */
size_t child_page_read(const struct child_page *page,
	struct child_page_message messages[CHILD_PAGE_MESSAGES_MAX]);

/* "UDP request" and the like. */
const char *child_page_kind_text(enum child_page_kind kind);

#endif
