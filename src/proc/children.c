/* children.c - starting, watching and replacing the processes of main. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "proc/children.h"
#include "proc/role.h"
#include "store/store.h"

/* How long a child may take to end; and a loader that finishes the zones in
 * hand and writes the database to the disk. */
#define STOP_WAIT_SEC 15
#define STOP_WAIT_DATABASE_SEC 90
/* Messages taken from a child in one turn. */
#define MESSAGES_MAX 64
/* A process that lived this long is not failing at its start. */
#define LIVED_WELL_MSEC 60000

/* At once the first time; then ever later, so that a process that cannot live
 * does not take the machine with it. */
static const unsigned pause_sec[] = {0, 1, 2, 4, 8, 16, 30};

#define PAUSES (sizeof(pause_sec) / sizeof(*pause_sec))

static const char *
child_name(const struct child *child)
{
	static char name[32];

	if (child->role != ROLE_WORKER)
		return ipc_role_name(child->role);
	snprintf(name, sizeof(name), "server %u", child->index + 1);
	return name;
}

enum nsd_err
child_send(struct child *child, enum ipc_type type, const void *payload,
	size_t len, const int *fds, unsigned fd_count)
{
	enum nsd_err err = ipc_send(&child->channel, type, payload, len, fds,
		fd_count);

	/* One that has died is seen to when its death is reaped. */
	if (err != NSD_OK && err != NSD_E_PEER)
		log_error("cannot send %s to %s (pid %ld): %s",
			ipc_rows[type].name, child_name(child),
			(long)child->pid, err_text(err));
	return err;
}

static void
child_give_up(struct child *child, void *arg)
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
	child_give_up(child, NULL);
}

void
child_stop(struct child *child)
{
	struct timeval wait = {.tv_sec = STOP_WAIT_SEC};

	if (child->role == ROLE_LOADER && (child->generation->in_file
			|| child->supervisor->kept != NULL))
		wait.tv_sec = STOP_WAIT_DATABASE_SEC;
	child->told_stop = true;
	if (child_send(child, IPC_STOP, NULL, 0, NULL, 0) != NSD_OK
		|| event_add(child->overdue_event, &wait) == -1)
		kill(child->pid, SIGKILL);
}

/* ---- all of them -------------------------------------------------------- */

/* Calls fn for each child that there is. */
static void
children_walk(struct supervisor *s, void (*fn)(struct child *, void *),
	void *arg)
{
	for (unsigned i = 0; i < s->worker_count + 2; i++) {
		struct post *post = i < s->worker_count ? &s->workers[i]
			: i == s->worker_count		? &s->xfrd
							: &s->loader;
		struct child *leaving = post->leaving;

		if (post->current != NULL)
			fn(post->current, arg);
		if (leaving != NULL)
			fn(leaving, arg);
	}
}

struct tell {
	enum ipc_type type;
	const int *fds;
	unsigned fd_count;
};

static void
child_tell(struct child *child, void *arg)
{
	const struct tell *tell = arg;

	if ((ipc_rows[tell->type].receiver & child->role) == 0)
		return;
	(void)child_send(child, tell->type, NULL, 0, tell->fds,
		tell->fd_count);
}

void
children_tell(struct supervisor *s, enum ipc_type type, const int *fds,
	unsigned fd_count)
{
	struct tell tell = {type, fds, fd_count};

	children_walk(s, child_tell, &tell);
}

static void
child_stop_one(struct child *child, void *arg)
{
	child_stop(child);
}

void
children_stop(struct supervisor *s)
{
	children_walk(s, child_stop_one, NULL);
}

void
children_kill(struct supervisor *s)
{
	children_walk(s, child_give_up, NULL);
}

static void
child_count(struct child *child, void *arg)
{
	++*(unsigned *)arg;
}

unsigned
children_count(const struct supervisor *s)
{
	unsigned count = 0;

	children_walk((struct supervisor *)(uintptr_t)s, child_count, &count);
	return count;
}

/* ---- starting ----------------------------------------------------------- */

static void
child_on_channel(evutil_socket_t fd, short what, void *arg)
{
	struct child *child = arg;
	struct ipc_message m;

	/* One that never ends does not keep main from the others. */
	for (unsigned n = 0; n < MESSAGES_MAX; n++) {
		switch (ipc_receive(&child->channel, &m)) {
		case NSD_OK:
			supervisor_on_message(child->supervisor, child, &m);
			for (unsigned i = 0; i < m.fd_count; i++)
				close(m.fds[i]);
			break;
		case NSD_E_AGAIN:
			return;
		case NSD_E_DENIED:
			/* It is broken or not ours any more. */
			log_error("refused a message from %s (pid %ld)",
				child_name(child), (long)child->pid);
			/* fallthrough */
		default:
			/* It has died, or will be of no use without. */
			event_del(child->event);
			kill(child->pid, SIGKILL);
			return;
		}
	}
}

