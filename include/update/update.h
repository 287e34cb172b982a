/*
 * update.h - changes of a zone that is served, published in place.
 *
 * A transaction copies what it touches, shares the rest with the version that
 * is served, and swings one reference at the end: readers see all of it or
 * nothing, across cells of addresses too. Time and memory go with the size of
 * the change (and, for a cut or DNAME that comes or goes, with the names below
 * it), not with the zone's. The result answers and prints as a zone that was
 * built from the same records.
 */
#ifndef UPDATE_UPDATE_H
#define UPDATE_UPDATE_H

#include "base/diag.h"
#include "base/err.h"
#include "store/store.h"
#include "zone/walk.h"
#include "zone/zone.h"

struct store_writer;
struct zone_update;

struct zone_update_options {
	unsigned threads;
	bool secondary; /* as in zone_build_input */
	uint32_t nsec3_iterations_max; /* as in zone_build_input */
};

/* Begins a transaction on the zone of a table entry, which must be loaded.
 * One at a time for a zone. */
enum nsd_err update_begin(struct store_writer *writer, store_ref entry,
	const struct zone_update_options *options,
	struct zone_update **update) MUST_USE;

/*
 * Notes one record to be added or removed; nothing is checked but that it lies
 * in the zone (NSD_E_ZONE). rr: whole wire owner, uncompressed RDATA, copied.
 * A record that is removed and added stays, in whatever order. Adding what is
 * there, or removing what is not, is no error (RFC 2136 section 3.4.2) and is
 * counted: see zone_update_result. Records are equal if they are in canonical
 * form, whatever their TTLs; one that is added takes the place of an equal one
 * with its TTL and its case. Of the records of an RRset the lowest TTL counts,
 * and that is the one that they all have afterwards.
 */
enum nsd_err update_add(struct zone_update *update,
	const struct zone_rr *rr) MUST_USE;
enum nsd_err update_remove(struct zone_update *update,
	const struct zone_rr *rr) MUST_USE;
/* All records of a type (TYPE_ANY: of any) at a name. */
enum nsd_err update_remove_rrset(struct zone_update *update,
	const uint8_t *owner, uint16_t type) MUST_USE;

struct zone_update_result {
	uint64_t added;       /* records */
	uint64_t removed;
	uint64_t absent;      /* asked to be removed, and not there */
	uint64_t present;     /* asked to be added, and there */
	uint64_t names;       /* nodes made anew */
	uint64_t hashed;      /* names hashed */
};

/*
 * Checks the zone as it would be (what build_zone calls an error is one here),
 * publishes it and frees the transaction. The old version's parts that nobody
 * needs any more are retired: call store_reclaim. What changes nothing is not
 * published. On an error (NSD_E_ZONE with findings in the sink, NSD_E_MEMORY)
 * the served version stays as it is, and the transaction is freed as well.
 * result may be NULL.
 */
enum nsd_err update_commit(struct zone_update *update,
	struct diag_sink *sink, struct zone_update_result *result) MUST_USE;
void update_abort(struct zone_update *update);

/*
 * Does what the first update of a zone would do else: makes the index of its
 * contents, if a small build has left none or a loader took over. Cost then: a
 * walk of the zone, 0.24 s for a million delegations. NSD_E_MEMORY: the first
 * update tries again.
 */
enum nsd_err update_prepare(struct store_writer *writer, store_ref entry)
	MUST_USE;

/*
 * The same in steps, for a zone of which no update may wait so long: after
 * begin the zone has an index without contents, and updates may come at any
 * time. Until the last step they store again what a neighbour has, too, and
 * the index does not know yet; that costs memory, no more.
 */
struct zone_prepare {
	/* private */
	store_ref entry;
	uint64_t seed;  /* of the index */
	uint8_t part;   /* of the zone that is being walked */
	bool begun;     /* up to `at` it is done */
	uint8_t len;
	uint8_t at[NAME_MAX_LEN];
};

/* NSD_E_NOT_FOUND: the zone is not loaded; NSD_E_MEMORY. */
enum nsd_err update_prepare_begin(struct store_writer *writer,
	store_ref entry, struct zone_prepare *prepare) MUST_USE;
/* Looks at so many names (some 0.3 us each). NSD_OK: all is done, NSD_E_AGAIN:
 * there are more; NSD_E_MEMORY: the index stays as it is. The entry must still
 * be there. */
enum nsd_err update_prepare_step(struct store_writer *writer,
	struct zone_prepare *prepare, size_t names) MUST_USE;

/*
 * Makes a zone anew as it is, published in place, if it has 4000 records at
 * most: what it consists of then lies in holes that it fits, or close together,
 * and the spans that it was scattered over may become free. A larger one stays.
 * records: what has been looked at is added. NSD_E_MEMORY: it stays as it was.
 */
enum nsd_err update_tidy(struct store_writer *writer, store_ref entry,
	const struct zone_update_options *options, uint64_t *records)
	MUST_USE;

/* Makes addresses that changed a while ago cheap to find again. A commit does
 * it, too; a zone that is not changed any more is right without. Cheap. */
void update_settle(struct store_writer *writer, store_ref entry);

#endif
