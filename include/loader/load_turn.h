/*
 * load_turn.h - bounds the time that the loader works on one thing before it
 * looks at its messages again. A change must not wait for work that can wait.
 */
#ifndef LOADER_LOAD_TURN_H
#define LOADER_LOAD_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define LOAD_TURN_USEC 300

struct load_turn {
	int64_t end_usec;
};

static inline struct load_turn
load_turn_begin(void)
{
	return (struct load_turn){clock_now_usec() + LOAD_TURN_USEC};
}

/* True if the time is up. Time without a processor counts, too: messages have
 * come meanwhile. */
static inline bool
load_turn_is_over(const struct load_turn *turn)
{
	return clock_now_usec() >= turn->end_usec;
}

#endif
