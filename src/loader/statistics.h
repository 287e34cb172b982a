/* statistics.h - the use of the store's memory, and its holders, as lines of
 * the log. */
#ifndef LOADER_STATISTICS_H
#define LOADER_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"
#include "zone/measure.h"

struct store_holder;
struct store_writer;

/*
 * Lines of the loader: STORE, octets in the store, and those that wait for
 * readers; HOLDER, the reader that has held something back for longest, if
 * there is one.
 */
void statistics_log_store(struct store_writer *writer, int64_t now_msec);

/* KINDS says what the zones' memory is used for. That costs a walk of all
 * zones: works for a turn (load_turn.h), and writes the line at the end. kinds:
 * zero before the first call. False: all is done. */
bool statistics_measure_kinds(struct store_writer *writer,
	struct zone_measuring *kinds);

/* Warns of the reader that has held something back for longest, if that is
 * long, and again each time the age has doubled. To be called about once a
 * second while something waits. holder: NULL: none does. *warned: 0 before the
 * first call; set to 0 when none does. */
void statistics_warn_holder(const struct store_holder *holder,
	int64_t *warned);

#endif
