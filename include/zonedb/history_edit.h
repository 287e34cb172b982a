/*
 * history_edit.h - keeps the differences between the last versions of a zone
 * (zone/history.h). The loader's.
 *
 * Around the publishing of a version:
 *
 *   history_draft_init, history_draft_add ...   what differs
 *   history_push                                the changeset: before the
 *                                               version
 *   ... the version is published, or is not ...
 *   history_prune                               in both cases
 *   history_draft_fini
 *
 * So readers that find a version find the changeset that leads to it. A version
 * that is published without a changeset comes after history_clear.
 */
#ifndef ZONEDB_HISTORY_EDIT_H
#define ZONEDB_HISTORY_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/name.h"
#include "store/store.h"
#include "zone/walk.h"

struct store_writer;

/* The limits of the changesets that a zone keeps. */
struct history_limits {
	uint32_t number; /* changesets; 0: nothing is kept */
	uint64_t octets; /* of all changesets (zone_changeset.len); 0: any */
};

/* A changeset that is being put together. */
struct history_draft {
	uint32_t from, to; /* serials; set when both SOAs were added */
	bool lost;         /* the changeset cannot be kept */
	/* private */
	unsigned soa_count;
	size_t apex_len;
	size_t len, room, max;
	uint8_t *octets;
	uint8_t apex[NAME_MAX_LEN];
};

/* Begins a changeset. apex: the zone's whole name, copied. A changeset longer
 * than the limits allow becomes lost. */
void history_draft_init(struct history_draft *draft, const uint8_t *apex,
	const struct history_limits *limits);
/*
 * Adds a record, in the order of RFC 1995 section 4: the old SOA, removed
 * records, the new SOA, added records. rr: its owner in the zone, its RDATA
 * checked (rdata_check); borrowed. Without memory the draft is lost.
 */
void history_draft_add(struct history_draft *draft, const struct zone_rr *rr);
/* Frees the memory of the draft. */
void history_draft_fini(struct history_draft *draft);

/* Puts a changeset before the others of an entry, if it begins where these end;
 * else these are dropped. A draft that is lost or not whole, or a lack of
 * memory, leaves no changeset at all. */
void history_push(struct store_writer *writer, store_ref entry,
	const struct history_draft *draft);
/* Lets go of changesets that do not lead to the served version, and of the
 * oldest ones beyond the limits. Also for a loader that takes over. Cost: a
 * cache miss for each changeset. */
void history_prune(struct store_writer *writer, store_ref entry,
	const struct history_limits *limits);
/* Lets go of all changesets. */
void history_clear(struct store_writer *writer, store_ref entry);

#endif
