/*
 * load_pool.h - reads many zones with several threads. Each thread has a heap
 * of its own. The results come to the loader's loop one by one.
 *
 * Small zones come first, a thread for each. Then the large ones follow one
 * after another, each with all threads. So most zones are served soon.
 */
#ifndef LOADER_LOAD_POOL_H
#define LOADER_LOAD_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "loader/load_zone.h"

struct event_base;
struct load_pool;

/*
 * Starts reading. Keeps zones[count] and context until load_pool_finish. Calls
 * on_results from the loop of base every few milliseconds, and when all zones
 * are done: load_pool_take may have results then. Release with
 * load_pool_finish.
 * returns NSD_OK; NSD_E_MEMORY: no memory, or no descriptor to wake the loop;
 * NSD_E_SYSTEM: not a single thread can be started.
 */
enum nsd_err load_pool_start(const struct load_context *context,
	struct load_zone **zones, size_t count, struct event_base *base,
	void (*on_results)(void *ctx), void *ctx, struct load_pool **pool)
	MUST_USE;

/* Gives the results since the last call as a list, NULL: none. Results that are
 * LOAD_UNCHANGED are left out. Free each with free(). */
struct load_result *load_pool_take(struct load_pool *pool);

/* True once all zones are read and all results are taken. */
bool load_pool_is_done(struct load_pool *pool);

/* Returns the count of zones that have been looked at. */
size_t load_pool_progress(const struct load_pool *pool);

/* Has no further zone begun. The pool is done once the zones in work are. */
void load_pool_cancel(struct load_pool *pool);

/* Ends the threads and frees all. For a pool that is done. */
void load_pool_finish(struct load_pool *pool);

#endif
