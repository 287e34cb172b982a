/*
 * zonemd.h - verifies a zone by its ZONEMD digests (RFC 8976), and computes
 * them.
 *
 * The records of the zone are given in the order of zone_walk. Digests of
 * scheme SIMPLE with SHA-384 or SHA-512 count. Signatures are not looked at:
 * the digest shows that the content was lost or altered on the way, not who
 * made it. Section 4 steps 1 to 3 are audit.h's (doc/decisions/0177).
 */
#ifndef ZONE_ZONEMD_H
#define ZONE_ZONEMD_H

#include "base/digest.h"
#include "base/err.h"
#include "zone/walk.h"

#define ZONEMD_VERDICT_LIST(X)                                                \
	X(GOOD, "its ZONEMD digest is right")                                 \
	X(ABSENT, "it has no ZONEMD record")                                  \
	/* Bad: no record can be used for one of these reasons. */            \
	X(DIFFERS, "its ZONEMD digest is of another content")                 \
	X(SERIAL, "its ZONEMD record is for another serial")                  \
	X(LENGTH, "its ZONEMD digest has a wrong length")                     \
	X(TWICE, "it has several ZONEMD records of one scheme and hash")      \
	X(UNKNOWN, "the scheme or hash of its ZONEMD record is not known")

#define ZONEMD_ENUM(name, text) ZONEMD_##name,
enum zonemd_verdict { ZONEMD_VERDICT_LIST(ZONEMD_ENUM) };
#undef ZONEMD_ENUM

/* The text of a verdict on a zone; never NULL. */
const char *zonemd_text(enum zonemd_verdict verdict);

/* True if the digest of the zone is wrong, or cannot be verified
 * (RFC 8976 section 4). */
static inline bool
zonemd_is_bad(enum zonemd_verdict verdict)
{
	return verdict > ZONEMD_ABSENT;
}

struct zonemd;

/* Begins a digest. apex: a whole wire name, kept until zonemd_destroy. gives
 * *zonemd. returns NSD_OK; NSD_E_MEMORY. */
enum nsd_err zonemd_create(const uint8_t *apex, struct zonemd **zonemd)
	MUST_USE;
void zonemd_destroy(struct zonemd *zonemd); /* NULL is fine */

/* Has a digest computed even if no ZONEMD record has it. Before the first
 * record. */
void zonemd_compute(struct zonemd *zonemd, enum digest_kind kind);

/*
 * Takes the next record, copied. Memory: that of the records of one owner.
 * returns NSD_OK; NSD_E_NOT_FOUND: the records of the apex have decided
 * already, and no more are needed; NSD_E_MEMORY.
 */
enum nsd_err zonemd_take(struct zonemd *zonemd, const struct zone_rr *rr)
	MUST_USE;

/* Ends a digest, after the last record, or after zonemd_take returned
 * NSD_E_NOT_FOUND. returns NSD_OK and sets *verdict; NSD_E_MEMORY. */
enum nsd_err zonemd_finish(struct zonemd *zonemd,
	enum zonemd_verdict *verdict) MUST_USE;

/* A ZONEMD record of scheme SIMPLE. */
struct zonemd_record {
	uint32_t ttl_sec; /* TTL of the SOA (RFC 8976 section 3.1) */
	uint32_t serial;
	enum digest_kind kind;
	uint8_t digest[DIGEST_LEN_MAX]; /* digest_len(kind) octets */
};

/* The scheme and hash as a record has them (RFC 8976 section 5). */
#define ZONEMD_SIMPLE 1u
static inline unsigned
zonemd_get_hash(enum digest_kind kind)
{
	return (unsigned)kind + 1;
}

/* After zonemd_finish: the record of a digest that zonemd_compute has asked
 * for. False: the zone has no SOA. */
bool zonemd_get_record(const struct zonemd *zonemd, enum digest_kind kind,
	struct zonemd_record *record) MUST_USE;

/* Checks a zone of the store, which must stay, in one call. Any thread. Cost:
 * some 0.5 us a record, if the apex has a record that can be used.
 * returns NSD_OK and sets *verdict; NSD_E_MEMORY. */
enum nsd_err zonemd_check(const struct store_view *view,
	const struct zone *zone, const uint8_t *apex,
	enum zonemd_verdict *verdict) MUST_USE;

#endif
