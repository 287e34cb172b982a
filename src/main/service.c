/* service.c - the services of main: each is a process of a role that main keeps
 * running, by starting another one when it dies. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "main/barrier.h"
#include "main/child.h"
#include "main/children.h"
#include "main/generation.h"
#include "main/introduce.h"
#include "main/key_change.h"
#include "main/service.h"
#include "main/standby.h"
#include "main/tap_wants.h"
#include "process/counts.h"
#include "process/role.h"
#include "store/store.h"

/* Pauses before a service is started again whose process did not die of a
 * message, by failures in a row, in milliseconds. The first pause is none;
 * later ones grow, so that a process that always dies does not overload the
 * machine. Workers have more short pauses, as clients wait for them. */
static const unsigned service_pauses[] = {0, 1000, 2000, 4000, 8000, 16000,
	30000};
static const unsigned worker_pauses[] = {0, 100, 200, 500, 1000, 1000, 1000,
	1000, 1000, 1000, 2000, 4000, 8000, 16000, 30000};
/* While no worker serves, the pause between two forks of one worker is no
 * longer than this. */
#define ALONE_MSEC 200

#define COUNT(array) ((unsigned)(sizeof(array) / sizeof(*(array))))

/* ---- a new process ------------------------------------------------------- */

static void
service_forget_child(struct child *child, void *arg)
{
	child->page = NULL; /* not mapped here: MADV_DONTFORK */
	child_unwatch(child);
}

/* In a new process: closes and frees what only main uses. */
static void
service_leave_main(struct supervisor *s, struct child *self)
{
	/* Until this call, main and the new process share one epoll set. */
	event_reinit(s->base);
	children_walk(s, service_forget_child, NULL);
	/* The new process keeps its own mapping of the page. */
	self->page = NULL;
	child_unwatch(self);
	/* Events that are left lie in memory that is not used again. */
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
service_leave_privileges(const struct service *service)
{
	const struct privilege_user *worker =
		&service->supervisor->server.worker_user;
	bool is_worker = service->role == ROLE_WORKER;

	if (privilege_leave_main(is_worker ? worker : NULL, !is_worker)
		!= NSD_OK)
		_exit(1);
}

static _Noreturn void
service_run_role(const struct service *service, const struct role_start *start)
{
	switch (service->role) {
	case ROLE_LOADER:
		loader_main(start);
	case ROLE_WORKER:
		worker_main(start);
	case ROLE_XFRD:
		xfrd_main(start);
	case ROLE_WRITER:
		writer_main(start);
	case ROLE_VERIFIER:
		verifier_main(start);
	case ROLE_COLLECTOR:
		collector_main(start);
	case ROLE_MAIN:
		break;
	}
	assert(!"main is no service");
	abort();
}

static _Noreturn void
service_run(struct service *service, struct child *self,
	struct ipc_channel channel)
{
	struct supervisor *s = service->supervisor;
	struct role_start start = {
		.server = &s->server,
		.channel = channel,
		.stop_fd = self->stop_fd,
		.index = service->index,
		.reader_slot = self->reader_slot,
		.page = self->page,
		.stands_by = self->stands_by,
		.is_careful = service->wants_next,
		.proc_fd = -1,
		.verifies = self->verifies,
		.is_behind = s->building != NULL
			&& s->building != self->generation,
	};
	const struct generation *g = self->generation;

	if (g != NULL) {
		start.store = g->store;
		start.past = g->past;
		start.in_file = g == s->in_file;
	}

	assert(self->stop_fd != -1 && self->page != NULL);
	assert(!self->stands_by || service->role == ROLE_WORKER);
	self->stop_fd = -1;
	self->page = NULL;
	if (service->role == ROLE_VERIFIER && s->proc_fd > 0)
		start.proc_fd = fcntl(s->proc_fd, F_DUPFD_CLOEXEC, 3);
	service_leave_main(s, self);
	service_leave_privileges(service);
	if (service->role != ROLE_LOADER && s->server.zones > 0)
		close(s->server.zones);
	counts_leave(s->server.counts, service->role, service->index);
	service_run_role(service, &start);
}

/* ---- sockets of a worker that is down ------------------------------------ */

struct child *
service_find_server(const struct supervisor *s, unsigned first)
{
	for (unsigned i = 0; i < s->worker_count; i++) {
		unsigned index = (first + i) % s->worker_count;
		struct child *worker = s->workers[index].current;

		if (worker != NULL && worker->serving && !worker->hung)
			return worker;
	}
	return NULL;
}

/* Lends the sockets of a service to a worker that serves: the kernel goes on
 * giving these sockets clients, and the service may be down for long. */
static void
service_lend_sockets(struct service *service)
{
	struct supervisor *s = service->supervisor;
	const struct listeners *all = &s->server.listeners;
	struct ipc_adopt adopt = {.server = service->index};
	struct child *adopter = service_find_server(s, 0);
	int fds[IPC_FDS_MAX];
	unsigned count = 0;

	assert(service->role == ROLE_WORKER);
	if (adopter == NULL || service->deadly)
		return;
	for (unsigned i = 0; i < all->count; i++) {
		if (all->items[i].server != service->index)
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
		adopt = (struct ipc_adopt){.server = service->index};
		count = 0;
	}
	if (count > 0)
		(void)child_send(adopter, IPC_ADOPT, &adopt, sizeof(adopt),
			fds, count);
	service->adopter = adopter;
}

bool
service_drop_adopter(struct supervisor *s, const struct child *adopter,
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
			service_lend_sockets(&s->workers[i]);
	}
	return found && crashed;
}

