/* loader_pass.c - passes of the loader: looks at the files of many zones, and
 * publishes the results. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/platform.h"
#include "base/priority.h"
#include "loader/load_crashes.h"
#include "loader/load_journal.h"
#include "loader/load_turn.h"
#include "loader/loader.h"
#include "process/server.h"

/* The progress of a pass is shared after each step, and logged after this
 * many. */
#define PROGRESS_STEP_MSEC 250
#define PROGRESS_LOG_STEPS 20u
#define AGAIN_SEC 1

static void loader_start_pass(struct loader *loader, enum loader_pass pass);
static void loader_start_reload(struct loader *loader);

static void
loader_report_first(struct loader *loader)
{
	struct ipc_loaded said = {.result = {.zones = 0}};
	size_t len = 0;

	if (loader->unread != NULL) {
		said = loader->unread->said;
		len = loader->unread->len;
	}
	said.result = loader->result;
	said.conf = loader->conf;
	role_send(&loader->role, IPC_LOADED, &said, IPC_LOADED_MIN + len);
	free(loader->unread);
	loader->unread = NULL;
}

/* Tells main the result of a pass that main waits for. */
static void
loader_report_pass(struct loader *loader, enum loader_pass pass)
{
	switch (pass) {
	case LOADER_PASS_FIRST:
	case LOADER_PASS_CONFIGURED:
		loader_report_first(loader);
		break;
	case LOADER_PASS_RELOAD:
		role_send(&loader->role, IPC_RELOADED, &loader->result,
			sizeof(loader->result));
		break;
	case LOADER_PASS_ASKED:
	case LOADER_PASS_AGAIN:
		break;
	case LOADER_PASS_NONE:
		assert(!"no pass has ended");
	}
}

void
loader_tell_served(struct loader *loader)
{
	static const struct link_message message = {.type = IPC_SERVED};
	struct peer *xfrd = peers_find_role(&loader->role.peers, ROLE_XFRD);

	if (xfrd == NULL || loader->pass == LOADER_PASS_FIRST)
		return;
	if (link_send(&xfrd->link, &message) == NSD_OK)
		loader->told = xfrd->link.channel.id;
	else
		loader->told = 0;
}

static void
loader_end_pass(struct loader *loader)
{
	enum loader_pass pass = loader->pass;

	assert(loader->pool == NULL && loader->results == NULL);
	event_del(loader->progress_event);
	free(loader->todo);
	free(loader->suspects);
	loader->todo = NULL;
	loader->suspects = NULL;
	loader->suspect_count = loader->suspect_next = 0;
	loader->pass = LOADER_PASS_NONE;
	loader_say_pass(loader);
	/* Zones of the next passes may be listed already. */
	if (!loader_has_listed(loader) && !loader_reload_waits(loader))
		load_set_end_pass(&loader->set);
	loader_report_pass(loader, pass);
	loader_tell_served(loader);
	loader_end_reload(loader);
	if (loader->crowded && pass != LOADER_PASS_FIRST)
		role_send(&loader->role, IPC_CROWDED, NULL, 0);
	loader->crowded = false;
	/* Answering comes before reading, from now on. */
	if (pass == LOADER_PASS_FIRST) {
		loader->context.journal = NULL;
		load_journal_close(loader->journal);
		loader->journal = NULL;
		loader->context.beside_answers = true;
		loader->context.is_start = false;
		priority_publish();
	}
	if (pass == LOADER_PASS_FIRST || loader->result.read > 0) {
		platform_heap_trim();
		loader_trim(loader);
	}
	if (loader->configured)
		loader_start_pass(loader, LOADER_PASS_CONFIGURED);
	else if (loader->reload_wanted)
		loader_start_pass(loader, LOADER_PASS_RELOAD);
	else
		loader_start_reload(loader);
}

static void loader_run_pool(struct loader *loader);

