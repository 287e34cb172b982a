/*
 * audit.h - finds what would make a validator fail in a signed zone: in
 * signatures, keys, the NSEC and NSEC3 chains (RFC 4035 section 2,
 * RFC 5155 section 7.1).
 */
#ifndef AUDIT_AUDIT_H
#define AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "dns/anchor.h"
#include "dns/rrbatch.h"
#include "store/store.h"
#include "zone/zone.h"

/*
 * The kinds of findings. `breaks`: a validator may refuse the data. Other kinds
 * are against the rules or a sign of trouble, and do no harm yet.
 */
#define AUDIT_KINDS(X)                                               \
	/* kind, breaks, what N of them are called */                \
	X(UNSIGNED, true, "zones without keys")                      \
	X(KEY_NONE, true, "zones without a usable key")              \
	X(KEY_BROKEN, false, "broken keys")                          \
	X(KEY_PROTOCOL, false, "keys of a wrong protocol")           \
	X(KEY_PLACE, false, "DNSKEY RRsets below the apex")          \
	X(KEY_SEP, true,  "DNSKEY RRsets not signed by a SEP key")   \
	X(KEY_ANCHOR, true, "DNSKEY RRsets without a trust anchor's key") \
	X(KEY_REVOKED, false, "revoked keys that do not say so")     \
	X(KEY_UNKNOWN, false, "algorithms that are not verified")    \
	X(KEY_UNUSED, false, "algorithms that do not sign")          \
	X(DS_NO_NS, true, "DS RRsets without NS")                    \
	X(DS_APEX, true, "DS RRsets at the apex")                    \
	X(RRSIG_MISSING, true, "RRsets without RRSIG")               \
	X(RRSIG_STRAY, false, "RRSIGs of what is not there")         \
	X(RRSIG_PLACE, false, "RRSIGs of what is not the zone's")    \
	X(RRSIG_SIGNER, true, "RRSIGs with another signer")          \
	X(RRSIG_LABELS, true, "RRSIGs with wrong labels")            \
	X(RRSIG_TTL, false, "RRSIGs with another TTL")               \
	X(RRSIG_PERIOD, true, "RRSIGs that end before they begin")   \
	X(RRSIG_EXPIRED, true, "expired RRSIGs")                     \
	X(RRSIG_EARLY, true, "RRSIGs that are not valid yet")        \
	X(RRSIG_NO_KEY, true, "RRSIGs without their key")            \
	X(RRSIG_REVOKED, true, "RRSIGs by a revoked key")            \
	X(RRSIG_WRONG, true, "RRSIGs that do not verify")            \
	X(NO_DENIAL, true, "zones without denial of existence")      \
	X(NSEC_MISSING, true, "names without NSEC")                  \
	X(NSEC_NEXT, true, "NSEC with a wrong next name")            \
	X(NSEC_BITMAP, true, "NSEC with a wrong type bitmap")        \
	X(NSEC_STRAY, true, "NSEC where none may be")                \
	X(NSEC_SEVERAL, true, "names with several NSEC")             \
	X(NSEC_UNUSED, false, "NSEC of an incomplete chain")         \
	X(NSEC3_MISSING, true, "names without NSEC3")                \
	X(NSEC3_NEXT, true, "NSEC3 with a wrong next hash")          \
	X(NSEC3_BITMAP, true, "NSEC3 with a wrong type bitmap")      \
	X(NSEC3_STRAY, true, "NSEC3 of names that are not there")    \
	X(NSEC3_OWNER, true, "NSEC3 with owners that are no hash")   \
	X(NSEC3_FLAGS, true, "NSEC3 with unknown flags")             \
	X(NSEC3_SEVERAL, true, "hashes with several NSEC3")          \
	X(NSEC3_UNUSED, false, "NSEC3 that no NSEC3PARAM names")     \
	X(NSEC3_ITERATIONS, false, "NSEC3PARAM with iterations")     \
	X(NSEC3_COSTLY, true, "NSEC3PARAM with too many iterations")

#define AUDIT_ENUM(kind, breaks, text) AUDIT_##kind,
enum audit_kind { AUDIT_KINDS(AUDIT_ENUM) AUDIT_KIND_COUNT };
#undef AUDIT_ENUM

#define AUDIT_SHOWN 20u /* findings of a kind that are told by default */
#define AUDIT_ITERATIONS_MAX 2500u /* RFC 5155 section 10.3; with more, names
				    * are not hashed */

