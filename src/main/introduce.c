/* introduce.c - main makes its children known to each other. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "main/child.h"
#include "main/children.h"
#include "main/introduce.h"

static enum nsd_err
introduce_one(struct child *child, const struct child *other,
	const struct ipc_channel *end)
{
	const struct ipc_peer peer = {
		.id = end->id,
		.role = (uint16_t)other->role,
		.index = other->index,
	};

	return child_send(child, IPC_PEER, &peer, sizeof(peer), &end->fd, 1);
}

static void
introduce_pair(struct supervisor *s, struct child *xfrd, struct child *other)
{
	struct ipc_channel a, b;

	assert(xfrd->role == ROLE_XFRD && other->role != ROLE_XFRD);
	/* A process that ends still has zone files written: only a writer is
	 * connected to an xfrd that was told to stop. */
	if ((xfrd->told_stop && other->role != ROLE_WRITER)
		|| other->told_stop || xfrd->reaped || other->reaped)
		return;
	if (ipc_channel_open_pair(ROLE_XFRD, other->role, &a, &b) != NSD_OK) {
		log_error("cannot connect xfrd and %s: %s",
			ipc_role_name(other->role), strerror(errno));
		/* The successor of xfrd comes after a pause, and is
		 * connected. */
		child_kill(xfrd);
		return;
	}
	a.id = b.id = other->channel_to_xfrd = ++s->channels;
	/* The dead are reaped soon. */
	(void)introduce_one(xfrd, other, &a);
	(void)introduce_one(other, xfrd, &b);
	ipc_channel_close(&a);
	ipc_channel_close(&b);
}

static void
introduce_to_xfrd(struct child *child, void *arg)
{
	struct child *xfrd = arg;

	if (child != xfrd)
		introduce_pair(xfrd->supervisor, xfrd, child);
}

void
introduce_child(struct supervisor *s, struct child *child)
{
	if (child->role == ROLE_XFRD)
		children_walk(s, introduce_to_xfrd, child);
	else if (s->xfrd.current != NULL)
		introduce_pair(s, s->xfrd.current, child);
}

/* ---- ends ---------------------------------------------------------------- */

static void
introduce_tell_end(struct child *child, uint64_t id, const struct child *dead)
{
	const struct ipc_peer peer = {
		.id = id,
		.role = (uint16_t)dead->role,
		.index = dead->index,
	};

	if (id != 0 && !child->reaped)
		(void)child_send(child, IPC_PEER_GONE, &peer, sizeof(peer),
			NULL, 0);
}

static void
introduce_end_of_xfrd(struct child *child, void *arg)
{
	const struct child *xfrd = arg;

	if (child == xfrd)
		return;
	introduce_tell_end(child, child->channel_to_xfrd, xfrd);
	child->channel_to_xfrd = 0;
}

void
introduce_end(struct supervisor *s, const struct child *child)
{
	assert(child->reaped);
	if (child->role == ROLE_XFRD)
		children_walk(s, introduce_end_of_xfrd,
			(void *)(uintptr_t)child);
	else if (s->xfrd.current != NULL)
		introduce_tell_end(s->xfrd.current, child->channel_to_xfrd,
			child);
}
