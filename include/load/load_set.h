/*
 * load_set.h - the zones of the configuration in the loader, by the id of their
 * entries in the table of zones. Zones come and go while others are read, and
 * nothing here walks all of them.
 */
#ifndef LOAD_LOAD_SET_H
#define LOAD_LOAD_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "conf/conf.h"
#include "load/load_zone.h"

struct store_view;
struct store_writer;

struct load_set {
	struct load_zone *zones; /* never move; conf NULL: a free one */
	size_t count;            /* used so far, with those that are free */
	size_t room;
	uint32_t free;    /* the first free one; its entry says the next */
	uint32_t resting; /* the same for those that a pass may still look at */
};

/* Makes a set of count zones, all zero, with room for LOAD_SET_MORE more, or
 * only for one more if there is no address space. It is never freed.
 * NSD_E_MEMORY. */
#define LOAD_SET_MORE (16u << 20)
enum nsd_err load_set_init(struct load_set *set, size_t count) MUST_USE;

/*
 * Adds a zone to the configuration, the table of zones and the set. It is not
 * loaded yet. A zone that messages have made keeps its version, and is one of
 * the configuration from now on.
 * returns NSD_OK and lends *zone until load_set_remove; what conf_add_zone
 * returns for a wrong name or pattern; NSD_E_LIMIT: the set is full;
 * NSD_E_MEMORY. On failure nothing is added.
 */
enum nsd_err load_set_add(struct load_set *set, struct store_writer *writer,
	struct conf *conf, const char *name, const char *pattern,
	struct load_zone **zone) MUST_USE;

/* The options of a zone are others in conf, but for what tells how its file is
 * read: readers have them from now on. NSD_E_NOT_FOUND: there is no such zone;
 * NSD_E_MEMORY. */
enum nsd_err load_set_list_anew(const struct load_set *set,
	struct store_writer *writer, const struct conf *conf,
	const struct conf_zone *zone) MUST_USE;

/*
 * Gives a zone of load_set_add the options of another pattern: its file is
 * another one, perhaps, and is to be looked at. Readers see the version that
 * there is with the new options at once.
 * returns NSD_OK and lends *zone; NSD_E_NOT_FOUND: no such zone or pattern;
 * NSD_E_DENIED: it is a zone of nsd.conf; NSD_E_AGAIN: it is being read, try
 * again once its result is taken; NSD_E_MEMORY. On failure it is as it was.
 */
enum nsd_err load_set_change(struct load_set *set, struct store_writer *writer,
	struct conf *conf, const char *name, const char *pattern,
	struct load_zone **zone) MUST_USE;

/* Finds a zone of the configuration; NULL: it is not in the set. */
struct load_zone *load_set_find(const struct load_set *set,
	const struct store_view *view, const struct conf_zone *conf);

/* What a zone has had. The version is to be retired; STORE_NONE: it had
 * none. */
struct load_set_removed {
	store_ref entry;
	store_ref zone;
	uint8_t apex[NAME_MAX_LEN];
};

/*
 * Takes a zone out of all three. pass: a pass is running, which may still look
 * at the zone's place in the set.
 * returns NSD_OK; NSD_E_NOT_FOUND: no such zone is configured; NSD_E_AGAIN: the
 * zone is being read. Try again once its result is taken; no thread begins to
 * read it until then. NSD_E_MEMORY: it stays.
 */
enum nsd_err load_set_remove(struct load_set *set, struct store_writer *writer,
	struct conf *conf, const char *name, bool pass,
	struct load_set_removed *removed)
	MUST_USE;

/* Takes a zone out of the table and the set: its configuration has gone.
 * Returns as load_set_remove. */
enum nsd_err load_set_drop(struct load_set *set, struct store_writer *writer,
	struct load_zone *zone, bool pass, struct load_set_removed *removed)
	MUST_USE;

/* A place for a zone that has no entry yet; NULL: the set is full. */
struct load_zone *load_set_take(struct load_set *set,
	const struct conf_zone *conf);

/* No pass runs any more: all free places may be used again. */
void load_set_end_pass(struct load_set *set);

#endif
