/*
 * load_list.h - the zones of the configuration and those in the store, brought
 * together: at a start, and when a loader takes over from one that died.
 */
#ifndef LOAD_LOAD_LIST_H
#define LOAD_LOAD_LIST_H

#include "base/err.h"
#include "conf/conf.h"
#include "load/load_zone.h"

struct store_writer;

/*
 * Frees what a loader that died had allocated and not published, or retired
 * and not freed: *octets of it. NSD_E_BUG: the store is damaged; NSD_E_MEMORY.
 * Cost: a walk of all zones.
 */
enum nsd_err load_list_sweep(struct store_writer *writer, uint64_t *octets)
	MUST_USE;

/*
 * Publishes the names of all zones, so that those that are not read yet are
 * known to be ours; those that the store has already stay as they are, those
 * that are not configured go, but for those that messages added if keep_added.
 * zones: conf->zone_count, filled here.
 */
struct load_list_result {
	size_t kept, added, removed; /* zones */
};
enum nsd_err load_list_publish(struct store_writer *writer,
	const struct conf *conf, bool keep_added, struct load_zone *zones,
	struct load_list_result *result) MUST_USE;

#endif
