/*
 * inhand.h - keeps the message that a process had in hand when it died, such as
 * the request that killed it: main writes it to the log, and whole to a file
 * beside xfrdfile (doc/decisions/0137).
 */
#ifndef MAIN_INHAND_H
#define MAIN_INHAND_H

#include <stdbool.h>
#include <stdint.h>

struct child;
struct supervisor;

/* Files that are kept: numbers 1 to this. The oldest makes room. */
#define INHAND_FILES 16u

/* The rate of reports. Zeroed at first. */
struct inhand_pace {
	int64_t last_msec;  /* the last death with something in hand; 0: none
			     * yet */
	int64_t next_msec;  /* no report before */
	int64_t rest_msec;  /* between the last two */
	unsigned told;
	uint64_t left_out;  /* deaths since the last report */
};

/*
 * True if a death of now is to be told: the first few are, then one after ever
 * longer pauses of up to an hour, as an attacker may cause deaths. After an
 * hour without any it begins anew. *left_out: how many were not told since the
 * last one that was.
 */
bool inhand_may_tell(struct inhand_pace *pace, int64_t now_msec,
	uint64_t *left_out);

/* In main, once a child has ended (status: of waitpid), while its memory is
 * there: tells what it had in hand, if it was not told to end. Cost: little if
 * there was nothing, or it is not to be told; else up to 3 ms. */
void inhand_tell(struct supervisor *s, const struct child *child, int status);

#endif
