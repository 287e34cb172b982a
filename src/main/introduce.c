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

/* Connects two children; returns the id of the channel. If that fails, the
 * first one is killed: its successor comes after a pause, and is connected. */
static uint64_t
introduce_two(struct supervisor *s, struct child *one, struct child *other)
{
	struct ipc_channel a, b;

	if (ipc_channel_open_pair(one->role, other->role, &a, &b) != NSD_OK) {
		log_error("cannot connect %s and %s: %s",
			ipc_role_name(one->role), ipc_role_name(other->role),
			strerror(errno));
		child_kill(one);
		return 0;
	}
	a.id = b.id = ++s->channels;
	/* The dead are reaped soon. */
	(void)introduce_one(one, other, &a);
	(void)introduce_one(other, one, &b);
	ipc_channel_close(&a);
	ipc_channel_close(&b);
	return a.id;
}

static void
introduce_pair(struct supervisor *s, struct child *xfrd, struct child *other)
{
	assert(xfrd->role == ROLE_XFRD && other->role != ROLE_XFRD);
	/* A process that ends still has zone files written: only a writer is
	 * connected to an xfrd that was told to stop. */
	if ((xfrd->told_stop && other->role != ROLE_WRITER)
		|| (other->role & (ROLE_VERIFIER | ROLE_COLLECTOR)) != 0
		|| other->verifies
		|| other->told_stop || xfrd->reaped || other->reaped)
		return;
	other->channel_to_xfrd = introduce_two(s, xfrd, other);
}

/* The verifier is one loader's: it ends with that. */
static void
introduce_verifier(struct supervisor *s, struct child *verifier)
{
	struct child *loader = s->loader.current;

	if (loader != NULL && !loader->told_stop && !loader->reaped
		&& loader->generation == verifier->generation)
		verifier->channel_to_loader = introduce_two(s, verifier,
			loader);
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
	else if (child->role == ROLE_VERIFIER)
		introduce_verifier(s, child);
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

static void
introduce_end_of_pair(struct supervisor *s, const struct child *dead)
{
	struct child *verifier = s->verifier.current;
	struct child *loader = s->loader.current;

	if (dead == verifier && loader != NULL)
		introduce_tell_end(loader, dead->channel_to_loader, dead);
	if (dead != loader || verifier == NULL)
		return;
	introduce_tell_end(verifier, verifier->channel_to_loader, dead);
	verifier->channel_to_loader = 0;
}

void
introduce_end(struct supervisor *s, const struct child *child)
{
	assert(child->reaped);
	introduce_end_of_pair(s, child);
	if (child->role == ROLE_XFRD)
		children_walk(s, introduce_end_of_xfrd,
			(void *)(uintptr_t)child);
	else if (s->xfrd.current != NULL)
		introduce_tell_end(s->xfrd.current, child->channel_to_xfrd,
			child);
}
