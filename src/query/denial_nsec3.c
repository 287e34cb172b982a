/*
 * denial_nsec3.c - proofs by NSEC3 (RFC 5155 section 7.2): the record at the
 * hash of a name says which types it has, and which hash is the next.
 *
 * With opt-out, unsigned delegations have no records, nor have names that exist
 * only because of them. Two records prove something about such a name: that of
 * the closest provable encloser, which is its closest ancestor with a record,
 * and the one that covers the name right below that ancestor.
 */
#include "query/denial_kind.h"
#include "query/emit_denial.h"
#include "query/lookup.h"
#include "query/proof.h"

static bool
nsec3_add_record(struct query *q, const struct search *s,
	const struct nsec3_find *found)
{
	return found->record == NULL || !denial_note(q, found->record)
		|| emit_nsec3(&q->reply, s, found);
}

static bool
has_part(const struct nsec3_proof *proof, enum proof_part part)
{
	return (proof->wanted & 1u << part) != 0;
}

/* Gives a part of a proof. If it is ambiguous, it is found anew by its name.
 * False: the proof does not have it. */
static bool
get_part(struct query_ctx *ctx, struct query *q, const struct search *s,
	const struct nsec3_proof *proof, enum proof_part part,
	const struct node *node, bool wildcard, struct nsec3_find *found)
{
	if (!has_part(proof, part))
		return false;
	*found = proof->parts[part];
	return !found->ambiguous || proof_find_node(ctx, q, s, proof->chain,
		node, wildcard, found);
}

/* Adds the record that covers the next closer name, unless the reply had no
 * hash left to spend on it. */
static bool
add_closer(struct query *q, const struct search *s,
	const struct nsec3_proof *proof)
{
	return !has_part(proof, PART_CLOSER)
		|| nsec3_add_record(q, s, &proof->parts[PART_CLOSER]);
}

/*
 * Goes up from a node without a record of its own to the closest provable
 * encloser. Adds its record, and the record that covers the name right below it
 * on the way. *encloser is NULL if there is none.
 */
static bool
add_provable(struct query_ctx *ctx, struct query *q, const struct search *s,
	const struct nsec3_chain *chain, const struct node *node,
	const struct node **encloser)
{
	struct trie_walk *walk = &ctx->walk;
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct nsec3_find found, below;
	bool has_below;

	*encloser = NULL;
	walk->root = &s->zone->names.root;
	trie_name_of_leaf(&walk->name, &node->leaf, label_at);
	trie_find(ctx->view, walk);
	has_below = proof_find_node(ctx, q, s, chain, node, false, &below);
	for (unsigned i = walk->ancestor_count; i-- > 0; ) {
		node = store_get(ctx->view, walk->ancestors[i]);
		if (!proof_find_node(ctx, q, s, chain, node, false, &found)) {
			has_below = false;
		} else if (found.matches) {
			*encloser = node;
			return nsec3_add_record(q, s, &found)
				&& (!has_below
					|| nsec3_add_record(q, s, &below));
		} else {
			below = found;
			has_below = true;
		}
	}
	return true;
}

/* Proves nothing, for it would cost too much. The apex's record shows why: it
 * has the iterations. */
static bool
add_costly(struct query *q, const struct search *s,
	const struct nsec3_proof *proof)
{
	const struct nsec3_find *found = &proof->parts[PART_ENCLOSER];

	return !has_part(proof, PART_ENCLOSER) || !found->matches
		|| nsec3_add_record(q, s, found);
}

static bool
nsec3_is_costly(const struct nsec3_proof *proof)
{
	return (proof->chain->flags & NSEC3_CHAIN_COSTLY) != 0;
}

/* Adds the record at the name (RFC 5155 section 7.2.3). If opt-out left it out,
 * proves that instead: RFC 5155 section 7.2.4 for DS, RFC 5155 section 7.2.7
 * for referrals. */
static bool
add_type(struct query_ctx *ctx, struct query *q, const struct search *s)
{
	const struct nsec3_proof *proof = proof_find(ctx, q, s, PROOF_TYPE);
	const struct nsec3_find *above = &proof->parts[PART_ENCLOSER];
	const struct node *encloser;
	struct nsec3_find own;

	if (nsec3_is_costly(proof))
		return add_costly(q, s, proof);
	if (!get_part(ctx, q, s, proof, PART_OWN, s->node, false, &own))
		return true;
	if (own.matches)
		return nsec3_add_record(q, s, &own);
	if (has_part(proof, PART_ENCLOSER) && above->matches
		&& !above->ambiguous)
		return nsec3_add_record(q, s, above)
		&& nsec3_add_record(q, s, &own);
	return add_provable(ctx, q, s, proof->chain, s->node, &encloser);
}

/* Proves the closest encloser (RFC 5155 section 7.2.1). Also proves that there
 * is no wildcard (RFC 5155 section 7.2.2), or that the wildcard has no such
 * type (RFC 5155 section 7.2.5). */
static bool
add_absent(struct query_ctx *ctx, struct query *q, const struct search *s,
	enum proof_kind kind)
{
	const struct nsec3_proof *proof = proof_find(ctx, q, s, kind);
	bool no_wildcard = kind == PROOF_NAME;
	const struct node *encloser = s->encloser;
	struct nsec3_find found;

	if (nsec3_is_costly(proof))
		return add_costly(q, s, proof);
	if (get_part(ctx, q, s, proof, PART_ENCLOSER, encloser, false, &found)
		&& found.matches) {
		if (!nsec3_add_record(q, s, &found)
			|| !add_closer(q, s, proof))
			return false;
	} else {
		if (!add_provable(ctx, q, s, proof->chain, s->encloser,
				&encloser))
			return false;
		if (encloser != NULL && no_wildcard)
			return !proof_find_node(ctx, q, s, proof->chain,
				encloser, true, &found)
				|| nsec3_add_record(q, s, &found);
	}
	return !get_part(ctx, q, s, proof, PART_OWN,
			no_wildcard ? s->encloser : s->node, no_wildcard,
			&found)
		|| nsec3_add_record(q, s, &found);
}

bool
denial_nsec3_add_nodata(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	return s->from_wildcard ? add_absent(ctx, q, s, PROOF_WILDCARD_TYPE)
		: add_type(ctx, q, s);
}

bool
denial_nsec3_add_nxdomain(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	return add_absent(ctx, q, s, PROOF_NAME);
}

/* RFC 5155 section 7.2.6. */
bool
denial_nsec3_add_expansion(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	const struct nsec3_proof *proof = proof_find(ctx, q, s,
		PROOF_EXPANSION);

	if (nsec3_is_costly(proof))
		return add_costly(q, s, proof);
	return add_closer(q, s, proof);
}

bool
denial_nsec3_add_no_ds(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	return add_type(ctx, q, s);
}
