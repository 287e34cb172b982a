/* supervisor.c - what main does for as long as the server runs. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/priority.h"
#include "proc/children.h"
#include "proc/database.h"
#include "proc/supervisor.h"
#include "proc/zone_change.h"
#include "store/store.h"

/* How long clients are made to wait for the first pass over the zones. */
#define START_WAIT_SEC 1

/* ---- generations -------------------------------------------------------- */

static enum nsd_err
store_make(const struct supervisor *s, struct store **store)
{
	struct store_options options = {
		.reader_max = s->worker_count + 1,
		.huge_pages = true,
		.self_fds = s->self_fds,
	};

	return store_create(&options, store);
}

static struct generation *
generation_create(struct supervisor *s)
{
	struct generation *g = calloc(1, sizeof(*g));
	enum nsd_err err = NSD_E_MEMORY;

	if (g != NULL && s->database != NULL) {
		g->store = s->database;
		g->in_file = true;
		s->database = NULL;
		return g;
	}
	if (g != NULL)
		err = store_make(s, &g->store);
	if (err != NSD_OK) {
		log_error("cannot make a zone store: %s",
			err == NSD_E_SYSTEM ? strerror(errno)
					    : err_text(err));
		free(g);
		return NULL;
	}
	return g;
}

/* The store for the next loader: the one that there is, if it is sound. */
static struct generation *
generation_choose(struct supervisor *s)
{
	struct generation *g = s->building != NULL ? s->building : s->serving;

	/* One in memory that no loader has come to list is empty: it is not
	 * the store that they die of. */
	if (g != NULL && (g->listed || g->in_file)
		&& g->take_overs >= TAKE_OVERS_MAX) {
		log_error("%u loaders could not take over the zone store",
			g->take_overs);
		g->damaged = true;
	}
	if (g != NULL && !g->damaged)
		return g;
	if (g != NULL)
		log_error("the zone store is left behind, a new one%s is"
			  " filled from zone files",
			g->in_file ? " in memory" : "");
	if (s->building != NULL) {
		s->building = NULL;
		generation_release(s, g);
	}
	s->building = generation_create(s);
	return s->building;
}

/* At a clean stop its loader fills the file of the store that was damaged. */
static void
supervisor_offer_file(struct supervisor *s)
{
	int fd;

	if (s->kept == NULL || s->loader.current == NULL
		|| s->loader.current->generation->in_file)
		return;
	fd = store_keep_file(s->kept);
	(void)child_send(s->loader.current, IPC_DATABASE, NULL, 0, &fd, 1);
}

void
supervisor_keep_file(struct supervisor *s, struct store *store)
{
	s->kept = store;
	(void)store_keep_file(store);
	supervisor_offer_file(s);
}

/* A loader is wanted. */
static void
supervisor_start_loader(struct supervisor *s)
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
	g->used = true;
}

/* From now on workers serve what is in this store. */
static void
supervisor_serve(struct supervisor *s, struct generation *g)
{
	struct generation *old = s->serving;

	if (old == NULL)
		log_notice("nsd started (%s), pid %ld", PACKAGE_STRING,
			(long)getpid());
	s->serving = g;
	s->building = NULL;
	for (unsigned i = 0; i < s->worker_count; i++)
		post_roll(&s->workers[i]);
	post_roll(&s->xfrd);
	if (old != NULL)
		generation_release(s, old);
}

/* ---- messages ----------------------------------------------------------- */

static void
supervisor_reload(struct supervisor *s)
{
	/* One at a time; what comes meanwhile joins the next. Without a loader
	 * the next one is told once it is ready. */
	if (s->reloading || s->loader.current == NULL) {
		s->reload_wanted = true;
		return;
	}
	s->reloading = child_send(s->loader.current, IPC_RELOAD, NULL, 0, NULL,
			       0)
		== NSD_OK;
	/* It may be dead, and not reaped yet. */
	s->reload_wanted = !s->reloading;
}

