/* channel.c - whole messages between two processes over a socket pair. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "ipc/channel.h"

/* The head of a message, in front of its payload. */
struct ipc_head {
	uint32_t type;
};

enum nsd_err
ipc_channel_open_pair(enum ipc_role a_role, enum ipc_role b_role,
	struct ipc_channel *a, struct ipc_channel *b)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC,
		    0, fds)
		== -1)
		return NSD_E_SYSTEM;
	*a = (struct ipc_channel){.fd = fds[0], .self = a_role, .peer = b_role};
	*b = (struct ipc_channel){.fd = fds[1], .self = b_role, .peer = a_role};
	return NSD_OK;
}

void
ipc_channel_close(struct ipc_channel *channel)
{
	if (channel->fd != -1)
		close(channel->fd);
	channel->fd = -1;
}

static bool
ipc_row_allows(uint32_t type, enum ipc_role from, enum ipc_role to, size_t len,
	size_t fd_count)
{
	const struct ipc_row *row;

	if (type >= IPC_TYPE_COUNT)
		return false;
	row = &ipc_rows[type];
	return (row->sender & from) != 0 && (row->receiver & to) != 0
		&& len >= row->payload_min && len <= row->payload_max
		&& fd_count <= row->fds_max;
}

/* True if the system is short of something, which may pass: memory, or
 * descriptors that are on their way. The other side has nothing to do with
 * it. */
static bool
ipc_is_short(int error)
{
	return error == ENOBUFS || error == ENOMEM || error == ETOOMANYREFS;
}

enum nsd_err
ipc_send(const struct ipc_channel *channel, enum ipc_type type,
	const void *payload, size_t len, const int *fds, unsigned fd_count)
{
	struct ipc_head head = {.type = type};
	struct iovec iov[2] = {
		{.iov_base = &head, .iov_len = sizeof(head)},
		{.iov_base = (void *)(uintptr_t)payload, .iov_len = len},
	};
	union {
		struct cmsghdr align;
		char data[CMSG_SPACE(IPC_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = len > 0 ? 2 : 1};

	assert(len == 0 || payload != NULL);
	assert(fd_count == 0 || fds != NULL);
	if (!ipc_row_allows(type, channel->self, channel->peer, len, fd_count))
		return NSD_E_BUG;
	assert(fd_count <= IPC_FDS_MAX);
	if (fd_count > 0) {
		struct cmsghdr *c = &control.align;

		memset(&control, 0, sizeof(control));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
	}
	while (sendmsg(channel->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == -1) {
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN)
			return NSD_E_AGAIN;
		if (ipc_is_short(errno))
			return NSD_E_MEMORY;
		if (errno == EPIPE || errno == ECONNRESET
			|| errno == ENOTCONN || errno == ECONNREFUSED)
			return NSD_E_PEER;
		return NSD_E_SYSTEM;
	}
	return NSD_OK;
}

/* Takes the descriptors that came along. */
static void
ipc_take_fds(struct msghdr *msg, struct ipc_message *message)
{
	message->fd_count = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL;
		c = CMSG_NXTHDR(msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (n > IPC_FDS_MAX)
			n = IPC_FDS_MAX;
		memcpy(message->fds, CMSG_DATA(c), n * sizeof(int));
		message->fd_count = (unsigned)n;
	}
}

static enum nsd_err
ipc_refuse(struct ipc_message *message)
{
	for (unsigned i = 0; i < message->fd_count; i++)
		close(message->fds[i]);
	message->fd_count = 0;
	return NSD_E_DENIED;
}

enum nsd_err
ipc_receive(const struct ipc_channel *channel, struct ipc_message *message)
{
	struct ipc_head head;
	struct iovec iov[2] = {
		{.iov_base = &head, .iov_len = sizeof(head)},
		{.iov_base = message->payload, .iov_len = IPC_PAYLOAD_MAX},
	};
	union {
		struct cmsghdr align;
		char data[CMSG_SPACE(IPC_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr msg = {
		.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	POISON_HOT(message, sizeof(*message));
	/* ECONNRESET is said once, before what the other side had sent: it has
	 * ended with messages of ours unread. */
	do
		n = recvmsg(channel->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n == -1 && (errno == EINTR || errno == ECONNRESET));
	if (n == -1 && errno == EAGAIN)
		return NSD_E_AGAIN;
	if (n == -1 && ipc_is_short(errno))
		return NSD_E_MEMORY;
	if (n == -1)
		return NSD_E_SYSTEM;
	if (n == 0)
		return NSD_E_NOT_FOUND;
	ipc_take_fds(&msg, message);
	if ((msg.msg_flags & MSG_CTRUNC) != 0) {
		(void)ipc_refuse(message);
		return NSD_E_LIMIT;
	}
	if ((size_t)n < sizeof(head) || (msg.msg_flags & MSG_TRUNC) != 0)
		return ipc_refuse(message);
	message->len = (size_t)n - sizeof(head);
	if (!ipc_row_allows(head.type, channel->peer, channel->self,
		    message->len, message->fd_count))
		return ipc_refuse(message);
	message->type = (enum ipc_type)head.type;
	message->from = channel->peer;
	message->index = channel->index;
	message->channel = channel->id;
	return NSD_OK;
}

const char *
ipc_role_name(enum ipc_role role)
{
	switch (role) {
	case ROLE_MAIN:
		return "main";
	case ROLE_LOADER:
		return "loader";
	case ROLE_WORKER:
		return "server";
	case ROLE_XFRD:
		return "xfrd";
	case ROLE_WRITER:
		return "writer";
	case ROLE_VERIFIER:
		return "verifier";
	case ROLE_COLLECTOR:
		return "collector";
	}
	return "unknown";
}
