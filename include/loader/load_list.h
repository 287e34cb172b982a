/*
 * load_list.h - brings the zones of the configuration and those in the store
 * together, at a start and when a loader takes over from one that died.
 */
#ifndef LOADER_LOAD_LIST_H
#define LOADER_LOAD_LIST_H

#include "base/err.h"
#include "conf/conf.h"
#include "loader/load_zone.h"

struct store_view;
struct store_writer;

/*
 * Frees objects that a dead loader had allocated and not published, or retired
 * and not freed. *octets: their sum.
 * returns NSD_OK; NSD_E_BUG: the store is damaged; NSD_E_MEMORY.
 * Cost: a walk of all zones.
 */
enum nsd_err load_list_sweep(struct store_writer *writer, uint64_t *octets)
	MUST_USE;

/*
 * Adds the zones of a store that were added at run time to a configuration that
 * has those of nsd.conf, and notes which of all zones were secondaries. A zone
 * whose pattern has gone is left out, and named in the log.
 * returns NSD_OK; NSD_E_MEMORY.
 */
enum nsd_err load_list_restore(const struct store_view *view,
	struct conf *conf) MUST_USE;

/* Counts of zones: already there, new, and not configured any more. */
struct load_list_result {
	size_t kept, added, removed;
};

/*
 * Publishes the settings, and the names of all zones, so that queries for zones
 * that are not read yet get SERVFAIL. Zones that the store has already stay as
 * they are. Zones that are not configured are removed. zones[conf->zone_count]
 * is filled in.
 * returns NSD_OK; NSD_E_ZONE: an apex is there twice; NSD_E_MEMORY: a part may
 * be published; NSD_E_LIMIT: a list of addresses is too long.
 */
enum nsd_err load_list_publish(struct store_writer *writer,
	const struct conf *conf, struct load_zone *zones,
	struct load_list_result *result) MUST_USE;

#endif
