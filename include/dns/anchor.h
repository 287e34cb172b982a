/* anchor.h - trust anchors of a zone: DS or DNSKEY records that say which of
 * its keys count (RFC 4033 section 2). */
#ifndef DNS_ANCHOR_H
#define DNS_ANCHOR_H

#include <stddef.h>
#include <stdint.h>

struct anchor {
	const uint8_t *rdata; /* of a record with a sound layout */
	uint16_t type;        /* TYPE_DS or TYPE_DNSKEY */
	uint16_t rdlen;
};

struct anchors {
	struct anchor *items;
	size_t count;
};

#endif