/* Main's side of a child: its channel, read from now on, and a timer. */
static bool
child_watch(struct child *child)
{
	struct event_base *base = child->supervisor->base;

	child->overdue_event = event_new(base, -1, 0, child_on_overdue, child);
	child->event = event_new(base, child->channel.fd,
		EV_READ | EV_PERSIST, child_on_channel, child);
	return child->event != NULL && child->overdue_event != NULL
		&& event_add(child->event, NULL) == 0;
}

static void
child_unwatch(struct child *child)
{
	if (child->event != NULL)
		event_free(child->event);
	if (child->overdue_event != NULL)
		event_free(child->overdue_event);
	ipc_channel_close(&child->channel);
}

static void
child_forget(struct child *child, void *arg)
{
	child_unwatch(child);
}

/* In a new child: gives up everything that is main's alone. */
static void
child_leave_main(struct supervisor *s, struct child *self)
{
	struct event *events[] = {s->signal_event, s->start_event,
		s->statistics_event, s->loader.timer,
		s->xfrd.timer};

	/* The kernel's side of the loop is shared with main until this. */
	event_reinit(s->base);
	children_walk(s, child_forget, NULL);
	child_unwatch(self);
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (events[i] != NULL)
			event_free(events[i]);
	for (unsigned i = 0; i < s->worker_count; i++)
		event_free(s->workers[i].timer);
	event_base_free(s->base);
	close(s->signal_fd);
	if (s->pidfile.fd != -1)
		close(s->pidfile.fd);
	if (s->self_fds > 0)
		close(s->self_fds);
	store_destroy(s->database);
	store_destroy(s->kept);
	if (s->serving != NULL && s->serving != self->generation)
		store_destroy(s->serving->store);
	if (s->building != NULL && s->building != self->generation)
		store_destroy(s->building->store);
}

static void
child_run(struct post *post, struct child *self, struct ipc_channel channel)
{
	struct supervisor *s = post->supervisor;
	struct role_start start = {
		.server = &s->server,
		.store = self->generation->store,
		.channel = channel,
		.index = post->index,
		.reader_slot = self->reader_slot,
		.take_over = self->generation->listed,
		.loaded = self->generation->loaded,
		.used = self->generation->used,
		.in_file = self->generation->in_file,
	};

	child_leave_main(s, self);
	switch (post->role) {
	case ROLE_LOADER:
		loader_main(&start);
	case ROLE_WORKER:
		worker_main(&start);
	default:
		xfrd_main(&start);
	}
}

static struct child *
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

void
post_fill(struct post *post, struct generation *generation)
{
	struct child *child = child_create(post, generation);
	struct ipc_channel theirs;

	if (child == NULL
		|| ipc_channel_open_pair(ROLE_MAIN, post->role,
			   &child->channel, &theirs)
			!= NSD_OK) {
		log_error("cannot start %s: %s", ipc_role_name(post->role),
			strerror(errno));
		free(child);
		post_fill_later(post);
		return;
	}
	if (!child_watch(child) || (child->pid = fork()) == -1) {
		log_error("cannot start %s: %s", ipc_role_name(post->role),
			strerror(errno));
		child_unwatch(child);
		ipc_channel_close(&theirs);
		free(child);
		post_fill_later(post);
		return;
	}
	if (child->pid == 0)
		child_run(post, child, theirs);
	ipc_channel_close(&theirs);
	generation->users++;
	post->current = child;
}

void
post_fill_later(struct post *post)
{
	unsigned pause = pause_sec[post->failures < PAUSES ? post->failures
							   : PAUSES - 1];
	struct timeval when = {.tv_sec = pause};

	post->failures++;
	if (post->supervisor->stopping)
		return;
	if (event_add(post->timer, &when) == -1)
		log_error("out of memory for a timer");
}

/* ---- sockets of a worker that is down ----------------------------------- */

/* Lends the sockets of a post to a worker that serves, so that the clients
 * whom the kernel sends there are not left alone during a long pause. */
static void
post_lend_sockets(struct post *post)
{
	struct supervisor *s = post->supervisor;
	const struct listeners *all = &s->server.listeners;
	struct ipc_adopt adopt = {.server = post->index};
	struct child *adopter = NULL;
	int fds[IPC_FDS_MAX];
	unsigned count = 0;

	for (unsigned i = 0; i < s->worker_count && adopter == NULL; i++)
		if (s->workers[i].current != NULL
			&& s->workers[i].current->serving)
			adopter = s->workers[i].current;
	if (adopter == NULL)
		return;
	for (unsigned i = 0; i < all->count; i++) {
		if (all->items[i].server != post->index)
			continue;
		adopt.tcp_map |= (uint32_t)all->items[i].tcp << count;
		fds[count++] = all->items[i].fd;
		if (count < IPC_FDS_MAX)
			continue;
		(void)child_send(adopter, IPC_ADOPT, &adopt, sizeof(adopt),
			fds, count);
		adopt.tcp_map = 0;
		count = 0;
	}
	if (count > 0)
		(void)child_send(adopter, IPC_ADOPT, &adopt, sizeof(adopt),
			fds, count);
	post->adopter = adopter;
}