/* Lends the sockets of workers that are down which could not be lent before, as
 * no worker served then. */
static void
service_lend_left_sockets(struct supervisor *s)
{
	for (unsigned i = 0; i < s->worker_count; i++) {
		struct service *service = &s->workers[i];

		if (service->current == NULL && service->leaving == NULL
			&& service->adopter == NULL && service->failures > 1)
			service_lend_sockets(service);
	}
}

/* ---- starting ----------------------------------------------------------- */

/* Forks a process. NULL: that failed, and a timer is set to try again. */
static struct child *
service_fork(struct service *service, struct generation *generation,
	bool stands_by)
{
	struct child *child = child_create(service, generation);
	int64_t before = clock_thread_nsec();
	struct ipc_channel theirs;

	/* A process that no service knows would never be told to end. */
	assert((stands_by ? service->next : service->current) == NULL);
	service->started_msec = clock_now_msec();
	if (child == NULL
		|| ipc_channel_open_pair(ROLE_MAIN, service->role,
			   &child->link.channel, &theirs)
			!= NSD_OK) {
		log_error("cannot start %s: %s", ipc_role_name(service->role),
			strerror(errno));
		if (child != NULL)
			child_unwatch(child);
		free(child);
		service_start_later(service);
		return NULL;
	}
	child->stands_by = stands_by;
	if (!child_watch(child) || (child->pid = fork()) == -1) {
		log_error("cannot start %s: %s", ipc_role_name(service->role),
			strerror(errno));
		child_unwatch(child);
		ipc_channel_close(&theirs);
		free(child);
		service_start_later(service);
		return NULL;
	}
	if (child->pid == 0)
		service_run(service, child, theirs);
	child_keep_page(child);
	ipc_channel_close(&theirs);
	if (generation != NULL)
		generation->users++;
	standby_pay(service->supervisor, clock_now_usec(),
		(clock_thread_nsec() - before) / 1000);
	return child;
}

void
service_start(struct service *service, struct generation *generation)
{
	struct child *child;

	if (service->role == ROLE_XFRD) /* no xfrd runs now */
		key_change_sweep(service->supervisor);
	child = service_fork(service, generation, false);
	if (child == NULL)
		return;
	service->current = child;
	counts_set_process(service->supervisor->server.counts, service->role,
		service->index, child->pid, child->started_msec);
	introduce_child(service->supervisor, child);
	barrier_join(service->supervisor, child);
}

static unsigned
service_choose_pause(const struct service *service)
{
	unsigned n = service->failures;

	if (service->role != ROLE_WORKER)
		return service_pauses[n < COUNT(service_pauses)
			? n : COUNT(service_pauses) - 1];
	return worker_pauses[n < COUNT(worker_pauses)
		? n : COUNT(worker_pauses) - 1];
}

/* The longest pause of a worker while no worker serves. */
static unsigned
service_choose_pause_alone(const struct service *service, int64_t now)
{
	int64_t since_msec = now - service->started_msec;

	return since_msec < ALONE_MSEC ? ALONE_MSEC - (unsigned)since_msec : 0;
}

static void
service_start_in(struct service *service, unsigned pause_msec)
{
	struct timeval when = {.tv_sec = pause_msec / 1000,
		.tv_usec = pause_msec % 1000 * 1000};

	service->due_msec = clock_now_msec() + pause_msec;
	if (event_add(service->timer, &when) == -1)
		log_error("out of memory for a timer");
}

void
service_hurry(struct supervisor *s)
{
	int64_t now = clock_now_msec();

	if (children_serve(s))
		return;
	for (unsigned i = 0; i < s->worker_count; i++) {
		struct service *service = &s->workers[i];
		unsigned pause = service_choose_pause_alone(service, now);

		if (event_pending(service->timer, EV_TIMEOUT, NULL)
			&& service->due_msec > now + pause)
			service_start_in(service, pause);
	}
}

void
service_start_later(struct service *service)
{
	unsigned pause = service_choose_pause(service);

	service->failures++;
	if (service->supervisor->stopping)
		return;
	service_start_in(service, pause);
	if (service->role == ROLE_WORKER)
		service_hurry(service->supervisor);
}

