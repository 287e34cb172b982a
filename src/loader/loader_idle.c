/* loader_idle.c - the work of the loader that can wait: it frees memory, gives
 * it back and measures it. Each turn is short (load_turn.h), and messages are
 * looked at between two turns. */
#include "config.h"

#include <event2/event.h>

#include "base/clock.h"
#include "base/platform.h"
#include "loader/load_loop.h"
#include "loader/loader.h"
#include "loader/statistics.h"
#include "store/writer.h"

#define RECLAIM_SEC 1
#define COMPACT_USEC 8000
#define KINDS_MSEC 10000
/* The pause between two steps of the jobs below. */
#define IDLE_USEC 3000
#define IDLE_LATER_USEC 50000
#define RETIRE_USEC 1000
#define TRIM_WAITS 40

static void
loader_idle_later(struct loader *loader, long usec)
{
	event_add(loader->idle_event, &(struct timeval){.tv_usec = usec});
}

void
loader_on_retire(void *arg)
{
	struct loader *loader = arg;

	/* Changes in a row do not put the event off. */
	if (!event_pending(loader->idle_event, EV_TIMEOUT, NULL))
		loader_idle_later(loader, RETIRE_USEC);
}

void
loader_idle(struct loader *loader)
{
	loader_idle_later(loader, IDLE_USEC);
}

void
loader_trim(struct loader *loader)
{
	loader->trim = (struct loader_trim){
		.wanted = true,
		.waits = TRIM_WAITS,
	};
	loader_idle(loader);
}

/* ---- memory that readers have left --------------------------------------- */

/* True if as many zones have gone as are left: so the store is not trimmed for
 * each one that goes, and the memory of the last ones is given back all the
 * same. */
static bool
loader_has_emptied(const struct loader *loader)
{
	return loader->gone > 0
		&& loader->gone >= loader->role.server->conf->zone_count;
}

void
loader_reclaim(struct loader *loader)
{
	struct timeval when = {.tv_sec = RECLAIM_SEC};

	loader_say_counts(loader);
	/* Changes in a row do not put the event off. */
	if ((store_reclaim(loader->writer) > 0 || loader->settle.count > 0
			|| loader_has_emptied(loader))
		&& !event_pending(loader->reclaim_event, EV_TIMEOUT, NULL))
		event_add(loader->reclaim_event, &when);
}

void
loader_on_compact(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;
	struct timeval when = {.tv_usec = COMPACT_USEC};

	/* A version that a thread compares with a file must stay. */
	if (loader_has_threads(loader))
		when = (struct timeval){.tv_sec = RECLAIM_SEC};
	else if (!load_compact_step(&loader->compact, &loader->context,
			 &loader->set)) {
		loader_trim(loader);
		return;
	}
	event_add(loader->compact_event, &when);
}

/* Makes zones anew where changes have left memory scattered. */
static void
loader_compact(struct loader *loader)
{
	struct timeval when = {.tv_usec = COMPACT_USEC};

	if (!loader_has_threads(loader)
		&& loader->prepare.next == loader->prepare.count
		&& load_compact_begin(&loader->compact, &loader->context,
			&loader->set)
		&& !event_pending(loader->compact_event, EV_TIMEOUT, NULL))
		event_add(loader->compact_event, &when);
}

void
loader_on_reclaim(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;

	(void)store_reclaim(loader->writer);
	/* Threads of a pass may still follow what settling takes away. */
	if (!loader_has_threads(loader))
		load_settle_run(&loader->settle, loader->writer);
	if (loader_has_emptied(loader) && !loader->trim.wanted) {
		loader->gone = 0;
		loader_trim(loader);
	}
	loader_reclaim(loader);
	loader_compact(loader);
	loader_look_at_holders(loader);
}

/* ---- work that can wait, a little at a time ------------------------------ */

/* A job takes a turn, or waits for something. It returns how long messages have
 * before the next turn of any job. */
struct idle_job {
	bool (*is_wanted)(const struct loader *loader);
	long (*step)(struct loader *loader); /* microseconds */
};

static bool
idle_wants_retire(const struct loader *loader)
{
	return loader->retire.first != NULL;
}

static long
idle_retire(struct loader *loader)
{
	(void)load_retire_step(&loader->retire, loader->writer);
	return RETIRE_USEC;
}

static bool
idle_wants_measure(const struct loader *loader)
{
	return loader->kinds.wanted && !load_loop_is_edited(loader->loop);
}

static long
idle_measure(struct loader *loader)
{
	loader->kinds.wanted = statistics_measure_kinds(loader->writer,
		&loader->kinds.measuring);
	return IDLE_USEC;
}

static bool
idle_wants_pass_to_end(const struct loader *loader)
{
	return loader_has_threads(loader);
}

static long
idle_await_pass(struct loader *loader)
{
	return IDLE_LATER_USEC;
}

static bool
idle_wants_prepare(const struct loader *loader)
{
	return load_prepare_is_wanted(&loader->prepare);
}

static long
idle_prepare(struct loader *loader)
{
	(void)load_prepare_step(&loader->prepare, loader->writer);
	return IDLE_USEC;
}

static bool
idle_wants_trim(const struct loader *loader)
{
	return loader->trim.wanted;
}

static long
idle_trim(struct loader *loader)
{
	struct loader_trim *trim = &loader->trim;

	/* Memory that readers have not left yet would not be given back. */
	if (trim->at == 0 && trim->waits > 0
		&& store_reclaim(loader->writer) > 0) {
		trim->waits--;
		return IDLE_LATER_USEC;
	}
	trim->wanted = store_trim_step(loader->writer, &trim->at);
	if (!trim->wanted)
		platform_heap_trim();
	return IDLE_USEC;
}

/* The first job that is wanted has the turn. Memory of old versions is freed
 * before all else; preparing for updates leaves unused memory behind, so
 * trimming comes after it. */
static const struct idle_job idle_jobs[] = {
	{idle_wants_retire, idle_retire},
	{idle_wants_measure, idle_measure},
	{idle_wants_pass_to_end, idle_await_pass},
	{idle_wants_prepare, idle_prepare},
	{idle_wants_trim, idle_trim},
};

void
loader_on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;

	loader_reclaim(loader);
	for (size_t i = 0; i < sizeof(idle_jobs) / sizeof(*idle_jobs); i++) {
		if (!idle_jobs[i].is_wanted(loader))
			continue;
		loader_idle_later(loader, idle_jobs[i].step(loader));
		return;
	}
}

/* Measuring walks all zones, which takes a while: not each second. */
void
loader_on_statistics(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;
	struct loader_kinds *kinds = &loader->kinds;
	int64_t now = clock_now_msec();

	if (!kinds->wanted
		&& (kinds->begun_msec == 0
			|| now - kinds->begun_msec >= KINDS_MSEC)) {
		*kinds = (struct loader_kinds){
			.wanted = true,
			.begun_msec = now,
		};
		loader_idle_later(loader, idle_wants_measure(loader)
			? idle_measure(loader) : IDLE_USEC);
	}
	statistics_log_store(loader->writer, now);
}
