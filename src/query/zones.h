/* zones.h - finds the zone that answers for a name. */
#ifndef QUERY_ZONES_H
#define QUERY_ZONES_H

#include "query/state.h"

/*
 * Finds the zones for count requests, all at once. A request that is answered
 * from a zone gets STEP_COMPOSE, and its search is begun. Any other gets its
 * rcode, and STEP_HEADER or STEP_QUESTION.
 */
void zones_find(struct query_ctx *ctx, struct query *const *queries,
	size_t count);

/*
 * Moves a search on to another name, the target of a CNAME. The name may be in
 * the same zone, or in another that is served and that the client may query.
 * False if it is in none; then the search is as it was.
 */
bool zones_follow(struct query_ctx *ctx, const struct query *q,
	struct search *s, const struct message_name *name);

#endif
