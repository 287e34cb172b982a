/*
 * crash.h - crashes that a damaged store may have caused, and what main does
 * about them. See doc/decisions/0150-no-store-is-looked-through.md.
 */
#ifndef MAIN_CRASH_H
#define MAIN_CRASH_H

#include <stdbool.h>
#include <stdint.h>

struct child;
struct supervisor;

/* Crashes of the processes that read a store, and the pauses between the stores
 * that are filled because of them. All zero at first. */
struct crashes {
	unsigned count;      /* since first_msec, and since the last filling */
	int64_t first_msec;
	int64_t rest_msec;   /* from the end of one filling to the next, at the
			      * least, as long as a client is answered */
	int64_t rest_alone_msec; /* the same while none is */
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
 * several readers of the served store crash, another one is filled beside it:
 * once, then after pauses that grow.
 */
void crash_note(struct supervisor *s, const struct child *child, int status);

#endif
