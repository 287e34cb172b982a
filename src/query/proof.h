/*
 * proof.h - the look-ups of a proof by NSEC3: which hashes are known, which is
 * to be made, and the records that they lead to.
 *
 * Of names that exist the zone knows the hash; only a next closer name is
 * hashed, at most one a proof. The first proofs of a batch are planned,
 * hashed and looked up together. What all the proofs of a reply may hash is
 * limited (struct proof_spent): beyond that, parts are not wanted.
 */
#ifndef QUERY_PROOF_H
#define QUERY_PROOF_H

#include "query/state.h"

/* The chain that denies in this zone; NULL: NSEC does, if anything. */
const struct nsec3_chain *proof_get_chain(const struct store_view *view,
	const struct zone *zone);

/* The proofs that the answers to the questions of a batch will need: found,
 * and their records on the way from memory. */
void proof_find_batch(struct query_ctx *ctx, struct query *const *queries,
	size_t count);

/* The proof for a search, with its records; that of the batch if it is the
 * same. Lent until the next call. */
const struct nsec3_proof *proof_find(struct query_ctx *ctx, struct query *q,
	const struct search *s, enum proof_kind kind);

/*
 * Finds the record that matches or covers the hash of a node's name, or of "*"
 * below it. False: the hash is not known and too dear to be made, by itself or
 * after those that were made for this query.
 */
bool proof_find_node(struct query_ctx *ctx, struct query *q,
	const struct search *s, const struct nsec3_chain *chain,
	const struct node *node, bool wildcard, struct nsec3_find *find);

#endif