/* Goes on with the rest of the pass, once no thread reads any more. */
static void
loader_go_on(struct loader *loader)
{
	struct timeval when = {.tv_sec = AGAIN_SEC};

	assert(loader->pool == NULL);
	if (loader->stopping) {
		loader_end_threads(loader);
	} else if (loader->again_count > 0) {
		event_add(loader->again_event, &when);
	} else if (loader->suspect_next < loader->suspect_count) {
		/* Suspects are read alone, so that it is known what a loader
		 * dies of. */
		loader->todo[0] = loader->suspects[loader->suspect_next++];
		loader->todo_count = 1;
		loader_run_pool(loader);
	} else if (loader->replays == 0) {
		loader_end_pass(loader);
	}
}

/* Takes the next result of the pool; NULL: none so far. */
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
		loader_take_result(loader, result);
		free(result);
		if (load_turn_is_over(&turn)) {
			/* Messages come first. */
			event_add(loader->results_event, &at_once);
			break;
		}
	}
	/* Updates are retried also after a reading without a result. */
	loader_retry_updates(loader);
	loader_reclaim(loader);
	if (result != NULL || !load_pool_is_done(loader->pool))
		return;
	load_pool_finish(loader->pool);
	loader->pool = NULL;
	loader_go_on(loader);
}

void
loader_on_more_results(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;

	if (loader->pool != NULL)
		loader_on_results(loader);
	else if (loader->pass == LOADER_PASS_FIRST)
		loader_go_on(loader);
}

/* Has the zones of todo read. */
static void
loader_run_pool(struct loader *loader)
{
	enum nsd_err err;

	assert(loader->pass != LOADER_PASS_NONE && loader->results == NULL);
	err = load_pool_start(&loader->context, loader->todo,
		loader->todo_count, loader->role.base, loader_on_results,
		loader, &loader->pool);
	if (err == NSD_OK)
		return;
	log_error("cannot read the zones: %s", err_text(err));
	loader->result.failed += loader->todo_count;
	loader_fail_reload(loader, err);
	loader_end_pass(loader);
}

static enum load_which
loader_choose_which(const struct loader *loader)
{
	/* A pass for a new configuration looks at no files that have merely
	 * changed. */
	if (loader->pass == LOADER_PASS_CONFIGURED)
		return LOAD_MISSING;
	/* A zone that has failed is read again, so that xfrd gets the
	 * reasons. */
	if (loader->pass != LOADER_PASS_FIRST)
		return loader_reload_waits(loader) ? LOAD_STALE : LOAD_CHANGED;
	/* After an earlier first pass only missing zones are left. Otherwise
	 * all is read that a dead loader had not reached. */
	return loader->past == STORE_PAST_LOADED ? LOAD_MISSING : LOAD_STALE;
}

void
loader_on_again(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;

	/* A pass that has begun meanwhile sees to these zones. */
	if (loader->pool != NULL || loader->again_count == 0)
		return;
	if (loader->pass == LOADER_PASS_NONE) {
		loader->pass = LOADER_PASS_AGAIN;
		loader->context.which = loader_choose_which(loader);
		memset(&loader->result, 0, sizeof(loader->result));
	}
	free(loader->todo);
	loader->todo = loader->again;
	loader->todo_count = loader->again_count;
	loader->again = NULL;
	loader->again_count = loader->again_room = 0;
	loader_run_pool(loader);
}

/* Zones that loaders have died of come at the end. */
static void
loader_list_all(struct loader *loader, enum loader_pass pass)
{
	const struct load_set *set = &loader->set;

	for (size_t i = 0; i < set->count; i++) {
		struct load_zone *zone = &set->zones[i];

		if (zone->conf == NULL)
			continue;
		if (loader->past < STORE_PAST_LISTED
			&& pass == LOADER_PASS_FIRST)
			load_crashes_forget(&loader->context, zone);
		if (load_crashes_is_suspect(&loader->context, zone))
			loader->suspects[loader->suspect_count++] = zone;
		else
			loader->todo[loader->todo_count++] = zone;
	}
}

/* Starts a pass for xfrd's requests, unless one runs. */
static void
loader_start_reload(struct loader *loader)
{
	if (loader->pass == LOADER_PASS_NONE && loader_reload_waits(loader))
		loader_start_pass(loader, LOADER_PASS_ASKED);
}

