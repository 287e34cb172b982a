/* diff_history.h - the differences that a changed file makes, as a changeset
 * between two versions. */
#ifndef UPDATE_DIFF_HISTORY_H
#define UPDATE_DIFF_HISTORY_H

#include <stddef.h>

#include "update/diff.h"
#include "zonedb/history_edit.h"

/* Adds changes (diff_finish) to a draft in the order of RFC 1995 section 4. The
 * draft is lost if they do not lead to a newer serial (RFC 1982 section 3.2):
 * nobody could tell the versions apart. */
void diff_history_fill(struct history_draft *draft,
	const struct diff_change *changes, size_t count);

#endif
