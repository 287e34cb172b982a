/*
 * crash.h - crashes that a damaged store may have caused, and what main does
 * about them. See doc/decisions/0063-crashes-and-the-store.md.
 */
#ifndef PROC_CRASH_H
#define PROC_CRASH_H

#include <stdbool.h>
#include <stdint.h>

struct child;
struct supervisor;

/* Crashes of the processes that read a store, and the looks through the store
 * that they have caused. All zero at first. */
struct crashes {
	unsigned count;      /* since first_msec, and since the last look */
	int64_t first_msec;
	int64_t looked_msec; /* the last look; 0: none */
	int64_t rest_msec;   /* from one look to the next, at the least, as long
			      * as a worker serves */
	int64_t rest_alone_msec; /* the same while none does */
	uint64_t answers;        /* of all workers, until the last crash */
	unsigned in_vain;        /* crashes in a row with few between them */
};

/* True if a process with this status (of waitpid) ended by a fault of its own
 * (SIGSEGV, SIGBUS, SIGILL, SIGFPE) or by an assertion (SIGABRT). False if it
 * was killed or told to end. */
bool crash_is_one(int status);

/*
 * Notes how a child has ended (status: of waitpid), before it is freed. If the
 * file of its store cannot be read any more, main gives that store up. If
 * several readers of the served store crash, main replaces the loader by one
 * that looks the store through.
 */
void crash_note(struct supervisor *s, const struct child *child, int status);

/* A loader has looked the store through, and found nothing. */
void crash_forget(struct supervisor *s);

#endif
