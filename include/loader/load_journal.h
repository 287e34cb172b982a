/*
 * load_journal.h - the transfers that the journal has beyond zone files: the
 * loader reads them in its first pass, and goes on where xfrd was
 * (journal/journal_index.h).
 *
 * A secondary zone begins with what is served already, or with its file; with
 * the last whole zone of the journal if the differences do not lead on from
 * there, or if that came last and the file is no newer: it has sums, and a file
 * may have been cut short. The differences that follow are applied as one
 * change, by a thread if that takes long. Nothing is answered from the zone
 * before all is done, unless it was served before.
 */
#ifndef LOADER_LOAD_JOURNAL_H
#define LOADER_LOAD_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/load_zone.h"

struct load_journal;
struct store_heap;

/* Reads the journal in the folder at path. Damage is reported in the log. Gives
 * NULL if there is no journal, or if it cannot be read, which the log says.
 * Blocks: a second for a million entries. */
struct load_journal *load_journal_open(const char *path);
/* NULL is fine. No thread may read it any more. */
void load_journal_close(struct load_journal *journal);

/* True if context->journal has entries of a zone; any thread. */
bool load_journal_has(const struct load_context *context,
	const struct load_zone *zone);

/*
 * Builds a zone, which the caller has claimed and of which context->journal has
 * entries, from a whole zone there, if the zone begins with that. path: of the
 * zone's file if that is there and due, else NULL. heap, large, *result: as in
 * load_transfer.h. Any thread.
 * Returns true if *result has the outcome; false: the caller goes on with the
 * file.
 */
struct load_task;
bool load_journal_build(const struct load_context *context,
	struct load_zone *zone, const char *path,
	const struct load_task *task, struct load_result *result);

/* True if the journal leads on from the served version. Any thread. */
bool load_journal_is_ahead(const struct load_context *context,
	const struct load_zone *zone);

/*
 * Holds a zone that is about to be published, if no version is served and the
 * journal may lead on from this one: the caller ends the hold (load_expiry.h)
 * after load_journal_catch_up. For the main thread.
 */
void load_journal_hold(const struct load_context *context,
	struct load_zone *zone);

/*
 * Applies the differences that lead on from the served version, as far as they
 * do. Reports go to the log. For the main thread, without a heap; or for a
 * thread that has a heap and may change the zone (update_make).
 * returns NSD_OK; NSD_E_LIMIT, in the main thread alone: it would take long,
 * and a thread is to do it.
 */
enum nsd_err load_journal_catch_up(const struct load_context *context,
	struct load_zone *zone, struct store_heap *heap) MUST_USE;

#endif
