/*
 * history.h - the differences between the last versions of a zone, for
 * secondaries that have one of them (IXFR, RFC 1995).
 *
 *   zone_entry.history -> zone_changeset, the newest -> older -> ...
 *
 * A changeset leads from one version to the next. The newest changeset leads to
 * the served version or, while the writer is about to publish another, to that
 * one. Changesets do not change but for the reference to an older one, which
 * may become none at any time.
 */
#ifndef ZONE_HISTORY_H
#define ZONE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/octets.h"
#include "dns/rdata.h"
#include "zone/zone.h"

/* The most changesets of a zone, for any ixfr-number: a request walks them. */
#define HISTORY_CHANGESETS_MAX 4096u

/*
 * data is len octets, which are sent as they are: records as in a message whose
 * question is the apex (RFC 1035 section 4.1.3), in the order of RFC 1995
 * section 4. The SOA of the old version is first, then come the records that
 * are removed, the SOA of the new version, and the records that are added.
 *
 *   owner: labels below the apex, then a pointer to offset 12, where QNAME is
 *   TYPE 2, CLASS 2, TTL 4, RDLENGTH 2
 *   RDATA: names that may be compressed (RFC 3597 section 4) and end as the
 *   apex does have a pointer to that end
 */
struct zone_changeset {
	uint32_t from;   /* serials */
	uint32_t to;
	uint32_t len;
	store_ref older; /* the changeset that leads to `from`; or none. It may
			  * change: read it with store_load_ref */
	uint8_t data[];
};

static inline size_t
zone_changeset_size(const struct zone_changeset *changeset)
{
	return sizeof(*changeset) + changeset->len;
}

/* The changesets from one version to another, the last one first. */
struct history_path {
	store_ref *changesets;
	size_t count;
	size_t looked; /* changesets that were looked at: what it has cost */
	size_t room;   /* private */
};

/*
 * Finds the path from one serial to another, which is that of a version that
 * the caller has found in the entry before. Gives path->changesets, free()
 * them; the changesets stay until the reader is quiescent, or as long as the
 * reader has them pinned.
 * returns NSD_OK; NSD_E_NOT_FOUND: there is none; NSD_E_MEMORY. Without success
 * *path has no changesets, and says how many were looked at.
 * Cost: a cache miss for each changeset that is looked at.
 */
enum nsd_err history_find(const struct store_view *view,
	const struct zone_entry *entry, uint32_t from, uint32_t to,
	struct history_path *path) MUST_USE;

/* Lists the changesets that lead to a serial, from the oldest one on. NSD_OK,
 * and no changesets, if none leads there. At most HISTORY_CHANGESETS_MAX. */
enum nsd_err history_list(const struct store_view *view,
	const struct zone_entry *entry, uint32_t to, struct history_path *path)
	MUST_USE;

/* A record of a changeset. Pointers are lent from the changeset. */
struct history_rr {
	const uint8_t *labels; /* of the owner, below the apex */
	uint8_t labels_len;    /* octets */
	uint16_t type;
	uint32_t ttl_sec;
	uint16_t rdlen;
	const uint8_t *rdata;  /* as it is sent */
};

/*
 * Reads the next record of a changeset; the cursor is over its data. The octets
 * may be any.
 * returns NSD_OK; NSD_E_WIRE, and the cursor has failed: there is no whole
 * record.
 */
enum nsd_err history_read(struct cursor *cursor, struct history_rr *rr)
	MUST_USE;

/* The serial in the RDATA of an SOA, as sent or whole. False: it has none. */
static inline bool
history_read_serial(const uint8_t *rdata, size_t rdlen, uint32_t *serial)
{
	/* RFC 1035 section 3.3.13: five numbers end the RDATA. */
	if (rdlen < 20)
		return false;
	*serial = octets_get_u32(rdata + rdlen - 20);
	return true;
}

/* Room for history_unpack. */
struct history_unpacked {
	uint8_t owner[NAME_MAX_LEN]; /* whole wire name */
	uint8_t rdata[RDATA_MAX_LEN];
	size_t rdlen;
	/* private: the target of pointers, and RDATA as sent */
	uint8_t message[12 + NAME_MAX_LEN + RDATA_MAX_LEN];
};

/*
 * Makes the names of a record whole. apex: the zone's.
 * returns NSD_OK; NSD_E_WIRE: the owner would be too long, or the RDATA is not
 * that of the type.
 */
enum nsd_err history_unpack(const uint8_t *apex, const struct history_rr *rr,
	struct history_unpacked *out) MUST_USE;

#endif
