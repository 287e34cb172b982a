/* dnstap_frame.h - messages of dnstap: Protocol Buffers, as frames of Frame
 * Streams. */
#ifndef SRC_COLLECTOR_DNSTAP_FRAME_H
#define SRC_COLLECTOR_DNSTAP_FRAME_H

#include <stddef.h>

#include "base/err.h"
#include "tap/ring.h"

struct evbuffer;

/* The texts of each message about the server; NULL or empty: none. */
struct dnstap_names {
	const char *identity;
	const char *version;
};

/*
 * Appends frames with parts of a record: TAP_QUERY, TAP_RESPONSE, or both,
 * or-ed; one frame for each. A NOTIFY is a query of an authoritative server, as
 * dnstap has no type of its own for it.
 * returns NSD_OK; NSD_E_MEMORY: nothing was appended.
 */
enum nsd_err dnstap_frame_add(struct evbuffer *out,
	const struct dnstap_names *names, const struct tap_record *record,
	unsigned parts) MUST_USE;

#endif
