/* parse.h - reads a request and finds out what it asks for. */
#ifndef QUERY_PARSE_H
#define QUERY_PARSE_H

#include "query/state.h"

/*
 * Reads a request and decides what to do with it (q->step). Fills all of q but
 * the search, and counts what it sees. The request may be any octets. Their
 * length bounds the cost.
 */
void parse_request(struct query_ctx *ctx, struct query *q,
	struct exchange *exchange);

/* Counts a request, which has been read, for the group of its zone. */
void parse_count_group(struct counters *counters, const struct query *q);

#endif
