/* counts_part.h - the parts of the shared memory of counts.h, for the files
 * that hand them out. */
#ifndef SRC_PROCESS_COUNTS_PART_H
#define SRC_PROCESS_COUNTS_PART_H

#include "process/counts.h"

/* Processes beside workers: main, loader, xfrd. */
#define COUNTS_OTHERS 3u

enum counts_part {
	PART_BLOCKS,
	PART_RSSAC,
	PART_LATENCY,
	PART_BASE,  /* the blocks of xfrd */
	PART_RESET,
	PART_STORE,
	PART_PROCESSES,
	PART_NAMES,
	PART_LIMITS,
	PART_COOKIES,
	PART_SWITCH,
	PART_CURSORS,
	PART_TAP,
	PART_RINGS, /* the last: each has a file of its own */
	PART_COUNT,
};

/* Gets an item of a part: to write if this process may, else to read. */
void *counts_part_get(const struct counts *c, enum counts_part which,
	unsigned index);

#endif
