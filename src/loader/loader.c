/* loader.c - the role that reads zone files into the store, which only it
 * writes. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/platform.h"
#include "base/priority.h"
#include "ipc/handlers.h"
#include "loader/conf_zones.h"
#include "loader/database.h"
#include "loader/load_expiry.h"
#include "loader/load_list.h"
#include "loader/load_loop.h"
#include "loader/loader.h"
#include "process/affinity.h"
#include "store/store.h"
#include "store/writer.h"

/* The wait for main's word after a SIGTERM. */
#define TERM_WAIT_SEC 5
/* The wait for readers to end: longer than main waits before it kills
 * (child.c). */
#define READERS_WAIT_MSEC 30000
#define READERS_STEP_USEC 1000
/* How long lines may wait for room in the log, such as those about many zones
 * at once. */
#define LOG_PATIENCE_MSEC 250

/* ---- messages ------------------------------------------------------------ */

/* No thread may be at work on a store in a file when that is closed. */
static void
loader_on_stop(struct role *role)
{
	struct loader *loader = (struct loader *)role;

	loader->stopping = true;
	if (loader->pool != NULL)
		load_pool_cancel(loader->pool);
	loader_cancel_transfers(loader);
	loader_drop_verdict(loader, NULL);
	loader_end_threads(loader);
}


/*
 * A store that outlasts the server is closed at main's word only: before that,
 * other processes still read it. If the signal went to all processes, the word
 * comes soon.
 */
static void
loader_on_term(struct role *role)
{
	struct loader *loader = (struct loader *)role;
	const struct timeval wait = {.tv_sec = TERM_WAIT_SEC};

	if (loader->close == LOADER_CLOSE_NONE
		|| event_add(loader->alone_event, &wait) == -1)
		role_stop(role);
}

static void
loader_on_alone(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;

	log_warning("the loader was told to end, and the server was not:"
		    " the database stays open");
	loader->stopping = false;
	role_stop(&loader->role);
}

/* The file of a damaged database: the store in memory is to be left there.
 * Threads must be done before it can be written. */
static void
loader_on_database(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;

	/* A store in a file needs no other file. */
	if (m->fd_count != 1 || loader->close == LOADER_CLOSE_FILE)
		return;
	if (loader->close == LOADER_CLOSE_IMAGE)
		close(loader->image_fd);
	loader->image_fd = fcntl(m->fds[0], F_DUPFD_CLOEXEC, 0);
	loader->close = loader->image_fd != -1 ? LOADER_CLOSE_IMAGE
					       : LOADER_CLOSE_NONE;
	if (loader->close == LOADER_CLOSE_IMAGE)
		loader->role.on_stop = loader_on_stop;
}

#define LOADER_HANDLERS(X)                                                   \
	ROLE_HANDLERS(X)                                                     \
	X(STATISTICS, loader_on_statistics)                                  \
	X(RELOAD, loader_on_reload)                                          \
	X(DATABASE, loader_on_database)                                      \
	X(CONFIGURE, loader_on_configure)                                    \
	X(UPDATE, loader_on_update)                                          \
	X(EXPIRY, loader_on_expiry)                                          \
	X(CHANGE_ZONE, loader_on_change_zone)                                \
	X(CHANGE_KEY, loader_on_change_key)                                  \
	X(READ, loader_on_read)                                              \
	X(FILE_WRITTEN, loader_on_file_written)                              \
	X(VERIFIED, loader_on_verified)

static void (*const loader_handlers[IPC_TYPE_COUNT])(struct role *role,
	const struct ipc_message *m) = {LOADER_HANDLERS(IPC_HANDLER)};
IPC_CHECK_HANDLERS(LOADER_HANDLERS, IPC_TO_LOADER);

/* Prepares the zones that a predecessor left for updates, as indexes do not
 * outlive a loader. */
static void
loader_prepare(struct loader *loader)
{
	load_prepare_begin(&loader->prepare, loader->writer,
		loader->set.zones, loader->set.count);
	if (loader->prepare.count > 0)
		loader_idle(loader);
}

/* ---- start --------------------------------------------------------------- */

/* Goes on with the zones that a predecessor has left in the store; frees the
 * rest. */
