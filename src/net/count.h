/* count.h - the counters and flags of struct net_handler, which may be
 * NULL. */
#ifndef NET_COUNT_H
#define NET_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "net/server.h"

static inline void
net_count_add(uint64_t *counter, uint64_t n)
{
	if (counter != NULL)
		*counter += n;
}

/* The time, if it is wanted for latencies. */
static inline int64_t
net_count_begin(const struct net_handler *handler)
{
	return handler->latency != NULL ? clock_now_usec() : 0;
}

static inline bool
net_wants_local(const struct net_handler *handler)
{
	return handler->wants_local != NULL
		&& __atomic_load_n(handler->wants_local, __ATOMIC_RELAXED) != 0;
}

#endif