struct audit_options {
	const uint8_t *apex;    /* wire name, lower case */
	uint64_t now_sec;       /* signatures are judged by; since 1970 */
	uint32_t margin_sec;    /* for which signatures have to last more */
	bool verify;            /* the cryptographic signatures as well */
	bool strict;            /* findings that break are errors, and a zone
				 * without keys is one. If false, what the
				 * build of the zone has warned of is left
				 * out: DS without NS; NSEC3 with wrong owners
				 * or next hashes, or several at a name;
				 * iterations beyond the limit; parameters
				 * without a chain */
	const struct anchors *anchors; /* the DNSKEY RRset has to be signed by
				* a key that one names; NULL: by any. With
				* verify */
	unsigned threads;       /* at most, with the caller's */
	unsigned shown_max;     /* findings of a kind told; 0: AUDIT_SHOWN */
	/* The records that the zone was built of, and the names of their files:
	 * to tell lines. NULL: no lines are told. */
	const struct rrbatch *batches;
	const char *const *files;
	size_t file_count;
};

/* Counts of findings, with those that were not told. */
struct audit_report {
	uint64_t count[AUDIT_KIND_COUNT];
	uint64_t verified; /* signatures that were found right */
};

/*
 * Audits a zone. Does nothing if there is no DNSKEY at its apex; with strict,
 * that is a finding. Borrows everything. Findings go to the sink at the end,
 * from the calling thread, ordered by file and line: as warnings; with strict,
 * as errors if they break.
 *
 * Returns NSD_OK, with *report, whatever was found. NSD_E_MEMORY: memory ran
 * out on the way. NSD_E_LIMIT: an RRset with its signatures is over 4 GiB.
 * After an error nothing was told, and *report has only zeros.
 * Cost: a walk of the zone. With NSEC3, the hash of each name, and memory in
 * proportion to the names. With verify, a public-key operation for each
 * signature, spread over the threads.
 */
enum nsd_err audit_zone(const struct store_view *view, const struct zone *zone,
	const struct audit_options *options, struct diag_sink *sink,
	struct audit_report *report) MUST_USE;

/* ---- of a change --------------------------------------------------------- */

/* The most names that are looked at in a change. */
#define AUDIT_CHANGE_NAMES_MAX 50000u

/* A change of a zone in the store, all borrowed. */
struct audit_change {
	const struct zone *served; /* the version before, which was found
				    * right */
	const struct zone *zone;   /* the version to be audited */
	/* Owners of records that come or go: whole names in lower case, in any
	 * order, each once or more. Sorted here. */
	const uint8_t **owners;
	size_t count;
};

/*
 * Audits what a change has touched: the owners; of the NSEC and NSEC3 chains
 * the links to them and the hashes that they need; the names below a cut or
 * DNAME that comes or goes. Finds what audit_zone would find, if that finds
 * nothing in the version before; but signatures elsewhere may expire.
 *
 * Returns as audit_zone, with strict alone; NSD_E_LIMIT also: the change
 * concerns all of the zone, as of its keys, or too many names; or a chain is
 * such that only the whole zone tells. audit_zone is needed then.
 * Cost: some look-ups and the signatures of each owner.
 */
enum nsd_err audit_change(const struct store_view *view,
	const struct audit_change *change, const struct audit_options *options,
	struct diag_sink *sink, struct audit_report *report) MUST_USE;

/* ---- of records as they come ---------------------------------------------
 *
 *	audit_create
 *	audit_next         each owner
 *	audit_take         each of its records, in the order of zone_walk
 *	audit_settle       now and then, between two owners
 *	audit_find_lines   with the records that came since
 *	audit_finish
 *	audit_find_lines   if audit_lacks_line, with all of them
 *	audit_tell
 *	audit_destroy
 */

struct audit;
struct zone_rr;

/* Gives an audit; audit_destroy releases it. Keeps options, of which batches
 * mean nothing, and all that they refer to until then. NSD_E_MEMORY. */
enum nsd_err audit_create(const struct audit_options *options,
	struct audit **audit) MUST_USE;
/* NULL: does nothing. */
void audit_destroy(struct audit *audit);

/* Begins the next owner, a whole name in lower case. Returns as audit_take. */
enum nsd_err audit_next(struct audit *audit, const uint8_t *owner, size_t len)
	MUST_USE;
/* Takes the owner's next record; rr->owner is not looked at. NSD_E_NOT_FOUND:
 * the zone has no DNSKEY; nothing else is looked at, go on with audit_finish.
 * NSD_E_MEMORY, NSD_E_LIMIT as above. */
enum nsd_err audit_take(struct audit *audit, const struct zone_rr *rr) MUST_USE;
/* Ends the last owner, and waits until the records so far are checked, but for
 * the checks that take the whole zone. Returns as audit_take. */
enum nsd_err audit_settle(struct audit *audit) MUST_USE;
/* Ends the audit, with the checks that take the whole zone. NSD_OK also if the
 * zone is not signed. NSD_E_MEMORY, NSD_E_LIMIT. */
enum nsd_err audit_finish(struct audit *audit) MUST_USE;

/* Finds the lines of findings in records, in file order. */
void audit_find_lines(struct audit *audit, const struct rrbatch *batches);
/* True if a finding has no line so far. */
bool audit_lacks_line(const struct audit *audit);

/* Tells the findings, as audit_zone does. */
void audit_tell(struct audit *audit, struct diag_sink *sink,
	struct audit_report *report);

#endif
