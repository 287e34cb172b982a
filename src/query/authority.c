/* authority.c - writes the authority section of negative answers (RFC 2308) and
 * of referrals. */
#include "dns/rrtype.h"
#include "query/authority.h"
#include "query/denial.h"
#include "query/emit.h"

void
authority_add_negative(struct query_ctx *ctx, struct query *q)
{
	const struct search *s = &q->search;
	const struct zone *zone = s->zone;
	struct emit_rrset what = {
		.section = SECTION_AUTHORITY,
		.owner_at = q->reply.apex_at,
		/* RFC 2308 section 3. The signature gets the same TTL
		 * (RFC 4034 section 3). */
		.ttl_sec = zone->negative_ttl_sec,
		.rrset = store_get(ctx->view, zone->soa),
	};
	bool proven;

	if (!emit_signed(q, &what, zone->soa_sigs, NULL)
		|| !query_wants_proof(q, zone))
		return;
	if (s->outcome == OUTCOME_NXDOMAIN)
		proven = denial_add_nxdomain(ctx, q, s);
	else
		proven = denial_add_nodata(ctx, q, s);
	if (!proven)
		q->reply.flags |= MESSAGE_TC;
}

/* ---- referrals --------------------------------------------------------- */

/* Adds the DS and its signature, or the proof that there is none, as
 * RFC 4035 section 3.1.4 says. */
static void
add_ds(struct query_ctx *ctx, struct query *q, uint32_t owner_at)
{
	const struct search *s = &q->search;
	const struct node_rrset *entry = NULL;
	store_ref sigs;
	struct emit_rrset what = {
		.section = SECTION_AUTHORITY,
		.owner_at = owner_at,
	};

	if ((s->node->flags & NODE_HAS_DS) != 0)
		entry = node_find_entry(s->node, TYPE_DS);
	if (entry == NULL) {
		if (!denial_add_no_ds(ctx, q, s))
			q->reply.flags |= MESSAGE_TC;
		return;
	}
	/* A DS without a signature proves nothing. */
	sigs = node_entry_sigs(s->node, entry);
	if (sigs == STORE_NONE)
		return;
	what.rrset = store_get(ctx->view, entry->ref);
	what.ttl_sec = what.rrset->ttl_sec;
	emit_signed(q, &what, sigs, NULL);
}

void
authority_add_referral(struct query_ctx *ctx, struct query *q)
{
	const struct search *s = &q->search;
	struct placed *placed = &q->placed[0];
	struct emit_rrset what = {
		.section = SECTION_AUTHORITY,
		.owner_at = emit_suffix_at(q->reply.out, s->name_at,
			s->name->count - s->zone_labels
				- s->node->leaf.labels),
		.rrset = store_get(ctx->view, s->found->ref),
	};

	what.ttl_sec = what.rrset->ttl_sec;
	/* NS at a cut is not authoritative, so it is never signed. */
	if (!emit_signed(q, &what, STORE_NONE, placed))
		return;
	placed->zone = s->zone;
	placed->node = s->node;
	q->placed_count = 1;
	if (query_wants_proof(q, s->zone))
		add_ds(ctx, q, what.owner_at);
}
