/*
 * load_pool.h - reads many zones on several threads, each with a heap of its
 * own; the results come one by one to the loader's loop.
 *
 * Small zones first, a thread each; then the large ones one after another,
 * each with all threads. So what can be served soon is served soon.
 */
#ifndef LOAD_LOAD_POOL_H
#define LOAD_LOAD_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "load/load_zone.h"

struct load_pool;

/* Has the C library keep little of what threads have freed. For the loader,
 * before any thread of its process has taken memory. */
void load_pool_bound_malloc(void);

/*
 * Starts reading. Borrows zones[count] and context until load_pool_finish.
 * Calls on_results from the loop every few milliseconds, and when all is done;
 * there may be results then (load_pool_take). NSD_E_MEMORY, NSD_E_SYSTEM.
 */
struct event_base;
enum nsd_err load_pool_start(const struct load_context *context,
	struct load_zone **zones, size_t count, struct event_base *base,
	void (*on_results)(void *ctx), void *ctx, struct load_pool **pool)
	MUST_USE;

/* The results since the last call, as a list: all but LOAD_UNCHANGED. Takes
 * them from the pool: free each. */
struct load_result *load_pool_take(struct load_pool *pool);

/* True once all are read; then nothing more comes after load_pool_take. */
bool load_pool_is_done(struct load_pool *pool);

/* How many zones have been looked at. */
size_t load_pool_progress(const struct load_pool *pool);

/* Begins with no further zone: done once those in work are. */
void load_pool_cancel(struct load_pool *pool);

/* Once it is done: ends the threads, frees all. */
void load_pool_finish(struct load_pool *pool);

#endif