static void
supervisor_on_loaded(struct supervisor *s, const struct child *loader,
	const struct ipc_message *m)
{
	struct ipc_load_result result;

	memcpy(&result, m->payload, sizeof(result));
	log_at(1, LOG_LEVEL_INFO, "%llu zones: %llu read, %llu failed",
		(unsigned long long)result.zones,
		(unsigned long long)result.read,
		(unsigned long long)result.failed);
	loader->generation->loaded = true;
	/* Changes come through us. */
	priority_answer();
	if (loader->generation == s->building)
		supervisor_serve(s, s->building);
	/* One that got so far is no failure from its start. */
	if (s->loader.failures > 1)
		s->loader.failures = 1;
	if (s->reload_wanted)
		supervisor_reload(s);
}

void
supervisor_on_message(struct supervisor *s, struct child *child,
	const struct ipc_message *m)
{
	if (s->stopping)
		return;
	switch (m->type) {
	case IPC_LISTED:
		child->generation->listed = true;
		child->generation->take_overs = 0;
		supervisor_offer_file(s);
		if (s->waited && s->serving == NULL)
			supervisor_serve(s, child->generation);
		break;
	case IPC_DAMAGED:
		child->generation->damaged = true;
		break;
	case IPC_LOADED:
		supervisor_on_loaded(s, child, m);
		break;
	case IPC_RELOADED:
		s->reloading = false;
		if (s->reload_wanted)
			supervisor_reload(s);
		break;
	case IPC_UPDATED: {
		struct ipc_updated result;

		memcpy(&result, m->payload, sizeof(result));
		if (s->hooks != NULL)
			s->hooks->on_updated(&result, s->hooks->ctx);
		break;
	}
	case IPC_ZONE_CHANGED:
		zone_change_on_done(s, m);
		break;
	case IPC_SERVING:
		if (s->workers[child->index].current == child)
			post_on_serving(&s->workers[child->index]);
		break;
	default:
		break;
	}
}

/* ---- signals and timers ------------------------------------------------- */

static void
supervisor_check_stopped(struct supervisor *s)
{
	if (s->stopping && children_count(s) == 0)
		event_base_loopbreak(s->base);
}

/* It has zones that a file is to keep, and a loader may yet come to do so. */
static bool
generation_is_to_close(const struct supervisor *s, const struct generation *g)
{
	bool has_file = g->in_file || s->kept != NULL;

	return has_file && g->listed && !g->damaged
		&& g->take_overs < TAKE_OVERS_MAX;
}

/* Only a loader can close the file of a store: while none is there, because
 * the last one has died, another one takes over to do so. */
static void
supervisor_fill_to_close(struct supervisor *s)
{
	struct generation *g = s->building != NULL ? s->building : s->serving;

	if (s->loader.current != NULL || g == NULL
		|| !generation_is_to_close(s, g))
		return;
	/* None says that it has listed them, now: so many may try. */
	g->take_overs++;
	post_fill(&s->loader, g);
	supervisor_offer_file(s);
}

void
supervisor_on_loader_lost(struct supervisor *s)
{
	supervisor_fill_to_close(s);
	if (s->loader.current != NULL)
		child_stop(s->loader.current);
}

static void
supervisor_stop(struct supervisor *s)
{
	if (s->stopping) {
		children_kill(s);
		return;
	}
	log_warning("signal received, shutting down...");
	/* Those that are dead cannot be told. */
	children_reap(s);
	s->stopping = true;
	supervisor_fill_to_close(s);
	children_stop(s);
	supervisor_check_stopped(s);
}

static void
supervisor_hup(struct supervisor *s)
{
	int fd;

	if (s->stopping)
		return;
	log_warning("SIGHUP received, reloading...");
	log_reopen();
	fd = log_fd();
	if (fd != -1)
		children_tell(s, IPC_LOG_REOPEN, &fd, 1);
	if (s->server.conf->server.zonefiles_check)
		supervisor_reload(s);
}

