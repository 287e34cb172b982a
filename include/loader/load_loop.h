/*
 * load_loop.h - work that threads of the loader hand to its loop. Only the loop
 * publishes, and tells others; threads wait for that, and go on.
 */
#ifndef LOADER_LOAD_LOOP_H
#define LOADER_LOAD_LOOP_H

#include <stdbool.h>

#include "base/err.h"

struct event_base;
struct load_loop;

/* Makes the loop's handle; the calling thread is the one that runs base. gives
 * *loop. returns NSD_OK; NSD_E_MEMORY; NSD_E_SYSTEM. */
enum nsd_err load_loop_create(struct event_base *base,
	struct load_loop **loop) MUST_USE;
/* Destroys the handle, once no thread calls load_loop_call any more. NULL is
 * fine. */
void load_loop_destroy(struct load_loop *loop);

/* Has the loop call run(arg) between two events, and returns after that. In the
 * loop's own thread, and without a loop (NULL), calls it at once. */
void load_loop_call(struct load_loop *loop, void (*run)(void *arg), void *arg);

/* Waits until the loop has called load_loop_release for this flag, which lies
 * on the thread's stack. */
void load_loop_await(struct load_loop *loop, const bool *done);
/* Has the thread go on; the flag is the thread's again. */
void load_loop_release(struct load_loop *loop, bool *done);

/* True in the loop's own thread, and without a loop. */
bool load_loop_is_own(const struct load_loop *loop);

/*
 * Notes that a thread is about to alter a served zone, down to the objects that
 * only the writer reads (holders, indices of contents): other threads must not
 * look at these. load_loop_end_edit ends that. Edits nest, over all threads.
 */
void load_loop_begin_edit(struct load_loop *loop);
void load_loop_end_edit(struct load_loop *loop);
/* True while an edit is on. For the loop's own thread: an edit begins only
 * between two events. */
bool load_loop_is_edited(const struct load_loop *loop);

#endif