void
service_start_loader(struct supervisor *s)
{
	struct generation *g = generation_choose(s);

	if (g == NULL) {
		service_start_later(&s->loader);
		return;
	}
	service_start(&s->loader, g);
	if (s->loader.current == NULL)
		return;
	g->take_overs++;
	if (g->past < STORE_PAST_USED)
		g->past = STORE_PAST_USED;
}

void
service_start_to_close(struct supervisor *s)
{
	struct generation *g = s->building != NULL ? s->building : s->serving;

	if (s->loader.current != NULL || g == NULL
		|| !generation_is_to_close(s, g))
		return;
	/* During a stop no loader reports LISTED, so every attempt counts. */
	g->take_overs++;
	service_start(&s->loader, g);
	generation_offer_file(s);
}

/* Starts a worker, by its standby process if there is one; then forks another
 * standby process if the service wants one. */
static void
service_tend(struct service *service)
{
	struct supervisor *s = service->supervisor;
	unsigned wait;

	assert(service->role == ROLE_WORKER);
	if (service->current == NULL)
		(void)standby_promote(service);
	if (service->current != NULL
		&& (!service->wants_next || service->next != NULL))
		return;
	wait = standby_wait(s, clock_now_usec());
	if (wait > 0) {
		service_start_in(service, wait);
		return;
	}
	if (service->current == NULL) {
		service_start(service, s->serving);
		return;
	}
	if (!standby_has_room(s, STANDBY_SPARE))
		return; /* the next death tries again */
	service->next = service_fork(service, s->serving, true);
	if (service->next != NULL)
		introduce_child(s, service->next);
}

/* Starts a collector, if one is still wanted. */
static void
service_start_collector(struct service *service)
{
	struct supervisor *s = service->supervisor;

	if (!s->stopping && service->current == NULL
		&& tap_wants_collector(s->server.conf,
			s->sinks.said))
		service_start(service, NULL);
}

static void
service_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct service *service = arg;
	struct supervisor *s = service->supervisor;

	if (service->role == ROLE_WRITER) {
		service_want_writer(s);
		return;
	}
	if (service->role == ROLE_VERIFIER) {
		service_want_verifier(s);
		return;
	}
	if (service->role == ROLE_COLLECTOR) {
		service_start_collector(service);
		return;
	}
	if (s->stopping)
		return;
	if (service->role == ROLE_WORKER && s->serving != NULL
		&& service != &s->verify_server) {
		service_tend(service);
		/* If the fork failed, another worker serves its clients. */
		service_lend_left_sockets(s);
		return;
	}
	if (service->current != NULL)
		return;
	if (service->role == ROLE_LOADER)
		service_start_loader(s);
	else if (s->serving != NULL)
		service_start(service, s->serving);
}

bool
service_init(struct service *service, struct supervisor *s, enum ipc_role role,
	unsigned index)
{
	service->supervisor = s;
	service->role = role;
	service->index = index;
	service->timer = event_new(s->base, -1, 0, service_on_timer, service);
	return service->timer != NULL;
}

/* ---- the writer and the verifier ----------------------------------------- */

/* The shortest pause between two writers, however often xfrd asks for one. */
#define WRITER_PAUSE_MSEC 1000
/* The longest pause after a verifier that has died, perhaps by a program that
 * judges one zone: other zones wait for the next one. */
#define VERIFIER_PAUSE_MSEC 1000

/* Starts a service on demand: once its pause is over. */
static void
service_want(struct service *service, struct generation *generation)
{
	int64_t left = service->rests_until - clock_now_msec();
	struct timeval when;

	if (service->current != NULL
		|| event_pending(service->timer, EV_TIMEOUT, NULL))
		return;
	if (left <= 0) {
		service_start(service, generation);
		return;
	}
	when = (struct timeval){.tv_sec = left / 1000,
		.tv_usec = left % 1000 * 1000};
	if (event_add(service->timer, &when) == -1)
		log_error("out of memory for a timer");
}

/* At a stop one is forked for xfrd alone, which ends when all is written. */
static bool
service_may_start_writer(const struct supervisor *s)
{
	return s->serving != NULL
		&& (!s->stopping || s->xfrd.current != NULL);
}

void
service_want_writer(struct supervisor *s)
{
	if (service_may_start_writer(s))
		service_want(&s->writer, s->serving);
}

void
service_want_verifier(struct supervisor *s)
{
	struct child *verifier = s->verifier.current;
	struct child *loader = s->loader.current;

	s->verifier_wanted = false;
	if (s->stopping || loader == NULL)
		return;
	if (verifier == NULL) {
		service_want(&s->verifier, loader->generation);
		return;
	}
	/* A verifier that ends, or was another loader's, has a
	 * successor. */
	s->verifier_wanted = verifier->told_stop
		|| verifier->channel_to_loader == 0;
	if (s->verifier_wanted)
		child_stop(verifier);
}

