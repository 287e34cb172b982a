/*
 * dynupdate.h - dynamic updates (RFC 2136): what messages of clients come to in
 * a version of a zone. Octets and store in, differences out.
 *
 *	dynupdate_begin     a served version of a zone
 *	dynupdate_apply ... a whole message each, on top of those before
 *	dynupdate_records   the differences, a version for each message that has
 *	                    changed something
 *	dynupdate_end
 *
 * A message is done in the order of RFC 2136 section 3: the zone section (3.1),
 * the prerequisites (3.2), the prescan (3.4.1), the updates (3.4.2), the serial
 * (3.6). Who may send it (3.3) is for the caller, who has checked the
 * signature, too. All of it takes effect, or nothing.
 *
 * Names are matched as they are owned: wildcards stand for nothing, cuts and
 * DNAMEs hide nothing, and empty non-terminals are not in use (RFC 2136 section
 * 3.2). All records of an RRset get the TTL that was given last (RFC 2181
 * section 5.2).
 *
 * Refused as a whole, beside what RFC 2136 refuses: what the build of a zone
 * would refuse, which is data below a DNAME (RFC 6672 section 2.4), more
 * records or types than the limits, and wrong values; what no message of a
 * transfer could carry; and in a signed zone what does not bring a newer SOA,
 * new signatures of the RRsets that change, and NSEC or NSEC3 records that fit
 * (RFC 3007 section 4.3), and all of it where the zone has more than 1,000
 * keys. Signatures are not verified here.
 *
 * Cost: a name or RRset is looked up in the store when a message of the batch
 * has it for the first time. An RRset is copied if a message asks for its
 * records, so time and memory grow with its records, once a batch. Beyond that,
 * a message costs time and memory that are linear in its octets and in the
 * octets of what it changes: a new TTL changes each record of an RRset.
 */
#ifndef DYNUPDATE_DYNUPDATE_H
#define DYNUPDATE_DYNUPDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/edns.h"
#include "dns/message.h"
#include "store/store.h"
#include "zone/zone.h"

/* The serial after a message that has brought no newer SOA itself. A policy
 * whose serial would not be newer adds 1. */
enum dynupdate_serial {
	DYNUPDATE_INCREMENT,
	DYNUPDATE_UNIXTIME,   /* seconds since 1970 */
	DYNUPDATE_DATESERIAL, /* YYYYMMDD00, of UTC */
};

struct dynupdate_options {
	enum dynupdate_serial policy;
	uint64_t now_sec;    /* since 1970 */
	bool no_check;       /* signed zones: messages may lack signatures and
			      * NSEC or NSEC3 records */
	size_t octets_max;   /* of dynupdate_records */
	uint32_t records_max; /* of an RRset that grows; 0: any number */
	uint32_t types_max;   /* of a name that grows; 0: any number */
	uint64_t seed;       /* of hash tables; random, or 0 in a test */
};

#define DYNUPDATE_WHY_MAX 1400u /* a name, escaped, and a sentence */

struct dynupdate_result {
	enum rcode rcode;
	uint16_t ede;  /* enum ede_code; EDE_NONE: there is no text */
	char why[DYNUPDATE_WHY_MAX]; /* of a refusal, for people: the record
				      * (name, type) and the rule */
	bool changed;  /* false: nothing, and there is no version of it */
	uint32_t serial; /* of the zone, behind this message */
	uint32_t added, removed; /* records, the SOA not counted */
};

struct dynupdate;

/*
 * Begins a batch. view, zone: kept until dynupdate_end; the caller is online as
 * a reader of the store all the time. apex: the zone's whole name in lower
 * case, copied, like the options. Gives *out. NSD_E_MEMORY.
 */
enum nsd_err dynupdate_begin(const struct store_view *view,
	const struct zone *zone, const uint8_t *apex,
	const struct dynupdate_options *options, struct dynupdate **out)
	MUST_USE;

/*
 * Does what a message says. message: any octets, borrowed; its additional
 * section is not looked at.
 * returns NSD_OK: *result is set. NSD_E_LIMIT: with what it changes the batch
 *     would be longer than octets_max, or it has taken too much memory already
 *     (also if nothing has changed): the message goes into the next batch. One
 *     that is too long even for an empty batch is refused instead.
 *     NSD_E_MEMORY. After an error, and with any RCODE but NOERROR, all is as
 *     before.
 */
enum nsd_err dynupdate_apply(struct dynupdate *d, const uint8_t *message,
	size_t len, struct dynupdate_result *result) MUST_USE;

/* Lends the differences of all messages: records of kind XFR_DIFFS
 * (xfr/changes.h) without a head, until the next call for the batch. They lead
 * from one serial to another. *len 0: nothing has changed. */
const uint8_t *dynupdate_records(const struct dynupdate *d, size_t *len,
	uint32_t *from, uint32_t *to);

/* Frees the batch; NULL is fine. */
void dynupdate_end(struct dynupdate *d);

#endif
