/* load_read.h - reads a zone of the configuration, if it is to be read. */
#ifndef LOADER_LOAD_READ_H
#define LOADER_LOAD_READ_H

#include <stdbool.h>

#include "loader/load_zone.h"

struct store_heap;

/*
 * Reads a zone if context->which asks for it. Either finds the changes that the
 * files make to the served version, or builds a new version with memory of
 * heap. If the files give nothing new, builds the served version anew where
 * that is wanted (load_rehash.h).
 *
 * large: reads it whatever its size. Else a zone that is better read with
 * several threads is LOAD_LARGE, and nothing is done.
 * Reports go to the log. Any thread. Of zone only busy, whole and reading are
 * set. reading stays set until the result has been taken, unless the outcome is
 * LOAD_UNCHANGED or LOAD_LARGE.
 * *result: gives files (zonefile_result_fini) and diff (diff_destroy).
 */
void load_read_zone(const struct load_context *context,
	struct load_zone *zone, struct store_heap *heap, bool large,
	struct load_result *result);

#endif
