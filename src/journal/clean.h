/*
 * clean.h - entries that are not live any more, and what they leave on disk.
 */
#ifndef SRC_JOURNAL_CLEAN_H
#define SRC_JOURNAL_CLEAN_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/state.h"

/* The zone's entries with these ids are not live any more; the log says so,
 * even if none was. */
void clean_kill(struct journal *journal, const uint8_t *apex, uint64_t first,
	uint64_t last);

/* A job is done that clean had begun. True: it is for the caller, who is to
 * hear of damage. */
bool clean_on_done(struct journal *journal, struct journal_job *job) MUST_USE;

/* Has segments removed that are not needed, and entries moved so that others
 * will not be. */
void clean_run(struct journal *journal);

#endif
