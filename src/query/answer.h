/* answer.h - the sections of an answer, once its search has come to an end. */
#ifndef QUERY_ANSWER_H
#define QUERY_ANSWER_H

#include "query/emit.h"
#include "query/state.h"

/* Writes all sections of the answer behind the question. */
void answer_compose(struct query_ctx *ctx, struct query *q);

/*
 * Writes an RRset and, for a client that set DO, its signatures: both or
 * neither (RFC 4035 section 3.1.1). False, with TC set: no room.
 */
bool answer_add_rrset(struct query *q, const struct emit_rrset *what,
	store_ref sigs, struct placed *placed);

/* ANY (RFC 8482 section 4.1): the record set of the node that is cheapest to
 * send; NULL if it has none. */
const struct node_rrset *any_choose(const struct store_view *view,
	const struct node *node);

/* The authority section of "no such name" and "no data" (RFC 2308). */
void negative_add(struct query_ctx *ctx, struct query *q);

/* The authority section of a referral (RFC 1034 section 4.3.2, 3b). */
void referral_add(struct query_ctx *ctx, struct query *q);

/* Addresses of the name servers of a referral; those that lie in the child
 * must be there, or TC (RFC 9471). */
void additional_add_glue(struct query_ctx *ctx, struct query *q);

/* Addresses that the RRsets in q->placed ask for, as far as there is room. */
void additional_add(struct query_ctx *ctx, struct query *q);

/* Class CH: id.server, hostname.bind, version.server, version.bind. */
void chaos_answer(struct query_ctx *ctx, struct query *q);

#endif
