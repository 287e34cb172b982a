/*
 * denial.h - proofs that something does not exist, for clients that set DO
 * (RFC 4035 section 3.1.3, RFC 5155 section 7.2).
 *
 * Each adds its records to the authority section. It returns false if they do
 * not fit, and then the caller truncates the reply. Only for signed zones. If a
 * zone lacks records that a proof needs, those that it has are added.
 */
#ifndef QUERY_DENIAL_H
#define QUERY_DENIAL_H

#include "query/state.h"

/* The name exists (or a wildcard stands for it), the type does not. */
bool denial_add_nodata(struct query_ctx *ctx, struct query *q,
	const struct search *s);

/* Neither the name nor a wildcard exists: s->encloser is the closest. */
bool denial_add_nxdomain(struct query_ctx *ctx, struct query *q,
	const struct search *s);

/* Wildcards were expanded because no closer names exist: q->expansions. */
bool denial_add_expansions(struct query_ctx *ctx, struct query *q);

/* The cut s->node has no DS: an insecure delegation. */
bool denial_add_no_ds(struct query_ctx *ctx, struct query *q,
	const struct search *s);

#endif
