/* proof.c - finds proofs by NSEC3, one by one and in batches. */
#include <string.h>

#include "base/assert.h"
#include "query/proof.h"

const struct nsec3_chain *
proof_get_chain(const struct store_view *view, const struct zone *zone)
{
	const struct nsec3_chain *chain;

	if (zone->chain == STORE_NONE)
		return NULL;
	chain = store_get(view, zone->chain);
	/* No record of such a chain is ever looked up, so it proves nothing.
	 * If the zone has NSEC, too, that is better. */
	if ((chain->flags & NSEC3_CHAIN_COSTLY) != 0
		&& (zone->flags & ZONE_NSEC) != 0)
		return NULL;
	return chain;
}

static void
hash_jobs(const struct nsec3_chain *chain, struct nsec3_job *const *jobs,
	size_t count)
{
	const struct nsec3_params params = {
		.salt = chain->salt,
		.salt_len = chain->salt_len,
		.iterations = chain->iterations,
	};

	nsec3_hash_batch(&params, jobs, count);
}

static bool
is_costly(const struct nsec3_chain *chain)
{
	return (chain->flags & NSEC3_CHAIN_COSTLY) != 0;
}

/* Takes the cost of one hash from what the reply may spend. False: there is not
 * enough left. RFC 9276 section 3.2 wants such a limit. */
static bool
spend_hash(struct query *q, const struct nsec3_chain *chain)
{
	uint32_t rounds = chain->iterations + 1u;

	if (q->spent.hashes >= PROOF_HASHES_FREE
		&& q->spent.rounds + rounds > PROOF_ROUNDS_MAX)
		return false;
	q->spent.hashes++;
	q->spent.rounds += rounds;
	return true;
}

/* Hashes a node's name, or the wildcard below it. Only few need this: the zone
 * keeps most hashes. False: it would cost too much, or is no name. */
static bool
hash_node(struct query *q, const struct search *s,
	const struct nsec3_chain *chain, const struct node *node,
	bool wildcard, uint8_t *hash)
{
	unsigned apex_len = s->entry->leaf.name_len + 1u;
	uint8_t name[2 + 2 * NAME_MAX_LEN];
	struct nsec3_job job = { .name = name };
	struct nsec3_job *const jobs[1] = { &job };
	unsigned len = 0;

	if (wildcard) {
		name[0] = 1;
		name[1] = '*';
		len = 2;
	}
	memcpy(name + len, trie_leaf_name(&node->leaf), node->leaf.name_len);
	len += node->leaf.name_len;
	memcpy(name + len, s->entry->name, apex_len);
	if (is_costly(chain) || len + apex_len > NAME_MAX_LEN
		|| !spend_hash(q, chain))
		return false;
	hash_jobs(chain, jobs, 1);
	memcpy(hash, job.hash, NSEC3_HASH_LEN);
	return true;
}

/* Sets the hash to look for: that of a node's name, or of the wildcard below
 * it. False: it would cost too much. */
static bool
aim_hash(struct query *q, const struct search *s,
	const struct nsec3_chain *chain, const struct node *node, bool wildcard,
	struct nsec3_find *find)
{
	const uint8_t *kept = wildcard ? nsec3_node_wildcard_hash(node)
		: nsec3_node_hash(node);

	find->chain = chain;
	find->is_prefix = kept != NULL;
	if (kept == NULL)
		return hash_node(q, s, chain, node, wildcard, find->hash);
	memcpy(find->hash, kept, NSEC3_PREFIX_LEN);
	return true;
}

bool
proof_find_node(struct query_ctx *ctx, struct query *q,
	const struct search *s, const struct nsec3_chain *chain,
	const struct node *node, bool wildcard, struct nsec3_find *find)
{
	struct nsec3_find *const finds[1] = { find };

	if (!aim_hash(q, s, chain, node, wildcard, find))
		return false;
	nsec3_find_batch(ctx->view, finds, 1);
	if (!find->ambiguous)
		return true;
	if (!hash_node(q, s, chain, node, wildcard, find->hash))
		return false;
	find->is_prefix = false;
	nsec3_find_batch(ctx->view, finds, 1);
	return true;
}