void
service_rest(struct service *service, const struct child *lost, int status)
{
	int64_t now = clock_now_msec();
	unsigned pause = service->role == ROLE_WRITER ? WRITER_PAUSE_MSEC : 0;

	assert((service->role & CHILD_ON_DEMAND) != 0 && lost->reaped);
	if (status == 0 || lost->told_stop
		|| now - lost->started_msec > SERVICE_LIVED_WELL_MSEC)
		service->failures = 0;
	else
		service->failures++;
	if (service->failures > 0 && service_choose_pause(service) > pause)
		pause = service_choose_pause(service);
	if (service->role == ROLE_VERIFIER && pause > VERIFIER_PAUSE_MSEC)
		pause = VERIFIER_PAUSE_MSEC;
	service->rests_until = now + pause;
	if (service->role == ROLE_VERIFIER
		&& service->supervisor->verifier_wanted)
		service_want_verifier(service->supervisor);
}

void
service_start_to_write(struct supervisor *s)
{
	if (s->writer.current == NULL && s->xfrd.current != NULL
		&& s->serving != NULL && s->server.may_write
		&& s->server.conf->server.zonefiles_write > 0)
		service_start(&s->writer, s->serving);
}

/* ---- serving ------------------------------------------------------------- */

void
service_on_serving(struct service *service)
{
	struct ipc_adopt adopt = {.server = service->index};

	assert(service->role == ROLE_WORKER && !service->current->reaped);
	service->current->serving = true;
	service_tend(service);
	if (service->adopter != NULL)
		(void)child_send(service->adopter, IPC_RELEASE, &adopt,
			sizeof(adopt), NULL, 0);
	service->adopter = NULL;
	if (service->leaving != NULL && !service->leaving->told_stop)
		child_stop(service->leaving);
	service_lend_left_sockets(service->supervisor);
}

/* ---- replacing ----------------------------------------------------------- */

void
service_restart(struct service *service)
{
	struct generation *serving = service->supervisor->serving;

	assert(service->role != ROLE_LOADER);
	assert(service->role == ROLE_WORKER
		|| (service->leaving == NULL && service->next == NULL));
	if (service->supervisor->stopping)
		return;
	if (service->next != NULL && service->next->generation != serving)
		child_stop(service->next);
	if (service->current == NULL) {
		if ((service->role & CHILD_ON_DEMAND) == 0
			&& !event_pending(service->timer, EV_TIMEOUT, NULL))
			service_start(service, serving);
		return;
	}
	if (service->role != ROLE_WORKER
		|| service == &service->supervisor->verify_server) {
		/* The service is started again when this process has ended; the
		 * writer and the verifier when one is asked for. */
		child_stop(service->current);
		return;
	}
	if (service->leaving != NULL) {
		/* The service has two workers: the older one ends if its
		 * successor serves; else the successor does. */
		struct child *worse = service->current->serving
			? service->leaving
							     : service->current;

		worse->told_stop = true;
		child_kill(worse);
		return; /* reap_child restarts it again */
	}
	service->leaving = service->current;
	service->current = NULL;
	service_start(service, serving);
}

void
service_respawn(struct service *service, const struct child *lost)
{
	struct supervisor *s = service->supervisor;
	int64_t now = clock_now_msec();
	bool lived_well;

	assert(lost->reaped && (service->role & CHILD_ON_DEMAND) == 0);
	if (s->stopping)
		return;
	if (service->role == ROLE_COLLECTOR && lost->told_stop) {
		service->failures = 0;
		service_start_collector(service);
		return;
	}
	lived_well = now - lost->started_msec > SERVICE_LIVED_WELL_MSEC;
	if (lost->told_stop) {
		service->failures = 0;
		if (service->role != ROLE_LOADER)
			service_start(service, s->serving);
		return;
	}
	if (lived_well) {
		service->failures = 0;
		service->deadly = false;
	}
	if (lost->has_read && !lost->verifies) {
		service->failures = 0;
		service->wants_next |= !lived_well && service->killed_msec != 0
			&& now - service->killed_msec < SERVICE_LIVED_WELL_MSEC;
		service->killed_msec = now;
		service_tend(service);
		return;
	}
	if (service->role == ROLE_WORKER && !lost->verifies
		&& !standby_promote(service)
		&& service->failures > 0 && service->leaving == NULL)
		service_lend_sockets(service);
	service_start_later(service);
}

void
service_lose_next(struct service *service, const struct child *lost)
{
	assert(lost->reaped && service->next == NULL);
	if (service->supervisor->stopping)
		return;
	if (lost->told_stop)
		service_tend(service);
	else
		service_start_later(service);
}
