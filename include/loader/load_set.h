/*
 * load_set.h - the zones of the configuration in the loader, by the id of their
 * entries in the table of zones. Zones come and go while others are read, and
 * nothing here walks all of them.
 */
#ifndef LOADER_LOAD_SET_H
#define LOADER_LOAD_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "conf/conf.h"
#include "loader/load_zone.h"

struct store_view;

struct load_set {
	struct load_zone *zones; /* never move; conf NULL: a free place */
	size_t count;            /* places used so far, free ones included */
	size_t room;
	uint32_t free;    /* the first free place; its entry has the next */
	uint32_t resting; /* the first free place that a pass may still look
			   * at */
};

/* Makes a set of count zones, all zero, with room for LOAD_SET_MORE more, or
 * only for one more if there is no address space. It is never freed.
 * NSD_E_MEMORY. */
#define LOAD_SET_MORE (16u << 20)
enum nsd_err load_set_init(struct load_set *set, size_t count) MUST_USE;

/* Finds a zone of the configuration; NULL: it is not in the set. */
struct load_zone *load_set_find(const struct load_set *set,
	const struct store_view *view, const struct conf_zone *conf);
/* Finds the zone of an entry; NULL: it is not in the set. */
struct load_zone *load_set_at(const struct load_set *set,
	const struct store_view *view, store_ref entry);

/* Takes a place for a zone that has no entry yet; NULL: the set is full. */
struct load_zone *load_set_take(struct load_set *set,
	const struct conf_zone *conf);

/* Gives a place back. pass: a pass is running, or is to come for zones that are
 * listed, and may still look at the place. */
void load_set_give(struct load_set *set, struct load_zone *zone, bool pass);

/* Makes all free places usable again, as no pass runs any more, and no zones
 * are listed for one. */
void load_set_end_pass(struct load_set *set);

#endif
