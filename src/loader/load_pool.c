/* load_pool.c - reads many zones on several threads. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/priority.h"
#include "base/threads.h"
#include "loader/load_pool.h"
#include "loader/load_read.h"
#include "store/writer.h"

/* How often results are taken while threads are at work. At the end they are
 * taken at once. Waking the loop for each of a million small zones would cost
 * more than reading it. */
#define TAKE_USEC 5000
/* Takes of results after which an epoch is ended. */
#define TAKES_EPOCH 64u
/* Threads for each processor at a start. Small files may still be on the disk
 * then, and a thread mostly waits for it: with 4 a million cold files took half
 * the time. Later, this many threads would be in the way of answers. */
#define READERS 4u

struct load_pool {
	const struct load_context *context;
	struct load_zone **zones;
	size_t count;
	size_t next;    /* to be taken by a thread; atomic */
	size_t looked;  /* zones done with; atomic */
	pthread_mutex_t lock; /* for what follows, down to running */
	struct load_result *first, **last;
	struct load_zone **large; /* waiting, in the order they were found;
				   * room for count + 1 */
	size_t large_count, large_next;
	bool large_running; /* a thread is at the large ones */
	bool cancelled;
	unsigned running;   /* threads */
	int wake_fd;
	struct event *wake_event;
	struct event *take_event;
	unsigned takes; /* of results */
	void (*on_results)(void *ctx);
	void *ctx;
	struct threads threads;
	struct store_heap *heaps[]; /* of thread n: at n - 1; NULL: none */
};

static void
pool_wake(struct load_pool *pool)
{
	uint64_t one = 1;

	/* Fails only if the counter is full: then the loop is awake anyway. */
	if (write(pool->wake_fd, &one, sizeof(one)) == -1)
		return;
}

/* Allocates the result of a zone before it is read: a zone that was built must
 * not be lost. Without memory the thread waits, as the loop frees results.
 * NULL: the pool was cancelled meanwhile. */
static struct load_result *
pool_make_result(struct load_pool *pool)
{
	struct load_result *result;
	bool cancelled = false;

	while ((result = malloc(sizeof(*result))) == NULL && !cancelled) {
		(void)usleep(TAKE_USEC);
		pthread_mutex_lock(&pool->lock);
		cancelled = pool->cancelled;
		pthread_mutex_unlock(&pool->lock);
	}
	return result;
}

/* Takes a result for the loop. */
static void
pool_push(struct load_pool *pool, struct load_result *result)
{
	result->next = NULL;
	pthread_mutex_lock(&pool->lock);
	*pool->last = result;
	pool->last = &result->next;
	pthread_mutex_unlock(&pool->lock);
}

static void
pool_put_off(struct load_pool *pool, struct load_zone *zone)
{
	pthread_mutex_lock(&pool->lock);
	assert(pool->large_count < pool->count);
	pool->large[pool->large_count++] = zone;
	pthread_mutex_unlock(&pool->lock);
}

static void
pool_read(struct load_pool *pool, struct store_heap *heap,
	struct load_zone *zone, bool large)
{
	struct load_result *result = pool_make_result(pool);

	assert(zone != NULL);
	if (result == NULL)
		return;
	load_read_zone(pool->context, zone, heap, large, result);
	if (result->outcome == LOAD_LARGE) {
		free(result);
		pool_put_off(pool, zone);
		return;
	}
	if (result->outcome != LOAD_UNCHANGED)
		pool_push(pool, result);
	else
		free(result);
	__atomic_fetch_add(&pool->looked, 1, __ATOMIC_RELAXED);
}

/* Returns the next large zone. One thread reads all of them; at_it: this one.
 * NULL: there is none, or another thread reads them. */
static struct load_zone *
pool_take_large(struct load_pool *pool, bool at_it)
{
	struct load_zone *zone = NULL;

	pthread_mutex_lock(&pool->lock);
	if (at_it || !pool->large_running) {
		pool->large_running = !pool->cancelled
			&& pool->large_next < pool->large_count;
		if (pool->large_running)
			zone = pool->large[pool->large_next++];
	}
	pthread_mutex_unlock(&pool->lock);
	return zone;
}

/* Reads zones until there are no more, and large ones last. */
static void
load_thread_main(void *arg, unsigned number)
{
	struct load_pool *pool = arg;
	struct store_heap *heap = pool->heaps[number - 1];
	struct load_progress *progress = pool->context->progress;
	struct load_zone *zone;
	bool at_it = false;
	size_t i;

	if (pool->context->beside_answers)
		priority_load();
	for (;;) {
		i = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED);
		if (i >= pool->count)
			break;
		pool_read(pool, heap, pool->zones[i], false);
	}
	while ((zone = pool_take_large(pool, at_it)) != NULL) {
		at_it = true;
		__atomic_store_n(&progress->zone, zone, __ATOMIC_RELEASE);
		pool_read(pool, heap, zone, true);
		__atomic_store_n(&progress->zone, NULL, __ATOMIC_RELEASE);
	}
	pthread_mutex_lock(&pool->lock);
	assert(pool->running > 0);
	pool->running--;
	pthread_mutex_unlock(&pool->lock);
	pool_wake(pool);
}

