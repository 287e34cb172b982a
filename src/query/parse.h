/* parse.h - reads a request and finds out what it asks for. */
#ifndef QUERY_PARSE_H
#define QUERY_PARSE_H

#include "query/state.h"

/*
 * Reads a request and decides what to do with it (q->step). Sets what the later
 * stages read of q before they set it, and counts the request. The request may
 * be any octets. Cost: linear in their number.
 */
void parse_request(struct query_ctx *ctx, struct query *q,
	struct exchange *exchange);

/* Ends a request whose opcode is not implemented here: NOTIMP, in a header
 * alone, or no reply (drop-updates). */
void parse_refuse_opcode(struct query_ctx *ctx, struct query *q);

/* Reads the sections behind the zone section of an UPDATE, and sets the flags
 * of its reply. False: the reply is chosen. The TSIG is not checked. */
bool parse_update_rest(struct query_ctx *ctx, struct query *q);

/* Checks the signature of a request (RFC 8945 section 5.2), which has one.
 * False: no key has made it, and the reply is chosen. */
bool parse_check_key(struct query_ctx *ctx, struct query *q);

/* Counts a request that parse_request has read for the group of its zone. */
void parse_count_group(struct counters *counters, const struct query *q);

#endif
