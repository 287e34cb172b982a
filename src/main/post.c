/* post.c - the posts of main: each is a place that main keeps filled with a
 * process of a role. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "main/child.h"
#include "main/children.h"
#include "main/generation.h"
#include "main/introduce.h"
#include "main/key_change.h"
#include "main/post.h"
#include "main/standby.h"
#include "process/counts.h"
#include "process/role.h"
#include "store/store.h"

/* Pauses before a post is filled again whose process did not die of a message,
 * by failures in a row, in milliseconds. The first pause is none; later ones
 * grow, so that a process that always dies does not overload the machine.
 * Workers have more short pauses, as clients wait for them. */
static const unsigned post_pauses[] = {0, 1000, 2000, 4000, 8000, 16000, 30000};
static const unsigned worker_pauses[] = {0, 100, 200, 500, 1000, 1000, 1000,
	1000, 1000, 1000, 2000, 4000, 8000, 16000, 30000};
/* While no worker serves, the pause between two forks for one worker's post is
 * no longer than this. */
#define ALONE_MSEC 200

#define COUNT(array) ((unsigned)(sizeof(array) / sizeof(*(array))))

/* ---- a new process ------------------------------------------------------- */

static void
post_forget_child(struct child *child, void *arg)
{
	child->hand = NULL; /* not mapped here: MADV_DONTFORK */
	child_unwatch(child);
}

