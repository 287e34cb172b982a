/*
 * denial.h - proofs that something does not exist, for clients that set DO
 * (RFC 4035 section 3.1.3, RFC 5155 section 7.2).
 *
 * Each function adds its records to the authority section. It returns false if
 * they do not fit; then the caller truncates the reply. The zone is signed. If
 * it lacks records that a proof needs, the function adds those that it has.
 */
#ifndef QUERY_DENIAL_H
#define QUERY_DENIAL_H

#include "query/state.h"

/* Proves that the name exists (or a wildcard stands for it), but not the
 * type. */
bool denial_add_nodata(struct query_ctx *ctx, struct query *q,
	const struct search *s);

/* Proves that neither the name exists nor a wildcard for it. s->encloser is the
 * closest encloser. */
bool denial_add_nxdomain(struct query_ctx *ctx, struct query *q,
	const struct search *s);

/* Proves that no closer names exist than the wildcards that were expanded
 * (q->expansions). */
bool denial_add_expansions(struct query_ctx *ctx, struct query *q);

/* Proves that the cut s->node has no DS: an insecure delegation. */
bool denial_add_no_ds(struct query_ctx *ctx, struct query *q,
	const struct search *s);

#endif
