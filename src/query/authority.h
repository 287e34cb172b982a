/* authority.h - the authority section of what is no plain answer. */
#ifndef QUERY_AUTHORITY_H
#define QUERY_AUTHORITY_H

#include "query/state.h"

/* "No such name" and "no data" (RFC 2308): the SOA, and the proof. TC is set if
 * they do not fit. */
void authority_add_negative(struct query_ctx *ctx, struct query *q);

/* A referral (RFC 1034 section 4.3.2, 3b): the NS of the cut, and its DS or the
 * proof that there is none. TC is set if they do not fit. */
void authority_add_referral(struct query_ctx *ctx, struct query *q);

#endif
