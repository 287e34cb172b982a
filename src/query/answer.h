/* answer.h - writes the sections of an answer when the search has ended. */
#ifndef QUERY_ANSWER_H
#define QUERY_ANSWER_H

#include "query/state.h"

/* Writes all sections of the answer behind the question. */
void answer_compose(struct query_ctx *ctx, struct query *q);

/* The RRset of the node to answer ANY with (RFC 8482 section 4.1): the smallest
 * that is not of DNSSEC, if there is one; of very many types, among the first.
 * NULL if the node has none. */
const struct node_rrset *any_choose(const struct store_view *view,
	const struct node *node);

/* Adds addresses of the name servers of a referral. Sets TC if those of name
 * servers in the child do not all fit (RFC 9471). */
void additional_add_glue(struct query_ctx *ctx, struct query *q);

/* Adds the addresses that the RRsets in q->placed ask for, as far as there is
 * room. */
void additional_add(struct query_ctx *ctx, struct query *q);

/* Answers class CH: id.server, hostname.bind, version.server, version.bind. */
void chaos_answer(struct query_ctx *ctx, struct query *q);

#endif