static void
supervisor_on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGTERM:
		case SIGINT:
			supervisor_stop(s);
			break;
		case SIGHUP:
			supervisor_hup(s);
			break;
		case SIGUSR1:
		case SIGILL:
			children_tell(s, IPC_STATISTICS, NULL, 0);
			break;
		default:
			break;
		}
	}
	children_reap(s);
	supervisor_check_stopped(s);
}

static void
supervisor_on_start(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;

	s->waited = true;
	if (s->serving == NULL && s->building != NULL && s->building->listed)
		supervisor_serve(s, s->building);
}

static void
supervisor_on_statistics(evutil_socket_t fd, short what, void *arg)
{
	children_tell(arg, IPC_STATISTICS, NULL, 0);
}

static void
post_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct post *post = arg;
	struct supervisor *s = post->supervisor;

	if (s->stopping || post->current != NULL)
		return;
	if (post->role == ROLE_LOADER)
		supervisor_start_loader(s);
	else if (s->serving != NULL)
		post_fill(post, s->serving);
}

/* ---- start -------------------------------------------------------------- */

static bool
post_init(struct post *post, struct supervisor *s, enum ipc_role role,
	unsigned index)
{
	post->supervisor = s;
	post->role = role;
	post->index = index;
	post->timer = event_new(s->base, -1, 0, post_on_timer, post);
	return post->timer != NULL;
}

/* Read from a descriptor, a signal finds main between two events; a SIGILL
 * that is not sent but caused still ends the process. */
static int
supervisor_open_signals(void)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGILL,
		SIGALRM, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static enum nsd_err
supervisor_init_events(struct supervisor *s)
{
	s->base = event_base_new();
	if (s->base == NULL)
		return NSD_E_MEMORY;
	s->signal_event = event_new(s->base, s->signal_fd,
		EV_READ | EV_PERSIST, supervisor_on_signal, s);
	s->start_event = event_new(s->base, -1, 0, supervisor_on_start, s);
	s->statistics_event = event_new(s->base, -1, EV_PERSIST,
		supervisor_on_statistics, s);
	if (s->signal_event == NULL || s->start_event == NULL
		|| s->statistics_event == NULL
		|| event_add(s->signal_event, NULL) == -1)
		return NSD_E_MEMORY;
	if (!post_init(&s->loader, s, ROLE_LOADER, 0)
		|| !post_init(&s->xfrd, s, ROLE_XFRD, 0))
		return NSD_E_MEMORY;
	for (unsigned i = 0; i < s->worker_count; i++)
		if (!post_init(&s->workers[i], s, ROLE_WORKER, i))
			return NSD_E_MEMORY;
	return NSD_OK;
}

enum nsd_err
supervisor_init(struct supervisor *s, bool in_chroot, uid_t owner)
{
	enum nsd_err err;

	s->worker_count = s->server.conf->server.server_count;
	s->workers = calloc(s->worker_count, sizeof(*s->workers));
	s->signal_fd = supervisor_open_signals();
	if (s->signal_fd == -1)
		return NSD_E_SYSTEM;
	err = s->workers != NULL ? supervisor_init_events(s) : NSD_E_MEMORY;
	if (err == NSD_OK)
		s->database = database_open(&s->server.conf->server, owner,
			s->worker_count + 1);
	/* A chroot mostly has no /proc, by which stores are opened again. */
	if (err == NSD_OK && in_chroot) {
		s->self_fds = open("/proc/self/fd",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (s->self_fds == -1)
			return NSD_E_SYSTEM;
	}
	return err;
}

void
supervisor_run(struct supervisor *s)
{
	struct timeval wait = {.tv_sec = START_WAIT_SEC};
	struct timeval period = {
		.tv_sec = (time_t)s->server.conf->server.statistics,
	};

	event_add(s->start_event, &wait);
	if (period.tv_sec > 0)
		event_add(s->statistics_event, &period);
	supervisor_start_loader(s);
	if (s->hooks != NULL)
		s->hooks->on_run(s, s->hooks->ctx);
	event_base_dispatch(s->base);
}
