/* child.c - one process of main: its channel, and telling it to end. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "main/child.h"
#include "process/counts.h"

/* A child is killed if it has not ended this long after it was told to. */
#define STOP_WAIT_SEC 15
/* The number of times that an xfrd with a heartbeat gets that time once more:
 * together less than service managers wait. */
#define STOP_LOOKS_XFRD 4u
/* The same for a writer while the server runs: it may be writing a large
 * zone. */
#define STOP_WAIT_WRITER_SEC 3600
/* The same for a loader that finishes the zones that it reads and writes the
 * database to the disk. */
#define STOP_WAIT_DATABASE_SEC 90

const char *
child_name(const struct child *child)
{
	static char name[32];

	if (child->role != ROLE_WORKER)
		return ipc_role_name(child->role);
	if (child->verifies)
		return "verify server";
	snprintf(name, sizeof(name), "%s %u",
		child->stands_by ? "standby" : "server", child->index + 1);
	return name;
}

/* Chooses the slot in the store for a reader. A reader's service has a slot of
 * its own, and a worker's service a second one: for a process that reads the
 * same store as another process of the service. */
static unsigned
child_choose_slot(const struct service *service,
	const struct generation *generation)
{
	const struct supervisor *s = service->supervisor;
	const struct child *const others[] = {service->current,
		service->leaving, service->next};
	unsigned first = service->index;

	switch (service->role) {
	case ROLE_WORKER:
		if (first == s->worker_count)
			return s->worker_count + 3;
		break;
	case ROLE_WRITER:
		return s->worker_count + 1;
	case ROLE_VERIFIER:
		return s->worker_count + 2;
	default:
		return s->worker_count;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i] != NULL && others[i]->generation == generation
			&& others[i]->reader_slot == first)
			return s->worker_count + SUPERVISOR_READERS + first;
	return first;
}

struct child *
child_create(struct service *service, struct generation *generation)
{
	struct supervisor *s = service->supervisor;
	struct child *child = calloc(1, sizeof(*child));

	assert((generation == NULL) == (service->role == ROLE_COLLECTOR));
	assert(service->role != ROLE_MAIN);
	if (child == NULL)
		return NULL;
	child->supervisor = s;
	child->role = service->role;
	child->index = service->index;
	child->number = ++s->children;
	child->generation = generation;
	child->is_reader = generation != NULL && service->role != ROLE_LOADER;
	child->verifies = service == &s->verify_server;
	child->reader_slot = child_choose_slot(service, generation);
	child->started_msec = clock_now_msec();
	child->link.channel.fd = -1;
	child->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (child->stop_fd != -1)
		return child;
	free(child);
	return NULL;
}

enum nsd_err
child_send(struct child *child, enum ipc_type type, const void *payload,
	size_t len, const int *fds, unsigned fd_count)
{
	const struct link_message message = {
		.type = type,
		.payload = payload,
		.len = len,
		.fds = fds,
		.fd_count = fd_count,
	};
	enum nsd_err err = link_send(&child->link, &message);

	assert((payload == NULL) == (len == 0));
	if (err == NSD_OK || err == NSD_E_PEER)
		return err;
	log_error("cannot send %s to %s (pid %ld): %s", ipc_rows[type].name,
		child_name(child), (long)child->pid, err_text(err));
	/* The child would miss the message; its successor is told all anew. */
	if (err != NSD_E_BUG)
		child_kill(child);
	return err;
}

/* ---- ending -------------------------------------------------------------- */

void
child_kill(const struct child *child)
{
	/* The number may be another process's by now. */
	if (child->reaped)
		return;
	assert(child->pid > 0); /* kill(2) takes 0 and less as groups */
	privilege_kill(child->role == ROLE_WORKER
			? &child->supervisor->server.worker_user
			: NULL,
		child->pid, SIGKILL);
}

void
child_give_up(struct child *child)
{
	child->given_up = true;
	child_kill(child);
}

static uint64_t
child_heartbeat(const struct child *child)
{
	return child->page == NULL ? 0
		: __atomic_load_n(&child->page->heartbeat, __ATOMIC_RELAXED);
}

/* True if a child that was told to end is at work, and is given more time: an
 * xfrd that writes xfrdfile for very many zones. */
static bool
child_goes_on(struct child *child)
{
	static const struct timeval more = {.tv_sec = STOP_WAIT_SEC};
	uint64_t heartbeat = child_heartbeat(child);
	bool lives = heartbeat != child->stop_heartbeat;

	if (child->role != ROLE_XFRD || !lives
		|| child->stop_looks >= STOP_LOOKS_XFRD)
		return false;
	child->stop_heartbeat = heartbeat;
	child->stop_looks++;
	return event_add(child->overdue_event, &more) == 0;
}

