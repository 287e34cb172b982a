/* children.c - all processes of main at once. */
#include "config.h"

#include "main/child.h"
#include "main/children.h"
#include "main/generation.h"

static void
children_walk_service(struct service *service,
	void (*fn)(struct child *, void *),
	void *arg)
{
	struct child *leaving = service->leaving, *next = service->next;

	if (service->current != NULL)
		fn(service->current, arg);
	if (leaving != NULL)
		fn(leaving, arg);
	if (next != NULL)
		fn(next, arg);
}

void
children_walk(struct supervisor *s, void (*fn)(struct child *, void *),
	void *arg)
{
	for (unsigned i = 0; i < s->worker_count; i++)
		children_walk_service(&s->workers[i], fn, arg);
	children_walk_service(&s->verify_server, fn, arg);
	children_walk_service(&s->xfrd, fn, arg);
	children_walk_service(&s->writer, fn, arg);
	children_walk_service(&s->verifier, fn, arg);
	children_walk_service(&s->collector, fn, arg);
	children_walk_service(&s->loader, fn, arg);
}

static void
children_tell_one(struct child *child, void *arg)
{
	const enum ipc_type *type = arg;

	if ((ipc_rows[*type].receiver & child->role) != 0)
		(void)child_send(child, *type, NULL, 0, NULL, 0);
}

void
children_tell(struct supervisor *s, enum ipc_type type)
{
	children_walk(s, children_tell_one, &type);
}

bool
children_have_worker(const struct supervisor *s)
{
	for (unsigned i = 0; i < s->worker_count; i++)
		if (s->workers[i].current != NULL || s->workers[i].next != NULL
			|| s->workers[i].leaving != NULL)
			return true;
	return false;
}

/* Tells a child to end, with three exceptions: a writer ends after xfrd, which
 * may have zones to write; a collector after workers; and a loader whose store
 * goes into a file ends after the readers of that file. */
static void
children_stop_one(struct child *child, void *arg)
{
	const struct supervisor *s = child->supervisor;

	if (child->role == ROLE_WRITER && s->xfrd.current != NULL)
		return;
	if (child->role == ROLE_COLLECTOR && children_have_worker(s))
		return;
	if (child->role == ROLE_LOADER && generation_file_is_left(s))
		return;
	child_stop(child);
}

void
children_stop(struct supervisor *s)
{
	children_walk(s, children_stop_one, NULL);
}

static void
children_kill_worker(struct child *child, void *arg)
{
	if (child->role == ROLE_WORKER)
		child_give_up(child);
}

void
children_kill_workers(struct supervisor *s)
{
	children_walk(s, children_kill_worker, NULL);
}

static void
children_count_one(struct child *child, void *arg)
{
	++*(unsigned *)arg;
}

unsigned
children_count(const struct supervisor *s)
{
	unsigned count = 0;

	children_walk((struct supervisor *)(uintptr_t)s, children_count_one,
		&count);
	return count;
}

/* True if a worker answers. A worker that waits for a processor does, as fast
 * as the machine lets it. */
static bool
children_one_serves(const struct child *worker)
{
	const struct watch *w = &worker->watch;

	return worker->serving && !worker->hung
		&& (w->silent_msec <= ROLE_HEARTBEAT_MSEC
			|| w->kind == WATCH_WAITS);
}

bool
children_serve(const struct supervisor *s)
{
	for (unsigned i = 0; i < s->worker_count; i++) {
		const struct child *worker = s->workers[i].current;

		if (worker != NULL && children_one_serves(worker))
			return true;
	}
	return false;
}