static void
pool_on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct load_pool *pool = arg;
	uint64_t count;

	if (read(fd, &count, sizeof(count)) == -1)
		return;
	pool->on_results(pool->ctx);
}

static void
pool_on_take(evutil_socket_t fd, short what, void *arg)
{
	struct load_pool *pool = arg;

	/* A new epoch: pins that readers have made until now do not hold
	 * objects that are built from now on. Not at each take: a reader that
	 * keeps too much is told to let go of a few epochs first, then of
	 * more. */
	if (++pool->takes % TAKES_EPOCH == 0)
		store_end_epoch(pool->context->writer);
	pool->on_results(pool->ctx);
}

struct load_result *
load_pool_take(struct load_pool *pool)
{
	struct load_result *first;

	pthread_mutex_lock(&pool->lock);
	first = pool->first;
	pool->first = NULL;
	pool->last = &pool->first;
	pthread_mutex_unlock(&pool->lock);
	return first;
}

bool
load_pool_is_done(struct load_pool *pool)
{
	bool done;

	pthread_mutex_lock(&pool->lock);
	done = pool->running == 0 && pool->first == NULL;
	pthread_mutex_unlock(&pool->lock);
	return done;
}

size_t
load_pool_progress(const struct load_pool *pool)
{
	return __atomic_load_n(&pool->looked, __ATOMIC_RELAXED);
}

void
load_pool_cancel(struct load_pool *pool)
{
	__atomic_store_n(&pool->next, pool->count, __ATOMIC_RELAXED);
	pthread_mutex_lock(&pool->lock);
	pool->large_next = pool->large_count;
	pool->cancelled = true;
	pthread_mutex_unlock(&pool->lock);
}

void
load_pool_finish(struct load_pool *pool)
{
	unsigned started = pool->threads.started;

	threads_join(&pool->threads);
	assert(pool->running == 0);
	for (unsigned i = 0; i < started; i++)
		store_heap_destroy(pool->heaps[i]);
	if (pool->wake_event != NULL)
		event_free(pool->wake_event);
	if (pool->take_event != NULL)
		event_free(pool->take_event);
	if (pool->wake_fd != -1)
		close(pool->wake_fd);
	pthread_mutex_destroy(&pool->lock);
	free(pool->large);
	free(pool);
}

/* Starts one more thread, with a heap of its own; false: cannot be had. */
static bool
pool_start_thread(struct load_pool *pool, struct store_heap **heap)
{
	if (store_heap_create(pool->context->writer, heap) != NSD_OK)
		return false;
	pthread_mutex_lock(&pool->lock);
	pool->running++;
	pthread_mutex_unlock(&pool->lock);
	if (threads_start(&pool->threads))
		return true;
	pthread_mutex_lock(&pool->lock);
	pool->running--;
	pthread_mutex_unlock(&pool->lock);
	store_heap_destroy(*heap);
	return false;
}

/* Starts as many threads as can be had. One is enough. */
static enum nsd_err
pool_start_threads(struct load_pool *pool, unsigned wanted)
{
	enum nsd_err err = threads_init(&pool->threads, wanted,
		load_thread_main, pool);

	if (err != NSD_OK)
		return err;
	for (unsigned i = 0; i < wanted; i++)
		if (!pool_start_thread(pool, &pool->heaps[i]))
			break;
	return pool->threads.started > 0 ? NSD_OK : NSD_E_SYSTEM;
}

enum nsd_err
load_pool_start(const struct load_context *context, struct load_zone **zones,
	size_t count, struct event_base *base, void (*on_results)(void *ctx),
	void *ctx, struct load_pool **pool)
{
	unsigned threads = context->which == LOAD_CHANGED
		? context->threads_max
		: context->threads_max * READERS;
	struct load_pool *p;
	struct timeval period = {.tv_usec = TAKE_USEC};
	enum nsd_err err = NSD_E_MEMORY;

	assert(on_results != NULL);
	if (count < threads)
		threads = count > 0 ? (unsigned)count : 1;
	p = calloc(1, sizeof(*p) + threads * sizeof(p->heaps[0]));
	if (p == NULL)
		return NSD_E_MEMORY;
	p->context = context;
	p->zones = zones;
	p->count = count;
	p->last = &p->first;
	p->on_results = on_results;
	p->ctx = ctx;
	pthread_mutex_init(&p->lock, NULL);
	p->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	p->large = malloc((count + 1) * sizeof(struct load_zone *));
	p->take_event = event_new(base, -1, EV_PERSIST, pool_on_take, p);
	if (p->wake_fd != -1)
		p->wake_event = event_new(base, p->wake_fd,
			EV_READ | EV_PERSIST, pool_on_wake, p);
	if (p->large == NULL || p->wake_event == NULL || p->take_event == NULL
		|| event_add(p->wake_event, NULL) == -1
		/* The one result of a thread that waits comes at its end. */
		|| (!context->awaits
			&& event_add(p->take_event, &period) == -1))
		goto fail;
	store_end_epoch(context->writer);
	err = pool_start_threads(p, threads);
	if (err != NSD_OK)
		goto fail;
	*pool = p;
	return NSD_OK;
fail:
	load_pool_finish(p);
	return err;
}