static void
child_on_overdue(evutil_socket_t fd, short what, void *arg)
{
	struct child *child = arg;

	if (child_goes_on(child))
		return;
	log_warning("%s (pid %ld) does not end, killing it",
		child_name(child), (long)child->pid);
	child_give_up(child);
}

/* Tells a child to end by its eventfd, as its channel may be full. Only
 * DATABASE, the file that a loader leaves its store in, must be sent before. */
static void
child_say_stop(struct child *child)
{
	const uint64_t one = 1;

	if (child->told_stop && !link_waits(&child->link)
		&& write(child->stop_fd, &one, sizeof(one)) == -1)
		child_kill(child);
}

void
child_stop(struct child *child)
{
	const struct supervisor *s = child->supervisor;
	struct timeval wait = {.tv_sec = STOP_WAIT_SEC};
	bool writer = child->role == ROLE_WRITER;

	assert(child->overdue_event != NULL);
	if (writer && !s->stopping)
		wait.tv_sec = STOP_WAIT_WRITER_SEC;
	if (child->told_stop) {
		/* At a stop of the server the writer has less time. */
		if (writer && event_add(child->overdue_event, &wait) == -1)
			child_kill(child);
		return;
	}
	if (child->role == ROLE_LOADER
		&& (child->generation == s->in_file || s->kept != NULL))
		wait.tv_sec = STOP_WAIT_DATABASE_SEC;
	child->told_stop = true;
	child->stop_heartbeat = child_heartbeat(child);
	link_forget(&child->link, IPC_DATABASE);
	child_say_stop(child);
	if (event_add(child->overdue_event, &wait) == -1)
		child_kill(child);
}

void
child_log_end(const struct child *child, int status)
{
	bool stopping = child->supervisor->stopping;
	bool on_demand = (child->role & CHILD_ON_DEMAND) != 0;
	const char *then = stopping || on_demand ? "" : ", replacing it";

	/* A writer or a verifier ends by itself when it has nothing to do. */
	if (child->told_stop || (status == 0 && (stopping || on_demand)))
		return;
	if (!stopping)
		counts_note_death(child->supervisor->server.counts,
			child->role, child->index, clock_now_msec());
	if (!ends_may_log(&child->supervisor->ends, clock_now_msec()))
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

void
child_note_end(struct child *child)
{
	assert(!child->reaped && child->page != NULL);
	child->reaped = true;
	/* Only a worker counts: any role can write this word, which has a
	 * service started at once. */
	child->has_read = child->role == ROLE_WORKER
		&& child->page->turns != 0;
}

/* ---- the channel --------------------------------------------------------- */

/* Messages that arrive while the server stops are ignored, but that zone files
 * are still to be written. */
static void
child_on_message(struct link *link, const struct ipc_message *m)
{
	struct child *child = link->owner;
	struct supervisor *s = child->supervisor;

	assert(m->type < IPC_TYPE_COUNT);
	if (s->handlers[m->type] == NULL)
		log_error("refused a message from %s (pid %ld)",
			child_name(child), (long)child->pid);
	else if (!s->stopping || m->type == IPC_WANT_WRITER)
		s->handlers[m->type](s, child, m);
}

/* The child has died, or cannot work without its channel. */
static void
child_on_gone(struct link *link)
{
	const struct child *child = link->owner;

	child_kill(child);
}

/* The child has a bug, or was taken over. */
static bool
child_on_refused(struct link *link)
{
	struct child *child = link->owner;

	log_error("refused a message from %s (pid %ld)", child_name(child),
		(long)child->pid);
	link_end(link);
	child_kill(child);
	return false;
}

static void
child_on_room(struct link *link)
{
	child_say_stop(link->owner);
}

static const struct link_calls child_calls = {
	.on_message = child_on_message,
	.on_refused = child_on_refused,
	.on_gone = child_on_gone,
	.on_room = child_on_room,
};

bool
child_watch(struct child *child)
{
	struct event_base *base = child->supervisor->base;
	void *pages = mmap(NULL, sizeof(*child->page), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return false;
	assert(child->page == NULL && child->overdue_event == NULL);
	child->page = pages;
	child->link.calls = &child_calls;
	child->link.owner = child;
	child->link.turn = LINK_TURN;
	child->overdue_event = event_new(base, -1, 0, child_on_overdue, child);
	return link_open(&child->link, base) && child->overdue_event != NULL;
}

void
child_keep_page(struct child *child)
{
	/* Neither call splits a mapping, so neither can fail. */
	(void)madvise(child->page, sizeof(*child->page), MADV_DONTFORK);
	(void)mprotect(child->page, sizeof(*child->page), PROT_READ);
}

void
child_unwatch(struct child *child)
{
	if (child->overdue_event != NULL)
		event_free(child->overdue_event);
	link_close(&child->link);
	if (child->stop_fd != -1)
		close(child->stop_fd);
	if (child->page != NULL)
		munmap(child->page, sizeof(*child->page));
}
