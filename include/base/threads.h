/*
 * threads.h - starts threads and waits for them.
 *
 * Two forms. threads_run shares out one piece of work and returns when all of
 * it is done (fork and join). struct threads holds threads that live longer:
 * they are started one by one and joined at the end. Queues, locks and counters
 * between threads are the caller's.
 *
 * Threads have numbers from 1; number 0 is the calling thread. A thread has the
 * signal mask and the name of the thread that started it, and the stack size of
 * the system. A thread that cannot be started is no error: the threads that are
 * there do its work.
 */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <stdbool.h>

#include "base/err.h"

/* The most threads that threads_run makes use of, the caller's included. */
#define THREADS_RUN_MAX 64u

/*
 * Calls run(arg, 0) to run(arg, count - 1), each once, and returns when all
 * have returned. Number 0 runs in the calling thread, the others each in one of
 * its own, all started before run(arg, 0) is called. Numbers for which there is
 * no thread (the system gives no more, or count is over THREADS_RUN_MAX) run in
 * the calling thread after number 0, in order. So run must not wait for a
 * number that may not have begun. What run has written is visible to the
 * caller. count is at least 1; with 1 no thread is started.
 */
void threads_run(unsigned count, void (*run)(void *arg, unsigned number),
	void *arg);

struct thread_slot;

/* Threads that all run the same function. The functions below are for one
 * thread at a time. */
struct threads {
	void (*run)(void *arg, unsigned number);
	void *arg;
	unsigned max;
	unsigned started; /* numbers 1 to started are there */
	struct thread_slot *slots;
};

/*
 * Prepares for up to max threads (0: none can be started); starts none. Ends
 * with threads_join. Keeps arg until then. NSD_E_MEMORY: without memory;
 * threads is then as after threads_join.
 */
enum nsd_err threads_init(struct threads *threads, unsigned max,
	void (*run)(void *arg, unsigned number), void *arg) MUST_USE;

/*
 * Starts one more thread. It calls run(arg, number); the number is what
 * threads->started is after this call. Returns false if there are max already,
 * or if the system gives no more; max is then lowered to what was started, so
 * asking again costs no system call.
 */
bool threads_start(struct threads *threads);

/* Waits until all threads have returned, and frees what threads_init took. The
 * caller has told them to end. Does nothing the second time, or if threads is
 * all zero. */
void threads_join(struct threads *threads);

#endif
