/* supervisor.c - the loop of main: signals, messages, the end of the start. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "ipc/handlers.h"
#include "loader/database.h"
#include "main/child.h"
#include "main/children.h"
#include "main/generation.h"
#include "main/hup.h"
#include "main/log_change.h"
#include "main/periods.h"
#include "main/reap.h"
#include "main/reload.h"
#include "main/service.h"
#include "main/supervisor.h"
#include "main/tap_wants.h"
#include "process/counts.h"
#include "process/hooks.h"
#include "process/tls_texts.h"
#include "store/store.h"

/* How long clients wait at most for the first pass over the zones. */
#define START_WAIT_SEC 1

/* ---- the end of the start ------------------------------------------------ */

/* Ends the wait of the process that started the daemon. */
static void
supervisor_release(struct supervisor *s)
{
	log_set_copy_errors(false);
	daemon_ready(&s->daemon);
}

static void
supervisor_on_started(struct supervisor *s)
{
	assert(s->untried == 0);
	log_notice("nsd started (%s), pid %ld", PACKAGE_STRING,
		(long)getpid());
	supervisor_release(s);
	if (s->loaded)
		systemd_ready(&s->systemd, s->result.zones, s->result.failed);
}


/* Takes the verdict of a process on its keys and certificates: the first one of
 * a role speaks for all. */
static void
supervisor_on_tls_tried(struct supervisor *s, struct child *child,
	const struct ipc_message *m)
{
	struct diag_sink sink = {.on_diag = log_diag};
	struct trial_report report;
	char said[TRIAL_TEXT_MAX];
	enum nsd_err err;

	memcpy(&report, m->payload, sizeof(report));
	err = trial_read(&report, said);
	/* Failures other than of the texts may pass: the process that failed is
	 * replaced. */
	if ((s->untried & child->role) == 0
		|| (err != NSD_OK && err != NSD_E_SYNTAX))
		return;
	if (err == NSD_OK) {
		s->untried &= ~(unsigned)child->role;
		if (s->untried == 0)
			supervisor_on_started(s);
		return;
	}
	diag_emit(&sink, DIAG_ERROR, NULL, 0, 0, "%s", said);
	if (child->role == ROLE_WORKER)
		tls_texts_refuse(&s->server.conf->server, &sink);
	else
		control_listeners_refuse();
	s->failed = true;
	event_active(s->end_event, EV_TIMEOUT, 0);
}

/* ---- serving ------------------------------------------------------------- */

/* Has workers serve this store. */
static void
supervisor_serve(struct supervisor *s, struct generation *g)
{
	struct generation *old = s->serving;

	assert(g != NULL && g != old);
	if (old == NULL && s->untried == 0)
		supervisor_on_started(s);
	s->serving = g;
	s->building = NULL;
	s->fill_ended_msec = old != NULL ? clock_now_msec() : 0;
	for (unsigned i = 0; i < s->worker_count; i++)
		service_restart(&s->workers[i]);
	if (s->server.conf->verify.enable)
		service_restart(&s->verify_server);
	service_restart(&s->xfrd);
	service_restart(&s->writer);
	if (old != NULL)
		(void)generation_release(s, old);
}

/* ---- messages ----------------------------------------------------------- */

static void
supervisor_on_loaded(struct supervisor *s, struct child *loader,
	const struct ipc_message *m)
{
	struct ipc_loaded said = {.unread = 0};
	struct ipc_load_result result;

	memcpy(&said, m->payload, m->len);
	result = said.result;
	log_at(1, LOG_LEVEL_INFO, "%llu zones: %llu read, %llu failed",
		(unsigned long long)result.zones,
		(unsigned long long)result.read,
		(unsigned long long)result.failed);
	loader->generation->past = STORE_PAST_LOADED;
	loader->loaded = true;
	/* The served store has all zones, the one beside it would not. */
	if (result.failed > 0
		&& generation_is_beside(s, loader->generation)) {
		child_kill(loader);
		return;
	}
	/* The served store is kept until the new one has the latest
	 * configuration. */
	if (loader->generation == s->building
		&& (s->serving == NULL || said.conf == s->server.conf_number))
		supervisor_serve(s, s->building);
	/* The pass may have been over the zones of an earlier configuration. */
	if (said.conf == s->server.conf_number)
		reconfig_on_loaded(s, &said, m->len - IPC_LOADED_MIN);
	/* A loader that got so far does not fail at its start. */
	if (s->loader.failures > 1)
		s->loader.failures = 1;
	s->loaded = true;
	s->result = result;
	if (s->untried == 0)
		systemd_ready(&s->systemd, result.zones, result.failed);
	if (s->reload_wanted)
		reload_begin(s);
}

