/* reap.c - collects the processes of main that have ended. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "main/child.h"
#include "main/children.h"
#include "main/crash.h"
#include "main/generation.h"
#include "main/inhand.h"
#include "main/introduce.h"
#include "main/reap.h"
#include "main/service.h"
#include "store/store.h"

/* A loader that dies during a stop has not closed its file: forks one more, and
 * tells it to end at once. */
static void
reap_check_closed(struct supervisor *s, const struct child *loader, int status)
{
	if (!s->stopping || status == 0 || loader->given_up)
		return;
	service_start_to_close(s);
	if (s->loader.current != NULL)
		child_stop(s->loader.current);
}

/* The file of a damaged store is free at last: the loader ends with its store
 * in it. */
static void
reap_save(struct supervisor *s)
{
	service_start_to_close(s);
	if (s->loader.current != NULL)
		child_stop(s->loader.current);
}

/* A process that was forked with this store is gone. */
static void
reap_leave_store(struct supervisor *s, struct generation *g)
{
	assert(g->users > 0);
	g->users--;
	if (generation_release(s, g) && s->stopping)
		reap_save(s);
}

/* At a stop the collector ends behind the workers, whose records it has to
 * send. */
static void
reap_end_collector(struct supervisor *s)
{
	if (s->stopping && s->collector.current != NULL
		&& !children_have_worker(s))
		child_stop(s->collector.current);
}

static void
reap_child(struct service *service, struct child *child, int status)
{
	struct supervisor *s = service->supervisor;
	struct generation *g = child->generation;
	bool was_current = child == service->current;
	bool was_next = child == service->next;

	assert(was_current || was_next || child == service->leaving);
	assert(child->role == service->role && !child->reaped);
	/* Messages that the child sent before it died still count: that the
	 * store is damaged, that a key is of a zone. */
	child_note_end(child);
	link_read_out(&child->link);
	introduce_end(s, child);
	barrier_lose(s, child);
	child_log_end(child, status);
	inhand_tell(s, child, status);
	crash_note(s, child, status);
	if (was_current)
		service->current = NULL;
	else if (child == service->next)
		service->next = NULL;
	else
		service->leaving = NULL;
	if (child->is_reader)
		store_reader_clear(g->store, child->reader_slot);
	child_unwatch(child);
	if (service->role == ROLE_LOADER) {
		/* The next loader does the reload that this one did not end. */
		s->reload_wanted |= s->reloading;
		s->reloading = false;
	}
	if (service->role == ROLE_LOADER && generation_is_beside(s, g))
		generation_stay(s);
	if (service_drop_adopter(s, child, crash_is_one(status)))
		service->failures = 0; /* clients of a lent socket may have
				     * killed it */
	if (g != NULL)
		reap_leave_store(s, g);
	if ((service->role & CHILD_ON_DEMAND) != 0)
		service_rest(service, child, status);
	else if (was_current)
		service_respawn(service, child);
	else if (was_next)
		service_lose_next(service, child);
	else if (!s->stopping && service->current != NULL
		&& service->current->generation != s->serving)
		service_restart(service);
	if (service->role == ROLE_LOADER) {
		reap_check_closed(s, child, status);
		reconfig_on_loader_end(s);
	}
	if (service->role == ROLE_XFRD && s->stopping
		&& s->writer.current != NULL)
		child_stop(s->writer.current);
	reap_end_collector(s);
	free(child);
}

static void
reap_from_service(struct service *service, pid_t pid, int status)
{
	if (service->current != NULL && service->current->pid == pid)
		reap_child(service, service->current, status);
	else if (service->leaving != NULL && service->leaving->pid == pid)
		reap_child(service, service->leaving, status);
	else if (service->next != NULL && service->next->pid == pid)
		reap_child(service, service->next, status);
}

static void
reap_pid(struct supervisor *s, pid_t pid, int status)
{
	for (unsigned i = 0; i < s->worker_count; i++)
		reap_from_service(&s->workers[i], pid, status);
	reap_from_service(&s->verify_server, pid, status);
	reap_from_service(&s->xfrd, pid, status);
	reap_from_service(&s->writer, pid, status);
	reap_from_service(&s->verifier, pid, status);
	reap_from_service(&s->collector, pid, status);
	reap_from_service(&s->loader, pid, status);
}

void
reap_children(struct supervisor *s)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		reap_pid(s, pid, status);
}
