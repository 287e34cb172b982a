/* answer.h - the sections of an answer, once its search has come to an end. */
#ifndef QUERY_ANSWER_H
#define QUERY_ANSWER_H

#include "query/state.h"

/* Writes all sections of the answer behind the question. */
void answer_compose(struct query_ctx *ctx, struct query *q);

/* The RRset of the node that answers ANY (RFC 8482 section 4.1): the one that
 * is cheapest to send. NULL if the node has none. */
const struct node_rrset *any_choose(const struct store_view *view,
	const struct node *node);

/* Addresses of the name servers of a referral; those that lie in the child
 * must be there, or TC (RFC 9471). */
void additional_add_glue(struct query_ctx *ctx, struct query *q);

/* Addresses that the RRsets in q->placed ask for, as far as there is room. */
void additional_add(struct query_ctx *ctx, struct query *q);

/* Class CH: id.server, hostname.bind, version.server, version.bind. */
void chaos_answer(struct query_ctx *ctx, struct query *q);

#endif
