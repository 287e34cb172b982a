/*
 * peers.h - the other children that a role talks to directly.
 *
 * Main makes a channel between xfrd and the loader, the writer and each worker,
 * and between the loader and the verifier, and gives each end away (PEER). When
 * the process at the other end has died (PEER_GONE), its last messages are
 * taken, and the channel is closed. Its successor comes with a channel of its
 * own.
 */
#ifndef PROCESS_PEERS_H
#define PROCESS_PEERS_H

#include "process/link.h"

struct peer {
	struct peer *next;
	struct peers *peers;
	struct link link; /* the channel says who is at the other end */
};

struct peers {
	/* Set by the owner. */
	enum ipc_role self;
	struct event_base *base;
	struct link *main;
	void *owner;
	void (*on_message)(void *owner, const struct ipc_message *m);
	/* There is a new peer, or there is room or credit to send more to it.
	 * NULL: not called. */
	void (*on_room)(void *owner, struct peer *peer);
	/* The peer has died, and the messages that it had sent are taken. NULL:
	 * nobody asks. */
	void (*on_gone)(void *owner, struct peer *peer);
	/* private */
	struct peer *first;
};

/* Take the messages PEER and PEER_GONE of main. */
void peers_add(struct peers *peers, const struct ipc_message *m);
void peers_remove(struct peers *peers, const struct ipc_message *m);

/* Find a peer by its channel (struct ipc_channel, id), or the latest of a role;
 * NULL: it is not there, or not any more. */
struct peer *peers_find(struct peers *peers, uint64_t channel);
struct peer *peers_find_role(struct peers *peers, enum ipc_role role);

/* Sends the messages that waited for the link to main to be empty. */
void peers_go_on(struct peers *peers);

#endif
