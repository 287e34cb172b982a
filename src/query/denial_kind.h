/*
 * denial_kind.h - the two ways to deny: NSEC and NSEC3. What they add is the
 * same in kind (denial.h), and so are the contracts.
 */
#ifndef QUERY_DENIAL_KIND_H
#define QUERY_DENIAL_KIND_H

#include "query/state.h"

/* Notes that a record is in the reply from now on. False: it is there
 * already. record tells it from all others; it is not looked at. */
bool denial_note(struct query *q, const void *record);

/* RFC 9077: no longer than the SOA says that a denial may be kept. */
static inline uint32_t
denial_ttl(const struct zone *zone, uint32_t ttl_sec)
{
	return ttl_sec < zone->negative_ttl_sec ? ttl_sec
		: zone->negative_ttl_sec;
}

bool denial_nsec_add_nodata(struct query_ctx *ctx, struct query *q,
	const struct search *s);
bool denial_nsec_add_nxdomain(struct query_ctx *ctx, struct query *q,
	const struct search *s);
/* s->name was answered for by the wildcard below s->encloser. */
bool denial_nsec_add_expansion(struct query_ctx *ctx, struct query *q,
	const struct search *s);
bool denial_nsec_add_no_ds(struct query_ctx *ctx, struct query *q,
	const struct search *s);

bool denial_nsec3_add_nodata(struct query_ctx *ctx, struct query *q,
	const struct search *s);
bool denial_nsec3_add_nxdomain(struct query_ctx *ctx, struct query *q,
	const struct search *s);
bool denial_nsec3_add_expansion(struct query_ctx *ctx, struct query *q,
	const struct search *s);
bool denial_nsec3_add_no_ds(struct query_ctx *ctx, struct query *q,
	const struct search *s);

#endif
