/*
 * update.h - changes a served zone, and publishes it in place.
 *
 * A transaction copies the parts that it changes and shares the rest with the
 * served version. At the end it changes one reference: readers see all of it or
 * nothing, also in cells of addresses. Time and memory grow with the size of
 * the change, not with that of the zone. If a zone cut or DNAME is added or
 * removed, they also grow with the names below it. The result answers and
 * prints as a zone that was built from the same records.
 *
 * All of this is for the writer of the store, in one thread; for a transaction
 * that another thread makes, see update_make.
 */
#ifndef UPDATE_UPDATE_H
#define UPDATE_UPDATE_H

#include "base/diag.h"
#include "base/err.h"
#include "compile/limits.h"
#include "store/store.h"
#include "zone/walk.h"
#include "zone/zone.h"

struct store_heap;
struct store_writer;
struct zone_update;

/* A version that was made, and is not published yet. All is lent. */
struct update_candidate {
	const struct zone *served; /* the version before */
	const struct zone *zone;   /* with the cells of addresses of the served
				    * version */
	/* Whole names whose records come or go, or that such a change hides or
	 * shows, in lower case. NULL: the zone was built anew. */
	const uint8_t **owners;
	size_t owner_count;
	bool is_verified; /* set by the check: the version gets
			   * ZONE_VERIFIED */
	uint64_t data_count; /* set by the check: of the version; 0: not
			      * counted */
};

struct zone_update_options {
	unsigned threads;
	bool secondary; /* as in zone_build_input */
	uint32_t nsec3_iterations_max; /* as in zone_build_input */
	struct zone_limits limits; /* for changed RRsets, and the types of their
				    * names: exceeding a limit, and the count
				    * before, is an error */
	/* Strict mode, for IXFR (RFC 1995 section 4): a record to be removed
	 * must be there, a record to be added must not, unless it is removed as
	 * well (as for another TTL), and none may come twice. */
	bool exact;
	/* The most names that may be made anew; 0 for any number. If there are
	 * more, or sixteen times as many records would have to be looked at,
	 * NSD_E_LIMIT is returned before that takes long. */
	uint32_t names_max;
	/* The heap of new objects. NULL: the writer's own. */
	struct store_heap *heap;
	/* Looks at the new version before it is published; or NULL. A result
	 * other than NSD_OK is returned, and the served version stays. */
	enum nsd_err (*check)(void *ctx, struct update_candidate *candidate);
	void *check_ctx;
};

/*
 * Begins a transaction on the zone of a table entry. There may be one at a time
 * for a zone. Gives *update; update_commit or update_abort releases it. Keeps
 * the writer until then.
 * NSD_E_NOT_FOUND: the zone is not loaded. NSD_E_MEMORY: there is no memory.
 */
enum nsd_err update_begin(struct store_writer *writer, store_ref entry,
	const struct zone_update_options *options,
	struct zone_update **update) MUST_USE;

/*
 * Notes one record to be added or removed. rr: whole wire owner, uncompressed
 * RDATA; copied. A record that is removed and added stays, in either order. It
 * is no error to add a record that is there or to remove one that is not (RFC
 * 2136 section 3.4.2); both are counted in zone_update_result. Records are
 * equal if their canonical forms are, whatever their TTLs. An added record
 * replaces an equal one, with its own TTL and letter case. All records of an
 * RRset get the lowest TTL among them.
 *
 * NSD_E_ZONE: the owner is not in the zone; nothing else is checked here.
 * NSD_E_LIMIT: there are more than 2^31 changes. NSD_E_MEMORY: there is no
 * memory. After each error the transaction is as it was.
 */
enum nsd_err update_add(struct zone_update *update,
	const struct zone_rr *rr) MUST_USE;
enum nsd_err update_remove(struct zone_update *update,
	const struct zone_rr *rr) MUST_USE;
/* Notes all records of a type (TYPE_ANY: of any) at a name to be removed.
 * Returns as update_remove. */
enum nsd_err update_remove_rrset(struct zone_update *update,
	const uint8_t *owner, uint16_t type) MUST_USE;

/*
 * Ends a version: the changes noted from here on belong to the next one. For an
 * exact update: each version has to fit the one before it. Only the last
 * version is made: records that are added and removed between the versions cost
 * no more than their own octets.
 */
void update_next_version(struct zone_update *update);

struct zone_update_result {
	uint64_t added;       /* records */
	uint64_t removed;
	uint64_t absent;      /* asked to be removed, and not there */
	uint64_t present;     /* asked to be added, and there */
	uint64_t names;       /* nodes made anew */
	uint64_t hashed;      /* names hashed */
};

