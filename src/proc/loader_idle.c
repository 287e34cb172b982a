/* loader_idle.c - what can wait, in the loader: memory that is to be used
 * again, and what is to be known of it. Each turn is short (load_turn.h), and
 * messages are looked at between two. */
#include "config.h"

#include <event2/event.h>
#include <string.h>

#include "base/clock.h"
#include "proc/children.h"
#include "proc/loader.h"
#include "proc/statistics.h"

#define RECLAIM_SEC 1
#define TIDY_USEC 8000
#define KINDS_MSEC 10000
/* Between two steps of what can wait. */
#define IDLE_USEC 3000
#define IDLE_LATER_USEC 50000
#define LEAVE_USEC 1000
#define TRIM_WAITS 40

static void
loader_idle_later(struct loader *loader, long usec)
{
	event_add(loader->idle_event, &(struct timeval){.tv_usec = usec});
}

void
loader_leave(struct loader *loader, store_ref zone)
{
	load_leave_add(&loader->leave, loader->writer, zone);
	/* Not put off by changes that come in a row. */
	if (loader->leave.count > 0
		&& !event_pending(loader->idle_event, EV_TIMEOUT, NULL))
		loader_idle_later(loader, LEAVE_USEC);
}

void
loader_idle(struct loader *loader)
{
	loader_idle_later(loader, IDLE_USEC);
}

void
loader_trim(struct loader *loader)
{
	loader->trimming = true;
	loader->trim_at = 0;
	loader->trim_waits = TRIM_WAITS;
	loader_idle(loader);
}

/* ---- memory that readers have left --------------------------------------- */

void
loader_reclaim(struct loader *loader)
{
	struct timeval when = {.tv_sec = RECLAIM_SEC};

	/* Not put off by changes that come in a row. */
	if ((store_reclaim(loader->writer) > 0 || loader->settle.count > 0)
		&& !event_pending(loader->reclaim_event, EV_TIMEOUT, NULL))
		event_add(loader->reclaim_event, &when);
}

void
loader_on_tidy(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;
	struct timeval when = {.tv_usec = TIDY_USEC};

	/* A zone that a thread compares with its file must stay. */
	if (loader->pool != NULL)
		when = (struct timeval){.tv_sec = RECLAIM_SEC};
	else if (!load_tidy_step(&loader->tidy, &loader->context,
			 &loader->set)) {
		loader_trim(loader);
		return;
	}
	event_add(loader->tidy_event, &when);
}

/* Where changes have left room here and there. */
static void
loader_tidy(struct loader *loader)
{
	struct timeval when = {.tv_usec = TIDY_USEC};

	if (loader->pool == NULL
		&& loader->prepare.next == loader->prepare.count
		&& load_tidy_begin(&loader->tidy, &loader->context,
			&loader->set)
		&& !event_pending(loader->tidy_event, EV_TIMEOUT, NULL))
		event_add(loader->tidy_event, &when);
}

void
loader_on_reclaim(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;

	(void)store_reclaim(loader->writer);
	load_settle_run(&loader->settle, loader->writer);
	loader_reclaim(loader);
	loader_tidy(loader);
	statistics_warn_holder(loader->writer, clock_now_msec(),
		&loader->holder_warned);
}

/* ---- what can wait, a little at a time ----------------------------------- */

/* True if there is more. */
static bool
loader_measure(struct loader *loader)
{
	if (!statistics_measure_kinds(loader->writer, &loader->kinds))
		loader->measuring = false;
	return loader->measuring;
}

/* What old versions hold is needed first; then what updates need: it leaves
 * room of its own behind. */
void
loader_on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct loader *loader = arg;
	long usec = IDLE_USEC;

	if (load_leave_step(&loader->leave, loader->writer)) {
		loader_idle_later(loader, LEAVE_USEC);
		return;
	}
	loader_reclaim(loader);
	if (loader->measuring && loader_measure(loader))
		;
	else if (loader->pool != NULL)
		usec = IDLE_LATER_USEC;
	else if (load_prepare_step(&loader->prepare, loader->writer))
		;
	else if (!loader->trimming)
		return;
	else if (loader->trim_at == 0 && loader->trim_waits > 0
		&& store_reclaim(loader->writer) > 0 && loader->trim_waits--)
		usec = IDLE_LATER_USEC;
	else
		loader->trimming = store_trim_step(loader->writer,
			&loader->trim_at);
	loader_idle_later(loader, usec);
}

/* A walk of all zones takes a while: not each second. */
void
loader_statistics(struct loader *loader)
{
	int64_t now = clock_now_msec();

	if (!loader->measuring
		&& (loader->kinds_msec == 0
			|| now - loader->kinds_msec >= KINDS_MSEC)) {
		memset(&loader->kinds, 0, sizeof(loader->kinds));
		loader->kinds_msec = now;
		loader->measuring = true;
		if (loader_measure(loader))
			loader_idle_later(loader, IDLE_USEC);
	}
	statistics_log_store(loader->writer, now);
}
