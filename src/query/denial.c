/* denial.c - proves that something does not exist: chooses NSEC or NSEC3. */
#include "query/denial.h"
#include "query/denial_kind.h"
#include "query/emit.h"
#include "query/proof.h"

static bool
by_nsec3(const struct query_ctx *ctx, const struct search *s)
{
	return proof_get_chain(ctx->view, s->zone) != NULL;
}

bool
denial_add_nodata(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	return by_nsec3(ctx, s) ? denial_nsec3_add_nodata(ctx, q, s)
		: denial_nsec_add_nodata(ctx, q, s);
}

bool
denial_add_nxdomain(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	return by_nsec3(ctx, s) ? denial_nsec3_add_nxdomain(ctx, q, s)
		: denial_nsec_add_nxdomain(ctx, q, s);
}

bool
denial_add_no_ds(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	return by_nsec3(ctx, s) ? denial_nsec3_add_no_ds(ctx, q, s)
		: denial_nsec_add_no_ds(ctx, q, s);
}

/* RFC 4035 section 3.1.3.3, both for the links of a chain and for its end. */
static bool
add_expansion(struct query_ctx *ctx, struct query *q,
	const struct expansion *e)
{
	struct search s = {
		.entry = e->entry,
		.zone = e->zone,
		.name = &ctx->target,
		.name_at = e->name_at,
		.zone_labels = e->entry->leaf.labels,
		.encloser = e->encloser,
	};

	if (message_expand_name(q->reply.out, q->reply.len, e->name_at,
			&ctx->target) != NSD_OK)
		return true;
	return by_nsec3(ctx, &s) ? denial_nsec3_add_expansion(ctx, q, &s)
		: denial_nsec_add_expansion(ctx, q, &s);
}

bool
denial_add_expansions(struct query_ctx *ctx, struct query *q)
{
	for (unsigned i = 0; i < q->expansion_count; i++)
		if (!add_expansion(ctx, q, &q->expansions[i]))
			return false;
	return true;
}
