/*
 * denial_kind.h - the two ways to deny: NSEC and NSEC3. What they add is the
 * same in kind (denial.h), and so are the contracts.
 */
#ifndef QUERY_DENIAL_KIND_H
#define QUERY_DENIAL_KIND_H

#include "query/state.h"

/* True if a record is in the reply already; it is kept in mind that it is. */
bool denial_is_repeated(struct query *q, const void *record);

/* RFC 9077: no longer than the SOA says that a denial may be kept. */
static inline uint32_t
denial_ttl(const struct zone *zone, uint32_t ttl_sec)
{
	return ttl_sec < zone->negative_ttl_sec ? ttl_sec
		: zone->negative_ttl_sec;
}

bool nsec_add_nodata(struct query_ctx *ctx, struct query *q,
	const struct search *s);
bool nsec_add_nxdomain(struct query_ctx *ctx, struct query *q,
	const struct search *s);
/* s->name was answered for by the wildcard below s->encloser. */
bool nsec_add_expansion(struct query_ctx *ctx, struct query *q,
	const struct search *s);
bool nsec_add_no_ds(struct query_ctx *ctx, struct query *q,
	const struct search *s);

bool nsec3_add_nodata(struct query_ctx *ctx, struct query *q,
	const struct search *s);
bool nsec3_add_nxdomain(struct query_ctx *ctx, struct query *q,
	const struct search *s);
bool nsec3_add_expansion(struct query_ctx *ctx, struct query *q,
	const struct search *s);
bool nsec3_add_no_ds(struct query_ctx *ctx, struct query *q,
	const struct search *s);

#endif