/*
 * Checks the new version, and publishes it. Errors of build_zone are errors
 * here. (If most of the zone changes, limits count for all of it.) An update
 * without an effect is not published. Objects of the old version without
 * holders are retired: call store_reclaim.
 *
 * NSD_E_ZONE: there are errors; the sink has them.
 * NSD_E_INEXACT: the update is exact, and does not fit.
 * NSD_E_LIMIT: by options.names_max. Or the result of options.check.
 * NSD_E_MEMORY: there is no memory, or the store is full.
 * After a failure the served version stays as it is. The transaction is freed
 * in each case. result may be NULL; it is set on success only.
 */
enum nsd_err update_commit(struct zone_update *update,
	struct diag_sink *sink, struct zone_update_result *result) MUST_USE;
/* Frees the transaction; nothing has changed. */
void update_abort(struct zone_update *update);

/*
 * Makes, publishes and ends an update in steps, for changes that would
 * hold up the writer's thread. From update_begin to update_end no other code
 * may change the zone, settle it, let go of the served version, or look at its
 * parts that only the writer reads (holders, the index of contents).
 *
 *	update_make     any thread, which options.heap is for: all that can
 *	                fail. returns as update_commit; nothing is published.
 *	update_show     the writer's thread, after NSD_OK, if the version is
 *	                to be verified first: makes it the entry's candidate,
 *	                which it gives. STORE_NONE: nothing changes. From
 *	                here on, other threads may do as much as with any
 *	                version, but for that zone.
 *	update_withdraw the writer's thread, in place of update_publish: the
 *	                version was refused. Gives what is to be retired
 *	                whole, as update_publish does.
 *	update_publish  the writer's thread; only after NSD_OK. Fast. Gives the
 *	                version that was served if the zone was built anew: the
 *	                caller lets go of it (zonedb/retire.h). STORE_NONE:
 *	                there is nothing to do.
 *	update_end      the thread of update_make, in each case. Retires what
 *	                the new version does not have, or frees what was made
 *	                and not published; frees the transaction.
 */
enum nsd_err update_make(struct zone_update *update,
	struct diag_sink *sink) MUST_USE;
store_ref update_show(struct zone_update *update) MUST_USE;
store_ref update_withdraw(struct zone_update *update) MUST_USE;
store_ref update_publish(struct zone_update *update) MUST_USE;
/* Ends an update. result: as of update_commit; set if it was published. */
void update_end(struct zone_update *update,
	struct zone_update_result *result);

/*
 * Makes the index of a zone's contents, if a small build has left none or a
 * loader took over. Otherwise the first update of the zone does it. Cost: a
 * walk of the zone, 0.24 s for a million delegations.
 * NSD_OK: also if the zone is not loaded. NSD_E_MEMORY: the store is full; the
 * first update tries again.
 */
enum nsd_err update_prepare(struct store_writer *writer, store_ref entry)
	MUST_USE;

/*
 * Makes the index in steps, for a zone whose updates may not wait so long.
 * After begin the zone has an index without contents, and updates may come at
 * any time. Until the last step they may store contents again that the zone
 * has, but the index does not know yet. That only costs memory.
 */
struct zone_prepare {
	/* private */
	store_ref entry;
	uint64_t seed;  /* of the index */
	uint8_t part;   /* of the zone that is being walked */
	bool begun;     /* the part is done up to `at` */
	uint8_t len;
	uint8_t at[NAME_MAX_LEN];
};

/* Begins to make an index. NSD_E_NOT_FOUND: the zone is not loaded.
 * NSD_E_MEMORY: the store is full. */
enum nsd_err update_prepare_begin(struct store_writer *writer,
	store_ref entry, struct zone_prepare *prepare) MUST_USE;
/*
 * Indexes a number of names, at some 0.3 us each. The entry must still be
 * there. NSD_OK: all is done, or the zone was replaced or unloaded.
 * NSD_E_AGAIN: there are more names. NSD_E_MEMORY: the store is full; the index
 * stays as it is.
 */
enum nsd_err update_prepare_step(struct store_writer *writer,
	struct zone_prepare *prepare, size_t names) MUST_USE;

/*
 * Builds a zone anew from its own records and publishes it in place, if it has
 * 4000 records at most. Its objects then lie in holes that they fit, or close
 * together, and the spans that it was scattered over may become free. A larger
 * zone, or one with a candidate, stays as it is. *records grows by the records
 * that were read.
 * NSD_OK: also if the zone is not loaded, or could not be built. NSD_E_MEMORY:
 * the zone stays as it was.
 */
enum nsd_err update_compact(struct store_writer *writer, store_ref entry,
	const struct zone_update_options *options, uint64_t *records)
	MUST_USE;

/* Makes addresses that have changed cheap to find again, once all readers have
 * seen the change. Each commit does so, too; without it answers are right.
 * Cheap. */
void update_settle(struct store_writer *writer, store_ref entry);

#endif
