/* reap.c - collects the processes of main that have ended. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "main/child.h"
#include "main/crash.h"
#include "main/generation.h"
#include "main/inhand.h"
#include "main/introduce.h"
#include "main/post.h"
#include "main/reap.h"
#include "store/store.h"

/* A loader that dies during a stop has not closed its file: forks one more, and
 * tells it to end at once. */
static void
reap_check_closed(struct supervisor *s, const struct child *loader, int status)
{
	if (!s->stopping || status == 0 || loader->given_up)
		return;
	post_fill_to_close(s);
	if (s->loader.current != NULL)
		child_stop(s->loader.current);
}

/* The file of a damaged store is free at last: the loader ends with its store
 * in it. */
static void
reap_save(struct supervisor *s)
{
	post_fill_to_close(s);
	if (s->loader.current != NULL)
		child_stop(s->loader.current);
}

static void
reap_child(struct post *post, struct child *child, int status)
{
	struct supervisor *s = post->supervisor;
	struct generation *g = child->generation;
	bool was_current = child == post->current;
	bool was_next = child == post->next;

	assert(was_current || was_next || child == post->leaving);
	assert(child->role == post->role && !child->reaped);
	/* Messages that the child sent before it died still count: that the
	 * store is damaged, that a key is of a zone. */
	child_note_end(child);
	link_read_out(&child->link);
	introduce_end(s, child);
	errand_lose(s, child);
	child_log_end(child, status);
	inhand_tell(s, child, status);
	crash_note(s, child, status);
	if (was_current)
		post->current = NULL;
	else if (child == post->next)
		post->next = NULL;
	else
		post->leaving = NULL;
	if (child->is_reader)
		store_reader_clear(g->store, child->reader_slot);
	child_unwatch(child);
	if (post->role == ROLE_LOADER) {
		/* The next loader does the reload that this one did not end. */
		s->reload_wanted |= s->reloading;
		s->reloading = false;
	}
	if (post->role == ROLE_LOADER && generation_is_beside(s, g))
		generation_stay(s);
	if (post_drop_adopter(s, child, crash_is_one(status)))
		post->failures = 0; /* clients of a lent socket may have
				     * killed it */
	assert(g->users > 0);
	g->users--;
	if (generation_release(s, g) && s->stopping)
		reap_save(s);
	if (post->role == ROLE_WRITER)
		post_rest_writer(post, child, status);
	else if (was_current)
		post_refill(post, child);
	else if (was_next)
		post_lose_next(post, child);
	else if (!s->stopping && post->current != NULL
		&& post->current->generation != s->serving)
		post_roll(post);
	if (post->role == ROLE_LOADER) {
		reap_check_closed(s, child, status);
		reconfig_on_loader_end(s);
	}
	if (post->role == ROLE_XFRD && s->stopping
		&& s->writer.current != NULL)
		child_stop(s->writer.current);
	free(child);
}

static void
reap_from_post(struct post *post, pid_t pid, int status)
{
	if (post->current != NULL && post->current->pid == pid)
		reap_child(post, post->current, status);
	else if (post->leaving != NULL && post->leaving->pid == pid)
		reap_child(post, post->leaving, status);
	else if (post->next != NULL && post->next->pid == pid)
		reap_child(post, post->next, status);
}

static void
reap_pid(struct supervisor *s, pid_t pid, int status)
{
	for (unsigned i = 0; i < s->worker_count; i++)
		reap_from_post(&s->workers[i], pid, status);
	reap_from_post(&s->xfrd, pid, status);
	reap_from_post(&s->writer, pid, status);
	reap_from_post(&s->loader, pid, status);
}

void
reap_children(struct supervisor *s)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		reap_pid(s, pid, status);
}
