/*
 * denial_kind.h - the two ways to deny: NSEC and NSEC3. The functions of both
 * have the contracts of those in denial.h.
 */
#ifndef QUERY_DENIAL_KIND_H
#define QUERY_DENIAL_KIND_H

#include "query/state.h"

/* Notes that a record is in the reply from now on. False: it was there already.
 * record is only compared, not read. */
bool denial_note(struct query *q, const void *record);

/* The TTL of a record that denies. RFC 9077: at most the zone's negative
 * TTL. */
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
/* The wildcard below s->encloser answered for s->name. */
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