static enum nsd_err
loader_take_over(struct loader *loader)
{
	struct store_stats stats;
	uint64_t octets;
	enum nsd_err err;

	if (loader->past < STORE_PAST_USED)
		return NSD_OK;
	err = load_list_sweep(loader->writer, &octets);
	if (err == NSD_E_BUG) {
		log_error("the zone store is damaged");
		role_send(&loader->role, IPC_DAMAGED, NULL, 0);
	}
	if (err != NSD_OK)
		return err;
	store_get_stats(loader->writer, &stats);
	log_notice("the loader takes over: %llu octets of zones in use,"
		   " %llu left behind by its predecessor",
		(unsigned long long)stats.live, (unsigned long long)octets);
	return NSD_OK;
}

/* Adds the zones of the configuration, which this process does not have yet. */
static enum nsd_err
loader_find_zones(struct loader *loader)
{
	struct server *server = loader->role.server;
	enum nsd_err err = conf_zones_add(server,
		loader->past < STORE_PAST_LISTED
			? NULL : store_writer_view(loader->writer));

	if (err != NSD_OK)
		log_error("the zones of the configuration cannot be found: %s",
			err_reason(err));
	close(server->zones);
	if (server->list != -1)
		close(server->list);
	return err;
}

static enum nsd_err
loader_list_zones(struct loader *loader)
{
	const struct conf *conf = loader->role.server->conf;
	struct load_list_result result;
	enum nsd_err err = loader_find_zones(loader);

	if (err != NSD_OK)
		return err;

	/* Times of expiry in a file of an earlier start are of another
	 * clock. */
	if (loader->close == LOADER_CLOSE_FILE
		&& loader->past < STORE_PAST_LISTED)
		load_expiry_forget(loader->writer);
	err = load_set_init(&loader->set, conf->zone_count);
	if (err == NSD_OK)
		err = load_list_publish(loader->writer, conf,
			loader->set.zones, &result);
	if (err == NSD_OK)
		loader_count_zones(loader);
	if (err == NSD_OK && loader->close == LOADER_CLOSE_FILE
		&& loader->past < STORE_PAST_LISTED)
		log_notice("database: %zu zones are in it, %zu are new, %zu"
			   " are not configured any more",
			result.kept, result.added, result.removed);
	return err;
}

static enum nsd_err
loader_open_store(struct loader *loader, const struct role_start *start)
{
	enum nsd_err err = store_writer_open(start->store, &loader->writer);

	if (err == NSD_OK)
		store_writer_set_heartbeat(loader->writer,
			&start->page->heartbeat);
	return err;
}

static void
loader_init_context(struct loader *loader)
{
	const struct server *server = loader->role.server;

	pthread_mutex_init(&loader->busy_lock, NULL);
	loader->progress.stage = "reading";
	loader->context = (struct load_context){
		.writer = loader->writer,
		.chroot = server->chroot,
		.threads_max = affinity_count(),
		.beside_answers = loader->past >= STORE_PAST_LISTED,
		.progress = &loader->progress,
		.busy_lock = &loader->busy_lock,
		.retire = &loader->retire,
		.loop = loader->loop,
	};
	loader_init_verdicts(loader);
	loader_set_options(loader);
}

