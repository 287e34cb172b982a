/* audit_pool.c - batches of work for the threads of an audit. Threads are
 * started when there is a whole batch to do; the caller's does its share. */
#include <stdlib.h>

#include "audit/audit_part.h"

#define QUEUED_MAX 4u /* batches a thread, then the caller does one */

struct audit_batch *
audit_batch_create(enum audit_work work, size_t room)
{
	struct audit_batch *b = malloc(sizeof(*b) + room);

	if (b == NULL)
		return NULL;
	b->next = NULL;
	b->kept_next = NULL;
	b->work = work;
	b->len = 0;
	b->room = room;
	return b;
}

/* Names are kept, they are looked at again for the next parameters. */
static void
worker_do(struct audit_worker *w, struct audit_batch *b)
{
	if (b->work == AUDIT_WORK_NAMES) {
		audit_nsec3_hash_names(w->audit, b);
		return;
	}
	for (size_t at = 0; at < b->len;) {
		const struct audit_rrset *rrset = (const void *)(b->data + at);

		audit_sigs_check(w, rrset);
		at += rrset->size;
	}
	free(b);
}

static struct audit_batch *
pool_take(struct audit_pool *p)
{
	struct audit_batch *b = p->first;

	if (b == NULL)
		return NULL;
	p->first = b->next;
	if (p->first == NULL)
		p->last = &p->first;
	p->queued--;
	return b;
}

static void *
worker_main(void *arg)
{
	struct audit_worker *w = arg;
	struct audit_pool *p = &w->audit->pool;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct audit_batch *b = pool_take(p);

		if (b == NULL) {
			if (p->closed)
				break;
			pthread_cond_wait(&p->wake, &p->lock);
			continue;
		}
		p->busy++;
		pthread_mutex_unlock(&p->lock);
		worker_do(w, b);
		pthread_mutex_lock(&p->lock);
		if (--p->busy == 0)
			pthread_cond_signal(&p->idle);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

enum nsd_err
audit_pool_init(struct audit *audit, unsigned threads)
{
	struct audit_pool *p = &audit->pool;

	if (threads > AUDIT_THREADS_MAX)
		threads = AUDIT_THREADS_MAX;
	p->threads = threads > 0 ? threads - 1 : 0;
	p->last = &p->first;
	for (unsigned i = 0; i < AUDIT_THREADS_MAX; i++)
		p->workers[i].audit = audit;
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

/* One more thread if there may be, before its work is queued. */
static void
pool_start(struct audit_pool *p)
{
	struct audit_worker *w = &p->workers[p->started + 1];

	if (p->started == p->threads)
		return;
	if (pthread_create(&w->thread, NULL, worker_main, w) == 0)
		p->started++;
	else
		p->threads = p->started;
}

/* As long as too much is queued, or all of it, the caller works too. */
static void
pool_help(struct audit_pool *p, unsigned queued_max)
{
	while (p->queued > queued_max) {
		struct audit_batch *b = pool_take(p);

		pthread_mutex_unlock(&p->lock);
		worker_do(&p->workers[0], b);
		pthread_mutex_lock(&p->lock);
	}
}

void
audit_pool_submit(struct audit *audit, struct audit_batch *batch)
{
	struct audit_pool *p = &audit->pool;

	pool_start(p);
	batch->next = NULL;
	pthread_mutex_lock(&p->lock);
	*p->last = batch;
	p->last = &batch->next;
	p->queued++;
	pthread_cond_signal(&p->wake);
	pool_help(p, p->started * QUEUED_MAX);
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
	for (unsigned i = 0; i <= p->started && err == NSD_OK; i++)
		err = p->workers[i].err;
	return err;
}

void
audit_pool_fini(struct audit *audit)
{
	struct audit_pool *p = &audit->pool;
	struct audit_batch *b;

	pthread_mutex_lock(&p->lock);
	while ((b = pool_take(p)) != NULL)
		if (b->work == AUDIT_WORK_RRSETS)
			free(b);
	p->closed = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 1; i <= p->started; i++)
		pthread_join(p->workers[i].thread, NULL);
	for (unsigned i = 0; i <= p->started; i++)
		audit_sigs_fini(&p->workers[i]);
	pthread_cond_destroy(&p->idle);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
}