/* In a new process: closes and frees what only main uses. */
static void
post_leave_main(struct supervisor *s, struct child *self)
{
	/* Until this call, main and the new process share one epoll set. */
	event_reinit(s->base);
	children_walk(s, post_forget_child, NULL);
	/* The new process keeps its own mapping of the hand. */
	self->hand = NULL;
	child_unwatch(self);
	/* Events that are left lie in memory that nobody comes to again. */
	event_base_free(s->base);
	close(s->signal_fd);
	log_set_copy_errors(false);
	daemon_leave(&s->daemon);
	systemd_leave(&s->systemd);
	if (s->proc_fd > 0)
		close(s->proc_fd);
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
post_leave_privileges(const struct post *post)
{
	const struct privilege_user *worker =
		&post->supervisor->server.worker_user;
	bool is_worker = post->role == ROLE_WORKER;

	if (privilege_leave_main(is_worker ? worker : NULL, !is_worker)
		!= NSD_OK)
		_exit(1);
}

static _Noreturn void
post_run_role(const struct post *post, const struct role_start *start)
{
	switch (post->role) {
	case ROLE_LOADER:
		loader_main(start);
	case ROLE_WORKER:
		worker_main(start);
	case ROLE_XFRD:
		xfrd_main(start);
	case ROLE_WRITER:
		writer_main(start);
	case ROLE_MAIN:
		break;
	}
	assert(!"main is no post");
	abort();
}

static _Noreturn void
post_run(struct post *post, struct child *self, struct ipc_channel channel)
{
	struct supervisor *s = post->supervisor;
	struct role_start start = {
		.server = &s->server,
		.store = self->generation->store,
		.channel = channel,
		.stop_fd = self->stop_fd,
		.index = post->index,
		.reader_slot = self->reader_slot,
		.hand = self->hand,
		.stands_by = self->stands_by,
		.is_careful = post->wants_next,
		.past = self->generation->past,
		.in_file = self->generation->in_file,
		.is_behind = s->building != NULL
			&& s->building != self->generation,
	};

	assert(self->stop_fd != -1 && self->hand != NULL);
	assert(!self->stands_by || post->role == ROLE_WORKER);
	self->stop_fd = -1;
	self->hand = NULL;
	post_leave_main(s, self);
	post_leave_privileges(post);
	if (post->role != ROLE_LOADER && s->server.zones > 0)
		close(s->server.zones);
	counts_leave(s->server.counts, post->role, post->index);
	post_run_role(post, &start);
}

/* ---- sockets of a worker that is down ------------------------------------ */

struct child *
post_find_server(const struct supervisor *s)
{
	for (unsigned i = 0; i < s->worker_count; i++) {
		struct child *worker = s->workers[i].current;

		if (worker != NULL && worker->serving && !worker->hung)
			return worker;
	}
	return NULL;
}

/* Lends the sockets of a post to a worker that serves: the kernel goes on
 * giving these sockets clients, and the post may stay empty for long. */
static void
post_lend_sockets(struct post *post)
{
	struct supervisor *s = post->supervisor;
	const struct listeners *all = &s->server.listeners;
	struct ipc_adopt adopt = {.server = post->index};
	struct child *adopter = post_find_server(s);
	int fds[IPC_FDS_MAX];
	unsigned count = 0;

	assert(post->role == ROLE_WORKER);
	if (adopter == NULL || post->deadly)
		return;
	for (unsigned i = 0; i < all->count; i++) {
		if (all->items[i].server != post->index)
			continue;
		adopt.tcp_map |= (uint32_t)all->items[i].tcp << count;
		adopt.tls_map |= (uint32_t)all->items[i].tls << count;
		adopt.mutual_map |= (uint32_t)all->items[i].mutual << count;
		assert(count < IPC_FDS_MAX);
		fds[count++] = all->items[i].fd;
		if (count < IPC_FDS_MAX)
			continue;
		(void)child_send(adopter, IPC_ADOPT, &adopt, sizeof(adopt),
			fds, count);
		adopt = (struct ipc_adopt){.server = post->index};
		count = 0;
	}
	if (count > 0)
		(void)child_send(adopter, IPC_ADOPT, &adopt, sizeof(adopt),
			fds, count);
	post->adopter = adopter;
}

bool
post_drop_adopter(struct supervisor *s, const struct child *adopter,
	bool crashed)
{
	bool found = false;

	assert(adopter->reaped);
	for (unsigned i = 0; i < s->worker_count; i++) {
		if (s->workers[i].adopter != adopter)
			continue;
		found = true;
		s->workers[i].adopter = NULL;
		s->workers[i].deadly |= crashed;
		if (!s->stopping)
			post_lend_sockets(&s->workers[i]);
	}
	return found && crashed;
}

/* Lends the sockets of empty posts which could not be lent before, as no
 * worker served then. */
static void
post_lend_left_sockets(struct supervisor *s)
{
	for (unsigned i = 0; i < s->worker_count; i++) {
		struct post *post = &s->workers[i];

		if (post->current == NULL && post->leaving == NULL
			&& post->adopter == NULL && post->failures > 1)
			post_lend_sockets(post);
	}
}

/* ---- filling ------------------------------------------------------------- */

/* Forks a process. NULL: that failed, and a timer is set to try again. */
static struct child *
post_fork(struct post *post, struct generation *generation, bool stands_by)
{
	struct child *child = child_create(post, generation);
	int64_t before = clock_thread_nsec();
	struct ipc_channel theirs;

	/* A process that no post knows would never be told to end. */
	assert((stands_by ? post->next : post->current) == NULL);
	post->filled_msec = clock_now_msec();
	if (child == NULL
		|| ipc_channel_open_pair(ROLE_MAIN, post->role,
			   &child->link.channel, &theirs)
			!= NSD_OK) {
		log_error("cannot start %s: %s", ipc_role_name(post->role),
			strerror(errno));
		if (child != NULL)
			child_unwatch(child);
		free(child);
		post_fill_later(post);
		return NULL;
	}
	child->stands_by = stands_by;
	if (!child_watch(child) || (child->pid = fork()) == -1) {
		log_error("cannot start %s: %s", ipc_role_name(post->role),
			strerror(errno));
		child_unwatch(child);
		ipc_channel_close(&theirs);
		free(child);
		post_fill_later(post);
		return NULL;
	}
	if (child->pid == 0)
		post_run(post, child, theirs);
	child_keep_hand(child);
	ipc_channel_close(&theirs);
	generation->users++;
	standby_pay(post->supervisor, clock_now_usec(),
		(clock_thread_nsec() - before) / 1000);
	return child;
}

void
post_fill(struct post *post, struct generation *generation)
{
	struct child *child;

	if (post->role == ROLE_XFRD) /* no xfrd runs now */
		key_change_sweep(post->supervisor);
	child = post_fork(post, generation, false);
	if (child == NULL)
		return;
	post->current = child;
	counts_set_process(post->supervisor->server.counts, post->role,
		post->index, child->pid, child->started_msec);
	introduce_child(post->supervisor, child);
}

static unsigned
post_choose_pause(const struct post *post)
{
	unsigned n = post->failures;

	if (post->role != ROLE_WORKER)
		return post_pauses[n < COUNT(post_pauses)
			? n : COUNT(post_pauses) - 1];
	return worker_pauses[n < COUNT(worker_pauses)
		? n : COUNT(worker_pauses) - 1];
}

/* The longest pause of a worker's post while no worker serves. */
static unsigned
post_choose_pause_alone(const struct post *post, int64_t now)
{
	int64_t since_msec = now - post->filled_msec;

	return since_msec < ALONE_MSEC ? ALONE_MSEC - (unsigned)since_msec : 0;
}

static void
post_fill_in(struct post *post, unsigned pause_msec)
{
	struct timeval when = {.tv_sec = pause_msec / 1000,
		.tv_usec = pause_msec % 1000 * 1000};

	post->due_msec = clock_now_msec() + pause_msec;
	if (event_add(post->timer, &when) == -1)
		log_error("out of memory for a timer");
}

void
post_hurry(struct supervisor *s)
{
	int64_t now = clock_now_msec();

	if (children_serve(s))
		return;
	for (unsigned i = 0; i < s->worker_count; i++) {
		struct post *post = &s->workers[i];
		unsigned pause = post_choose_pause_alone(post, now);

		if (event_pending(post->timer, EV_TIMEOUT, NULL)
			&& post->due_msec > now + pause)
			post_fill_in(post, pause);
	}
}

void
post_fill_later(struct post *post)
{
	unsigned pause = post_choose_pause(post);

	post->failures++;
	if (post->supervisor->stopping)
		return;
	post_fill_in(post, pause);
	if (post->role == ROLE_WORKER)
		post_hurry(post->supervisor);
}

void
post_fill_loader(struct supervisor *s)
{
	struct generation *g = generation_choose(s);

	if (g == NULL) {
		post_fill_later(&s->loader);
		return;
	}
	post_fill(&s->loader, g);
	if (s->loader.current == NULL)
		return;
	g->take_overs++;
	if (g->past < STORE_PAST_USED)
		g->past = STORE_PAST_USED;
}

void
post_fill_to_close(struct supervisor *s)
{
	struct generation *g = s->building != NULL ? s->building : s->serving;

	if (s->loader.current != NULL || g == NULL
		|| !generation_is_to_close(s, g))
		return;
	/* During a stop no loader reports LISTED, so every attempt counts. */
	g->take_overs++;
	post_fill(&s->loader, g);
	generation_offer_file(s);
}

/* Fills a worker's post, by its standby process if there is one; then forks
 * another standby process if the post wants one. */
static void
post_tend(struct post *post)
{
	struct supervisor *s = post->supervisor;
	unsigned wait;

	assert(post->role == ROLE_WORKER);
	if (post->current == NULL)
		(void)standby_promote(post);
	if (post->current != NULL && (!post->wants_next || post->next != NULL))
		return;
	wait = standby_wait(s, clock_now_usec());
	if (wait > 0) {
		post_fill_in(post, wait);
		return;
	}
	if (post->current == NULL) {
		post_fill(post, s->serving);
		return;
	}
	if (!standby_has_room(s, STANDBY_SPARE))
		return; /* the next death tries again */
	post->next = post_fork(post, s->serving, true);
	if (post->next != NULL)
		introduce_child(s, post->next);
}

static void
post_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct post *post = arg;
	struct supervisor *s = post->supervisor;

	if (post->role == ROLE_WRITER) {
		post_want_writer(s);
		return;
	}
	if (s->stopping)
		return;
	if (post->role == ROLE_WORKER && s->serving != NULL) {
		post_tend(post);
		/* If the fork failed, another worker serves its clients. */
		post_lend_left_sockets(s);
		return;
	}
	if (post->current != NULL)
		return;
	if (post->role == ROLE_LOADER)
		post_fill_loader(s);
	else if (s->serving != NULL)
		post_fill(post, s->serving);
}

