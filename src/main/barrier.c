/* barrier.c - waits until all children have done what main has told them. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <string.h>

#include "main/barrier.h"
#include "main/child.h"
#include "main/children.h"

/* How long a child may take. One that hangs is replaced some time later. */
static const struct timeval late_wait = {.tv_sec = 10};

/* ---- the end ------------------------------------------------------------- */

void
barrier_forget(struct supervisor *s, enum barrier_kind kind)
{
	struct barrier *barrier = &s->barriers[kind];

	event_del(barrier->late_event);
	barrier->left = 0;
}

static void
barrier_end(struct barrier *barrier, const struct child *late)
{
	struct supervisor *s = barrier->supervisor;

	assert(s->barriers + barrier->kind == barrier);
	barrier_forget(s, barrier->kind);
	barrier->on_end(s, late);
}

/* Counts a child as done. */
static void
barrier_count(struct barrier *barrier, struct child *child)
{
	if (barrier->left == 0
		|| child->pending[barrier->kind] != barrier->number)
		return;
	child->pending[barrier->kind] = 0;
	if (--barrier->left == 0)
		barrier_end(barrier, NULL);
}

struct barrier_search {
	const struct barrier *barrier;
	const struct child *late;
};

static void
barrier_find_late(struct child *child, void *arg)
{
	struct barrier_search *search = arg;
	const struct barrier *barrier = search->barrier;

	if (search->late == NULL
		&& child->pending[barrier->kind]
			== barrier->number)
		search->late = child;
}

static void
barrier_on_late(evutil_socket_t fd, short what, void *arg)
{
	struct barrier *barrier = arg;
	struct barrier_search search = {barrier, NULL};

	assert(barrier->left > 0); /* or its end has stopped the timer */
	children_walk(barrier->supervisor, barrier_find_late, &search);
	/* An unresponsive child is about to be replaced (watch.c): wait once
	 * more. */
	if (!barrier->is_late && search.late != NULL
		&& search.late->watch.silent_msec == 0
		&& search.late->unresponsive_looks > 0
		&& search.late->unresponsive_looks < WATCH_UNRESPONSIVE_LOOKS
		&& event_add(barrier->late_event, &late_wait) == 0) {
		barrier->is_late = true;
		return;
	}
	barrier_end(barrier, search.late);
}

/* ---- the begin ----------------------------------------------------------- */

static bool
barrier_is_for(const struct barrier *barrier, const struct child *child)
{
	return (child->role & barrier->roles) != 0 && !child->reaped
		&& !child->told_stop;
}

static void
barrier_tell(const struct barrier *barrier, struct child *child)
{
	/* A child that cannot be told is dead or killed, and is counted when it
	 * is reaped. */
	child->pending[barrier->kind] = barrier->number;
	(void)child_send(child, IPC_OBEY, &barrier->broadcast,
		sizeof(barrier->broadcast), NULL, 0);
}

static void
barrier_tell_each(struct child *child, void *arg)
{
	struct barrier *barrier = arg;

	if (!barrier_is_for(barrier, child))
		return;
	barrier->left++;
	barrier_tell(barrier, child);
}

enum nsd_err
barrier_begin(struct supervisor *s, enum barrier_kind kind,
	const struct ipc_broadcast *broadcast, unsigned roles)
{
	struct barrier *barrier = &s->barriers[kind];

	assert(barrier->on_end != NULL && (roles & ~ROLE_CHILDREN) == 0);
	barrier_forget(s, kind);
	if (event_add(barrier->late_event, &late_wait) == -1)
		return NSD_E_MEMORY;
	barrier->is_late = false;
	barrier->lost = 0;
	barrier->number = ++s->barrier_numbers;
	barrier->broadcast = *broadcast;
	barrier->broadcast.request.ticket = barrier->number;
	barrier->roles = roles;
	children_walk(s, barrier_tell_each, barrier);
	if (barrier->left == 0 && kind == BARRIER_SAVE)
		barrier->left = barrier->lost = 1; /* the next one */
	if (barrier->left == 0)
		barrier_end(barrier, NULL);
	return NSD_OK;
}

void
barrier_on_obeyed(struct supervisor *s, struct child *child,
	const struct ipc_message *m)
{
	uint64_t number;

	assert(m->len >= sizeof(number));
	memcpy(&number, m->payload, sizeof(number));
	child->unresponsive_looks = 0;
	for (unsigned i = 0; i < BARRIER_COUNT; i++)
		if (number == child->pending[i]) {
			barrier_count(&s->barriers[i], child);
			/* A barrier that was forgotten is no more pending,
			 * either. */
			child->pending[i] = 0;
		}
}

void
barrier_lose(struct supervisor *s, struct child *child)
{
	struct barrier *save = &s->barriers[BARRIER_SAVE];

	if (save->left > 0 && child->pending[BARRIER_SAVE] == save->number) {
		child->pending[BARRIER_SAVE] = 0;
		save->lost++;
	}
	for (unsigned i = 0; i < BARRIER_COUNT; i++)
		barrier_count(&s->barriers[i], child);
}

void
barrier_join(struct supervisor *s, struct child *child)
{
	struct barrier *save = &s->barriers[BARRIER_SAVE];

	if (save->left == 0 || save->lost == 0 || !barrier_is_for(save, child))
		return;
	save->lost--;
	barrier_tell(save, child);
}

enum nsd_err
barrier_init(struct supervisor *s, enum barrier_kind kind,
	void (*on_end)(struct supervisor *s, const struct child *late))
{
	struct barrier *barrier = &s->barriers[kind];

	assert(kind < BARRIER_COUNT && barrier->on_end == NULL);
	barrier->supervisor = s;
	barrier->kind = kind;
	barrier->on_end = on_end;
	barrier->late_event = event_new(s->base, -1, 0, barrier_on_late,
		barrier);
	return barrier->late_event != NULL ? NSD_OK : NSD_E_MEMORY;
}
