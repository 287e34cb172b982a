/* referral.c - the authority section of referrals. */
#include "dns/rrtype.h"
#include "query/answer.h"
#include "query/denial.h"

/* RFC 4035 section 3.1.4: DS with its signature, or the proof of none. */
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
	/* Without a signature it proves nothing: the zone is not signed. */
	sigs = node_entry_sigs(s->node, entry);
	if (sigs == STORE_NONE)
		return;
	what.rrset = store_get(ctx->view, entry->ref);
	what.ttl_sec = what.rrset->ttl_sec;
	answer_add_rrset(q, &what, sigs, NULL);
}

void
referral_add(struct query_ctx *ctx, struct query *q)
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
	if (!answer_add_rrset(q, &what, STORE_NONE, placed))
		return;
	placed->zone = s->zone;
	placed->node = s->node;
	q->placed_count = 1;
	if (query_wants_proof(q, s->zone))
		add_ds(ctx, q, what.owner_at);
}
