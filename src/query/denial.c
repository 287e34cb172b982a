/*
 * denial.c - where NSEC and NSEC3 records are chosen. The store does not yet
 * say which of them covers a name, so that none are added: a validating
 * client sees a negative answer without its proof.
 */
#include "query/denial.h"

bool
denial_add_nodata(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	return true;
}

bool
denial_add_nxdomain(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	return true;
}

bool
denial_add_expansion(struct query_ctx *ctx, struct query *q,
	const struct expansion *expansion)
{
	return true;
}

bool
denial_add_no_ds(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	return true;
}