bool
post_init(struct post *post, struct supervisor *s, enum ipc_role role,
	unsigned index)
{
	post->supervisor = s;
	post->role = role;
	post->index = index;
	post->timer = event_new(s->base, -1, 0, post_on_timer, post);
	return post->timer != NULL;
}

/* ---- the writer ---------------------------------------------------------- */

/* The shortest pause between two writers, however often xfrd asks for one. */
#define WRITER_PAUSE_MSEC 1000

/* At a stop one is forked for xfrd alone, which ends when all is written. */
static bool
post_may_fill_writer(const struct supervisor *s)
{
	return s->serving != NULL
		&& (!s->stopping || s->xfrd.current != NULL);
}

void
post_want_writer(struct supervisor *s)
{
	struct post *post = &s->writer;
	int64_t left = post->rests_until - clock_now_msec();
	struct timeval when;

	if (!post_may_fill_writer(s) || post->current != NULL
		|| event_pending(post->timer, EV_TIMEOUT, NULL))
		return;
	if (left <= 0) {
		post_fill(post, s->serving);
		return;
	}
	when = (struct timeval){.tv_sec = left / 1000,
		.tv_usec = left % 1000 * 1000};
	if (event_add(post->timer, &when) == -1)
		log_error("out of memory for a timer");
}