void
loader_set_options(struct loader *loader)
{
	const struct conf_server *o = &loader->role.server->conf->server;

	loader->context.timed = o->rssac002;
	loader->context.is_start = loader->pass == LOADER_PASS_FIRST
		&& loader->past < STORE_PAST_LOADED;
	loader_set_judging(loader);
	loader->context.nsec3_iterations_max = o->nsec3_max_iterations;
	loader->context.limits = (struct zone_limits){
		.records_per_type = o->max_records_per_type,
		.types_per_name = o->max_types_per_name,
	};
}

/* Makes all requests that wait part of this pass. True: it is over all
 * zones. */
static bool
loader_gather(struct loader *loader, enum loader_pass pass)
{
	bool all;

	/* A pass for a new configuration looks at no file that has merely
	 * changed: requests go on waiting. */
	if (pass == LOADER_PASS_CONFIGURED) {
		loader->configured = false;
		return true;
	}
	if (pass != LOADER_PASS_ASKED)
		loader->reload_wanted = false;
	all = loader_begin_reload(loader, pass != LOADER_PASS_ASKED);
	if (all)
		loader->again_count = 0; /* all includes these zones */
	return all;
}

static void
loader_start_pass(struct loader *loader, enum loader_pass pass)
{
	struct timeval period = {.tv_usec = PROGRESS_STEP_MSEC * 1000};
	struct load_set *set = &loader->set;
	size_t size = (set->count + 1) * sizeof(struct load_zone *);
	bool all;

	assert(loader->pass == LOADER_PASS_NONE && loader->pool == NULL);
	loader_publish_zones(loader);
	loader->pass = pass;
	loader->conf = loader->role.server->conf_number;
	loader_set_options(loader);
	loader->context.which = loader_choose_which(loader);
	memset(&loader->result, 0, sizeof(loader->result));
	all = loader_gather(loader, pass);
	loader->todo = malloc(size);
	loader->suspects = malloc(size);
	loader->todo_count = loader->suspect_count = loader->suspect_next = 0;
	if (loader->todo == NULL || loader->suspects == NULL) {
		log_error("cannot read the zones: out of memory");
		loader_fail_reload(loader, NSD_E_MEMORY);
		loader_end_pass(loader);
		return;
	}
	if (all)
		loader_list_all(loader, pass);
	else
		loader->todo_count = loader_list_reload(loader, loader->todo,
			set->count);
	loader->result.zones = loader->todo_count + loader->suspect_count;
	assert(loader->result.zones <= set->count);
	loader->progress_steps = 0;
	event_add(loader->progress_event, &period);
	loader_run_pool(loader);
	loader_say_pass(loader);
}

void
loader_on_progress(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;
	const struct load_zone *zone =
		__atomic_load_n(&loader->progress.zone, __ATOMIC_ACQUIRE);
	uint64_t done, total;

	loader_say_pass(loader);
	if (loader->pool == NULL
		|| ++loader->progress_steps % PROGRESS_LOG_STEPS != 0)
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

void
loader_start_first_pass(struct loader *loader)
{
	const struct server *server = loader->role.server;

	char path[PATH_MAX];

	if (server_find_journal(server, path, sizeof(path)))
		loader->journal = load_journal_open(path);
	loader->context.journal = loader->journal;
	loader_start_pass(loader, LOADER_PASS_FIRST);
}

void
loader_start_configured_pass(struct loader *loader)
{
	loader->configured = true;
	/* Zones to be read again belong to the pass before. */
	if (loader->pass == LOADER_PASS_NONE && loader->again_count == 0)
		loader_start_pass(loader, LOADER_PASS_CONFIGURED);
}

void
loader_on_reload(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;

	if (loader->pass != LOADER_PASS_NONE)
		loader->reload_wanted = true;
	else
		loader_start_pass(loader, LOADER_PASS_RELOAD);
}

void
loader_on_read(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;

	loader_publish_zones(loader);
	if (loader_add_reload(loader, m))
		loader_start_reload(loader);
}
