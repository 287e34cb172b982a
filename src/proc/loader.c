/* loader.c - the role that reads zone files into the store, which only it
 * writes. */
#include "config.h"

#include <event2/event.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/priority.h"
#include "ipc/handlers.h"
#include "keep/sources_edit.h"
#include "keep/table_edit.h"
#include "load/load_apply.h"
#include "load/load_deaths.h"
#include "load/load_list.h"
#include "load/load_turn.h"
#include "proc/affinity.h"
#include "proc/database.h"
#include "proc/loader.h"
#include "store/store.h"
#include "store/writer.h"
#include "zone/sources.h"

#define PROGRESS_SEC 5
#define AGAIN_SEC 1
/* How often a zone is tried whose files change while they are read. */
#define RETRIES_MAX 5

static void loader_start_pass(struct loader *loader);

/* ---- publishing ---------------------------------------------------------- */

static void
loader_log_serial(const struct loader *loader, const struct load_zone *zone,
	const uint32_t *old, uint32_t serial)
{
	if (loader->first_pass || (old != NULL && serial == *old))
		return;
	/* RFC 1982 section 3.2 */
	if (old == NULL || (int32_t)(serial - *old) > 0)
		log_info("zone %s serial %u is updated to %u",
			zone->conf->name, (unsigned)(old != NULL ? *old : 0),
			(unsigned)serial);
	else
		log_info("zone %s serial is updated to %u", zone->conf->name,
			(unsigned)serial);
}

/* Publishes what came of reading a zone. */
static enum nsd_err
loader_publish(struct loader *loader, const struct load_result *result)
{
	const struct store_view *view = store_writer_view(loader->writer);
	struct load_zone *zone = result->zone;
	const struct zone *old = load_zone_published(view, zone);
	uint32_t old_serial = old != NULL ? old->serial : 0;
	struct zone_update_result done;
	enum nsd_err err;

	if (result->outcome == LOAD_BUILT) {
		loader_leave(loader, table_swap_zone(loader->writer,
					     zone->entry, result->built));
	} else if (result->outcome == LOAD_DIFFERS) {
		err = load_apply_diff(&loader->context, result, &done);
		if (err != NSD_OK)
			return err;
		load_settle_add(&loader->settle, zone->entry);
		log_at(2, LOG_LEVEL_INFO,
			"zone %s: %llu records added, %llu removed",
			zone->conf->name, (unsigned long long)done.added,
			(unsigned long long)done.removed);
	}
	log_at(1, LOG_LEVEL_INFO, "zone %s read with success",
		zone->conf->name);
	loader_log_serial(loader, zone, old != NULL ? &old_serial : NULL,
		load_zone_published(view, zone)->serial);
	zone->retries = 0;
	zone->whole = false;
	loader->result.read++;
	return NSD_OK;
}

/* The same records, for another limit of iterations. */
static void
loader_publish_rehashed(struct loader *loader, const struct load_result *result)
{
	if (result->rehashed == STORE_NONE)
		return;
	loader_leave(loader, table_swap_zone(loader->writer,
				     result->zone->entry, result->rehashed));
	log_info("zone %s: hashed for at most %u NSEC3 iterations",
		result->zone->conf->name,
		(unsigned)loader->context.nsec3_iterations_max);
}

/* What a zone was read from, once its version is published: also of a failed
 * try, to see when they have changed. */
static void
loader_note_sources(struct loader *loader, const struct load_result *result)
{
	sources_set(loader->writer, result->zone->entry,
		result->files.sources, result->files.source_count,
		result->outcome == LOAD_FAILED ? ZONE_SOURCES_FAILED : 0);
}

void
loader_push_again(struct loader *loader, struct load_zone *zone, int wait_sec)
{
	struct timeval when = {.tv_sec = wait_sec};

	if (loader->again_count == loader->again_room) {
		size_t room = loader->again_room * 2 + 16;
		void *more = realloc(loader->again,
			room * sizeof(*loader->again));

		if (more == NULL) {
			log_error("zone %s: out of memory", zone->conf->name);
			loader->result.failed++;
			return;
		}
		loader->again = more;
		loader->again_room = room;
	}
	loader->again[loader->again_count++] = zone;
	if (loader->todo == NULL)
		event_add(loader->again_event, &when);
}