static void
supervisor_on_listed(struct supervisor *s, struct child *loader,
	const struct ipc_message *m)
{
	struct generation *g = loader->generation;

	if (g->past < STORE_PAST_LISTED)
		g->past = STORE_PAST_LISTED;
	g->take_overs = 0;
	generation_offer_file(s);
	key_change_on_listed(s, loader);
	if (s->waited && s->serving == NULL)
		supervisor_serve(s, g);
}

static void
supervisor_on_damaged(struct supervisor *s, struct child *loader,
	const struct ipc_message *m)
{
	loader->generation->damaged = true;
	/* Clients may wait for the next loader, which fills another store. */
	if (s->loader.failures > 1)
		s->loader.failures = 1;
}

static void
supervisor_on_crowded(struct supervisor *s, struct child *loader,
	const struct ipc_message *m)
{
	if (!loader->reaped)
		generation_yield(s, loader->generation,
			"there is no room for two versions in one");
}

static void
supervisor_on_altered(struct supervisor *s, struct child *loader,
	const struct ipc_message *m)
{
	loader->generation->altered = true;
}

static void
supervisor_on_reloaded(struct supervisor *s, struct child *loader,
	const struct ipc_message *m)
{
	struct ipc_load_result result;

	s->reloading = false;
	if (s->reload_wanted) {
		reload_begin(s);
		return;
	}
	memcpy(&result, m->payload, sizeof(result));
	systemd_ready(&s->systemd, result.zones, result.failed);
}

static void
supervisor_on_want_writer(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m)
{
	service_want_writer(s);
}

static void
supervisor_on_want_verifier(struct supervisor *s, struct child *loader,
	const struct ipc_message *m)
{
	if (!loader->reaped)
		service_want_verifier(s);
}

static void
supervisor_on_serving(struct supervisor *s, struct child *worker,
	const struct ipc_message *m)
{
	struct service *service = &s->workers[worker->index];

	if (worker->verifies)
		return;
	assert(worker->role == ROLE_WORKER && worker->index < s->worker_count);
	/* A dead worker serves no client. */
	if (service->current == worker && !worker->reaped)
		service_on_serving(service);
}

static void
supervisor_on_stop(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m)
{
	event_active(s->end_event, EV_TIMEOUT, 0);
}

#define SUPERVISOR_HANDLERS(X)                                               \
	X(LISTED, supervisor_on_listed)                                      \
	X(LOADED, supervisor_on_loaded)                                      \
	X(CROWDED, supervisor_on_crowded)                                    \
	X(ALTERED, supervisor_on_altered)                                    \
	X(RELOADED, supervisor_on_reloaded)                                  \
	X(DAMAGED, supervisor_on_damaged)                                    \
	X(WANT_WRITER, supervisor_on_want_writer)                            \
	X(WANT_VERIFIER, supervisor_on_want_verifier)                        \
	X(RECONFIG, reconfig_on_reconfig)                                    \
	X(KEY, key_change_on_key)                                            \
	X(KEY_DONE, key_change_on_done)                                      \
	X(COOKIES, cookie_keeper_on_cookies)                                 \
	X(SERVING, supervisor_on_serving)                                    \
	X(WANT_SINK, sinks_on_want)                                          \
	X(HOLDER, holder_on_holder)                                          \
	X(TLS_TRIED, supervisor_on_tls_tried)                                \
	X(STOP, supervisor_on_stop)                                          \
	X(BROADCAST, broadcast_on_broadcast)                                 \
	X(OBEYED, barrier_on_obeyed)

static void (*const supervisor_handlers[IPC_TYPE_COUNT])(struct supervisor *s,
	struct child *child, const struct ipc_message *m) = {
	SUPERVISOR_HANDLERS(IPC_HANDLER)};
IPC_CHECK_HANDLERS(SUPERVISOR_HANDLERS, IPC_TO_MAIN);

/* ---- signals and timers ------------------------------------------------- */

static void
supervisor_check_stopped(struct supervisor *s)
{
	if (s->stopping && children_count(s) == 0)
		event_base_loopbreak(s->base);
}

static void
supervisor_end(struct supervisor *s)
{
	/* The dead are reaped first, as they cannot be told. If the signal went
	 * to all processes, some have ended by it already, and are not
	 * replaced. */
	s->stopping = true;
	systemd_stopping(&s->systemd);
	reap_children(s);
	service_start_to_close(s);
	service_start_to_write(s);
	children_stop(s);
	supervisor_check_stopped(s);
}

static void
supervisor_stop(struct supervisor *s)
{
	if (s->stopping) {
		/* Only workers have nothing to write. */
		log_warning("signal received again, ending connections...");
		children_kill_workers(s);
		return;
	}
	log_warning("signal received, shutting down...");
	supervisor_end(s);
}

