/* audit_pool.c - batches of work, and the threads that do them. A thread is
 * started when there is a whole batch to do. The caller does its share. */
#include <assert.h>
#include <stdlib.h>

#include "audit/audit_part.h"

#define QUEUED_MAX 4u /* batches a thread; beyond that the caller does one */

struct audit_batch *
audit_batch_create(size_t room, bool kept)
{
	struct audit_batch *b = malloc(sizeof(*b) + room);

	if (b == NULL)
		return NULL;
	b->next = NULL;
	b->kept_next = NULL;
	b->run = NULL;
	b->kept = kept;
	b->len = 0;
	b->room = room;
	return b;
}

static void
batch_run(struct audit_worker *w, struct audit_batch *b)
{
	assert(b->len <= b->room);
	b->run(w, b);
	if (!b->kept)
		free(b);
}

/* The next batch in the queue, or NULL. With the lock held. */
static struct audit_batch *
audit_pool_take(struct audit_pool *p)
{
	struct audit_batch *b = p->first;

	if (b == NULL)
		return NULL;
	p->first = b->next;
	if (p->first == NULL)
		p->last = &p->first;
	assert(p->queued > 0);
	p->queued--;
	return b;
}

static void
pool_thread(void *arg, unsigned number)
{
	struct audit *audit = arg;
	struct audit_pool *p = &audit->pool;
	struct audit_worker *w = &p->workers[number];

	assert(number < AUDIT_THREADS_MAX);
	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct audit_batch *b = audit_pool_take(p);

		if (b == NULL) {
			if (p->closed)
				break;
			pthread_cond_wait(&p->wake, &p->lock);
			continue;
		}
		p->busy++;
		pthread_mutex_unlock(&p->lock);
		batch_run(w, b);
		pthread_mutex_lock(&p->lock);
		assert(p->busy > 0);
		if (--p->busy == 0)
			pthread_cond_signal(&p->idle);
	}
	pthread_mutex_unlock(&p->lock);
}

static enum nsd_err
pool_init_locks(struct audit_pool *p)
{
	if (pthread_mutex_init(&p->lock, NULL) != 0)
		return NSD_E_MEMORY;
	if (pthread_cond_init(&p->wake, NULL) == 0) {
		if (pthread_cond_init(&p->idle, NULL) == 0)
			return NSD_OK;
		pthread_cond_destroy(&p->wake);
	}
	pthread_mutex_destroy(&p->lock);
	return NSD_E_MEMORY;
}

enum nsd_err
audit_pool_init(struct audit *audit, unsigned threads)
{
	struct audit_pool *p = &audit->pool;
	enum nsd_err err;

	if (threads > AUDIT_THREADS_MAX)
		threads = AUDIT_THREADS_MAX;
	p->last = &p->first;
	for (unsigned i = 0; i < AUDIT_THREADS_MAX; i++)
		p->workers[i].audit = audit;
	err = threads_init(&p->threads, threads > 0 ? threads - 1 : 0,
		pool_thread, audit);
	if (err != NSD_OK)
		return err;
	err = pool_init_locks(p);
	if (err != NSD_OK)
		threads_join(&p->threads);
	return err;
}

/* The caller works too as long as more than queued_max batches wait. With the
 * lock held, which it lets go of during the work. */
static void
pool_help(struct audit_pool *p, unsigned queued_max)
{
	while (p->queued > queued_max) {
		struct audit_batch *b = audit_pool_take(p);

		pthread_mutex_unlock(&p->lock);
		batch_run(&p->workers[0], b);
		pthread_mutex_lock(&p->lock);
	}
}

void
audit_pool_submit(struct audit *audit, struct audit_batch *batch,
	void (*run)(struct audit_worker *worker,
		const struct audit_batch *batch))
{
	struct audit_pool *p = &audit->pool;

	/* Before the batch is queued: the new thread finds work at once. */
	(void)threads_start(&p->threads);
	batch->next = NULL;
	batch->run = run;
	pthread_mutex_lock(&p->lock);
	*p->last = batch;
	p->last = &batch->next;
	p->queued++;
	pthread_cond_signal(&p->wake);
	pool_help(p, p->threads.started * QUEUED_MAX);
	pthread_mutex_unlock(&p->lock);
}

enum nsd_err
audit_pool_drain(struct audit *audit)
{
	struct audit_pool *p = &audit->pool;
	enum nsd_err err = NSD_OK;

	pthread_mutex_lock(&p->lock);
	pool_help(p, 0);
	while (p->busy > 0)
		pthread_cond_wait(&p->idle, &p->lock);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < AUDIT_THREADS_MAX && err == NSD_OK; i++)
		err = p->workers[i].err;
	return err;
}

void
audit_pool_fini(struct audit *audit)
{
	struct audit_pool *p = &audit->pool;
	struct audit_batch *b;

	pthread_mutex_lock(&p->lock);
	while ((b = audit_pool_take(p)) != NULL)
		if (!b->kept)
			free(b);
	p->closed = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	threads_join(&p->threads);
	pthread_cond_destroy(&p->idle);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
}
