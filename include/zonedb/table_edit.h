/*
 * table_edit.h - changes the table of served zones (zone/table.h). The
 * loader's.
 */
#ifndef ZONEDB_TABLE_EDIT_H
#define ZONEDB_TABLE_EDIT_H

#include "base/err.h"
#include "settings/settings.h"
#include "store/store.h"
#include "zone/zone.h"

struct store_writer;

struct zone_setup {
	const uint8_t *apex; /* wire name */
	uint32_t id;
	uint32_t flags;      /* enum zone_entry_flags */
	store_ref options;   /* struct settings_options; or none. The caller is
			      * a holder during the call, the entry from then
			      * on. */
	store_ref pattern;   /* struct settings_pattern; held as options */
	const char *name;    /* as written; NULL: as apex and flags give it */
	const char *file;    /* the zone file; NULL: as the pattern gives it */
};

/*
 * A change of the set of zones: zones are added and removed, and readers see
 * all of it at once, when it is published. A step that fails leaves the rest as
 * it was, and publishing cannot fail. New zones may be given versions before
 * that. No other change of the set is made meanwhile.
 */
struct table_change;
/* Begins a change. NSD_E_MEMORY. */
enum nsd_err table_change_begin(struct store_writer *writer,
	struct table_change **change) MUST_USE;
/* Finds the entry of a zone in the new set (wire name in any case).
 * NSD_E_NOT_FOUND: *entry is not set. */
enum nsd_err table_change_find(const struct table_change *change,
	const uint8_t *apex, store_ref *entry) MUST_USE;
/* Adds a zone. *entry: its entry, not loaded yet. NSD_E_ZONE: the set has a
 * zone with this name; NSD_E_MEMORY: the store or the process has none. */
enum nsd_err table_change_add(struct table_change *change,
	const struct zone_setup *setup, store_ref *entry) MUST_USE;
/* Removes the zone with this apex (wire name in any case). NSD_E_NOT_FOUND;
 * NSD_E_MEMORY. */
enum nsd_err table_change_remove(struct table_change *change,
	const uint8_t *apex) MUST_USE;
/* Takes the entry of a removed zone, which readers do not find any more:
 * retires its version, and does not free the entry. */
typedef void table_on_removed(void *ctx, store_ref entry);
/* Publishes the change, in one store of a reference, and frees it. on_removed:
 * called for each removed zone. */
void table_change_publish(struct table_change *change,
	table_on_removed *on_removed, void *ctx);
/*
 * Adds zones, all or none, in one publish.
 * out: entries[i], the entry of setups[i], not loaded yet; room for count.
 * returns NSD_OK; NSD_E_ZONE if one of them is in the table already, or comes
 * twice; NSD_E_MEMORY if the store or the process has no memory. On failure the
 * table is as it was.
 */
enum nsd_err table_add(struct store_writer *writer,
	const struct zone_setup *setups, size_t count, store_ref *entries)
	MUST_USE;
/*
 * Finds a zone that is in the table already, for a loader that takes over, and
 * gives it the id and setup of the configuration. The group stays, and so does
 * the time at which a secondary zone expires; a primary zone has none.
 * returns NSD_OK; NSD_E_NOT_FOUND if it is not there; NSD_E_MEMORY, and then
 * all is as it was.
 */
enum nsd_err table_adopt(struct store_writer *writer,
	const struct zone_setup *setup, store_ref *entry) MUST_USE;
/* Gives an entry the id and setup of the configuration, also in a change.
 * Returns as table_adopt. */
enum nsd_err table_set_up(struct store_writer *writer, store_ref entry,
	const struct zone_setup *setup) MUST_USE;
/* Sets or takes away ZONE_ENTRY_FILE_WAITS. Cannot fail. */
void table_set_file_waits(struct store_writer *writer, store_ref entry,
	bool waits);
/* Publishes a version of a zone's data and retires the old one. zone none: the
 * zone becomes "not loaded". Cannot fail. */
void table_set_zone(struct store_writer *writer, store_ref entry,
	store_ref zone);
/* Sets the version of a zone that is being verified, or none. Retires nothing:
 * the one before is in `zone` by now, or is for the caller to retire. Cannot
 * fail. */
void table_set_candidate(struct store_writer *writer, store_ref entry,
	store_ref candidate);
/* Publishes a version as table_set_zone, but returns the old one: the caller
 * retires it, unless it is none. */
store_ref table_swap_zone(struct store_writer *writer, store_ref entry,
	store_ref zone) MUST_USE;
/* Replaces the flags of a zone that the configuration sets (enum
 * zone_entry_flags), at once visible to readers. */
void table_set_flags(struct store_writer *writer, store_ref entry,
	uint32_t flags);
/* Sets or clears ZONE_ENTRY_CHANGESETS_STALE, at once visible to readers. */
void table_set_changesets_stale(struct store_writer *writer, store_ref entry,
	bool stale);
/* Sets the time at which a zone expires (zone_entry.expires_sec), at once
 * visible to readers. */
void table_set_expiry(struct store_writer *writer, store_ref entry,
	uint32_t expires_sec);
/* Sets the group in which the queries of a zone are counted (zone_entry.group),
 * at once visible to readers. */
void table_set_group(struct store_writer *writer, store_ref entry,
	uint32_t group);
/* Give a zone other options, or another pattern, or none, and let go of the
 * former. The caller is a holder of them during the call. */
void table_set_options(struct store_writer *writer, store_ref entry,
	store_ref options);
void table_set_pattern(struct store_writer *writer, store_ref entry,
	store_ref pattern);

#endif
