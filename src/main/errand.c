/* errand.c - waits until all children have done what main has told them. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <string.h>

#include "main/child.h"
#include "main/children.h"
#include "main/errand.h"

/* How long a child may take. One that hangs is replaced some time later. */
static const struct timeval late_wait = {.tv_sec = 10};

/* ---- its end ------------------------------------------------------------- */

void
errand_forget(struct supervisor *s, enum errand_kind kind)
{
	struct errand *errand = &s->errands[kind];

	event_del(errand->late_event);
	errand->left = 0;
}

static void
errand_end(struct errand *errand, const struct child *late)
{
	struct supervisor *s = errand->supervisor;

	assert(s->errands + errand->kind == errand);
	errand_forget(s, errand->kind);
	errand->on_end(s, late);
}

/* Counts a child as done. */
static void
errand_count(struct errand *errand, struct child *child)
{
	if (errand->left == 0 || child->owes[errand->kind] != errand->number)
		return;
	child->owes[errand->kind] = 0;
	if (--errand->left == 0)
		errand_end(errand, NULL);
}

struct errand_search {
	const struct errand *errand;
	const struct child *late;
};

static void
errand_find_late(struct child *child, void *arg)
{
	struct errand_search *search = arg;
	const struct errand *errand = search->errand;

	if (search->late == NULL
		&& child->owes[errand->kind]
			== errand->number)
		search->late = child;
}

static void
errand_on_late(evutil_socket_t fd, short what, void *arg)
{
	struct errand *errand = arg;
	struct errand_search search = {errand, NULL};

	assert(errand->left > 0); /* or its end has stopped the timer */
	children_walk(errand->supervisor, errand_find_late, &search);
	/* A deaf child is about to be replaced (watch.c): wait once more. */
	if (!errand->is_late && search.late != NULL
		&& search.late->watch.silent_msec == 0
		&& search.late->deaf_looks > 0
		&& search.late->deaf_looks < WATCH_DEAF_LOOKS
		&& event_add(errand->late_event, &late_wait) == 0) {
		errand->is_late = true;
		return;
	}
	errand_end(errand, search.late);
}

/* ---- its begin ----------------------------------------------------------- */

struct errand_telling {
	struct errand *errand;
	struct ipc_order order;
	unsigned roles;
};

static void
errand_tell(struct child *child, void *arg)
{
	const struct errand_telling *telling = arg;
	struct errand *errand = telling->errand;

	if ((child->role & telling->roles) == 0 || child->reaped
		|| child->told_stop)
		return;
	/* A child that cannot be told is dead or killed, and is counted as done
	 * when it is reaped. */
	child->owes[errand->kind] = errand->number;
	errand->left++;
	(void)child_send(child, IPC_OBEY, &telling->order,
		sizeof(telling->order), NULL, 0);
}

enum nsd_err
errand_begin(struct supervisor *s, enum errand_kind kind,
	const struct ipc_order *order, unsigned roles)
{
	struct errand_telling telling = {&s->errands[kind], *order, roles};
	struct errand *errand = telling.errand;

	assert(errand->on_end != NULL && (roles & ~ROLE_CHILDREN) == 0);
	errand_forget(s, kind);
	if (event_add(errand->late_event, &late_wait) == -1)
		return NSD_E_MEMORY;
	errand->is_late = false;
	errand->number = ++s->errand_numbers;
	telling.order.request.ticket = errand->number;
	children_walk(s, errand_tell, &telling);
	if (errand->left == 0)
		errand_end(errand, NULL);
	return NSD_OK;
}

void
errand_on_obeyed(struct supervisor *s, struct child *child,
	const struct ipc_message *m)
{
	uint64_t number;

	assert(m->len >= sizeof(number));
	memcpy(&number, m->payload, sizeof(number));
	child->deaf_looks = 0;
	for (unsigned i = 0; i < ERRAND_COUNT; i++)
		if (number == child->owes[i]) {
			errand_count(&s->errands[i], child);
			/* An errand that was forgotten is no more owed,
			 * either. */
			child->owes[i] = 0;
		}
}

void
errand_lose(struct supervisor *s, struct child *child)
{
	for (unsigned i = 0; i < ERRAND_COUNT; i++)
		errand_count(&s->errands[i], child);
}

enum nsd_err
errand_init(struct supervisor *s, enum errand_kind kind,
	void (*on_end)(struct supervisor *s, const struct child *late))
{
	struct errand *errand = &s->errands[kind];

	assert(kind < ERRAND_COUNT && errand->on_end == NULL);
	errand->supervisor = s;
	errand->kind = kind;
	errand->on_end = on_end;
	errand->late_event = event_new(s->base, -1, 0, errand_on_late,
		errand);
	return errand->late_event != NULL ? NSD_OK : NSD_E_MEMORY;
}
