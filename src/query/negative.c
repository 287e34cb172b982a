/* negative.c - the authority section of negative answers (RFC 2308). */
#include "query/answer.h"
#include "query/denial.h"

void
negative_add(struct query_ctx *ctx, struct query *q)
{
	const struct search *s = &q->search;
	const struct zone *zone = s->zone;
	struct emit_rrset what = {
		.section = SECTION_AUTHORITY,
		.owner_at = q->reply.apex_at,
		/* RFC 2308 section 3. The signature follows the RRset's TTL
		 * (RFC 4034 section 3). */
		.ttl_sec = zone->negative_ttl_sec,
		.rrset = store_get(ctx->view, zone->soa),
	};
	bool proven;

	if (!answer_add_rrset(q, &what, zone->soa_sigs, NULL)
		|| !query_wants_proof(q, zone))
		return;
	if (s->outcome == OUTCOME_NXDOMAIN)
		proven = denial_add_nxdomain(ctx, q, s);
	else
		proven = denial_add_nodata(ctx, q, s);
	if (!proven)
		q->reply.flags |= MESSAGE_TC;
}
