/*
 * changes.h - the content of a transfer, as octets: a whole zone (AXFR, RFC
 * 5936) or differences (IXFR, RFC 1995 section 4). xfrd keeps them in the
 * journal; the loader reads them there.
 *
 * Numbers are in network order, names whole, uncompressed and in lower case:
 *
 *   +0 kind 1 (enum changes_kind), apex
 *   then each record:
 *   +0 action 1 (enum changes_action), owner
 *      TYPE 2, TTL 4, RDLENGTH 2, RDATA (its names whole, case kept)
 *
 * XFR_WHOLE: all records of the zone, added; the SOA of the apex first and
 * once.
 *
 * XFR_DIFFS: one version of the zone or more, in order. Each begins where the
 * SOA of the version before it is removed. What is removed follows, then the
 * new SOA is added, and what is added follows.
 *
 * An older sort of these octets has kind 0: loader/load_update.h.
 */
#ifndef XFR_CHANGES_H
#define XFR_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/octets.h"
#include "dns/name.h"
#include "dns/rdata.h"

enum changes_kind {
	XFR_WHOLE = 3,
	XFR_DIFFS = 4,
};

enum changes_action {
	XFR_REMOVE = 0,
	XFR_ADD = 1,
};

/* ---- reading ------------------------------------------------------------ */

/* The place of a record in a series of differences. */
enum changes_part {
	CHANGES_RECORD,
	CHANGES_OLD_SOA, /* removed: a version begins */
	CHANGES_NEW_SOA, /* added */
};

/* A record. Pointers are lent from the piece that it was read from. */
struct changes_rr {
	enum changes_action action;
	enum changes_part part;
	uint32_t serial;  /* of the two SOAs */
	uint32_t ttl_sec; /* 0 to 2^31-1 */
	uint16_t type;
	uint16_t rdlen;
	uint8_t owner_len; /* octets, root label counted */
	const uint8_t *owner;
	const uint8_t *rdata;
};

/* The state of a reading. Its user reads kind, apex and records. */
struct changes {
	enum changes_kind kind;
	uint8_t apex[NAME_MAX_LEN];
	uint8_t apex_len;
	uint64_t records; /* read so far */
	/* private */
	uint8_t state;
	uint32_t serial;  /* of the newest SOA */
	struct cursor cursor;
	const uint8_t *owner; /* of the record before, in the same piece */
	uint8_t owner_len;
};

/* Octets of a head, and of a record, at most. */
#define CHANGES_HEAD_MAX (1u + NAME_MAX_LEN)
#define CHANGES_RECORD_MAX (1u + NAME_MAX_LEN + 8u + RDATA_MAX_LEN)

/*
 * Begins to read octets that may be hostile. They come at once, or in pieces:
 * each piece but the last has room for a head and a record of the greatest
 * size.
 * returns NSD_OK; NSD_E_WIRE: the octets do not begin with a head.
 */
enum nsd_err changes_open(struct changes *changes, const uint8_t *octets,
	size_t len) MUST_USE;

/*
 * Reads the next record and checks it: its owner is whole, in lower case and in
 * the zone, the type is one that a zone has, RDATA has the layout of its type
 * (values may break rules, as a secondary serves what it was sent), SOAs stand
 * where they have to.
 * returns NSD_OK; NSD_E_AGAIN: the piece ends here; go on with changes_feed, or
 *     with changes_close if it was the last; NSD_E_WIRE.
 * Cost: linear in the record's octets.
 */
enum nsd_err changes_read(struct changes *changes, struct changes_rr *rr)
	MUST_USE;

/* The octets of the piece that are not read yet: less than a record. */
static inline size_t
changes_left(const struct changes *changes)
{
	return cursor_left(&changes->cursor);
}

/* Continues with another piece, which begins with the octets that were left. */
void changes_feed(struct changes *changes, const uint8_t *octets, size_t len);

/* Ends after NSD_E_AGAIN on the last piece: NSD_OK if all is read and nothing
 * is missing, else NSD_E_WIRE. *to, which may be NULL: the newest serial. */
enum nsd_err changes_close(const struct changes *changes, uint32_t *to)
	MUST_USE;

/* ---- writing ------------------------------------------------------------ */

/* Writes a head; returns its octets. apex: apex_len octets in lower case. */
static inline size_t
changes_write_head(uint8_t *out, enum changes_kind kind, const uint8_t *apex,
	size_t apex_len)
{
	out[0] = (uint8_t)kind;
	memcpy(out + 1, apex, apex_len);
	return 1 + apex_len;
}

/* The offset of the RDATA in a record, by the length of its owner. */
static inline size_t
changes_rdata_offset(size_t owner_len)
{
	return 1 + owner_len + 8;
}

/* Writes the fields between the owner and the RDATA of a record at out. */
static inline void
changes_write_fixed(uint8_t *out, const struct changes_rr *rr)
{
	uint8_t *fixed = out + 1 + rr->owner_len;

	out[0] = (uint8_t)rr->action;
	octets_put_u16(fixed, rr->type);
	octets_put_u32(fixed + 2, rr->ttl_sec);
	octets_put_u16(fixed + 6, rr->rdlen);
}

/* Writes a record, its owner in lower case; returns its octets, at most
 * CHANGES_RECORD_MAX. Does not look at part and serial. */
static inline size_t
changes_write(uint8_t *out, const struct changes_rr *rr)
{
	size_t at = changes_rdata_offset(rr->owner_len);

	changes_write_fixed(out, rr);
	memcpy(out + 1, rr->owner, rr->owner_len);
	memcpy(out + at, rr->rdata, rr->rdlen);
	return at + rr->rdlen;
}

#endif
