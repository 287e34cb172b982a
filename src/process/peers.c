/* peers.c - the other children that a role talks to directly. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "process/peers.h"

/* Messages taken from a worker in a turn. There are many of them, and one may
 * have been taken over. */
#define WORKER_TURN 16

static void
peer_on_message(struct link *link, const struct ipc_message *m)
{
	const struct peer *peer = link->owner;

	peer->peers->on_message(peer->peers->owner, m);
}

/* Ends the link to a peer that sends what it may not: it is broken or taken
 * over, and is not heard until main has replaced it or us. */
static bool
peer_on_refused(struct link *link)
{
	char number[16] = "";

	if (link->channel.peer == ROLE_WORKER)
		snprintf(number, sizeof(number), " %u",
			link->channel.index + 1);
	log_error("%s%s has sent what it may not: it is not listened to any"
		  " more", ipc_role_name(link->channel.peer), number);
	link_end(link);
	ipc_channel_close(&link->channel);
	return false;
}

/* Main tells when the peer is replaced. */
static void
peer_on_gone(struct link *link)
{
}

static void
peer_on_room(struct link *link)
{
	struct peer *peer = link->owner;

	if (peer->peers->on_room != NULL)
		peer->peers->on_room(peer->peers->owner, peer);
}

static const struct link_calls peer_calls = {
	.on_message = peer_on_message,
	.on_refused = peer_on_refused,
	.on_gone = peer_on_gone,
	.on_room = peer_on_room,
};

static void
peer_destroy(struct peer *peer)
{
	link_close(&peer->link);
	free(peer);
}

/* Returns NULL if there is no memory or descriptor. */
static struct peer *
peer_create(struct peers *peers, const struct ipc_peer *what, int fd)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (peer == NULL)
		return NULL;
	peer->peers = peers;
	peer->link = (struct link){
		/* A duplicate: the message's descriptor is closed when its
		 * handler returns. */
		.channel = {
			.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3),
			.self = peers->self,
			.peer = (enum ipc_role)what->role,
			.index = what->index,
			.id = what->id,
		},
		.calls = &peer_calls,
		.owner = peer,
		.turn = what->role == ROLE_WORKER ? WORKER_TURN : LINK_TURN,
		/* The loader, the writer and the verifier answer xfrd or the
		 * loader. Main gets the loader's messages before an answer is
		 * given. */
		.answers = peers->self == ROLE_LOADER
			|| peers->self == ROLE_WRITER
			|| peers->self == ROLE_VERIFIER,
		.behind = peers->self == ROLE_LOADER ? peers->main : NULL,
	};
	if (peer->link.channel.fd != -1 && link_open(&peer->link, peers->base))
		return peer;
	peer_destroy(peer);
	return NULL;
}

void
peers_add(struct peers *peers, const struct ipc_message *m)
{
	struct ipc_peer what;
	struct peer *peer;

	memcpy(&what, m->payload, sizeof(what));
	if (m->fd_count != 1)
		return;
	peer = peer_create(peers, &what, m->fds[0]);
	/* As after a message that could not be received (role.c). */
	if (peer == NULL) {
		log_error("cannot talk to %s: there is no memory or descriptor"
			  "%s", ipc_role_name((enum ipc_role)what.role),
			peers->self == ROLE_WORKER ? "" : ": ending");
		if (peers->self != ROLE_WORKER)
			_exit(1);
		return;
	}
	peer->next = peers->first;
	peers->first = peer;
	peer_on_room(&peer->link);
}

void
peers_remove(struct peers *peers, const struct ipc_message *m)
{
	struct peer **at = &peers->first, *peer;
	struct ipc_peer what;

	memcpy(&what, m->payload, sizeof(what));
	while (*at != NULL && (*at)->link.channel.id != what.id)
		at = &(*at)->next;
	peer = *at;
	if (peer == NULL)
		return;
	link_read_out(&peer->link);
	*at = peer->next;
	if (peers->on_gone != NULL)
		peers->on_gone(peers->owner, peer);
	peer_destroy(peer);
}

struct peer *
peers_find(struct peers *peers, uint64_t channel)
{
	struct peer *peer = peers->first;

	while (peer != NULL && peer->link.channel.id != channel)
		peer = peer->next;
	return peer;
}

struct peer *
peers_find_role(struct peers *peers, enum ipc_role role)
{
	struct peer *peer = peers->first;

	while (peer != NULL && peer->link.channel.peer != role)
		peer = peer->next;
	return peer;
}

void
peers_go_on(struct peers *peers)
{
	for (struct peer *peer = peers->first; peer != NULL; peer = peer->next)
		link_go_on(&peer->link);
}
