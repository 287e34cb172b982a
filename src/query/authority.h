/* authority.h - the authority section of negative answers and referrals. */
#ifndef QUERY_AUTHORITY_H
#define QUERY_AUTHORITY_H

#include "query/state.h"

/* For "no such name" and "no data" (RFC 2308): adds the SOA and the proof. Sets
 * TC if they do not fit. */
void authority_add_negative(struct query_ctx *ctx, struct query *q);

/* For a referral (RFC 1034 section 4.3.2, 3b): adds the NS of the cut, and its
 * DS or the proof that there is none. Sets TC if they do not fit. */
void authority_add_referral(struct query_ctx *ctx, struct query *q);

#endif