void
loader_take_result(struct loader *loader, struct load_result *result)
{
	struct load_zone *zone = result->zone;

	pthread_mutex_lock(loader->context.busy_lock);
	zone->busy = false;
	pthread_mutex_unlock(loader->context.busy_lock);
	loader_publish_rehashed(loader, result);
	switch (result->outcome) {
	case LOAD_SAME:
	case LOAD_DIFFERS:
	case LOAD_BUILT:
		if (loader_publish(loader, result) == NSD_OK) {
			loader_note_sources(loader, result);
			break;
		}
		/* A build of the whole says why, with file and line. */
		zone->whole = true;
		loader_push_again(loader, zone, AGAIN_SEC);
		break;
	case LOAD_AGAIN:
		/* Its sources are not noted: it stays due. */
		if (zone->retries++ < RETRIES_MAX) {
			loader_push_again(loader, zone, AGAIN_SEC);
			break;
		}
		log_error("zone %s: its file keeps changing, giving up",
			zone->conf->name);
		zone->retries = 0;
		loader->result.failed++;
		break;
	case LOAD_FAILED:
		zone->whole = false;
		if (!result->blameless)
			loader_note_sources(loader, result);
		loader->result.failed++;
		break;
	default:
		break;
	}
	load_deaths_survive(&loader->context, zone);
	diff_destroy(result->diff);
	zonefile_result_fini(&result->files);
	__atomic_store_n(&zone->reading, false, __ATOMIC_SEQ_CST);
}

/* ---- passes -------------------------------------------------------------- */

static void
loader_end_pass(struct loader *loader)
{
	bool first = loader->first_pass;

	event_del(loader->progress_event);
	free(loader->todo);
	free(loader->suspects);
	loader->todo = NULL;
	loader->suspects = NULL;
	loader->suspect_count = loader->suspect_next = 0;
	loader->first_pass = false;
	load_set_end_pass(&loader->set);
	if (!loader->own_pass)
		role_send(&loader->role, first ? IPC_LOADED : IPC_RELOADED,
			&loader->result, sizeof(loader->result));
	loader->own_pass = false;
	/* Answering comes before reading, from now on. */
	if (first) {
		loader->context.beside_answers = true;
		priority_publish();
	}
	if (first || loader->result.read > 0) {
		malloc_trim(0);
		loader_trim(loader);
	}
	if (loader->reload_wanted)
		loader_start_pass(loader);
}

static void loader_run_pool(struct loader *loader);

/* All that was to be done is done. */
static void
loader_go_on(struct loader *loader)
{
	struct timeval when = {.tv_sec = AGAIN_SEC};

	if (loader->stopping) {
		role_stop(&loader->role);
	} else if (loader->again_count > 0) {
		event_add(loader->again_event, &when);
	} else if (loader->suspect_next < loader->suspect_count) {
		/* Alone, so that it is known who dies of what. */
		loader->todo[0] = loader->suspects[loader->suspect_next++];
		loader->todo_count = 1;
		loader_run_pool(loader);
	} else {
		loader_end_pass(loader);
	}
}

/* The first of those that the pool has given so far; or NULL. */
static struct load_result *
loader_next_result(struct loader *loader)
{
	struct load_result *result;

	if (loader->results == NULL)
		loader->results = load_pool_take(loader->pool);
	result = loader->results;
	if (result != NULL)
		loader->results = result->next;
	return result;
}

static void
loader_on_results(void *ctx)
{
	struct loader *loader = ctx;
	struct load_turn turn = load_turn_begin();
	struct timeval at_once = {.tv_sec = 0};
	struct load_result *result;

	while ((result = loader_next_result(loader)) != NULL) {
		bool busy = result->zone->busy;

		loader_take_result(loader, result);
		free(result);
		if (busy)
			loader_retry_updates(loader);
		if (load_turn_is_over(&turn)) {
			/* Messages come first. */
			event_add(loader->results_event, &at_once);
			break;
		}
	}
	loader_retry_leaving(loader);
	loader_reclaim(loader);
	if (result != NULL || !load_pool_is_done(loader->pool))
		return;
	load_pool_finish(loader->pool);
	loader->pool = NULL;
	loader_go_on(loader);
}

static void
loader_on_more_results(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;

	if (loader->pool != NULL)
		loader_on_results(loader);
}

/* Reads what is in todo. */
static void
loader_run_pool(struct loader *loader)
{
	enum nsd_err err;

	err = load_pool_start(&loader->context, loader->todo,
		loader->todo_count, loader->role.base, loader_on_results,
		loader, &loader->pool);
	if (err == NSD_OK)
		return;
	log_error("cannot read the zones: %s", err_text(err));
	loader->result.failed += loader->todo_count;
	loader_end_pass(loader);
}

