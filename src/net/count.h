/* count.h - the counters of struct net_handler, which may be NULL. */
#ifndef NET_COUNT_H
#define NET_COUNT_H

#include <stddef.h>
#include <stdint.h>

static inline void
net_count_add(uint64_t *counter, uint64_t n)
{
	if (counter != NULL)
		*counter += n;
}

#endif
