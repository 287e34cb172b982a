/*
 * clean.h - removes from the disk what entries leave that are not live any
 * more.
 */
#ifndef SRC_JOURNAL_CLEAN_H
#define SRC_JOURNAL_CLEAN_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/state.h"

/* Notes that an entry is not doubtful any more, in the log, too. */
void clean_note_judged(struct journal *journal, const uint8_t *apex,
	uint64_t id);

/* Ends the lives of a zone's entries with these ids, in the log, too, even if
 * none was live. */
void clean_kill(struct journal *journal, const uint8_t *apex, uint64_t first,
	uint64_t last);

/* Takes a job that clean had begun, and that is done. True: it is for the
 * caller, who is to hear of damage. */
bool clean_on_done(struct journal *journal, struct journal_job *job) MUST_USE;

/* Has segments removed that are not needed, and entries moved out of segments
 * that are to go next. */
void clean_run(struct journal *journal);

#endif