static void
loader_on_again(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;

	/* A pass that has begun meanwhile sees to them. */
	if (loader->pool != NULL || loader->again_count == 0)
		return;
	if (loader->todo == NULL) {
		loader->own_pass = true;
		memset(&loader->result, 0, sizeof(loader->result));
	}
	free(loader->todo);
	loader->todo = loader->again;
	loader->todo_count = loader->again_count;
	loader->again = NULL;
	loader->again_count = loader->again_room = 0;
	loader_run_pool(loader);
}

static void
loader_start_pass(struct loader *loader)
{
	struct timeval period = {.tv_sec = PROGRESS_SEC};
	struct load_set *set = &loader->set;
	size_t size = (set->count + 1) * sizeof(struct load_zone *);

	loader->reload_wanted = false;
	/* What a loader that died in its first pass did not come to is still
	 * to be looked at; nobody has asked for more since the end of one. */
	loader->context.which = !loader->first_pass ? LOAD_CHANGED
		: loader->past == STORE_PAST_LOADED ? LOAD_MISSING
						    : LOAD_STALE;
	memset(&loader->result, 0, sizeof(loader->result));
	loader->again_count = 0; /* they are among all */
	loader->todo = malloc(size);
	loader->suspects = malloc(size);
	loader->todo_count = loader->suspect_count = loader->suspect_next = 0;
	if (loader->todo == NULL || loader->suspects == NULL) {
		log_error("cannot read the zones: out of memory");
		loader_end_pass(loader);
		return;
	}
	for (size_t i = 0; i < set->count; i++) {
		struct load_zone *zone = &set->zones[i];

		if (zone->conf == NULL)
			continue;
		if (loader->past < STORE_PAST_LISTED && loader->first_pass)
			load_deaths_forget(&loader->context, zone);
		if (load_deaths_is_suspect(&loader->context, zone))
			loader->suspects[loader->suspect_count++] = zone;
		else
			loader->todo[loader->todo_count++] = zone;
	}
	loader->result.zones = loader->todo_count + loader->suspect_count;
	event_add(loader->progress_event, &period);
	loader_run_pool(loader);
}

static void
loader_on_progress(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;
	const struct load_zone *zone =
		__atomic_load_n(&loader->progress.zone, __ATOMIC_ACQUIRE);
	uint64_t done, total;

	if (loader->pool == NULL)
		return;
	log_info("reading zones: %zu of %zu looked at, %llu read, %llu failed",
		load_pool_progress(loader->pool), loader->todo_count,
		(unsigned long long)loader->result.read,
		(unsigned long long)loader->result.failed);
	if (zone == NULL || zone->conf == NULL)
		return;
	done = __atomic_load_n(&loader->progress.done, __ATOMIC_RELAXED);
	total = __atomic_load_n(&loader->progress.total, __ATOMIC_RELAXED);
	log_info("zone %s: %s, %u %%", zone->conf->name,
		__atomic_load_n(&loader->progress.stage, __ATOMIC_RELAXED),
		total > 0 ? (unsigned)((double)done * 100 / (double)total)
			  : 0);
}

static void loader_on_stop(struct role *role);

/* Threads must be done before the store can be written. */
static void
loader_on_database(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;

	if (m->fd_count != 1)
		return;
	if (loader->image_fd != -1)
		close(loader->image_fd);
	loader->image_fd = fcntl(m->fds[0], F_DUPFD_CLOEXEC, 0);
	if (loader->image_fd != -1)
		loader->role.on_stop = loader_on_stop;
}

static void
loader_on_reload(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;

	if (loader->todo != NULL)
		loader->reload_wanted = true;
	else
		loader_start_pass(loader);
}

#define LOADER_HANDLERS(X)                                                   \
	ROLE_HANDLERS(X)                                                     \
	X(STATISTICS, loader_on_statistics)                                  \
	X(RELOAD, loader_on_reload)                                          \
	X(DATABASE, loader_on_database)                                      \
	X(UPDATE, loader_on_update)                                          \
	X(CHANGE_ZONE, loader_on_change_zone)

static void (*const loader_handlers[IPC_TYPE_COUNT])(struct role *role,
	const struct ipc_message *m) = {LOADER_HANDLERS(IPC_HANDLER)};
