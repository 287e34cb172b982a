/*
 * load_batch.h - a batch of zones that are added, removed or given other
 * options: additions and removals are published together.
 */
#ifndef LOADER_LOAD_BATCH_H
#define LOADER_LOAD_BATCH_H

#include "loader/load_set.h"
#include "zonedb/table_edit.h"

/* A batch, from its first zone to load_batch_publish. Each zone succeeds or
 * fails by itself: after a failure all is as it was for that zone, and later
 * zones find it as the earlier ones have left it. */
struct load_batch {
	struct load_set *set;
	struct store_writer *writer;
	struct conf *conf;
	bool pass; /* a pass is running, or is to come for zones that are
		    * listed: it may still look at the places of removed
		    * zones */
	table_on_removed *on_removed;
	void *ctx;
	/* private, NULL */
	struct table_change *change;
};

/*
 * Adds a zone to the configuration, the table of zones and the set. It can be
 * read at once, so that it is published with its version.
 * returns NSD_OK and lends *zone until it is removed; what conf_add_zone
 * returns for a wrong name or pattern; NSD_E_LIMIT: the set is full;
 * NSD_E_MEMORY.
 */
enum nsd_err load_batch_add(struct load_batch *batch, const char *name,
	const char *pattern, struct load_zone **zone) MUST_USE;

/*
 * Gives a zone of load_batch_add the options of another pattern: its file may
 * be another one, and is to be looked at. Readers see the present version with
 * the new options at once.
 * returns NSD_OK and lends *zone; NSD_E_NOT_FOUND: no such zone or pattern;
 * NSD_E_DENIED: it is a zone of nsd.conf; NSD_E_AGAIN: it is being read, try
 * again once its result is taken; NSD_E_MEMORY.
 */
enum nsd_err load_batch_change(struct load_batch *batch, const char *name,
	const char *pattern, struct load_zone **zone) MUST_USE;

/* Makes the entry of a zone that has its place in the set, or brings the entry
 * up to date. NSD_E_MEMORY. */
enum nsd_err load_batch_list(struct load_batch *batch,
	const struct zone_setup *setup, struct load_zone *zone) MUST_USE;

/* Publishes new options of a zone in conf, except those that say how its file
 * is read. NSD_E_NOT_FOUND: there is no such zone; NSD_E_MEMORY. */
enum nsd_err load_batch_list_anew(struct load_batch *batch,
	const struct conf_zone *zone) MUST_USE;

/*
 * Removes a zone from the configuration, the table and the set.
 * returns NSD_OK; NSD_E_NOT_FOUND: no such zone is configured; NSD_E_AGAIN: the
 * zone is being read. Try again once its result is taken; no thread begins to
 * read it until then. NSD_E_MEMORY: it stays.
 */
enum nsd_err load_batch_remove(struct load_batch *batch, const char *name)
	MUST_USE;
/* Removes a zone from the table and the set: its configuration has gone.
 * Returns as load_batch_remove. */
enum nsd_err load_batch_drop(struct load_batch *batch, struct load_zone *zone)
	MUST_USE;

/* Publishes the changes of the batch. Cannot fail. */
void load_batch_publish(struct load_batch *batch);

#endif