/* A worker died: so have its adoptions. */
static void
posts_drop_adopter(struct supervisor *s, const struct child *adopter)
{
	for (unsigned i = 0; i < s->worker_count; i++) {
		if (s->workers[i].adopter != adopter)
			continue;
		s->workers[i].adopter = NULL;
		if (!s->stopping)
			post_lend_sockets(&s->workers[i]);
	}
}

void
post_on_serving(struct post *post)
{
	struct ipc_adopt adopt = {.server = post->index};

	post->current->serving = true;
	if (post->adopter != NULL)
		(void)child_send(post->adopter, IPC_RELEASE, &adopt,
			sizeof(adopt), NULL, 0);
	post->adopter = NULL;
	if (post->leaving != NULL && !post->leaving->told_stop)
		child_stop(post->leaving);
}

void
post_roll(struct post *post)
{
	struct generation *serving = post->supervisor->serving;

	if (post->current == NULL) {
		if (!event_pending(post->timer, EV_TIMEOUT, NULL))
			post_fill(post, serving);
		return;
	}
	if (post->role != ROLE_WORKER) {
		/* Filled again when it has ended. */
		child_stop(post->current);
		return;
	}
	if (post->leaving != NULL) {
		/* The one before is not needed: its successor serves, or never
		 * came to it and is the one to go. */
		struct child *worse = post->current->serving ? post->leaving
							     : post->current;

		worse->told_stop = true;
		kill(worse->pid, SIGKILL);
		return; /* rolled again when that is reaped */
	}
	post->leaving = post->current;
	post->current = NULL;
	post_fill(post, serving);
}

/* ---- ending ------------------------------------------------------------- */

void
generation_release(struct supervisor *s, struct generation *g)
{
	if (g->users > 0 || g == s->serving || g == s->building)
		return;
	if (g->in_file && !s->stopping)
		supervisor_keep_file(s, g->store);
	else
		store_destroy(g->store);
	free(g);
}

static void
child_log_end(const struct child *child, int status)
{
	if (child->told_stop)
		return;
	if (WIFSIGNALED(status))
		log_error("%s (pid %ld) was killed by signal %d, replacing it",
			child_name(child), (long)child->pid,
			WTERMSIG(status));
	else
		log_error("%s (pid %ld) ended with status %d, replacing it",
			child_name(child), (long)child->pid,
			WEXITSTATUS(status));
}

/* A post has lost its process: another takes it. */
static void
post_refill(struct post *post, const struct child *lost)
{
	struct supervisor *s = post->supervisor;

	if (s->stopping)
		return;
	if (lost->told_stop) {
		post->failures = 0;
		if (post->role != ROLE_LOADER)
			post_fill(post, s->serving);
		return;
	}
	if (clock_now_msec() - lost->started_msec > LIVED_WELL_MSEC)
		post->failures = 0;
	if (post->failures > 0 && post->role == ROLE_WORKER
		&& post->leaving == NULL)
		post_lend_sockets(post);
	post_fill_later(post);
}

/* A loader that is dying when all are told to end closes no file. */
static void
loader_check_end(struct supervisor *s, const struct child *loader, int status)
{
	if (s->stopping && status != 0 && !loader->given_up)
		supervisor_on_loader_lost(s);
}

static void
child_destroy(struct post *post, struct child *child, int status)
{
	struct supervisor *s = post->supervisor;
	struct generation *g = child->generation;
	bool was_current = child == post->current;

	child_log_end(child, status);
	if (was_current)
		post->current = NULL;
	else
		post->leaving = NULL;
	if (child->is_reader)
		store_reader_clear(g->store, child->reader_slot);
	child_unwatch(child);
	if (post->role == ROLE_LOADER) {
		/* What it did not get done is asked of the next one. */
		s->reload_wanted |= s->reloading;
		s->reloading = false;
	}
	posts_drop_adopter(s, child);
	g->users--;
	generation_release(s, g);
	if (was_current)
		post_refill(post, child);
	else if (!s->stopping && post->current != NULL
		&& post->current->generation != s->serving)
		post_roll(post);
	if (post->role == ROLE_LOADER)
		loader_check_end(s, child, status);
	free(child);
}

static void
children_on_end(struct supervisor *s, pid_t pid, int status)
{
	for (unsigned i = 0; i < s->worker_count + 2; i++) {
		struct post *post = i < s->worker_count ? &s->workers[i]
			: i == s->worker_count		? &s->xfrd
							: &s->loader;

		if (post->current != NULL && post->current->pid == pid)
			child_destroy(post, post->current, status);
		else if (post->leaving != NULL && post->leaving->pid == pid)
			child_destroy(post, post->leaving, status);
	}
}

void
children_reap(struct supervisor *s)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		children_on_end(s, pid, status);
}
