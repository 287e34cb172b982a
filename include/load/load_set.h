/*
 * load_set.h - the zones of the configuration in the loader, by the id that
 * their entries in the table of zones have. Zones come and go while others are
 * read, and nothing here walks all of them.
 */
#ifndef LOAD_LOAD_SET_H
#define LOAD_LOAD_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "conf/conf.h"
#include "load/load_zone.h"

struct store_writer;

struct load_set {
	struct load_zone *zones; /* never move; conf NULL: a free one */
	size_t count;            /* used so far, with those that are free */
	size_t room;
	uint32_t free;    /* the first free one; its entry says the next */
	uint32_t resting; /* the same for those that a pass may still look at */
};

/* A set of count zones, all zero, with room for LOAD_SET_MORE more; never
 * freed. NSD_E_MEMORY. */
#define LOAD_SET_MORE (16u << 20)
enum nsd_err load_set_init(struct load_set *set, size_t count) MUST_USE;

/*
 * Adds a zone to the configuration, the table of zones, and the set; it is not
 * loaded yet. One that only messages had made keeps what it has, and is one of
 * the configuration from now on.
 * returns NSD_OK and lends *zone; what conf_add_zone does; NSD_E_LIMIT.
 */
enum nsd_err load_set_add(struct load_set *set, struct store_writer *writer,
	struct conf *conf, const char *name, const char *pattern,
	struct load_zone **zone) MUST_USE;

/* The entry that it had, and its version, which may be none and is to be
 * retired. */
struct load_set_removed {
	store_ref entry;
	store_ref zone;
};

/*
 * Takes a zone out of all three. pass: one is running, which may come to look
 * at its place in the set.
 * returns NSD_OK; NSD_E_NOT_FOUND: no such zone is configured; NSD_E_AGAIN: it
 * is being read: to be tried again once its result is taken, no thread begins
 * to read it until then; NSD_E_MEMORY: it stays.
 */
enum nsd_err load_set_remove(struct load_set *set, struct store_writer *writer,
	struct conf *conf, const char *name, bool pass,
	struct load_set_removed *removed)
	MUST_USE;

/* No pass is running: all places that are free may be used again. */
void load_set_end_pass(struct load_set *set);

#endif
