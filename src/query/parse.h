/* parse.h - a request to what it asks for. */
#ifndef QUERY_PARSE_H
#define QUERY_PARSE_H

#include "query/state.h"

/*
 * Reads a request and decides what is to be done with it: fills all of q but
 * the search. Counts what it sees. Any octets are fine; the cost is bounded
 * by their length.
 */
void parse_request(struct query_ctx *ctx, struct query *q,
	struct exchange *exchange);

#endif
