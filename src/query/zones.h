/* zones.h - which zone answers for a name. */
#ifndef QUERY_ZONES_H
#define QUERY_ZONES_H

#include "query/state.h"

/*
 * Finds the zones of the requests that need one, all at once. Requests that
 * cannot be answered from a zone get their rcode (STEP_HEADER, STEP_QUESTION),
 * the others STEP_COMPOSE with their search begun.
 */
void zones_find(struct query_ctx *ctx, struct query *const *queries,
	size_t count);

/*
 * Moves a search on to another name, the target of a CNAME, in its zone or in
 * another that is served and that the client may see. False if there is none;
 * then the search is as it was.
 */
bool zones_follow(struct query_ctx *ctx, const struct query *q,
	struct search *s, const struct message_name *name);

#endif
