/* load_transfer.h - makes a version of a zone from the text of a transfer. */
#ifndef LOADER_LOAD_TRANSFER_H
#define LOADER_LOAD_TRANSFER_H

#include <stdbool.h>

#include "loader/load_zone.h"

struct store_heap;

/* A text to be read, and the heap to read it with. All is borrowed. */
struct load_task {
	struct store_heap *heap;
	bool large; /* read with several threads, whatever the size */
	const struct load_text *text;
};

/*
 * Reads task->text in the modes of a zone file (load_modes.h): either finds the
 * changes to the served version, or builds a new one with memory of heap. The
 * zone is claimed (load_zone_claim) by the caller, for the time until the
 * result is taken.
 *
 * Unless the task is large, a text that is better read with several threads is
 * LOAD_LARGE, and nothing is done. Any thread. *result: LOAD_COMPARED,
 * LOAD_APPLIED, LOAD_BUILT; or LOAD_FAILED with err, said in the log. Gives
 * files (zonefile_result_fini) and diff (diff_destroy). A text of differences
 * (XFR_DIFFS) is applied at once, with the help of the loop: LOAD_APPLIED, or
 * LOAD_FAILED; done: what was, also then.
 */
void load_transfer_read(const struct load_context *context,
	struct load_zone *zone, const struct load_task *task,
	struct load_result *result);

#endif