void
post_rest_writer(struct post *post, const struct child *lost, int status)
{
	int64_t now = clock_now_msec();
	unsigned pause = WRITER_PAUSE_MSEC;

	assert(post->role == ROLE_WRITER && lost->reaped);
	if (status == 0 || lost->told_stop
		|| now - lost->started_msec > POST_LIVED_WELL_MSEC)
		post->failures = 0;
	else
		post->failures++;
	if (post->failures > 0 && post_choose_pause(post) > pause)
		pause = post_choose_pause(post);
	post->rests_until = now + pause;
}

void
post_fill_to_write(struct supervisor *s)
{
	if (s->writer.current == NULL && s->xfrd.current != NULL
		&& s->serving != NULL && s->server.may_write
		&& s->server.conf->server.zonefiles_write > 0)
		post_fill(&s->writer, s->serving);
}

/* ---- serving ------------------------------------------------------------- */

void
post_on_serving(struct post *post)
{
	struct ipc_adopt adopt = {.server = post->index};

	assert(post->role == ROLE_WORKER && !post->current->reaped);
	post->current->serving = true;
	post_tend(post);
	if (post->adopter != NULL)
		(void)child_send(post->adopter, IPC_RELEASE, &adopt,
			sizeof(adopt), NULL, 0);
	post->adopter = NULL;
	if (post->leaving != NULL && !post->leaving->told_stop)
		child_stop(post->leaving);
	post_lend_left_sockets(post->supervisor);
}

/* ---- replacing ----------------------------------------------------------- */

void
post_roll(struct post *post)
{
	struct generation *serving = post->supervisor->serving;

	assert(post->role != ROLE_LOADER);
	assert(post->role == ROLE_WORKER
		|| (post->leaving == NULL && post->next == NULL));
	if (post->supervisor->stopping)
		return;
	if (post->next != NULL && post->next->generation != serving)
		child_stop(post->next);
	if (post->current == NULL) {
		if (post->role != ROLE_WRITER
			&& !event_pending(post->timer, EV_TIMEOUT, NULL))
			post_fill(post, serving);
		return;
	}
	if (post->role != ROLE_WORKER) {
		/* The post is filled again when this process has ended; that
		 * of the writer when xfrd asks for one. */
		child_stop(post->current);
		return;
	}
	if (post->leaving != NULL) {
		/* The post has two workers: the older one ends if its
		 * successor serves; else the successor does. */
		struct child *worse = post->current->serving ? post->leaving
							     : post->current;

		worse->told_stop = true;
		child_kill(worse);
		return; /* reap_child rolls the post again */
	}
	post->leaving = post->current;
	post->current = NULL;
	post_fill(post, serving);
}

void
post_refill(struct post *post, const struct child *lost)
{
	struct supervisor *s = post->supervisor;
	int64_t now = clock_now_msec();
	bool lived_well;

	assert(lost->reaped && post->role != ROLE_WRITER);
	if (s->stopping)
		return;
	lived_well = now - lost->started_msec > POST_LIVED_WELL_MSEC;
	if (lost->told_stop) {
		post->failures = 0;
		if (post->role != ROLE_LOADER)
			post_fill(post, s->serving);
		return;
	}
	if (lived_well) {
		post->failures = 0;
		post->deadly = false;
	}
	if (lost->has_read) {
		post->failures = 0;
		post->wants_next |= !lived_well && post->killed_msec != 0
			&& now - post->killed_msec < POST_LIVED_WELL_MSEC;
		post->killed_msec = now;
		post_tend(post);
		return;
	}
	if (post->role == ROLE_WORKER && !standby_promote(post)
		&& post->failures > 0 && post->leaving == NULL)
		post_lend_sockets(post);
	post_fill_later(post);
}

void
post_lose_next(struct post *post, const struct child *lost)
{
	assert(lost->reaped && post->next == NULL);
	if (post->supervisor->stopping)
		return;
	if (lost->told_stop)
		post_tend(post);
	else
		post_fill_later(post);
}
