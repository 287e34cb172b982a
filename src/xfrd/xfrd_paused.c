/* xfrd_paused.c - files of a folder that are left alone for a while: see
 * xfrd_watch.h. */
#include "config.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "xfrd/xfrd_paused.h"

static int
paused_compare(const void *a, const void *b)
{
	return strcmp(((const struct watch_paused *)a)->name,
		((const struct watch_paused *)b)->name);
}

static struct watch_paused *
paused_find(const struct xfrd_watch *watch, const char *name)
{
	const struct watch_paused key = {.name = name};
	struct watch_paused **found = tfind(&key, &watch->tree,
		paused_compare);

	return found != NULL ? *found : NULL;
}

void
xfrd_paused_drop(struct xfrd_watch *watch, struct watch_paused *paused)
{
	assert(watch->paused_count > 0);
	tdelete(paused, &watch->tree, paused_compare);
	cds_list_del(&paused->node);
	watch->paused_count--;
	watch->gone_count -= paused->kind == XFRD_PAUSE_GONE;
	free(paused);
}

void
xfrd_paused_drop_all(struct xfrd_watch *watch)
{
	struct watch_paused *paused, *next;

	for (unsigned i = 0; i < XFRD_PAUSES; i++)
		cds_list_for_each_entry_safe(paused, next, &watch->paused[i],
			node)
			xfrd_paused_drop(watch, paused);
}

/* Any file may have come, changed or gone. */
void
xfrd_paused_lose(struct xfrd_watch *watch)
{
	xfrd_paused_drop_all(watch);
	watch->again = true;
	watch->came_msec = clock_now_msec();
	watch->hooks->on_lost(watch->ctx);
}

static struct watch_paused *
paused_create(struct xfrd_watch *watch, const char *name)
{
	size_t size = strlen(name) + 1;
	struct watch_paused *paused = NULL;

	if (watch->paused_count < watch->paused_max)
		paused = malloc(sizeof(*paused) + size);
	if (paused == NULL)
		return NULL;
	paused->name = memcpy(paused->text, name, size);
	paused->first_msec = clock_now_msec();
	paused->kind = XFRD_PAUSES;
	if (tsearch(paused, &watch->tree, paused_compare) == NULL) {
		free(paused);
		return NULL;
	}
	CDS_INIT_LIST_HEAD(&paused->node);
	watch->paused_count++;
	return paused;
}

void
xfrd_watch_pause(struct xfrd_watch *watch, const char *name,
	enum xfrd_pause kind)
{
	struct watch_paused *paused = paused_find(watch, name);
	int64_t now = clock_now_msec();

	assert(kind < XFRD_PAUSES);
	if (paused == NULL)
		paused = paused_create(watch, name);
	else if (kind == XFRD_PAUSE_OPEN && paused->kind == kind)
		return;
	else if (now - paused->first_msec
		> watch->pauses_msec[XFRD_PAUSE_OPEN]) {
		/* A file that was gone for long has come. */
		if (paused->kind != XFRD_PAUSE_GONE || kind == paused->kind)
			return;
		paused->first_msec = now;
	}
	if (paused == NULL && kind == XFRD_PAUSE_GONE) {
		watch->more_gone = true;
		return;
	}
	if (paused == NULL) {
		xfrd_paused_lose(watch);
		return;
	}
	watch->gone_count += (kind == XFRD_PAUSE_GONE)
		- (paused->kind == XFRD_PAUSE_GONE);
	paused->kind = kind;
	paused->due_msec = now + watch->pauses_msec[kind];
	cds_list_del(&paused->node);
	cds_list_add_tail(&paused->node, &watch->paused[kind]);
}

bool
xfrd_watch_is_filled(const struct xfrd_watch *watch)
{
	return watch->anew_msec != 0 && watch->came_msec >= watch->anew_msec
		&& clock_now_msec() - watch->anew_msec < watch->fill_max_msec;
}

/* Gets when a file that is gone may be told of, unless others come. */
int64_t
xfrd_paused_gone_due(const struct xfrd_watch *watch,
	const struct watch_paused *paused)
{
	/* Without events, what has come is seen by the next reading. */
	int64_t due = watch->came_msec + watch->fill_msec
		+ (watch->fd == -1 ? XFRD_CHECKS_BLIND * watch->check_msec : 0);

	return xfrd_watch_is_filled(watch) && due > paused->due_msec ? due
		: paused->due_msec;
}

unsigned
xfrd_watch_count_gone(const struct xfrd_watch *watch, int64_t *left_msec)
{
	*left_msec = 0;
	if (watch->gone_count > 0)
		*left_msec = xfrd_paused_gone_due(watch, cds_list_first_entry(
			&watch->paused[XFRD_PAUSE_GONE], struct watch_paused,
			node)) - clock_now_msec();
	if (*left_msec < 0)
		*left_msec = 0;
	return watch->gone_count;
}

bool
xfrd_watch_find(const struct xfrd_watch *watch, const char *name,
	enum xfrd_pause *kind, int64_t *left_msec)
{
	const struct watch_paused *paused = paused_find(watch, name);
	int64_t now = clock_now_msec(), due;

	if (paused == NULL)
		return false;
	*kind = paused->kind;
	due = *kind == XFRD_PAUSE_GONE ? xfrd_paused_gone_due(watch, paused)
		: paused->due_msec;
	*left_msec = due > now ? due - now : 0;
	return true;
}

