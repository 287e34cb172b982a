/*
 * ages.h - how long ago an epoch ended, and how much was served since. A pin's
 * `low` is the last epoch in which nothing waited for it yet; so the writer
 * tells by it how long something does, whatever the reader says of itself and
 * however often it changes its pins.
 */
#ifndef STORE_AGES_H
#define STORE_AGES_H

#include "store/state.h"

/* Notes that the writer has come to its present epoch. now_msec: of any clock
 * that does not jump. Under the lock for what is retired. */
void ages_note(struct store_writer *writer, int64_t now_msec);

/* Notes how much is served: before the first object of an epoch is retired, as
 * that is when it may become less. Under the same lock. */
void ages_note_served(struct store_writer *writer);

/* The most octets that were served since an epoch began, or since the last mark
 * before. Objects that are being made count. Under the same lock. */
uint64_t ages_get_served(const struct store_writer *writer, uint64_t epoch);

/* The time since an epoch ended, or less; 0: it lasts, as far as is known. */
int64_t ages_get(const struct store_writer *writer, uint64_t epoch,
	int64_t now_msec);

/* The newest epoch that ended at least age_msec ago, as far as is known; 0:
 * none. */
uint64_t ages_find(const struct store_writer *writer, int64_t age_msec,
	int64_t now_msec);

#endif
