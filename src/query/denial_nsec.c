/*
 * denial_nsec.c - proofs by NSEC (RFC 4035 section 3.1.3): the record at a
 * name says which types it has, and which name is the next in the zone.
 */
#include "dns/rrtype.h"
#include "query/denial_kind.h"
#include "query/emit_denial.h"
#include "query/lookup.h"

/* The node that hides an occluded name: its topmost ancestor that is a cut or
 * has a DNAME. To go on there is one jump over all names that it hides. */
static const struct node *
find_hider(struct query_ctx *ctx, const struct zone *zone,
	const struct node *node)
{
	struct trie_walk *walk = &ctx->walk;
	uint8_t label_at[NAME_MAX_LABELS + 1];

	walk->root = &zone->names.root;
	trie_name_of_leaf(&walk->name, &node->leaf, label_at);
	trie_find(ctx->view, walk);
	for (unsigned i = 0; i < walk->ancestor_count; i++) {
		const struct node *above = store_get(ctx->view,
			walk->ancestors[i]);

		if ((above->flags & (NODE_CUT | NODE_DNAME)) != 0)
			return above;
	}
	return node;
}

/*
 * Goes back from a name to the last node before it that has an NSEC record.
 * Occluded names and empty non-terminals on the way have none. Any other name
 * without one breaks the chain (RFC 4035 section 2.3). NULL: the chain is
 * broken, or this reply has made all the steps that it may.
 */
static const struct node *
find_cover(struct query_ctx *ctx, struct query *q, const struct zone *zone,
	const struct trie_name *name)
{
	struct trie_back back;

	if ((zone->flags & ZONE_NSEC) == 0)
		return NULL;
	trie_back_init(&back, ctx->view, &zone->names.root, name);
	while (q->spent.steps < PROOF_STEPS_MAX) {
		store_ref ref = trie_back_next(&back);
		const struct node *node;

		q->spent.steps++;
		if (ref == STORE_NONE)
			return NULL;
		node = store_get(ctx->view, ref);
		if ((node->flags & NODE_OCCLUDED) != 0)
			node = find_hider(ctx, zone, node);
		if (node_find_entry(node, TYPE_NSEC) != NULL)
			return node;
		if ((node->flags & NODE_EMPTY) == 0)
			return NULL;
	}
	return NULL;
}

/* Adds the NSEC of a node, if it has one that the reply has not yet. */
static bool
nsec_add_record(struct query_ctx *ctx, struct query *q, const struct search *s,
	const struct node *node)
{
	const struct node_rrset *entry;
	const struct rrset *rrset;
	struct emit_owner owner;
	store_ref sigs;

	if (node == NULL)
		return true;
	entry = node_find_entry(node, TYPE_NSEC);
	if (entry == NULL || !denial_note(q, node))
		return true;
	rrset = store_get(ctx->view, entry->ref);
	if (!emit_make_owner(&q->reply, s, trie_leaf_name(&node->leaf),
			node->leaf.name_len, &owner))
		return true;
	sigs = node_entry_sigs(node, entry);
	return emit_denial(&q->reply, &owner, rrset,
		sigs != STORE_NONE ? store_get(ctx->view, sigs) : NULL,
		denial_ttl(s->zone, rrset->ttl_sec));
}

/* Adds the record that covers the name in hand. */
static bool
add_name_cover(struct query_ctx *ctx, struct query *q, const struct search *s)
{
	struct trie_walk *walk = &ctx->walk;

	lookup_walk_init(walk, s);
	return nsec_add_record(ctx, q, s, find_cover(ctx, q, s->zone,
		&walk->name));
}

/* Adds the record at a node. An empty non-terminal has none: there it is the
 * record before, whose next name is below the node. */
static bool
add_match(struct query_ctx *ctx, struct query *q, const struct search *s,
	const struct node *node)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_name name;

	if (node_find_entry(node, TYPE_NSEC) == NULL) {
		if (node->leaf.labels == 0)
			return true; /* a broken zone: the apex has none */
		trie_name_of_leaf(&name, &node->leaf, label_at);
		node = find_cover(ctx, q, s->zone, &name);
	}
	return nsec_add_record(ctx, q, s, node);
}

/* RFC 4035 section 3.1.3.1; for a wildcard RFC 4035 section 3.1.3.4. */
bool
denial_nsec_add_nodata(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	return add_match(ctx, q, s, s->node)
		&& (!s->from_wildcard || add_name_cover(ctx, q, s));
}

/* RFC 4035 section 3.1.3.2. */
bool
denial_nsec_add_nxdomain(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	struct trie_walk *walk = &ctx->walk;
	uint8_t label_at[NAME_MAX_LABELS + 1];
	uint8_t labels[NAME_MAX_LEN + 1];

	if (!add_name_cover(ctx, q, s))
		return false;
	lookup_wildcard_init(walk, s, labels, label_at);
	return nsec_add_record(ctx, q, s, find_cover(ctx, q, s->zone,
		&walk->name));
}

/* RFC 4035 section 3.1.3.3. */
bool
denial_nsec_add_expansion(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	return add_name_cover(ctx, q, s);
}

/* RFC 4035 section 3.1.4: only the record at the cut itself. */
bool
denial_nsec_add_no_ds(struct query_ctx *ctx, struct query *q,
	const struct search *s)
{
	return nsec_add_record(ctx, q, s, s->node);
}
