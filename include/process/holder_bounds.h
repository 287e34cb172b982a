/* holder_bounds.h - bounds of the old versions of zones that a reader may keep
 * in the store, by size and age: doc/decisions/0148. */
#ifndef PROCESS_HOLDER_BOUNDS_H
#define PROCESS_HOLDER_BOUNDS_H

#include <stdint.h>

/* The least rate of a transfer in octets a second: a slower client holds a
 * version of its zone for longer than the slowest line explains. */
#define HOLDER_STREAM_RATE 8192u

/* The most that a reader may keep from being freed. */
struct holder_bounds {
	uint64_t octets;
	int64_t age_msec;
};

/* Bounds for a store in which `served` octets are served; they grow with it. */
void holder_get_bounds(uint64_t served, struct holder_bounds *bounds);

#endif
