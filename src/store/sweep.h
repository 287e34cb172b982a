/*
 * sweep.h - the state of a sweep. The functions are in include/store/writer.h.
 */
#ifndef STORE_SWEEP_H
#define STORE_SWEEP_H

#include "store/state.h"

struct store_sweep {
	struct store_writer *writer;
	uint32_t first; /* granule of span 0 */
	uint32_t count; /* granules */
	bool damaged;
	uint64_t marks[]; /* a bit a granule, as the bitmaps of the spans */
};

#endif
