/* jobs.c - queues of jobs of the threads of a journal's writer. */
#include "journal/jobs.h"

#include <stdlib.h>
#include <string.h>

struct journal_job *
jobs_create(enum job_kind kind, size_t source_room)
{
	struct journal_job *job = malloc(sizeof(*job) + source_room);

	if (job == NULL)
		return NULL;
	memset(job, 0, sizeof(*job) + source_room);
	job->kind = kind;
	CDS_INIT_LIST_HEAD(&job->pending);
	return job;
}

void
jobs_destroy(struct journal_job *job)
{
	if (job == NULL)
		return;
	free(job->data);
	free(job);
}

void
jobs_init(struct journal_jobs *jobs)
{
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->some, NULL);
	CDS_INIT_LIST_HEAD(&jobs->list);
	jobs->ended = false;
}

void
jobs_fini(struct journal_jobs *jobs)
{
	struct journal_job *job, *next;

	cds_list_for_each_entry_safe(job, next, &jobs->list, node)
		jobs_destroy(job);
	pthread_cond_destroy(&jobs->some);
	pthread_mutex_destroy(&jobs->lock);
}

/* Appends a list to another, and empties it. */
static void
move_all(struct cds_list_head *from, struct cds_list_head *to)
{
	if (cds_list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	CDS_INIT_LIST_HEAD(from);
}

void
jobs_push(struct journal_jobs *jobs, struct journal_job *job)
{
	pthread_mutex_lock(&jobs->lock);
	cds_list_add_tail(&job->node, &jobs->list);
	pthread_cond_signal(&jobs->some);
	pthread_mutex_unlock(&jobs->lock);
}

void
jobs_push_all(struct journal_jobs *jobs, struct cds_list_head *list)
{
	pthread_mutex_lock(&jobs->lock);
	move_all(list, &jobs->list);
	pthread_cond_signal(&jobs->some);
	pthread_mutex_unlock(&jobs->lock);
}

bool
jobs_take(struct journal_jobs *jobs, bool wait, struct cds_list_head *list)
{
	bool more;

	pthread_mutex_lock(&jobs->lock);
	while (wait && cds_list_empty(&jobs->list) && !jobs->ended)
		pthread_cond_wait(&jobs->some, &jobs->lock);
	more = !jobs->ended || !cds_list_empty(&jobs->list);
	move_all(&jobs->list, list);
	pthread_mutex_unlock(&jobs->lock);
	return more;
}

void
jobs_end(struct journal_jobs *jobs)
{
	pthread_mutex_lock(&jobs->lock);
	jobs->ended = true;
	pthread_cond_broadcast(&jobs->some);
	pthread_mutex_unlock(&jobs->lock);
}
