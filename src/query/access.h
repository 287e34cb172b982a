/* access.h - decisions of access lists, to be written to the log. */
#ifndef QUERY_ACCESS_H
#define QUERY_ACCESS_H

#include "query/state.h"

/* The client of a request, for access lists. */
#define QUERY_CLIENT(ctx, q)                                                 \
	((struct acl_client){.peer = (q)->exchange->peer,                    \
		.proxy = (q)->exchange->proxy, .key = (q)->key,              \
		.identity = (q)->exchange->identity, .view = (ctx)->view})

/*
 * Notes for the log what a list has decided. A request that comes again, since
 * a stream had to wait, was noted before. Returns the note, which the caller
 * may add to; NULL: there is none, or no room for one.
 */
struct query_access *access_note(struct query_ctx *ctx, const struct query *q,
	enum query_access_kind kind, bool allowed);

#endif
