/*
 * proof.h - finds the records of a proof by NSEC3.
 *
 * The zone keeps the hashes of names that exist. So a proof hashes one name at
 * most, the next closer name. The first proof of each query of a batch is
 * found together with those of the others. All proofs of a reply share a limit
 * on what they may cost (struct proof_spent). Parts that would cost more are
 * left out.
 */
#ifndef QUERY_PROOF_H
#define QUERY_PROOF_H

#include "query/state.h"

/* The chain that proves denials in this zone. NULL: if anything does, it is
 * NSEC. */
const struct nsec3_chain *proof_get_chain(const struct store_view *view,
	const struct zone *zone);

/* Finds the proofs that the answers of a batch will need, and prefetches their
 * records. Returns the count of queries that were looked at: fewer than all,
 * but at least one, if the proofs would take more than rounds_max rounds of
 * SHA-1. */
size_t proof_find_batch(struct query_ctx *ctx, struct query *const *queries,
	size_t count, uint32_t rounds_max);

/* The proof for a search, with its records. Not looked up again if the batch
 * has found it already. The zone has a chain. Lent until the next call. */
const struct nsec3_proof *proof_find(struct query_ctx *ctx, struct query *q,
	const struct search *s, enum proof_kind kind);

/*
 * Finds the record that matches or covers the hash of a node's name, or of "*"
 * below it. False: that hash has to be made, and it would cost too much, alone
 * or together with those made for this query before.
 */
bool proof_find_node(struct query_ctx *ctx, struct query *q,
	const struct search *s, const struct nsec3_chain *chain,
	const struct node *node, bool wildcard, struct nsec3_find *find);

#endif