static enum nsd_err
loader_init_events(struct loader *loader)
{
	const struct {
		struct event **event;
		event_callback_fn on_event;
		short what;
	} rows[] = {
		{&loader->progress_event, loader_on_progress, EV_PERSIST},
		{&loader->reclaim_event, loader_on_reclaim, 0},
		{&loader->results_event, loader_on_more_results, 0},
		{&loader->updates_event, loader_on_updates, 0},
		{&loader->again_event, loader_on_again, 0},
		{&loader->idle_event, loader_on_idle, 0},
		{&loader->compact_event, loader_on_compact, 0},
		{&loader->counts_event, loader_on_counts, 0},
		{&loader->alone_event, loader_on_alone, 0},
		{&loader->changes_event, loader_on_changes, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		*rows[i].event = event_new(loader->role.base, -1, rows[i].what,
			rows[i].on_event, loader);
		if (*rows[i].event == NULL)
			return NSD_E_MEMORY;
	}
	if (loader_init_transfers(loader) != NSD_OK)
		return NSD_E_MEMORY;
	return load_loop_create(loader->role.base, &loader->loop);
}

/* A role's start: see role.h. */
static enum nsd_err
loader_init_role(struct loader *loader, const struct role_start *start)
{
	struct server *server = start->server;

	loader->role.handlers = loader_handlers;
	loader->role.on_stop = loader->close == LOADER_CLOSE_FILE
		? loader_on_stop
		: NULL;
	loader->role.on_term = loader_on_term;
	loader->role.on_peer = loader_on_peer;
	loader->role.on_peer_gone = loader_on_peer_gone;
	role_init_name("load", "loader");
	log_set_patience(LOG_PATIENCE_MSEC);
	role_init_death(server, true);
	/* Answers come before all that the loader does, once there are any. */
	if (start->past >= STORE_PAST_LISTED)
		priority_publish();
	sockets_close(&server->listeners);
	admin_listeners_leave(&server->metrics);
	server_leave_secrets(server);
	if (server->lifeline != -1)
		close(server->lifeline);
	return role_init_loop(&loader->role, start);
}

static enum nsd_err
loader_init(struct loader *loader, const struct role_start *start)
{
	enum nsd_err err;

	platform_heap_bound();
	loader->past = start->past;
	loader->close = start->in_file ? LOADER_CLOSE_FILE
				       : LOADER_CLOSE_NONE;
	loader->image_fd = -1;
	err = loader_init_role(loader, start);
	/* The sandbox comes before the first octet of a database or a zone file
	 * is read. */
	if (err == NSD_OK)
		err = sandbox_enter(&start->server->sandbox, ROLE_LOADER,
			NULL);
	if (err == NSD_OK)
		err = loader_open_store(loader, start);
	if (err != NSD_OK)
		return err;
	err = loader_init_events(loader);
	loader->retire.on_work = loader_on_retire;
	loader->retire.ctx = loader;
	loader_init_context(loader);
	loader_init_follow(loader);
	if (err == NSD_OK)
		err = loader_take_over(loader);
	if (err == NSD_OK)
		err = loader_init_counts(loader);
	if (err == NSD_OK)
		err = loader_list_zones(loader);
	if (err == NSD_OK && loader->past >= STORE_PAST_USED)
		loader_prepare(loader);
	return err;
}

/* Waits until no process reads the store: main has told all to end, and kills
 * those that do not. */
static bool
loader_outlasts_readers(struct loader *loader)
{
	int64_t end = clock_now_msec() + READERS_WAIT_MSEC;
	unsigned count;

	while ((count = store_count_readers(loader->writer)) > 0
		&& clock_now_msec() < end)
		usleep(READERS_STEP_USEC);
	if (count > 0)
		log_error("the database is of no use to the next start: %u"
			  " processes still read it", count);
	return count == 0;
}

/* Leaves the store to the next start. Threads must be done. */
static void
loader_close(struct loader *loader)
{
	assert(!loader_has_threads(loader));
	assert(loader->close != LOADER_CLOSE_NONE && loader->stopping);
	if (!loader_outlasts_readers(loader))
		return;
	while (loader_step_updates(loader))
		;
	while (load_prepare_step(&loader->prepare, loader->writer))
		;
	while (load_retire_step(&loader->retire, loader->writer))
		;
	if (loader->close == LOADER_CLOSE_FILE)
		database_close(loader->writer);
	else
		database_save(loader->writer, loader->image_fd);
}

void
loader_main(const struct role_start *start)
{
	struct loader *loader = calloc(1, sizeof(*loader));
	enum nsd_err err = loader != NULL ? loader_init(loader, start)
					  : NSD_E_MEMORY;

	if (err != NSD_OK) {
		log_error("the loader cannot start: %s", err_text(err));
		_exit(1);
	}
	role_send(&loader->role, IPC_LISTED, NULL, 0);
	loader_start_first_pass(loader);
	role_run(&loader->role);
	loader_publish_zones(loader);
	if (loader->stopping && !loader_has_threads(loader)
		&& loader->close != LOADER_CLOSE_NONE)
		loader_close(loader);
	/* Threads may still be at work: the kernel ends them. */
	_exit(0);
}
