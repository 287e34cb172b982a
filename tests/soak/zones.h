/*
 * zones.h - zones that change without end, and what each must hold: the
 * records of zone z at serial s follow from z and s alone.
 */
#ifndef TESTS_SOAK_ZONES_H
#define TESTS_SOAK_ZONES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/chance.h"
#include "store/store.h"
#include "zone/history.h"

struct store_sweep;
struct store_writer;

#define ZONES_MAX 1000u
#define ZONES_NAMES 48u /* a zone, at most */

/* Makes zone z as of a serial, not published. */
enum nsd_err zones_build(struct store_writer *writer, unsigned z,
	uint32_t serial, store_ref *zone);

/* A round of update_compact, as the idle loader makes it. */
bool zones_compact(struct store_writer *writer, unsigned count);

/* Add zone z as of a serial; give it other contents, built anew, whatever it
 * has; take it to the next serial by a transaction; remove it. False without
 * memory; anything else that fails ends the program. */
bool zones_add(struct store_writer *writer, unsigned z, uint32_t serial);
bool zones_replace(struct store_writer *writer, unsigned z, uint32_t serial);
bool zones_update(struct store_writer *writer, unsigned z);
void zones_remove(struct store_writer *writer, unsigned z);

/* Makes one of these changes at random, and mostly reclaims after it. */
bool zones_change(struct store_writer *writer, unsigned count,
	uint64_t *rng);

/* For store_check. */
void zones_mark(struct store_writer *writer, struct store_sweep *sweep);

/* The serial of a zone; 0: it is not there. */
uint32_t zones_serial(const struct store_view *view, unsigned z);

/* Compares all zones that are there with zones built from their text in a
 * store of their own. NULL, or what is wrong. For a reader: while online, or
 * with the table as it was pinned. alone: nobody changes them meanwhile. */
struct zones_check;
struct zones_check *zones_check_create(void);
void zones_check_destroy(struct zones_check *check);
const char *zones_check_all(struct zones_check *check,
	const struct store_view *view, unsigned count, bool alone);

/* The version of a zone and the changesets to it, for a reader that has pinned
 * it, and the check, which releases what is pinned. */
struct zones_pinned {
	unsigned z;
	store_ref zone; /* none: the zone is not there */
	struct history_path path;
};
struct zones_pinned zones_pin(const struct store_view *view, unsigned z);
const char *zones_check_pinned(struct zones_check *check,
	const struct store_view *view, struct zones_pinned pinned);

#endif
