/*
 * dyn_chain.c - whether a chain of NSEC or NSEC3 records is whole behind a
 * message, if it was before (RFC 4034 section 4.1.1, RFC 5155 section 3.1.7).
 *
 * Each record is an edge from its owner to the next one. Edges that have gone
 * and edges that have come must cover the same stretches of the chain: so
 * nothing else of it has to be looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "dynupdate/dyn_signed.h"

/* ---- order --------------------------------------------------------------- */

/* Order along the chain, which begins at the apex. */
static int
chain_compare(const struct dyn_chain *chain, const uint8_t *a, const uint8_t *b)
{
	bool a_before, b_before;

	if (!chain->is_hashed)
		return name_compare(a, b);
	a_before = memcmp(a, chain->base, NSEC3_HASH_LEN) < 0;
	b_before = memcmp(b, chain->base, NSEC3_HASH_LEN) < 0;
	if (a_before != b_before)
		return a_before ? 1 : -1;
	return memcmp(a, b, NSEC3_HASH_LEN);
}

/* Order of ends: the chain ends where it begins. */
static int
end_compare(const struct dyn_chain *chain, const uint8_t *a, const uint8_t *b)
{
	bool a_last = chain_compare(chain, a, chain->base) == 0;
	bool b_last = chain_compare(chain, b, chain->base) == 0;

	if (a_last || b_last)
		return a_last - b_last;
	return chain_compare(chain, a, b);
}

static int
compare_named(const void *a, const void *b)
{
	const struct dyn_edge *x = a, *y = b;

	return name_compare(x->owner, y->owner);
}

static int
compare_hashed(const void *a, const void *b)
{
	const struct dyn_edge *x = a, *y = b;

	return memcmp(x->owner, y->owner, NSEC3_HASH_LEN);
}

static void
edges_reverse(struct dyn_edge *edges, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct dyn_edge edge = edges[i];

		edges[i] = edges[count - 1 - i];
		edges[count - 1 - i] = edge;
	}
}

/* Sorts edges in the order of the chain: hashes before that of the apex come
 * last. */
static void
edges_sort(const struct dyn_chain *chain, struct dyn_edges *edges)
{
	size_t first = 0;

	if (edges->count == 0)
		return;
	qsort(edges->edges, edges->count, sizeof(*edges->edges),
		chain->is_hashed ? compare_hashed : compare_named);
	while (chain->is_hashed && first < edges->count
		&& memcmp(edges->edges[first].owner, chain->base,
			   NSEC3_HASH_LEN) < 0)
		first++;
	if (first == 0)
		return;
	edges_reverse(edges->edges, first);
	edges_reverse(edges->edges + first, edges->count - first);
	edges_reverse(edges->edges, edges->count);
}

/* ---- stretches ----------------------------------------------------------- */

struct chain_stretch {
	const struct dyn_chain *chain;
	const struct dyn_edges *edges;
	size_t at;
	const uint8_t *end; /* of the edges passed */
};

/* Passes an edge that begins at `from`. False: there is none. */
static bool
stretch_pass(struct chain_stretch *s, const uint8_t *from)
{
	const struct dyn_edge *edge = &s->edges->edges[s->at];

	if (s->at == s->edges->count
		|| chain_compare(s->chain, edge->owner, from) != 0)
		return false;
	s->end = edge->next;
	s->at++;
	return true;
}

/* The owner of the next edge; NULL: there is none. */
static const uint8_t *
stretch_owner(const struct chain_stretch *s)
{
	return s->at < s->edges->count ? s->edges->edges[s->at].owner : NULL;
}

/* Passes the edges of both up to where both end. NULL: they do; else where the
 * chain breaks. An edge that leads back ends where no later one begins. */
static const uint8_t *
stretch_join(struct chain_stretch *gone, struct chain_stretch *come)
{
	for (;;) {
		int order = end_compare(gone->chain, gone->end, come->end);
		const uint8_t *at = order > 0 ? come->end : gone->end;

		if (order == 0)
			return NULL;
		if (!stretch_pass(order > 0 ? come : gone, at))
			return at;
	}
}

const uint8_t *
dyn_chain_find_break(struct dyn_chain *chain)
{
	struct chain_stretch gone = {.chain = chain, .edges = &chain->gone};
	struct chain_stretch come = {.chain = chain, .edges = &chain->come};
	const uint8_t *at = NULL;

	edges_sort(chain, &chain->gone);
	edges_sort(chain, &chain->come);
	while (at == NULL) {
		const uint8_t *from = stretch_owner(&gone);

		at = stretch_owner(&come);
		if (from == NULL)
			return at;
		if (at == NULL || !stretch_pass(&come, from))
			return from;
		(void)stretch_pass(&gone, from);
		at = stretch_join(&gone, &come);
	}
	return at;
}
