/*
 * channel.h - whole messages between two processes over a socket pair.
 *
 * Both ends know the role of the other, and refuse what the table in
 * message.h does not have from it: a worker that was taken over cannot tell
 * main to stop the others.
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
};

struct ipc_message {
	enum ipc_type type;
	size_t len;
	int fds[IPC_FDS_MAX]; /* taken by the receiver: close them */
	unsigned fd_count;
	uint8_t payload[IPC_PAYLOAD_MAX] __attribute__((aligned(8)));
};

/* Makes both ends: non-blocking, close-on-exec. NSD_E_SYSTEM. */
enum nsd_err ipc_channel_open_pair(enum ipc_role a_role, enum ipc_role b_role,
	struct ipc_channel *a, struct ipc_channel *b) MUST_USE;
void ipc_channel_close(struct ipc_channel *channel);

/*
 * Sends a message whole or not at all; never blocks. Borrows payload and fds.
 * returns NSD_E_BUG if the row does not allow it; NSD_E_AGAIN if the other
 * side does not read; NSD_E_PEER if it is gone; NSD_E_SYSTEM.
 */
enum nsd_err ipc_send(const struct ipc_channel *channel, enum ipc_type type,
	const void *payload, size_t len, const int *fds, unsigned fd_count)
	MUST_USE;

/*
 * Takes the next message.
 * returns NSD_E_AGAIN if there is none; NSD_E_NOT_FOUND at the end (the other
 * side is gone); NSD_E_DENIED for a message that the table does not have from
 * that role to this one, or of a wrong size (its descriptors are closed; the
 * channel goes on); NSD_E_SYSTEM.
 */
enum nsd_err ipc_receive(const struct ipc_channel *channel,
	struct ipc_message *message) MUST_USE;

/* "loader"; for people. */
const char *ipc_role_name(enum ipc_role role);

#endif