IPC_CHECK_HANDLERS(LOADER_HANDLERS, IPC_TO_LOADER);

/* A store in a file is closed with no thread at work on it. */
static void
loader_on_stop(struct role *role)
{
	struct loader *loader = (struct loader *)role;

	loader->stopping = true;
	if (loader->pool != NULL)
		load_pool_cancel(loader->pool);
	else
		role_stop(role);
}

/* The zones that a predecessor left have lost what updates need. */
static void
loader_prepare(struct loader *loader)
{
	load_prepare_begin(&loader->prepare, loader->writer,
		loader->set.zones, loader->set.count);
	if (loader->prepare.count > 0)
		loader_idle(loader);
}

/* ---- start --------------------------------------------------------------- */

/* What a predecessor left in the store is served on, and the rest of it freed. */
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

static enum nsd_err
loader_list_zones(struct loader *loader, const struct conf *conf)
{
	struct load_list_result result;
	enum nsd_err err;

	err = load_set_init(&loader->set, conf->zone_count);
	/* At a start the configuration is all that counts. */
	if (err == NSD_OK)
		err = load_list_publish(loader->writer, conf,
			loader->past >= STORE_PAST_LISTED, loader->set.zones, &result);
	if (err == NSD_OK && loader->in_file && loader->past < STORE_PAST_LISTED)
		log_notice("database: %zu zones are in it, %zu are new, %zu"
			   " are not configured any more",
			result.kept, result.added, result.removed);
	return err;
}

/* Until one has listed the zones, nothing in a file is trusted. */
static enum nsd_err
loader_open_store(struct loader *loader, const struct role_start *start)
{
	enum nsd_err err = store_writer_open(start->store, &loader->writer);

	if (err != NSD_OK || !start->in_file
		|| loader->past >= STORE_PAST_LISTED)
		return err;
	loader->past = STORE_PAST_NONE;
	return database_vet(&loader->writer, affinity_count());
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
		.nsec3_iterations_max = server->conf->server
			.nsec3_max_iterations,
		.progress = &loader->progress,
		.busy_lock = &loader->busy_lock,
		.leave = &loader->leave,
	};
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
		{&loader->tidy_event, loader_on_tidy, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		*rows[i].event = event_new(loader->role.base, -1, rows[i].what,
			rows[i].on_event, loader);
		if (*rows[i].event == NULL)
			return NSD_E_MEMORY;
	}
	return NSD_OK;
}

/* A role's start: see role.h. */
static enum nsd_err
loader_init_role(struct loader *loader, const struct role_start *start)
{
	struct server *server = start->server;

	loader->role.handlers = loader_handlers;
	loader->role.on_stop = loader->in_file ? loader_on_stop : NULL;
	role_init_name("load", "loader");
	role_init_death(server, true);
	/* Answering comes before all that we do, once it has begun. */
	if (start->past >= STORE_PAST_LISTED)
		priority_publish();
	sockets_close(&server->listeners);
	if (server->lifeline != -1)
		close(server->lifeline);
	return role_init_loop(&loader->role, start);
}

static enum nsd_err
loader_init(struct loader *loader, const struct role_start *start)
{
	enum nsd_err err;

	load_pool_bound_malloc();
	loader->first_pass = true;
	loader->past = start->past;
	loader->in_file = start->in_file;
	loader->image_fd = -1;
	err = loader_init_role(loader, start);
	if (err == NSD_OK)
		err = loader_open_store(loader, start);
	if (err != NSD_OK)
		return err;
	loader_init_context(loader);
	err = loader_init_events(loader);
	if (err == NSD_OK)
		err = loader_take_over(loader);
	if (err == NSD_OK)
		err = loader_list_zones(loader, start->server->conf);
	if (err == NSD_OK && loader->past >= STORE_PAST_USED)
		loader_prepare(loader);
	return err;
}

/* So that the next start finds all of it. Threads must be done. */
static void
loader_close(struct loader *loader)
{
	while (loader_step_updates(loader))
		;
	while (load_prepare_step(&loader->prepare, loader->writer))
		;
	while (load_leave_step(&loader->leave, loader->writer))
		;
	if (loader->in_file)
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
	loader_start_pass(loader);
	role_run(&loader->role);
	if (loader->stopping && loader->pool == NULL
		&& (loader->in_file || loader->image_fd != -1))
		loader_close(loader);
	/* Else threads may be at work: the kernel takes it all down. */
	_exit(0);
}
