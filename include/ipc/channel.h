/*
 * channel.h - whole messages between two processes over a socket pair.
 *
 * Each end knows the role of the other, and refuses messages that the table in
 * message.h does not have from that role. So a worker that was taken over
 * cannot have the loader change a zone.
 */
#ifndef IPC_CHANNEL_H
#define IPC_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/message.h"

struct ipc_channel {
	int fd;              /* -1: closed */
	enum ipc_role self;
	enum ipc_role peer;
	unsigned index; /* of the other side, among the workers */
	uint64_t id;    /* of struct ipc_peer; 0: a channel to or from main */
};

struct ipc_message {
	enum ipc_role from; /* role, index and channel of the sender: known by
			     * its channel */
	unsigned index;
	uint64_t channel;
	enum ipc_type type;
	size_t len;
	int fds[IPC_FDS_MAX]; /* given: the receiver closes them */
	unsigned fd_count;
	uint8_t payload[IPC_PAYLOAD_MAX] __attribute__((aligned(8)));
};

/*
 * Makes both ends, non-blocking and close-on-exec. Release each with
 * ipc_channel_close.
 * returns NSD_OK; NSD_E_SYSTEM: the system gives no sockets, errno says why; a
 * and b are as before.
 */
enum nsd_err ipc_channel_open_pair(enum ipc_role a_role, enum ipc_role b_role,
	struct ipc_channel *a, struct ipc_channel *b) MUST_USE;
/* Closes this end; the other end then finds that its peer is gone. Closing
 * again is fine. */
void ipc_channel_close(struct ipc_channel *channel);

/*
 * Sends a message, whole or not at all. Never blocks. Borrows payload and fds;
 * either may be NULL if there is none of it.
 * returns NSD_OK; NSD_E_BUG: the table does not have this message from self to
 *     peer with this length and so many descriptors; NSD_E_AGAIN: the buffer is
 *     full, as the other side does not read; NSD_E_MEMORY: the system has no
 *     memory for it now, whatever the other side does; NSD_E_PEER: the other
 *     side is gone; NSD_E_SYSTEM: anything else that the system refuses, errno
 *     says why.
 */
enum nsd_err ipc_send(const struct ipc_channel *channel, enum ipc_type type,
	const void *payload, size_t len, const int *fds, unsigned fd_count)
	MUST_USE;

/*
 * Receives the next message. Never blocks.
 * returns NSD_OK and gives the descriptors of *message; NSD_E_AGAIN: there is
 *     no message now; NSD_E_MEMORY: the system has no memory for it now, and it
 *     stays; NSD_E_NOT_FOUND: there will be none, as the other side is
 *     gone; NSD_E_DENIED: the table does not have this message from peer to
 *     self, or its size or count of descriptors is wrong; its descriptors are
 *     closed, and the channel can be used on; NSD_E_LIMIT: the same, as this
 *     process can take no more descriptors, or more came than any message has;
 *     NSD_E_SYSTEM: anything else that the system refuses, errno says why.
 */
enum nsd_err ipc_receive(const struct ipc_channel *channel,
	struct ipc_message *message) MUST_USE;

/* The word for a role in the log, such as "loader". A static text. */
const char *ipc_role_name(enum ipc_role role);

#endif