/* ---- names and hashes to look for -------------------------------------- */

static void
want_node(struct query *q, struct nsec3_proof *proof, const struct search *s,
	enum proof_part part, const struct node *node, bool wildcard)
{
	if (aim_hash(q, s, proof->chain, node, wildcard, &proof->parts[part]))
		proof->wanted |= (uint8_t)(1u << part);
}

/* Wants the next closer name. RFC 5155 section 1.3: it is one label longer than
 * the closest encloser. */
static void
want_closer(struct query *q, struct nsec3_proof *proof,
	const struct search *s)
{
	const struct message_name *name = s->name;
	unsigned longer = name->count - s->zone_labels
		- s->encloser->leaf.labels - 1;

	if (is_costly(proof->chain) || !spend_hash(q, proof->chain))
		return;
	proof->job.name = name->name + name->label_at[longer];
	proof->hashes = true;
}

/* Wants the parent of a node that opt-out may leave without a record. An
 * ancestor's record is needed then, and mostly it is the parent's. */
static void
want_parent(const struct store_view *view, struct query *q,
	struct nsec3_proof *proof, const struct search *s,
	const struct trie_walk *walk)
{
	const struct node *node = s->node;

	if ((node->flags & NODE_EMPTY) == 0 && ((node->flags & NODE_CUT) == 0
			|| (node->flags & NODE_HAS_DS) != 0))
		return;
	for (unsigned i = walk->ancestor_count; i-- > 0; ) {
		const struct node *above = store_get(view, walk->ancestors[i]);

		if (above->leaf.labels + 1u != node->leaf.labels)
			continue;
		want_node(q, proof, s, PART_ENCLOSER, above, false);
		return;
	}
}

/* Decides which records a proof needs. walk: that of the name, if there still
 * is one; or NULL. */
static void
plan_proof(const struct store_view *view, struct query *q,
	struct nsec3_proof *proof, const struct search *s,
	enum proof_kind kind, const struct trie_walk *walk)
{
	proof->kind = kind;
	proof->name_at = s->name_at;
	proof->wanted = 0;
	proof->hashes = false;
	/* RFC 9276 section 3.2: the proof is left out, and a validator has to
	 * see why. */
	if (is_costly(proof->chain)) {
		want_node(q, proof, s, PART_ENCLOSER,
			store_get(view, s->zone->apex), false);
		return;
	}
	switch (kind) {
	case PROOF_TYPE:
		want_node(q, proof, s, PART_OWN, s->node, false);
		if (walk != NULL)
			want_parent(view, q, proof, s, walk);
		break;
	case PROOF_WILDCARD_TYPE:
		want_node(q, proof, s, PART_ENCLOSER, s->encloser, false);
		want_closer(q, proof, s);
		want_node(q, proof, s, PART_OWN, s->node, false);
		break;
	case PROOF_NAME:
		want_node(q, proof, s, PART_ENCLOSER, s->encloser, false);
		want_closer(q, proof, s);
		want_node(q, proof, s, PART_OWN, s->encloser, true);
		break;
	default:
		want_closer(q, proof, s);
		break;
	}
}

static void
take_hash(struct nsec3_proof *proof)
{
	struct nsec3_find *find = &proof->parts[PART_CLOSER];

	if (!proof->hashes)
		return;
	memcpy(find->hash, proof->job.hash, NSEC3_HASH_LEN);
	find->is_prefix = false;
	find->chain = proof->chain;
	proof->wanted |= 1u << PART_CLOSER;
}

static size_t
list_finds(struct nsec3_proof *proof, struct nsec3_find **finds)
{
	size_t count = 0;

	for (unsigned i = 0; i < PART_COUNT; i++)
		if ((proof->wanted & 1u << i) != 0)
			finds[count++] = &proof->parts[i];
	return count;
}