static void
supervisor_on_end(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;

	if (!s->failed)
		supervisor_stop(s);
	else if (!s->stopping)
		supervisor_end(s);
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
			hup_take(s);
			break;
		case SIGUSR1:
		case SIGILL:
			periods_log(s);
			break;
		default:
			break;
		}
	}
	reap_children(s);
	supervisor_check_stopped(s);
}

static void
supervisor_on_start(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;

	s->waited = true;
	if (!s->stopping && s->serving == NULL && s->building != NULL
		&& s->building->past >= STORE_PAST_LISTED)
		supervisor_serve(s, s->building);
}

/* ---- start -------------------------------------------------------------- */

/* Signals are read from a descriptor, so that they come between two events. A
 * SIGILL that is caused and not sent still ends the process. */
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
	s->end_event = event_new(s->base, -1, 0, supervisor_on_end, s);
	if (s->signal_event == NULL || s->start_event == NULL
		|| s->end_event == NULL
		|| periods_init(s) != NSD_OK
		|| event_add(s->signal_event, NULL) == -1
		|| watch_open(s) != NSD_OK || broadcast_init(s) != NSD_OK
		|| reconfig_init_events(s) != NSD_OK
		|| key_change_init(s) != NSD_OK || hup_init(s) != NSD_OK
		|| certificates_init(s) != NSD_OK)
		return NSD_E_MEMORY;
	if (!service_init(&s->loader, s, ROLE_LOADER, 0)
		|| !service_init(&s->xfrd, s, ROLE_XFRD, 0)
		|| !service_init(&s->writer, s, ROLE_WRITER, 0)
		|| !service_init(&s->verifier, s, ROLE_VERIFIER, 0)
		|| !service_init(&s->collector, s, ROLE_COLLECTOR, 0))
		return NSD_E_MEMORY;
	if (!service_init(&s->verify_server, s, ROLE_WORKER, s->worker_count))
		return NSD_E_MEMORY;
	for (unsigned i = 0; i < s->worker_count; i++)
		if (!service_init(&s->workers[i], s, ROLE_WORKER, i))
			return NSD_E_MEMORY;
	return systemd_watch(&s->systemd, s->base);
}

enum nsd_err
supervisor_init(struct supervisor *s, bool in_chroot, uid_t owner)
{
	enum nsd_err err;

	assert(s->server.conf->server.server_count > 0);
	s->handlers = supervisor_handlers;
	s->worker_count = s->server.conf->server.server_count;
	s->workers = calloc(s->worker_count, sizeof(*s->workers));
	s->signal_fd = supervisor_open_signals();
	if (s->signal_fd == -1)
		return NSD_E_SYSTEM;
	err = s->workers != NULL ? supervisor_init_events(s) : NSD_E_MEMORY;
	if (err == NSD_OK)
		s->database = database_open(&s->server.conf->server, owner,
			SERVICE_READERS * s->worker_count + SUPERVISOR_READERS);
	/* Stores are opened again by way of /proc, which a chroot mostly does
	 * not have. */
	if (err == NSD_OK && in_chroot) {
		s->self_fds = open("/proc/self/fd",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (s->self_fds == -1)
			return NSD_E_SYSTEM;
	}
	return err;
}

unsigned
supervisor_count_descriptors(const struct supervisor *s, bool all)
{
	const struct conf *conf = s->server.conf;
	unsigned store = s->database == NULL ? STORE_DESCRIPTORS : 0;
	unsigned children = s->worker_count + 2; /* loader and xfrd */

	if (conf->verify.enable)
		children += 2; /* verifier and verify server */
	if (tap_wants_collector(conf, s->sinks.said))
		children++;
	/* Each child has a channel, and another end of it until it is forked,
	 * and a word to stop; two are made known to each other. */
	return all ? store + 2 * children + 2 : store + 2 * 2 + 1;
}

bool
supervisor_run(struct supervisor *s)
{
	struct timeval wait = {.tv_sec = START_WAIT_SEC};

	s->untried = (s->server.tls != NULL ? ROLE_WORKER : 0)
		| (s->server.control.pem != NULL ? ROLE_XFRD : 0);
	if (s->untried == 0)
		supervisor_release(s);
	counts_set_process(s->server.counts, ROLE_MAIN, 0, getpid(),
		clock_now_msec());
	event_add(s->start_event, &wait);
	periods_begin(s);
	service_start_loader(s);
	sinks_begin(s);
	if (s->server.hooks != NULL && s->server.hooks->on_main != NULL)
		s->server.hooks->on_main(s);
	event_base_dispatch(s->base);
	return !s->failed;
}
