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

/* Counts a request that parse_request has read for the group of its zone. */
void parse_count_group(struct counters *counters, const struct query *q);

#endif