/* ---- a single query ---------------------------------------------------- */

const struct nsec3_proof *
proof_find(struct query_ctx *ctx, struct query *q, const struct search *s,
	enum proof_kind kind)
{
	struct nsec3_proof *proof = &q->proof;
	struct nsec3_find *finds[PART_COUNT];
	struct nsec3_job *const jobs[1] = { &ctx->proof.job };

	if (proof->kind == kind && proof->name_at == s->name_at)
		return proof;
	proof = &ctx->proof;
	proof->chain = proof_get_chain(ctx->view, s->zone);
	plan_proof(ctx->view, q, proof, s, kind, NULL);
	if (proof->hashes)
		hash_jobs(proof->chain, jobs, 1);
	take_hash(proof);
	nsec3_find_batch(ctx->view, finds, list_finds(proof, finds));
	return proof;
}

/* ---- a batch ----------------------------------------------------------- */

static enum proof_kind
choose_kind(const struct search *s)
{
	switch (s->outcome) {
	case OUTCOME_NODATA:
		return s->from_wildcard ? PROOF_WILDCARD_TYPE : PROOF_TYPE;
	case OUTCOME_NXDOMAIN:
		return PROOF_NAME;
	case OUTCOME_DELEGATION:
		return (s->node->flags & NODE_HAS_DS) == 0 ? PROOF_TYPE
			: PROOF_NONE;
	case OUTCOME_BROKEN:
	case OUTCOME_WILDCARD:
		return PROOF_NONE;
	default:
		return s->from_wildcard ? PROOF_EXPANSION : PROOF_NONE;
	}
}

static bool
plan_first(struct query_ctx *ctx, struct query *q)
{
	const struct search *s = &q->search;
	enum proof_kind kind;

	if (!query_wants_proof(q, s->zone))
		return false;
	kind = choose_kind(s);
	if (kind == PROOF_NONE)
		return false;
	q->proof.chain = proof_get_chain(ctx->view, s->zone);
	if (q->proof.chain == NULL)
		return false;
	plan_proof(ctx->view, q, &q->proof, s, kind,
		s->from_wildcard ? NULL : &q->walk);
	return true;
}

/* Hashes the names of all proofs; those of one chain together. */
static void
hash_proofs(struct nsec3_proof *const *proofs, size_t count)
{
	bool done[EXCHANGE_BATCH_MAX] = { false };
	struct nsec3_job *jobs[EXCHANGE_BATCH_MAX];

	for (size_t i = 0; i < count; i++) {
		size_t job_count = 0;

		if (done[i] || !proofs[i]->hashes)
			continue;
		for (size_t j = i; j < count; j++) {
			if (proofs[j]->chain != proofs[i]->chain
				|| !proofs[j]->hashes)
				continue;
			jobs[job_count++] = &proofs[j]->job;
			done[j] = true;
		}
		hash_jobs(proofs[i]->chain, jobs, job_count);
	}
}

size_t
proof_find_batch(struct query_ctx *ctx, struct query *const *queries,
	size_t count, uint32_t rounds_max)
{
	struct nsec3_proof *proofs[EXCHANGE_BATCH_MAX];
	struct nsec3_find *finds[EXCHANGE_BATCH_MAX * PART_COUNT];
	size_t proof_count = 0, find_count = 0, i;
	uint32_t rounds = 0;

	for (i = 0; i < count && rounds < rounds_max; i++) {
		if (plan_first(ctx, queries[i]))
			proofs[proof_count++] = &queries[i]->proof;
		rounds += queries[i]->spent.rounds;
	}
	count = i;
	if (proof_count == 0)
		return count;
	hash_proofs(proofs, proof_count);
	for (i = 0; i < proof_count; i++) {
		take_hash(proofs[i]);
		find_count += list_finds(proofs[i], finds + find_count);
	}
	nsec3_find_batch(ctx->view, finds, find_count);
	return count;
}
