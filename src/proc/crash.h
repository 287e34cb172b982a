/*
 * crash.h - deaths that the store may be to blame for, and what main does about
 * them. See doc/decisions/0063-crashes-and-the-store.md.
 */
#ifndef PROC_CRASH_H
#define PROC_CRASH_H

#include <stdbool.h>
#include <stdint.h>

struct child;
struct supervisor;

/* The crashes of those that read a store, and how often it is looked through
 * because of them. All zero at first. */
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

/* True if a process that ended so (status: of waitpid) has done what is not
 * allowed, or has seen that something is not as it must be. False if it was
 * killed or told to end. */
bool crash_is_one(int status);

/*
 * A child has ended so, and is not freed yet. If the file of its store cannot
 * be read any more, that store is left behind. If crashes pile up among those
 * that read the served store, the loader is replaced by one that looks the
 * store through.
 */
void crash_note(struct supervisor *s, const struct child *child, int status);

/* A loader has looked the store through, and found nothing. */
void crash_forget(struct supervisor *s);

#endif
