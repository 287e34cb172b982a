/* keeps_start.h - the loader's use of texts and of the journal. */
#ifndef TESTS_SIM_KEEPS_START_H
#define TESTS_SIM_KEEPS_START_H

#include "journal/journal_index.h"
#include "sim/keeps.h"

/* Applies a text to a version of a zone, which becomes another one. A text that
 * is no transfer of a primary ends the program. NSD_E_INEXACT: it does not
 * fit. */
enum nsd_err start_apply(const uint8_t *octets, size_t len, unsigned number,
	int *version);

/* Returns the version of a zone that a start publishes. */
int start_find(int dirfd, const struct journal_index *index, unsigned number);

#endif
