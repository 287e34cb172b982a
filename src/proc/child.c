/* child.c - one process of main: its channel, and telling it to end. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "proc/child.h"

/* How long a child may take to end. */
#define STOP_WAIT_SEC 15
/* The same for a loader that finishes the zones in hand and writes the database
 * to the disk. */
#define STOP_WAIT_DATABASE_SEC 90
/* Messages taken from a child in one turn. */
#define MESSAGES_MAX 64

static const char *
child_name(const struct child *child)
{
	static char name[32];

	if (child->role != ROLE_WORKER)
		return ipc_role_name(child->role);
	snprintf(name, sizeof(name), "server %u", child->index + 1);
	return name;
}

struct child *
child_create(struct post *post, struct generation *generation)
{
	struct supervisor *s = post->supervisor;
	struct child *child = calloc(1, sizeof(*child));

	if (child == NULL)
		return NULL;
	child->supervisor = s;
	child->role = post->role;
	child->index = post->index;
	child->generation = generation;
	child->is_reader = post->role != ROLE_LOADER;
	child->reader_slot = post->role == ROLE_WORKER ? post->index
						       : s->worker_count;
	child->started_msec = clock_now_msec();
	return child;
}

enum nsd_err
child_send(struct child *child, enum ipc_type type, const void *payload,
	size_t len, const int *fds, unsigned fd_count)
{
	enum nsd_err err = ipc_send(&child->channel, type, payload, len, fds,
		fd_count);

	if (err != NSD_OK && err != NSD_E_PEER)
		log_error("cannot send %s to %s (pid %ld): %s",
			ipc_rows[type].name, child_name(child),
			(long)child->pid, err_text(err));
	return err;
}

/* ---- ending -------------------------------------------------------------- */

void
child_give_up(struct child *child)
{
	child->given_up = true;
	kill(child->pid, SIGKILL);
}

static void
child_on_overdue(evutil_socket_t fd, short what, void *arg)
{
	struct child *child = arg;

	log_warning("%s (pid %ld) does not end, killing it",
		child_name(child), (long)child->pid);
	child_give_up(child);
}

void
child_stop(struct child *child)
{
	struct timeval wait = {.tv_sec = STOP_WAIT_SEC};

	if (child->told_stop)
		return;
	if (child->role == ROLE_LOADER && (child->generation->in_file
			|| child->supervisor->kept != NULL))
		wait.tv_sec = STOP_WAIT_DATABASE_SEC;
	child->told_stop = true;
	if (child_send(child, IPC_STOP, NULL, 0, NULL, 0) != NSD_OK
		|| event_add(child->overdue_event, &wait) == -1)
		kill(child->pid, SIGKILL);
}

void
child_log_end(const struct child *child, int status)
{
	bool stopping = child->supervisor->stopping;
	const char *then = stopping ? "" : ", replacing it";

	if (child->told_stop || (stopping && status == 0))
		return;
	if (WIFSIGNALED(status))
		log_error("%s (pid %ld) was killed by signal %d%s",
			child_name(child), (long)child->pid,
			WTERMSIG(status), then);
	else
		log_error("%s (pid %ld) ended with status %d%s",
			child_name(child), (long)child->pid,
			WEXITSTATUS(status), then);
}

/* ---- its channel --------------------------------------------------------- */

static void
child_refuse(const struct child *child)
{
	log_error("refused a message from %s (pid %ld)", child_name(child),
		(long)child->pid);
}

/* At a stop messages do not count any more. */
static void
child_take(struct child *child, const struct ipc_message *m)
{
	struct supervisor *s = child->supervisor;

	assert(m->type < IPC_TYPE_COUNT);
	if (s->handlers[m->type] == NULL)
		child_refuse(child);
	else if (!s->stopping)
		s->handlers[m->type](s, child, m);
	for (unsigned i = 0; i < m->fd_count; i++)
		close(m->fds[i]);
}

static void
child_on_channel(evutil_socket_t fd, short what, void *arg)
{
	struct child *child = arg;
	struct ipc_message m;

	/* A child that never ends does not keep main from the others. */
	for (unsigned n = 0; n < MESSAGES_MAX; n++) {
		switch (ipc_receive(&child->channel, &m)) {
		case NSD_OK:
			child_take(child, &m);
			break;
		case NSD_E_AGAIN:
			return;
		case NSD_E_DENIED:
			/* It is broken, or not ours any more. */
			child_refuse(child);
			/* fallthrough */
		default:
			/* It has died, or is of no use without a channel. */
			event_del(child->event);
			kill(child->pid, SIGKILL);
			return;
		}
	}
}

bool
child_watch(struct child *child)
{
	struct event_base *base = child->supervisor->base;

	child->overdue_event = event_new(base, -1, 0, child_on_overdue, child);
	child->event = event_new(base, child->channel.fd,
		EV_READ | EV_PERSIST, child_on_channel, child);
	return child->event != NULL && child->overdue_event != NULL
		&& event_add(child->event, NULL) == 0;
}

void
child_unwatch(struct child *child)
{
	if (child->event != NULL)
		event_free(child->event);
	if (child->overdue_event != NULL)
		event_free(child->overdue_event);
	ipc_channel_close(&child->channel);
}
